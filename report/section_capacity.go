package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report/internal/chart"
)

// capacitySearch is what capacity.js keeps beside its cells.
type capacitySearch struct {
	Op       string  `json:"op"`
	Query    string  `json:"query"`
	SLOP95   float64 `json:"sloP95"`
	VUs      int     `json:"vus"`
	Max      float64 `json:"max"`
	Estimate float64 `json:"estimate"`
}

// capacitySearchKey is where capacity.js keeps it.
const capacitySearchKey = "capacity_search"

// capacityFamily are the steps of capacity.js: a share of the highest rate, and the repeat.
var capacityFamily = regexp.MustCompile(`^step_\d+_r\d+$`)

// loadStep is one offered rate over all its repeats.
type loadStep struct {
	rate     float64
	p95      []float64      // of each repeat, dropped operations infinitely slow; infinite where it could not be completed
	measured []float64      // p95 of the operations that were made, also where the schedule broke
	took     []analysis.Bin // every success of all repeats, ms
	achieved []float64
	onTime   *float64 // the lowest of the repeats; nil if that of one is not known
	unknown  int      // repeats of whose schedule nothing is known
	ok       uint64
	failed   uint64
	capped   uint64
	broken   int // repeats whose schedule broke
}

// loadSteps collects the steps of a record by their rate.
func loadSteps(rec *recorder.Record) []*loadStep {
	scenarios := map[string]recorder.Scenario{}
	for _, s := range rec.Scenarios {
		scenarios[s.Name] = s
	}
	found := map[float64]*loadStep{}
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if !capacityFamily.MatchString(c.Scenario) || c.Rate == nil || !c.Measured() {
			continue
		}
		s := found[*c.Rate]
		if s == nil {
			s = &loadStep{rate: *c.Rate}
			found[*c.Rate] = s
		}
		s.add(c, scenarios[c.Scenario], rec.Limits)
	}
	out := make([]*loadStep, 0, len(found))
	for _, s := range found {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *loadStep) int { return cmp.Compare(a.rate, b.rate) })
	return out
}

func (s *loadStep) add(c *recorder.CellRecord, sc recorder.Scenario, limits recorder.Limits) {
	s.ok += c.N
	s.failed += c.Failed + c.Canceled
	s.capped += c.Errors["admission_capped"]
	if c.OpsPerS != nil {
		s.achieved = append(s.achieved, *c.OpsPerS)
	}
	s.took = append(s.took, bins(c)...)
	kept := true
	switch share := sc.OnTimeShare; {
	case share == nil:
		s.unknown++
	case *share < limits.OnTimeShare:
		s.broken++
		kept = false
	}
	if sc.OnTimeShare != nil && (s.onTime == nil || *sc.OnTimeShare < *s.onTime) {
		s.onTime = sc.OnTimeShare
	}
	if bad := float64(c.Failed + c.Canceled); bad > 0 && bad/(bad+float64(c.N)) > limits.ErrorShare {
		kept = false
	}
	if c.P95 != nil {
		s.measured = append(s.measured, *c.P95)
	}
	switch {
	case !kept:
		s.p95 = append(s.p95, math.Inf(1))
	case sc.OnTimeShare == nil:
		// Whether this repeat was driven at its rate is not known, so it can't be said to have kept anything.
	case c.P95 == nil:
	case c.DroppedShare == nil || *c.DroppedShare <= 0:
		s.p95 = append(s.p95, *c.P95)
	case c.P95DropAware == nil:
		s.p95 = append(s.p95, math.Inf(1))
	default:
		s.p95 = append(s.p95, *c.P95DropAware)
	}
}

// onTimeText is the least share of a step's repeats, "not known" unless all of them are known.
func (s *loadStep) onTimeText() string {
	if s.onTime == nil || s.unknown > 0 {
		return "not known"
	}
	return percent(*s.onTime)
}

// capacityAnswer finds the knee and says what makes it.
func capacityAnswer(rec *recorder.Record, groups []*group) answer {
	steps := loadSteps(rec)
	if len(steps) == 0 {
		return answer{}
	}
	var about capacitySearch
	if !extra(rec, capacitySearchKey, &about) || about.SLOP95 <= 0 {
		return answer{}
	}
	boot := analysis.DefaultBootstrap()
	load := make([]analysis.LoadStep, 0, len(steps))
	for _, s := range steps {
		load = append(load, analysis.LoadStep{Rate: s.rate, Latencies: s.p95})
	}
	knee := analysis.FindKnee(load, about.SLOP95, boot)
	t := Table{
		Caption: fmt.Sprintf("Offered load and latency, %s over HTTP, objective p95 ≤ %s ms", about.Op, ms(about.SLOP95)),
		Header:  []string{"offered/s", "done/s", "p50, ms", "p95 of each repeat, ms", "on time, least", "n", "kept"},
	}
	for _, s := range steps {
		n := count(s.ok)
		if s.failed > 0 {
			n += fmt.Sprintf(" + %s failed", count(s.failed))
		}
		t.Rows = append(t.Rows, []string{
			ms(s.rate), ratesText(s.achieved), estimate(analysis.QuantileOf(analysis.FromBins(s.took), 0.5, boot)),
			repeatsText(s.p95), s.onTimeText(), n, s.keptText(about.SLOP95),
		})
	}
	sec := Section{Title: "Capacity", Tables: []Table{t}, Notes: []string{
		"p95 of each repeat counts dropped iterations as infinitely slow; p50 is of the operations that were made.",
		fmt.Sprintf("A repeat that started fewer than %s of its iterations on time, or failed in more than %s of its operations, counts as infinitely slow.",
			percent(rec.Limits.OnTimeShare), percent(rec.Limits.ErrorShare)),
		fmt.Sprintf("The steps lie around %s operations/s, which a closed loop reached before the run.", ms(about.Estimate)),
	}}
	if unknown := unknownRepeats(steps); unknown > 0 {
		sec.Notes = append(sec.Notes, fmt.Sprintf("Of %s it is not known how many iterations started or were dropped, as after a run that was killed: whether they kept the objective can't be said.",
			counted(unknown, "repeat")))
	}
	if p := capacityPlot(steps, about, knee); p != nil {
		sec.Plots = []Plot{*p}
	}
	out := answer{sections: []Section{sec}, findings: []Finding{kneeFinding(rec, steps, about, knee)}}
	for _, g := range groups {
		if capacityFamily.MatchString(g.family) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

func unknownRepeats(steps []*loadStep) int {
	n := 0
	for _, s := range steps {
		n += s.unknown
	}
	return n
}

// bins are a cell's successes, all of them; none if its histogram can't be read.
func bins(c *recorder.CellRecord) []analysis.Bin {
	s, err := c.Sample()
	if err != nil {
		return nil
	}
	return s.Bins()
}

func repeatsText(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = ms(v)
		if math.IsInf(v, 1) {
			words[i] = "∞"
		}
	}
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, " / ")
}

func (s *loadStep) keptText(objective float64) string {
	kept := 0
	for _, v := range s.p95 {
		if v <= objective {
			kept++
		}
	}
	if len(s.p95) == 0 {
		return "not known"
	}
	return fmt.Sprintf("%d of %d", kept, len(s.p95))
}

// The causes that end a rising load, as far as a record tells them apart.
const (
	limitServer    = "the server"
	limitPolicy    = "policy"
	limitGenerator = "the generator"
	limitShared    = "shared"
)

// limitedBy says what ended the load: the first step that missed the objective, and the generator's own health.
func limitedBy(rec *recorder.Record, steps []*loadStep, about capacitySearch, knee analysis.Knee) string {
	for _, r := range rec.Reasons {
		switch r.Code {
		case "generator_lag", "fd_limit", "gc_pressure":
			return limitGenerator
		}
	}
	if knee.Missed != nil {
		for _, s := range steps {
			if s.rate < *knee.Missed {
				continue
			}
			if float64(s.capped) > rec.Limits.ErrorShare*float64(s.ok+s.failed) {
				return limitPolicy
			}
			if s.rate == *knee.Missed && s.broken > 0 && len(s.measured) > 0 && slices.Max(s.measured) <= about.SLOP95 {
				return limitGenerator
			}
		}
	}
	for _, r := range rec.Reasons {
		if r.Code == "shared_machine" {
			return limitShared
		}
	}
	// A machine that rests between the steps and is busy in them is not busy on average.
	if busy := rec.Generator.MachineCPUP95; busy != nil && *busy > rec.Limits.MachineCPU {
		return limitShared
	}
	return limitServer
}

func kneeFinding(rec *recorder.Record, steps []*loadStep, about capacitySearch, knee analysis.Knee) Finding {
	if knee.Rate.Value == nil {
		f := Finding{Text: fmt.Sprintf("No knee for a p95 of %s ms: %s.", ms(about.SLOP95), knee.Note)}
		switch {
		case knee.Missed == nil:
			f.Next = "Raise CAPACITY_MAX, or lower SLO_P95_MS."
		case knee.Kept == nil:
			f.Next = "Raise SLO_P95_MS, or lower the rates with CAPACITY_ESTIMATE; optimize the store first."
		}
		return f
	}
	f := Finding{Text: fmt.Sprintf("A p95 of %s ms is kept up to %s %ss/s (%s/s kept it, %s/s did not).",
		ms(about.SLOP95), estimate(knee.Rate), about.Op, ms(*knee.Kept), ms(*knee.Missed))}
	switch limitedBy(rec, steps, about, knee) {
	case limitPolicy:
		f.Text += " What ends it is the per-actor admission cap: a policy, not the server's capacity."
		f.Next = "Spread the load over several actors (CAPACITY_ACTORS), or raise the cap, to see the capacity."
	case limitGenerator:
		f.Text += " What ends it is the generator: it could not start iterations in time."
		f.Next = "Give the generator more CPU or VUs (CAPACITY_VUS), or more machines; the server's own knee lies higher."
	case limitShared:
		f.Text += " The generator's machine was busy by then: if the server runs on it, too, the server alone may take more."
		f.Next = fmt.Sprintf("Plan with at most %s/s for such a machine; for the server's own knee run the generator elsewhere.", ms(lowest(knee.Rate)))
	default:
		f.Text += " What ends it is the server: the generator kept up, and no cap was met."
		f.Next = fmt.Sprintf("Plan with at most %s/s for one server.", ms(lowest(knee.Rate)))
	}
	return f
}

func capacityPlot(steps []*loadStep, about capacitySearch, knee analysis.Knee) *Plot {
	f := chart.Figure{
		Title: "p95 over the offered rate",
		X:     chart.Axis{Label: "offered operations/s", Zero: true},
		Y:     chart.Axis{Label: "p95, ms", Log: true},
		Desc:  "The p95 of each repeat over the offered rate, with the objective as a line.",
	}
	dots := chart.Series{Name: "p95 of a repeat", Kind: chart.Points}
	most := 0.0
	for _, s := range steps {
		for _, v := range s.measured {
			dots.X, dots.Y = append(dots.X, s.rate), append(dots.Y, v)
		}
		most = math.Max(most, s.rate)
	}
	if len(dots.X) == 0 {
		return nil
	}
	f.Series = []chart.Series{dots, {Name: "objective", Color: 1, X: []float64{0, most}, Y: []float64{about.SLOP95, about.SLOP95}}}
	if knee.Rate.Value != nil {
		f.Marks = []chart.Mark{{At: *knee.Rate.Value, Label: "knee"}}
	}
	return &Plot{Caption: "The p95 of each repeat over the offered rate, of the operations that were made; the dashed vertical line is the knee.", draw: withID(f)}
}

// capacityOf gives the steps of a capacity run for a plan: those that a script put into the record itself, or those of
// capacity.js.
func capacityOf(rec *recorder.Record) (capacityData, bool) {
	if data, ok, err := extraSection[capacityData](rec, extraCapacity); ok && err == nil {
		return data, true
	}
	var about capacitySearch
	steps := loadSteps(rec)
	if len(steps) == 0 || !extra(rec, capacitySearchKey, &about) || about.SLOP95 <= 0 {
		return capacityData{}, false
	}
	data := capacityData{Query: about.Query, SLOP95MS: about.SLOP95}
	for _, s := range steps {
		step := capacityStep{Rate: s.rate}
		for _, v := range s.p95 {
			if math.IsInf(v, 1) {
				step.P95MS = append(step.P95MS, nil)
			} else {
				step.P95MS = append(step.P95MS, &v)
			}
		}
		if float64(s.capped) > rec.Limits.ErrorShare*float64(s.ok+s.failed) {
			step.LimitedBy = "policy"
		}
		data.Steps = append(data.Steps, step)
	}
	return data, true
}
