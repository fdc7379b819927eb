package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// group is one kind of operation over all its levels: what makes one table.
type group struct {
	family string // the scenarios' common name, without their level
	op     string
	query  string
	levels []level
	cells  map[level][]*recorder.CellRecord
	pairs  map[level][]*recorder.PairRecord
	// paces say what set the rate of each level.
	paces map[level]pace
}

// level is a column: a number of workers, or a rate, or neither.
type level struct {
	workers int
	rate    float64
}

func (l level) String() string {
	switch {
	case l.rate != 0:
		return fmt.Sprintf("%g/s", l.rate)
	case l.workers != 0:
		return counted(l.workers, "worker")
	default:
		return "all"
	}
}

// at is the level in a sentence, with a space before it; nothing where there is no level.
func (l level) at() string {
	if l == (level{}) {
		return ""
	}
	return " at " + l.String()
}

func compareLevels(a, b level) int {
	return cmp.Or(cmp.Compare(a.workers, b.workers), cmp.Compare(a.rate, b.rate))
}

// levelSuffix is what levels() and people append to a scenario's name for its level. A word before the number counts
// only after a separator: the n of full_scan_1 belongs to the name.
var levelSuffix = regexp.MustCompile(`(?i)(?:[_\-.](?:w|x|n|vus?|workers?)?[_\-]?)?(\d+)[_\-]?(?:w|x|vus?|workers?)?$`)

// phaseSuffix is the phase in a scenario's name.
var phaseSuffix = regexp.MustCompile(`(?i)[_\-.](warmup|warm-up|measure)$`)

// family is a scenario's name without its level: reads_1, reads_4 and reads_8 are one family.
func family(scenario string, workers int) string {
	name := phaseSuffix.ReplaceAllString(scenario, "")
	if workers > 0 {
		if m := levelSuffix.FindStringSubmatchIndex(name); m != nil && name[m[2]:m[3]] == strconv.Itoa(workers) && m[0] > 0 {
			name = name[:m[0]]
		}
	}
	return phaseSuffix.ReplaceAllString(name, "")
}

// groupsOf collects the measured cells and comparisons of a record, in the order in which they were run.
func groupsOf(rec *recorder.Record) []*group {
	type key struct{ family, op, query string }
	found := map[key]*group{}
	started := map[*group]float64{}
	var order []*group
	get := func(k key) *group {
		g := found[k]
		if g == nil {
			g = &group{
				family: k.family, op: k.op, query: k.query,
				cells: map[level][]*recorder.CellRecord{}, pairs: map[level][]*recorder.PairRecord{}, paces: map[level]pace{},
			}
			found[k] = g
			order = append(order, g)
		}
		return g
	}
	paces := pacesOf(rec)
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if !c.Measured() || c.Maintenance() {
			continue
		}
		k := c.Key()
		g := get(key{family(c.Scenario, k.Workers), c.Op, c.Query})
		l := level{k.Workers, k.Rate}
		if len(g.cells) == 0 || c.StartS < started[g] {
			started[g] = c.StartS
		}
		g.cells[l] = append(g.cells[l], c)
		g.paces[l] = g.paces[l].or(paces[stretch{c.Scenario, k.Workers}])
	}
	for i := range rec.Pairs {
		p := &rec.Pairs[i]
		if !p.Measured() {
			continue
		}
		k := p.Key()
		g := get(key{family(p.Scenario, k.Workers), p.Op, p.Query})
		l := level{workers: k.Workers}
		g.pairs[l] = append(g.pairs[l], p)
	}
	for _, g := range order {
		for l := range g.cells {
			g.levels = append(g.levels, l)
		}
		for l := range g.pairs {
			if !slices.Contains(g.levels, l) {
				g.levels = append(g.levels, l)
			}
		}
		slices.SortFunc(g.levels, compareLevels)
	}
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(started[a], started[b]) })
	return order
}

// title names the operation and, where it adds something, the scenario.
func (g *group) title() string {
	name := g.query
	if name == "" {
		name = g.op
	}
	if name == "" {
		name = "different operations" // of a comparison's variants
	}
	if g.family != "" && g.family != name && g.family != "default" {
		return fmt.Sprintf("%s (%s)", name, g.family)
	}
	return name
}

// lane is one line of figures through a group: a variant over one transport.
type lane struct{ variant, transport string }

func (l lane) String() string {
	switch {
	case l.variant == "" || strings.EqualFold(l.variant, l.transport):
		return transportName(l.transport)
	case l.transport == "":
		return l.variant
	default:
		return fmt.Sprintf("%s (%s)", l.variant, transportName(l.transport))
	}
}

func transportName(t string) string {
	switch t {
	case "cli", "http":
		return strings.ToUpper(t)
	case "":
		return "all"
	}
	return t
}

func laneOf(c *recorder.CellRecord) lane { return lane{c.Variant, c.Transport} }

// lanes lists a group's lanes, the CLI first: it is what the others are compared with.
func (g *group) lanes() []lane {
	var out []lane
	for _, l := range g.levels {
		for _, c := range g.cells[l] {
			if !slices.Contains(out, laneOf(c)) {
				out = append(out, laneOf(c))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.transport, b.transport), cmp.Compare(a.variant, b.variant))
	})
	return out
}

func (g *group) cell(l level, ln lane) *recorder.CellRecord {
	for _, c := range g.cells[l] {
		if laneOf(c) == ln {
			return c
		}
	}
	return nil
}

// pairNames lists the comparisons of a group.
func (g *group) pairNames() [][2]string {
	var out [][2]string
	for _, l := range g.levels {
		for _, p := range g.pairs[l] {
			if name := [2]string{p.A, p.B}; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (g *group) pair(l level, name [2]string) *recorder.PairRecord {
	for _, p := range g.pairs[l] {
		if p.A == name[0] && p.B == name[1] {
			return p
		}
	}
	return nil
}

// transportOf is the transport of a variant in this group, "" if it has none.
func (g *group) transportOf(variant string) string {
	for _, l := range g.levels {
		for _, c := range g.cells[l] {
			if c.Variant == variant {
				return c.Transport
			}
		}
	}
	return variant
}

// subprocess tells whether a comparison is the one of the CLI with pooled HTTP, so that its share is what starting a
// process costs.
func (g *group) subprocess(name [2]string) bool {
	return g.op != "" && g.transportOf(name[0]) == "cli" && g.transportOf(name[1]) == "http"
}

// writes tells whether the group's operations change the store.
func (g *group) writes() bool { return g.op == "mutate" || g.op == "load" || g.affects() }

func (g *group) affects() bool {
	for _, cells := range g.cells {
		for _, c := range cells {
			if c.Nodes+c.Edges > 0 {
				return true
			}
		}
	}
	return false
}

// spawnFloor tells whether the group is the bare start of the CLI, with no work in it.
func (g *group) spawnFloor() bool { return g.op == "version" }
