package recorder

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
)

// Class says what a reason does to the verdict.
type Class string

// The classes of reasons.
const (
	ClassInvalid     Class = "invalid"     // nothing in the run is a result
	ClassDirectional Class = "directional" // it shows a direction only
	ClassRatios      Class = "ratios only" // comparisons within the run hold, absolute figures don't
	ClassNamed       Class = "named"       // the reader should know; the verdict stays
)

// Reason is why a run is not simply valid, or what a reader should know about it.
type Reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Code describes one reason code for the documentation.
type Code struct {
	Code    string
	Class   Class
	Meaning string
}

// Codes is the closed list of reason codes, in the order in which a report shows them.
func Codes() []Code {
	return []Code{
		{"killed", ClassInvalid, "the run was killed; what is shown was recovered from its partial file"},
		{"identity_mismatch", ClassInvalid, "the two sides of a comparison, or the parts of a merge, differ in their identity"},
		{"no_success", ClassInvalid, "no measured operation succeeded"},
		{"debug_build", ClassInvalid, "the server or the CLI is a debug build"},
		{"generator_lag", ClassInvalid, "the recorder's own ticker was late by more than the limit at p99: the generator was saturated"},
		{"fd_limit", ClassInvalid, "the generator met its limit of open file descriptors"},
		{"gc_pressure", ClassInvalid, "collecting garbage took more than the limit of the generator's CPU time"},
		{"off_schedule", ClassInvalid, "an open-model scenario started too few of its iterations on time"},
		{"schedule_unknown", ClassDirectional, "it is not known how many iterations of an open-model scenario started, or were dropped"},
		{"ended_early", ClassDirectional, "the run was ended before its time"},
		{"errors_above_limit", ClassDirectional, "too many operations of a cell failed: its percentiles are of the survivors"},
		{"rows_changed", ClassDirectional, "the store's rows changed although the run wrote nothing"},
		{"emulator", ClassDirectional, "the system under test was the emulator: a model's figures, not a measurement"},
		{"shared_machine", ClassRatios, "the machine's CPUs were nearly always busy: no absolute claims, comparisons stay valid"},
		{"few_samples", ClassNamed, "a cell has too few samples for a p95 and is directional"},
		{"failed_pairs", ClassNamed, "pairs with a failed side were left out of a comparison"},
		{"one_sided", ClassNamed, "of a comparison's two variants only one succeeded at all"},
		{"order_effect", ClassNamed, "in a comparison it mattered which variant went first"},
		{"process_queue", ClassNamed, "operations queued for CLI process slots, and the script did not set maxProcesses"},
		{"rps_limit", ClassNamed, "operations waited for k6's rps limit"},
		{"policy_cap", ClassNamed, "the server's admission cap was met: capped by policy, not by capacity"},
		{"clamped", ClassNamed, "durations above one hour were counted as one hour"},
	}
}

// ClassOf gives a code's class, "" for a code that does not exist.
func ClassOf(code string) Class {
	for _, c := range Codes() {
		if c.Code == code {
			return c.Class
		}
	}
	return ""
}

// DefaultLimits are the rules of docs/statistics.md.
func DefaultLimits() Limits {
	boot := analysis.DefaultBootstrap()
	return Limits{
		OnTimeShare: 0.95,
		TickerLagMS: 50,
		GCShare:     0.05,
		MachineCPU:  0.90,
		ErrorShare:  0.01,
		Margin:      0.03,
		Resamples:   boot.Resamples,
		Seed:        boot.Seed,
		Method:      boot.Method(),
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	fill(&l.OnTimeShare, d.OnTimeShare)
	fill(&l.TickerLagMS, d.TickerLagMS)
	fill(&l.GCShare, d.GCShare)
	fill(&l.MachineCPU, d.MachineCPU)
	fill(&l.ErrorShare, d.ErrorShare)
	fill(&l.Margin, d.Margin)
	fill(&l.Resamples, d.Resamples)
	fill(&l.Seed, d.Seed)
	fill(&l.Method, d.Method)
	return l
}

func fill[T comparable](have *T, otherwise T) {
	var zero T
	if *have == zero {
		*have = otherwise
	}
}

// admissionKind is the error kind by which both transports report the server's per-actor admission cap.
const admissionKind = "admission_capped"

// Judge finds a record's verdict and every reason for it. It is a pure function of the record's figures.
func Judge(rec *Record) (Verdict, []Reason) {
	j := judge{rec: rec, found: map[string][]string{}}
	// What can't be recomputed from figures stays as it was found when the record was made.
	for _, r := range rec.Reasons {
		if r.Code == "identity_mismatch" {
			j.add(r.Code, "%s", r.Text)
		}
	}
	j.run()
	j.generators()
	j.schedule()
	j.cells()
	j.pairs()
	return j.verdict()
}

type judge struct {
	rec   *Record
	found map[string][]string
}

func (j *judge) add(code, format string, args ...any) {
	j.found[code] = append(j.found[code], fmt.Sprintf(format, args...))
}

// verdict sorts the reasons by the table and lets the worst class decide. Several findings of one code are one
// reason.
func (j *judge) verdict() (Verdict, []Reason) {
	verdict := Valid
	reasons := []Reason{}
	for _, c := range Codes() {
		texts := j.found[c.Code]
		if len(texts) == 0 {
			continue
		}
		class := c.Class
		if c.Code == "few_samples" && j.allShort() {
			class = ClassDirectional
		}
		const shown = 3
		text := strings.Join(texts[:min(len(texts), shown)], "; ")
		if len(texts) > shown {
			text += fmt.Sprintf("; and %d more", len(texts)-shown)
		}
		reasons = append(reasons, Reason{Code: c.Code, Text: text})
		switch class {
		case ClassInvalid:
			verdict = Invalid
		case ClassDirectional, ClassRatios:
			if verdict == Valid {
				verdict = Directional
			}
		case ClassNamed:
		}
	}
	return verdict, reasons
}

// allShort tells whether no measured cell has enough samples for a p95.
func (j *judge) allShort() bool {
	for i := range j.rec.Cells {
		if c := &j.rec.Cells[i]; c.Measured() && !c.Maintenance() && !c.Directional {
			return false
		}
	}
	return true
}

func (j *judge) run() {
	rec := j.rec
	inv := rec.Invocation
	if inv.Partial {
		j.add("killed", "the run was killed about %.0f s after its start; this is its last partial file", inv.DurationS)
	} else if inv.EndedBy != "" {
		j.add("ended_early", "the run was ended by %s after %.0f s", inv.EndedBy, inv.DurationS)
	}
	if rec.System.Build == "debug" {
		j.add("debug_build", "the system under test is a debug build; measure a release build")
	}
	if rec.Emulator != nil {
		j.add("emulator", "emulator, cost model %s: a model's figures, not a measurement", rec.Emulator.CostModel)
	}
	if before, after := rec.StateBefore, rec.StateAfter; before != nil && after != nil && !j.wrote() {
		for _, name := range slices.Sorted(maps.Keys(after.Rows)) {
			if was, ok := before.Rows[name]; ok && was != after.Rows[name] {
				j.add("rows_changed", "%s had %d rows before and %d after, and this run wrote none: another client wrote",
					name, was, after.Rows[name])
			}
		}
	}
}

// wrote tells whether the run itself sent an operation that may have written, whatever became of it.
func (j *judge) wrote() bool {
	for i := range j.rec.Cells {
		c := &j.rec.Cells[i]
		if c.Nodes+c.Edges > 0 {
			return true
		}
		switch c.Op {
		case "mutate", "load", "invoke":
			// A stored query that only reads has affected nothing, and all of it is known.
			if c.Op != "invoke" || c.Rows == 0 {
				return true
			}
		}
	}
	return false
}

func (j *judge) generators() {
	all := j.rec.Generators
	if len(all) == 0 {
		all = []Generator{j.rec.Generator}
	}
	l := j.rec.Limits
	faults := generatorFaults{of: len(all), found: map[string]*generatorFault{}}
	for _, g := range all {
		if g.TickerLagP99 != nil && *g.TickerLagP99 > l.TickerLagMS {
			faults.add("generator_lag", *g.TickerLagP99, "the generator's own ticker was %.0f ms late at p99 (limit %.0f): give it more CPU or fewer VUs",
				*g.TickerLagP99, l.TickerLagMS)
		}
		switch {
		case g.FDExhausted: // nothing could be counted then: that takes a descriptor, too
			faults.add("fd_limit", math.Inf(1), "the generator used up its %d file descriptors: raise the limit (ulimit -n)", g.FDLimit)
		case g.FDLimit > 0 && g.PeakFDs >= g.FDLimit-fdReserve:
			faults.add("fd_limit", float64(g.PeakFDs), "the generator had %d of %d file descriptors open: raise the limit (ulimit -n)",
				g.PeakFDs, g.FDLimit)
		}
		if g.GCShare != nil && *g.GCShare > l.GCShare {
			faults.add("gc_pressure", *g.GCShare, "garbage collection took %.1f %% of the generator's CPU time (limit %.0f %%): raise GOGC or give it memory",
				*g.GCShare*100, l.GCShare*100)
		}
		if g.MachineCPU != nil && *g.MachineCPU > l.MachineCPU {
			faults.add("shared_machine", *g.MachineCPU, "the machine's CPUs were %.0f %% busy (limit %.0f %%): ratios hold, absolute figures are pessimistic",
				*g.MachineCPU*100, l.MachineCPU*100)
		}
		if q, ok := g.Queues[QueueProcessSlot.String()]; ok && !g.MaxProcessesSet && q.N > 0 {
			faults.add("process_queue", float64(q.N), "%d operations queued for a CLI process slot, %.1f s in all: set maxProcesses if that is meant", q.N, q.SumS)
		}
		if q, ok := g.Queues[QueueRPSLimit.String()]; ok && q.N > 0 {
			faults.add("rps_limit", float64(q.N), "%d operations waited for k6's rps limit, %.1f s in all", q.N, q.SumS)
		}
	}
	for code, f := range faults.found {
		if faults.of > 1 {
			j.add(code, "%s (so in %d of %d generators; the worst stands here)", f.text, f.n, faults.of)
		} else {
			j.add(code, "%s", f.text)
		}
	}
}

// generatorFaults collects what several generators have in common: each fault once, as it was in the worst of them.
type generatorFaults struct {
	of    int
	found map[string]*generatorFault
}

type generatorFault struct {
	n     int
	worst float64
	text  string
}

func (f *generatorFaults) add(code string, badness float64, format string, args ...any) {
	have := f.found[code]
	if have == nil {
		have = &generatorFault{worst: math.Inf(-1)}
		f.found[code] = have
	}
	have.n++
	if badness > have.worst {
		have.worst, have.text = badness, fmt.Sprintf(format, args...)
	}
}

// fdReserve is how close to the limit of file descriptors counts as having met it: the next connection of a VU needs
// a few at once.
const fdReserve = 8

func (j *judge) schedule() {
	for _, s := range j.rec.Scenarios {
		if s.Model != "open" {
			continue
		}
		if s.OnTimeShare == nil {
			j.unknownSchedule(s)
			continue
		}
		if *s.OnTimeShare < j.rec.Limits.OnTimeShare && !s.Probe {
			j.add("off_schedule", "%s started %.1f %% of its iterations on time (limit %.0f %%): lower the rate or allow more VUs",
				s.Name, *s.OnTimeShare*100, j.rec.Limits.OnTimeShare*100)
		}
	}
}

// unknownSchedule judges a scenario of which a count is missing by the other, and names what would give the missing one.
func (j *judge) unknownSchedule(s Scenario) {
	advice := missingCounts(s)
	switch {
	case s.Dropped == nil && s.Started == nil:
		j.add("schedule_unknown", "%s: its started and its dropped iterations are not known; %s", s.Name, advice)
		return
	case s.Dropped == nil:
		j.add("schedule_unknown", "%s: its dropped iterations are not known; %s", s.Name, advice)
		return
	case *s.Dropped <= 0:
		j.add("schedule_unknown", "%s: none of its iterations started or was dropped", s.Name)
		return
	}
	most := j.rec.OnTimeAtMost(s)
	if most != nil && *most < j.rec.Limits.OnTimeShare && !s.Probe {
		j.add("off_schedule", "%s dropped %d iterations and made %d operations: at most %.1f %% of its iterations started on time, if each makes one (limit %.0f %%); "+
			"lower the rate or allow more VUs; for the share itself %s",
			s.Name, *s.Dropped, j.rec.operations(s.Name), *most*100, j.rec.Limits.OnTimeShare*100, advice)
		return
	}
	j.add("schedule_unknown", "%s: %d iterations were dropped, of how many is not known; %s", s.Name, *s.Dropped, advice)
}

// missingCounts says how a run gets the counts of iterations that a scenario lacks: k6 gives a scenario's own count only
// where a threshold asks for it.
func missingCounts(s Scenario) string {
	var thresholds []string
	if s.Dropped == nil {
		thresholds = append(thresholds, fmt.Sprintf("'dropped_iterations{scenario:%s}': ['count>=0']", s.Name))
	}
	if s.Started == nil {
		thresholds = append(thresholds, fmt.Sprintf("'iterations{scenario:%s}': ['count>=0']", s.Name))
	}
	if len(thresholds) == 1 {
		return "declare the threshold " + thresholds[0] + " and pass the summary's data to report()"
	}
	return "declare the thresholds " + strings.Join(thresholds, " and ") + " and pass the summary's data to report()"
}

// OnTimeAtMost is the largest share of a scenario's iterations that can have started on time, as far as its dropped
// iterations and its operations tell: an iteration that started makes at least one operation, so that there were no more
// of those than operations. It is nil where the share itself is known, and where nothing was dropped or known to be.
func (rec *Record) OnTimeAtMost(s Scenario) *float64 {
	if s.OnTimeShare != nil || s.Started != nil || s.Dropped == nil || *s.Dropped <= 0 {
		return nil
	}
	made := float64(rec.operations(s.Name))
	most := made / (made + float64(*s.Dropped))
	return &most
}

// operations counts what a scenario's iterations made, warm-up and maintenance included.
func (rec *Record) operations(scenario string) uint64 {
	var n uint64
	for i := range rec.Cells {
		if c := &rec.Cells[i]; c.Scenario == scenario {
			n += c.N + c.Failed + c.Canceled
		}
	}
	return n
}

func (j *judge) cells() {
	rec := j.rec
	var succeeded, measured, sent uint64
	failures := map[string]uint64{}
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if n := c.Errors[admissionKind]; n > 0 {
			j.add("policy_cap", "%s: %d operations were refused by the per-actor admission cap: spread over several actors to get past it",
				c.Label(), n)
		}
		if !c.Measured() {
			continue
		}
		measured++
		succeeded += c.N
		sent += c.N + c.Failed + c.Canceled
		for kind, n := range c.Errors {
			failures[kind] += n
		}
		if total := c.N + c.Failed; total > 0 {
			if share := float64(c.Failed) / float64(total); share > rec.Limits.ErrorShare && !rec.probe(c.Scenario) && !c.Maintenance() {
				j.add("errors_above_limit", "%s: %d of %d operations failed (%s; limit %.0f %%)",
					c.Label(), c.Failed, total, ErrorWords(c.Errors), rec.Limits.ErrorShare*100)
			}
		}
		if c.Directional && !c.Maintenance() {
			j.add("few_samples", "%s has %d samples, a p95 needs %d", c.Label(), c.N, analysis.MinP95)
		}
		if c.Over > 0 {
			j.add("clamped", "%s: %d operations took more than an hour", c.Label(), c.Over)
		}
	}
	if succeeded == 0 {
		switch {
		case measured == 0:
			j.add("no_success", "no operation was measured")
		case len(failures) == 0:
			j.add("no_success", "none of %d measured operations succeeded: all were cut off by the end of the run", sent)
		default:
			j.add("no_success", "none of %d measured operations succeeded (%s)", sent, ErrorWords(failures))
		}
	}
}

// probe tells whether a scenario goes beyond the capacity on purpose.
func (rec *Record) probe(scenario string) bool {
	return slices.ContainsFunc(rec.Scenarios, func(s Scenario) bool { return s.Probe && s.Name == scenario })
}

// ErrorWords lists error kinds with their counts, most frequent first: "40 forbidden, 5 timeout".
func ErrorWords(errors map[string]uint64) string {
	kinds := slices.Collect(maps.Keys(errors))
	slices.SortFunc(kinds, func(a, b string) int {
		if errors[a] != errors[b] {
			if errors[a] > errors[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = fmt.Sprintf("%d %s", errors[k], k)
	}
	return strings.Join(words, ", ")
}

// Label names a cell in a sentence.
func (c *CellRecord) Label() string {
	name := c.Variant
	if name == "" {
		name = c.Transport
	}
	words := []string{}
	for _, w := range []string{name, c.Op} {
		if w != "" {
			words = append(words, w)
		}
	}
	if c.Query != "" && c.Query != c.Op {
		words = append(words, c.Query)
	}
	if c.Workers != nil {
		words = append(words, "at "+workersWord(*c.Workers))
	}
	if c.Rate != nil {
		words = append(words, fmt.Sprintf("at %g/s", *c.Rate))
	}
	label := strings.Join(words, " ")
	if c.Scenario != "" {
		label += " (" + c.Scenario + ")"
	}
	return label
}

func workersWord(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}

func (j *judge) pairs() {
	p := make([]*float64, len(j.rec.Pairs))
	for i := range j.rec.Pairs {
		if pr := &j.rec.Pairs[i]; pr.Measured() {
			p[i] = pr.OrderEffectP
		}
	}
	adjusted := analysis.Holm(p)
	for i := range j.rec.Pairs {
		pr := &j.rec.Pairs[i]
		if !pr.Measured() {
			continue
		}
		switch {
		case pr.N == 0 && pr.Failed > 0:
			j.add("one_sided", "%s: in none of %d pairs did both variants succeed", pr.Label(), pr.Failed)
		case pr.Failed > 0:
			j.add("failed_pairs", "%s: %d of %d pairs had a failed side", pr.Label(), pr.Failed, pr.N+pr.Failed)
		}
		if adjusted[i] != nil && *adjusted[i] < 0.05 {
			j.add("order_effect", "%s: the difference depends on which went first (%s after Holm)",
				pr.Label(), pWords(*adjusted[i]))
		}
	}
}

// pWords writes a p value in a sentence. Below a thousandth the tests' approximations say no more than that.
func pWords(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// Label names a comparison in a sentence.
func (p *PairRecord) Label() string {
	what := p.Query
	if what == "" {
		what = p.Op
	}
	if what == "" {
		what = "different operations" // the variants' own
	}
	label := fmt.Sprintf("%s, %s against %s", what, p.A, p.B)
	if p.Workers != nil {
		label += " at " + workersWord(*p.Workers)
	}
	if p.Scenario != "" {
		label += " (" + p.Scenario + ")"
	}
	return label
}
