package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// Build makes the report of one record (merge several with [recorder.Merge] first).
func Build(rec *recorder.Record) *Document {
	groups := groupsOf(rec)
	own := answerOf(rec, groups)
	others := own.others(groups)
	d := &Document{
		Title:    titleOf(rec),
		Banner:   bannerOf(rec),
		Verdict:  rec.Verdict,
		Meaning:  meaningOf(rec),
		Reasons:  rec.Reasons,
		Findings: append(own.trusted(rec), findings(rec, others)...),
		Facts:    facts(rec),
	}
	var floor *group
	for _, g := range groups {
		if g.spawnFloor() {
			floor = g
		}
	}
	d.Sections = append(d.Sections, own.seenSection(rec)...)
	d.Sections = append(d.Sections, own.sections...)
	if s := fragmentationSection(others); s != nil {
		d.Sections = append(d.Sections, *s)
	}
	for _, g := range others {
		if g.spawnFloor() && len(groups) > 1 {
			continue
		}
		s := groupSection(g, floor)
		s.Plots = groupPlots(rec, g)
		d.Sections = append(d.Sections, s)
	}
	d.addExtras(rec)
	d.Sections = append(d.Sections, maintenanceSection(rec)...)
	d.Sections = append(d.Sections, scheduleSection(rec)...)
	d.Sections = append(d.Sections, errorSection(groups)...)
	d.Sections = append(d.Sections, stateSection(rec)...)
	d.Sections = append(d.Sections, generatorSection(rec))
	d.Findings = withoutRepeats(d.Findings)
	return d
}

func titleOf(rec *recorder.Record) string {
	name := rec.Script.Path
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	if name == "" {
		name = "run"
	}
	return titlePrefix + name
}

const titlePrefix = "omnigraph load report: "

func bannerOf(rec *recorder.Record) string {
	if rec.Emulator == nil {
		return ""
	}
	return fmt.Sprintf("emulator, cost model %s: a model's figures, not a measurement", rec.Emulator.CostModel)
}

// meaningOf puts the verdict into a sentence.
func meaningOf(rec *recorder.Record) string {
	ratios, worse := false, false
	for _, r := range rec.Reasons {
		switch recorder.ClassOf(r.Code) {
		case recorder.ClassDirectional, recorder.ClassInvalid:
			worse = true
		case recorder.ClassRatios:
			ratios = true
		case recorder.ClassNamed:
		}
	}
	ratiosOnly := rec.Verdict == recorder.Directional && ratios && !worse
	switch {
	case rec.Verdict == recorder.Valid:
		return "Valid: the figures below can be quoted, with their intervals."
	case ratiosOnly:
		return "Directional: ratios and differences below hold, absolute figures do not, since the generator's machine was busy, and with it the server if it runs there."
	case rec.Verdict == recorder.Directional:
		return "Directional: the figures below show a direction and are not to be quoted."
	default:
		return "Invalid: nothing below is a result. Mend what the reasons say and run it again."
	}
}

func groupSection(g, floor *group) Section {
	s := Section{Title: g.title()}
	header := []string{"ms unless a unit stands there"}
	for _, l := range g.levels {
		header = append(header, l.String())
	}
	t := Table{Caption: caption(g), Header: header}
	row := func(name string, figure func(l level) string) {
		line := []string{name}
		empty := true
		for _, l := range g.levels {
			f := figure(l)
			empty = empty && f == none
			line = append(line, f)
		}
		if !empty {
			t.Rows = append(t.Rows, line)
		}
	}
	lanes := g.lanes()
	for _, ln := range lanes {
		at := func(f func(c *recorder.CellRecord) string) func(l level) string {
			return func(l level) string {
				if c := g.cell(l, ln); c != nil {
					return f(c)
				}
				return none
			}
		}
		row(ln.String()+" p50", at(func(c *recorder.CellRecord) string { return msCI(c.P50, c.P50CI) }))
		row(ln.String()+" p95", at(func(c *recorder.CellRecord) string { return msCI(c.P95, c.P95CI) }))
		row(ln.String()+" p99", at(func(c *recorder.CellRecord) string { return msCI(c.P99, c.P99CI) }))
		if g.dropped() {
			row(ln.String()+" p95, dropped count as late", at(dropAware))
		}
	}
	for _, name := range g.pairNames() {
		at := func(f func(p *recorder.PairRecord) string) func(l level) string {
			return func(l level) string {
				if p := g.pair(l, name); p != nil {
					return f(p)
				}
				return none
			}
		}
		a, b := g.variantName(name[0]), g.variantName(name[1])
		label := fmt.Sprintf("share of p50, (%s - %s) / %s", a, b, a)
		if g.subprocess(name) {
			label = "subprocess " + label
		}
		row(label, at(func(p *recorder.PairRecord) string { return percentCI(p.Share, p.ShareCI) }))
		row(fmt.Sprintf("median difference in a pair, %s - %s", a, b),
			at(func(p *recorder.PairRecord) string { return msCI(p.MedianDiff, p.MedianDiffCI) }))
	}
	if floor != nil && floor != g && slices.ContainsFunc(lanes, func(l lane) bool { return l.transport == "cli" }) {
		row("spawn floor, p50", func(l level) string { return floor.floorAt(l) })
	}
	if g.levels[0].rate == 0 {
		for _, ln := range lanes {
			row(ln.String()+" operations/s", func(l level) string {
				if c := g.cell(l, ln); c != nil {
					e := g.throughput(l, c)
					return msCI(e.Value, e.CI)
				}
				return none
			})
		}
	}
	for _, ln := range lanes {
		row("n, "+ln.String(), func(l level) string { return samples(g.cell(l, ln)) })
	}
	for _, name := range g.pairNames() {
		row(fmt.Sprintf("n, pairs %s/%s", g.variantName(name[0]), g.variantName(name[1])), func(l level) string {
			p := g.pair(l, name)
			switch {
			case p == nil:
				return none
			case p.Failed > 0:
				return fmt.Sprintf("%s (%s with a failed side)", count(p.N), count(p.Failed))
			}
			return count(p.N)
		})
		row("p of the order in a pair, uncorrected", func(l level) string {
			if p := g.pair(l, name); p != nil {
				return pValue(p.OrderEffectP)
			}
			return none
		})
	}
	s.Tables = []Table{t}
	if t := g.decompositionTable(); t != nil {
		s.Tables = append(s.Tables, *t)
	}
	if t := g.scalingTable(); t != nil {
		s.Tables = append(s.Tables, *t)
	}
	s.Notes = append(g.notes(), g.littleNotes()...)
	return s
}

func dropAware(c *recorder.CellRecord) string {
	switch {
	case c.DroppedShare == nil || c.P95 == nil:
		return none
	case c.P95DropAware == nil:
		return "never"
	}
	return ms(*c.P95DropAware)
}

// dropped tells whether iterations of the group's scenarios were dropped.
func (g *group) dropped() bool {
	for _, cells := range g.cells {
		for _, c := range cells {
			if c.DroppedShare != nil && *c.DroppedShare > 0 {
				return true
			}
		}
	}
	return false
}

// retried tells whether an operation of the group was repeated.
func (g *group) retried() bool {
	for _, cells := range g.cells {
		for _, c := range cells {
			if c.Retries > 0 {
				return true
			}
		}
	}
	return false
}

// samples is a cell's n, with what did not succeed beside it.
func samples(c *recorder.CellRecord) string {
	if c == nil {
		return none
	}
	text := count(c.N)
	if c.Failed > 0 {
		text += fmt.Sprintf(" + %s failed", count(c.Failed))
	}
	if c.Canceled > 0 {
		text += fmt.Sprintf(" + %s canceled", count(c.Canceled))
	}
	if c.Directional && c.N > 0 && !c.Maintenance() {
		text += ", directional"
	}
	return text
}

// floorAt is the spawn floor at a level. Levels that were not measured have none: the floor grows with the load.
func (g *group) floorAt(l level) string {
	for _, c := range g.cells[l] {
		return msCI(c.P50, c.P50CI)
	}
	return none
}

// variantName writes a variant as it stands in a table.
func (g *group) variantName(variant string) string {
	return lane{variant, g.transportOf(variant)}.String()
}

func caption(g *group) string {
	what := "reads"
	switch {
	case g.writes():
		what = "writes"
	case g.op == "":
		what = "each variant its own"
	case g.op != "query" && g.op != "invoke":
		what = g.op
	}
	return fmt.Sprintf("%s: %s", g.title(), what)
}

// notes are the reasons for missing figures, each once, with where they apply.
func (g *group) notes() []string {
	where := map[string][]string{}
	var order []string
	add := func(note, at string) {
		if where[note] == nil {
			order = append(order, note)
		}
		if !slices.Contains(where[note], at) {
			where[note] = append(where[note], at)
		}
	}
	for _, l := range g.levels {
		for _, c := range g.cells[l] {
			for _, note := range c.Notes {
				add(note, laneOf(c).String())
			}
		}
		for _, p := range g.pairs[l] {
			for _, note := range p.Notes {
				add(note, "pairs")
			}
		}
	}
	out := make([]string, 0, len(order)+1)
	if len(g.pairNames()) > 0 {
		out = append(out, "Operations/s: the variants take turns, so each rate also depends on the others; it says nothing about what a variant could do alone.")
	}
	for _, l := range g.levels {
		if p := g.paces[l]; p.own() && l.rate == 0 {
			out = append(out, p.note(l))
		}
	}
	for _, note := range order {
		out = append(out, fmt.Sprintf("%s: %s.", strings.Join(where[note], ", "), note))
	}
	return out
}

// maintenanceSection lists what served the store: optimize, cleanup, repair.
func maintenanceSection(rec *recorder.Record) []Section {
	t := Table{Caption: "Maintenance during the run", Header: []string{"operation", "at, s", "took p50, ms", "n"}}
	cells := slices.Clone(rec.Cells)
	slices.SortStableFunc(cells, func(a, b recorder.CellRecord) int { return cmp.Compare(a.StartS, b.StartS) })
	for i := range cells {
		c := &cells[i]
		if c.Measured() && c.Maintenance() {
			t.Rows = append(t.Rows, []string{
				fmt.Sprintf("%s (%s)", c.Op, c.Scenario), fmt.Sprintf("%.0f", c.StartS), msOr(c.P50), samples(c) + failureKinds(c),
			})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	s := Section{Title: "Maintenance", Tables: []Table{t}}
	if len(t.Rows) > manyRows {
		s.Tables[0].Detail = true
		s.Tables[0].Summary = fmt.Sprintf("%s by the run itself: the Markdown and HTML reports list them.", counted(len(t.Rows), "step"))
	}
	return []Section{s}
}

func scheduleSection(rec *recorder.Record) []Section {
	t := Table{
		Caption: "Schedule of each scenario",
		Header:  []string{"scenario", "model", "iterations started", "dropped", "on time"},
	}
	closed := false
	for _, sc := range rec.Scenarios {
		loaded := loads(rec, sc.Name)
		if sc.Model == "closed" && sc.Started == nil && sc.Dropped == nil {
			closed = closed || loaded
			continue
		}
		onTime := none
		if sc.OnTimeShare != nil {
			onTime = percent(*sc.OnTimeShare)
		} else if most := rec.OnTimeAtMost(sc); most != nil {
			onTime = "at most " + percent(*most)
		}
		closed = closed || sc.Model == "closed" && loaded
		t.Rows = append(t.Rows, []string{sc.Name, sc.Model, knownCount(sc.Started), knownCount(sc.Dropped), onTime})
	}
	if len(t.Rows) == 0 && !closed {
		return nil
	}
	s := Section{Title: "Schedule"}
	if len(t.Rows) > 0 {
		s.Tables = []Table{t}
	}
	if len(t.Rows) > manyRows {
		s.Tables[0].Detail = true
		s.Tables[0].Summary = scheduleWords(rec.Scenarios)
	}
	if closed {
		s.Notes = append(s.Notes, "Closed model: a worker starts its next operation when the last one has ended, "+
			"so a slow server is asked less often. Compare variants with it; don't read it as latency under a given rate.")
	}
	return []Section{s}
}

// failureKinds says what a maintenance step's failures were: the errors' section is of the load.
func failureKinds(c *recorder.CellRecord) string {
	if c.Failed == 0 {
		return ""
	}
	return " (" + recorder.ErrorWords(c.Errors) + ")"
}

// loads tells whether a scenario made operations of users, and not only maintenance.
func loads(rec *recorder.Record, scenario string) bool {
	return slices.ContainsFunc(rec.Cells, func(c recorder.CellRecord) bool {
		return c.Scenario == scenario && c.Measured() && !c.Maintenance()
	})
}

// manyRows is from where on a terminal gets a sentence instead of a table that only serves to look something up.
const manyRows = 8

// scheduleWords sums many scenarios up: how many there are, and the least that one of them started on time.
func scheduleWords(scenarios []recorder.Scenario) string {
	open, unknown := 0, 0
	least := 1.0
	where := ""
	for _, sc := range scenarios {
		if sc.Model != "open" {
			continue
		}
		open++
		switch {
		case sc.OnTimeShare == nil:
			unknown++
		case *sc.OnTimeShare < least || where == "":
			least, where = *sc.OnTimeShare, sc.Name
		}
	}
	text := fmt.Sprintf("%s in the open model", counted(open, "scenario"))
	if where != "" {
		text += fmt.Sprintf("; the least on time is %s with %s", where, percent(least))
	}
	if unknown > 0 {
		text += fmt.Sprintf("; of %s it is not known how many started or were dropped", counted(unknown, "scenario"))
	}
	return text + "."
}

func knownCount(n *int64) string {
	if n == nil {
		return "not known"
	}
	return count(*n)
}

// firstMessage is one message on one line, cut to what a table can hold.
func firstMessage(messages []string) string {
	if len(messages) == 0 {
		return ""
	}
	const limit = 100
	line := strings.Join(strings.Fields(messages[0]), " ")
	if runes := []rune(line); len(runes) > limit {
		line = string(runes[:limit-1]) + "…"
	}
	return line
}

// retryTable shows what retries cost the server: the attempts that each operation became.
func retryTable(groups []*group) Table {
	t := Table{Caption: "Retries", Header: []string{"operation", "transport", "operations", "attempts", "attempts per operation"}}
	for _, g := range groups {
		for _, l := range g.levels {
			for _, c := range g.cells[l] {
				ops := c.N + c.Failed + c.Canceled
				if c.Retries == 0 || ops == 0 {
					continue
				}
				t.Rows = append(t.Rows, []string{
					strings.TrimSpace(g.title() + ", " + l.String()), laneOf(c).String(), count(ops), count(c.Attempts),
					strconv.FormatFloat(float64(c.Attempts)/float64(ops), 'f', 2, 64),
				})
			}
		}
	}
	return t
}

func errorSection(groups []*group) []Section {
	t := Table{Caption: "Failed operations by kind", Header: []string{"operation", "transport", "kind", "n", "for example"}}
	for _, g := range groups {
		for _, l := range g.levels {
			for _, c := range g.cells[l] {
				for _, kind := range slices.Sorted(maps.Keys(c.Errors)) {
					t.Rows = append(t.Rows, []string{
						strings.TrimSpace(g.title() + ", " + l.String()), laneOf(c).String(), kind, count(c.Errors[kind]), firstMessage(c.Messages[kind]),
					})
				}
			}
		}
	}
	s := Section{Title: "Errors"}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if retries := retryTable(groups); len(retries.Rows) > 0 {
		s.Tables = append(s.Tables, retries)
	}
	if len(s.Tables) == 0 {
		return nil
	}
	if p := errorPlot(groups); p != nil {
		s.Plots = []Plot{*p}
	}
	return []Section{s}
}

func stateSection(rec *recorder.Record) []Section {
	if rec.StateBefore == nil && rec.StateAfter == nil {
		return nil
	}
	before, after := orEmpty(rec.StateBefore), orEmpty(rec.StateAfter)
	t := Table{Caption: "The store before and after the run", Header: []string{"", "before", "after"}}
	names := map[string]bool{}
	for name := range before.Rows {
		names[name] = true
	}
	for name := range after.Rows {
		names[name] = true
	}
	rows := func(s *recorder.State, name string) string {
		if n, ok := s.Rows[name]; ok {
			return count(n)
		}
		return none
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t.Rows = append(t.Rows, []string{name + " rows", rows(before, name), rows(after, name)})
	}
	add := func(name string, b, a *int64) {
		if b != nil || a != nil {
			t.Rows = append(t.Rows, []string{name, knownCount(b), knownCount(a)})
		}
	}
	add("commits", before.Commits, after.Commits)
	add("commits since optimize", before.CommitsSinceOptimize, after.CommitsSinceOptimize)
	add("data files", before.DataFiles, after.DataFiles)
	return []Section{{Title: "Store", Tables: []Table{t}}}
}

func orEmpty(s *recorder.State) *recorder.State {
	if s == nil {
		return &recorder.State{}
	}
	return s
}

func generatorSection(rec *recorder.Record) Section {
	g := rec.Generator
	l := rec.Limits
	share := func(v *float64) string {
		if v == nil {
			return "not known"
		}
		return percent(*v)
	}
	number := func(v *float64) string {
		if v == nil {
			return "not known"
		}
		return ms(*v)
	}
	t := Table{
		Caption: "The generator's own health",
		Header:  []string{"", "found", "limit"},
		Rows: [][]string{
			{"ticker lag p99, ms", number(g.TickerLagP99), ms(l.TickerLagMS)},
			{"garbage collection, share of CPU", share(g.GCShare), percent(l.GCShare)},
			{"machine CPU busy", share(g.MachineCPU), percent(l.MachineCPU)},
			{"own CPU, cores", number(g.OwnCPU), count(rec.Machine.CPUs)},
			{"file descriptors, peak", count(g.PeakFDs), count(g.FDLimit)},
			{"memory, peak MB", count(g.PeakRSSBytes >> 20), count(rec.Machine.MemoryBytes >> 20)},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(g.Queues)) {
		q := g.Queues[name]
		t.Rows = append(t.Rows, []string{
			"queued, " + strings.ReplaceAll(name, "_", " "),
			fmt.Sprintf("%s, p50 %s ms", counted(q.N, "operation"), msOr(q.P50MS)), none,
		})
	}
	s := Section{Title: "Generator", Tables: []Table{t}}
	s.Notes = append(s.Notes, "Intervals are 95 %: "+l.Method+".")
	if n := len(rec.Generators); n > 1 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d generators, the worst figure of each is shown.", n))
	}
	if len(rec.MergedFrom) > 1 && len(rec.Extra) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("What scripts keep besides their operations is not merged: %s stand here as the first record has them.",
			joinWords(slices.Sorted(maps.Keys(rec.Extra)))))
	}
	return s
}

func facts(rec *recorder.Record) []Fact {
	m := rec.Machine
	out := []Fact{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, value})
		}
	}
	add("run", rec.Invocation.ID)
	add("time", fmt.Sprintf("%s, %s", rec.Invocation.Start.Format("2006-01-02 15:04:05 MST"),
		(time.Duration(rec.Invocation.DurationS)*time.Second).String()))
	add("server", rec.System.Server)
	add("CLI", rec.System.CLI)
	add("backend", rec.System.Backend)
	add("build", rec.System.Build)
	add("config", identityValue(rec, "config"))
	add("k6", rec.Generator.K6)
	add("extension", rec.Generator.Extension)
	add("machine", strings.Trim(fmt.Sprintf("%s, %s, %s GB, %s %s", m.CPUModel, counted(m.CPUs, "CPU"),
		ms(float64(m.MemoryBytes)/(1<<30)), m.OS, m.Kernel), ", "))
	add("dataset", identityValue(rec, "dataset"))
	add("script", strings.TrimSpace(rec.Script.Path+" "+short(rec.Script.SHA256)))
	add("declared", declaredLevels(rec.Run))
	return out
}

// declaredLevels are the levels of the run description that somebody declared; the record has all of them.
func declaredLevels(run recorder.Run) string {
	var words []string
	for _, levels := range []map[string]string{run.Data, run.State, run.Workload, run.Environment, run.Protocol} {
		for _, factor := range slices.Sorted(maps.Keys(levels)) {
			if v := levels[factor]; v != "" && v != "unknown" {
				words = append(words, factor+"="+v)
			}
		}
	}
	return strings.Join(words, ", ")
}

func identityValue(rec *recorder.Record, name string) string {
	for _, f := range rec.Identity() {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func short(digest string) string {
	if len(digest) > 12 {
		return "sha256:" + digest[:12]
	}
	return digest
}
