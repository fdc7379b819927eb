package recorder

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
)

// Check finds contradictions within a record that was read: counts that do not add up, figures that do not follow from
// their histograms, a verdict that does not follow from the figures. An empty list means that there are none.
func (rec *Record) Check() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if rec.Invocation.ID == "" {
		add("the invocation has no id")
	}
	if rec.Invocation.End.Before(rec.Invocation.Start) {
		add("the run ended before it started")
	} else if err := rec.Invocation.checkDuration(); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, rec.checkEmulator()...)
	seen := map[CellKey]bool{}
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if seen[c.Key()] {
			add("cell %s: it is there twice", c.Label())
		}
		seen[c.Key()] = true
		for _, err := range c.check() {
			add("cell %s: %w", c.Label(), err)
		}
	}
	seenPairs := map[PairKey]bool{}
	for i := range rec.Pairs {
		p := &rec.Pairs[i]
		if seenPairs[p.Key()] {
			add("comparison %s: it is there twice", p.Label())
		}
		seenPairs[p.Key()] = true
		if p.N+p.Failed > maxCount {
			add("comparison %s: it has %d pairs, more than any run makes", p.Label(), p.N+p.Failed)
		}
		var of uint64
		for _, rows := range p.Raw {
			of += rows.Of
			if len(rows.A) != len(rows.B) || len(rows.A) != len(rows.FirstA) || len(rows.A) != len(rows.AtS) {
				add("comparison %s: the columns of its raw pairs differ in length", p.Label())
			}
		}
		if len(p.Raw) > 0 && of != p.N {
			add("comparison %s: n is %d, its raw pairs are of %d", p.Label(), p.N, of)
		}
		for _, err := range []error{
			checkInterval("median_diff_ci_ms", p.MedianDiffCI, "median_diff_ms", p.MedianDiff),
			checkInterval("share_ci", p.ShareCI, "share", p.Share),
		} {
			if err != nil {
				add("comparison %s: %w", p.Label(), err)
			}
		}
	}
	for _, r := range rec.Reasons {
		if ClassOf(r.Code) == "" {
			add("reason code %q is not known", r.Code)
		}
	}
	if verdict, reasons := Judge(rec); verdict != rec.Verdict || !slices.Equal(codesOf(reasons), codesOf(rec.Reasons)) {
		add("the verdict is %s for %v, the figures lead to %s for %v", rec.Verdict, codesOf(rec.Reasons), verdict, codesOf(reasons))
	}
	return problems
}

// durationTolerance is how many seconds a run's duration may differ from the time between its start and its end: records
// have come from clocks that were set right meanwhile.
const durationTolerance = 2

func (inv *Invocation) checkDuration() error {
	took := inv.End.Sub(inv.Start).Seconds()
	if math.Abs(inv.DurationS-took) > durationTolerance+0.01*took {
		return fmt.Errorf("invocation.duration_s is %g, it takes what lies between start and end, %.3f", inv.DurationS, took)
	}
	return nil
}

// emulatorMark stands in the versions that the emulator gives of itself: 0.8.0-emulator, and 0.8.0-emulator+NAME with a
// cost model.
const emulatorMark = "-emulator"

// checkEmulator finds an emulator's figures that are not labelled as such.
func (rec *Record) checkEmulator() []error {
	if rec.Emulator != nil {
		return nil
	}
	var problems []error
	for _, version := range []struct{ name, is string }{{"server", rec.System.Server}, {"cli", rec.System.CLI}} {
		if strings.Contains(version.is, emulatorMark) {
			problems = append(problems, fmt.Errorf("system.%s is %q, it takes the block emulator with its cost model",
				version.name, version.is))
		}
	}
	return problems
}

// checkInterval finds an interval that is upside down, or away from the value that it is of.
func checkInterval(name string, ci *Interval, valueName string, value *float64) error {
	switch {
	case ci == nil:
		return nil
	case value == nil:
		return fmt.Errorf("%s is [%g, %g], it takes a value of %s, which is null", name, ci[0], ci[1], valueName)
	case !(ci[0] <= ci[1]):
		return fmt.Errorf("%s is [%g, %g], it takes the lower bound first", name, ci[0], ci[1])
	}
	slack := figureTolerance*math.Abs(*value) + 1e-6
	if *value < ci[0]-slack || *value > ci[1]+slack {
		return fmt.Errorf("%s is [%g, %g], it takes one that holds %s, %g", name, ci[0], ci[1], valueName, *value)
	}
	return nil
}

func codesOf(reasons []Reason) []string {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return codes
}

func (c *CellRecord) check() []error {
	var problems []error
	s, err := c.Sample()
	if err != nil {
		return []error{err}
	}
	if uint64(s.Len()) != c.N { // #nosec G115 -- a count
		problems = append(problems, fmt.Errorf("n is %d, its histogram holds %d", c.N, s.Len()))
	}
	var failed uint64
	for _, n := range c.Errors {
		failed += n
	}
	if failed != c.Failed {
		problems = append(problems, fmt.Errorf("failed is %d, its errors by kind add up to %d", c.Failed, failed))
	}
	problems = append(problems, c.checkCounts()...)
	problems = append(problems, c.checkFigures(s)...)
	if c.N == 0 && (c.P50 != nil || c.P95 != nil || c.P99 != nil) {
		problems = append(problems, errors.New("it has percentiles without a success"))
	}
	for _, rows := range c.Raw {
		if len(rows.AtS) != len(rows.MS) {
			problems = append(problems, errors.New("the columns of its raw values differ in length"))
		}
	}
	return problems
}

// maxCount is more than any run makes of anything that is counted, and less than what JSON's numbers hold exactly;
// maxPerSecond is more operations than any generator makes in a second.
const (
	maxCount     = 1e15
	maxPerSecond = 1e8
)

// checkCounts finds counts that no run can have come to.
func (c *CellRecord) checkCounts() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, count := range []struct {
		name string
		n    uint64
	}{
		{"n", c.N}, {"failed", c.Failed}, {"canceled", c.Canceled}, {"attempts", c.Attempts}, {"retries", c.Retries},
		{"rows", c.Rows}, {"affected_nodes", c.Nodes}, {"affected_edges", c.Edges}, {"over_an_hour", c.Over},
	} {
		if count.n > maxCount {
			add("%s is %d, more than any run makes", count.name, count.n)
		}
	}
	if len(problems) > 0 {
		return problems // their sums might not fit
	}
	ops := c.N + c.Failed + c.Canceled
	if c.SpanS < 0 || c.BusyS < 0 {
		add("it took less than no time: span_s is %g, busy_s is %g", c.SpanS, c.BusyS)
	} else if float64(ops+c.Retries) > maxPerSecond*(1+c.SpanS) {
		add("it made %d operations and %d retries in %.3g s, more than any generator makes", ops, c.Retries, c.SpanS)
	}
	if c.Retries > c.Attempts {
		add("retries are %d, all attempts only %d", c.Retries, c.Attempts)
	} else if first := c.Attempts - c.Retries; first > ops {
		add("%d first attempts were made for %d operations", first, ops)
	}
	if c.Over > c.N {
		add("over_an_hour is %d, n only %d", c.Over, c.N)
	}
	return problems
}

// figureTolerance is how far a percentile may lie from that of its histogram, whose buckets are a thousandth wide.
const figureTolerance = 0.005

// checkFigures finds figures that do not follow from the histogram and the counts.
func (c *CellRecord) checkFigures(s analysis.Sample) []error {
	var problems []error
	differ := func(name string, have *float64, want float64) {
		if have != nil && math.Abs(*have-want) > figureTolerance*math.Abs(want)+1e-6 {
			problems = append(problems, fmt.Errorf("%s is %.6g, its figures lead to %.6g", name, *have, want))
		}
	}
	if s.Len() > 0 {
		differ("p50_ms", c.P50, s.Quantile(0.5))
		differ("p95_ms", c.P95, s.Quantile(0.95))
		differ("p99_ms", c.P99, s.Quantile(0.99))
	}
	if c.SpanS > 0 {
		differ("ops_per_s", c.OpsPerS, float64(c.N)/c.SpanS)
	}
	if busy := s.Sum() / 1000; math.Abs(c.BusyS-busy) > figureTolerance*busy+1e-6 {
		problems = append(problems, fmt.Errorf("busy_s is %.6g, it takes the sum of its histogram's durations, %.6g", c.BusyS, busy))
	}
	for _, err := range []error{
		checkInterval("p50_ci_ms", c.P50CI, "p50_ms", c.P50),
		checkInterval("p95_ci_ms", c.P95CI, "p95_ms", c.P95),
		checkInterval("p99_ci_ms", c.P99CI, "p99_ms", c.P99),
	} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if c.Decomposition != nil {
		for _, part := range c.Decomposition.Parts {
			if err := checkInterval("mean_ci_ms", part.MeanCI, "mean_ms", &part.MeanMS); err != nil {
				problems = append(problems, fmt.Errorf("part %s: %w", part.Part, err))
			}
		}
	}
	return problems
}
