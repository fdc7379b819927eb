package recorder

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge pools the records of several generators of one test, or of repetitions of one run, into one record with its
// own verdict. The inputs stay as they are. Records that differ in their identity, apart from the generators'
// machines, are merged all the same, and the result is invalid with the reason identity_mismatch.
func Merge(records ...*Record) (*Record, error) {
	switch len(records) {
	case 0:
		return nil, errors.New("merge: there is no record")
	case 1:
		return records[0], nil
	}
	sorted := slices.Clone(records)
	slices.SortStableFunc(sorted, func(a, b *Record) int {
		if c := a.Invocation.Start.Compare(b.Invocation.Start); c != 0 {
			return c
		}
		return strings.Compare(a.Invocation.ID, b.Invocation.ID)
	})
	if err := distinct(sorted); err != nil {
		return nil, err
	}
	first := sorted[0]
	out := &Record{
		Schema: Schema, Run: first.Run, System: first.System, Machine: first.Machine, Script: first.Script,
		Dataset: first.Dataset, Emulator: first.Emulator, Limits: first.Limits, Extra: mergedExtra(sorted),
		Cells: []CellRecord{}, Pairs: []PairRecord{},
	}
	m := merger{out: out, cells: map[CellKey]*mergedCell{}, pairs: map[PairKey]*PairRecord{}, scenarios: map[string]Scenario{}}
	for _, rec := range sorted {
		// The cautious floor: an effect has to be larger than the noise of the noisiest part.
		out.Limits.NoiseFloor = max(out.Limits.NoiseFloor, rec.Limits.NoiseFloor)
		if err := m.add(rec, rec.Invocation.Start.Sub(first.Invocation.Start)); err != nil {
			return nil, fmt.Errorf("merge record %s: %w", rec.Invocation.ID, err)
		}
		if diff := IdentityDiff(first, rec, identityMachine); len(diff) > 0 {
			out.Reasons = append(out.Reasons, Reason{
				Code: "identity_mismatch",
				Text: fmt.Sprintf("the merged records %s and %s differ in %s", first.Invocation.ID, rec.Invocation.ID, strings.Join(diff, ", ")),
			})
		}
	}
	if err := m.finish(); err != nil {
		return nil, err
	}
	if err := out.compute(); err != nil {
		return nil, err
	}
	return out, nil
}

// mergedExtra takes each script's own value from the first generator that has it: a scenario of one VU runs in one of
// the execution segments only.
func mergedExtra(records []*Record) map[string]any {
	var out map[string]any
	for _, rec := range records {
		for name, value := range rec.Extra {
			if out == nil {
				out = map[string]any{}
			}
			if _, there := out[name]; !there {
				out[name] = value
			}
		}
	}
	return out
}

// distinct refuses a record that is given twice: its operations would count twice.
func distinct(records []*Record) error {
	seen := map[string]bool{}
	for _, rec := range records {
		ids := []string{rec.Invocation.ID}
		for _, inv := range rec.MergedFrom {
			ids = append(ids, inv.ID)
		}
		for _, id := range ids {
			if seen[id] {
				return fmt.Errorf("merge: the run %s is given twice", id)
			}
			seen[id] = true
		}
	}
	return nil
}

type merger struct {
	out       *Record
	cells     map[CellKey]*mergedCell
	pairs     map[PairKey]*PairRecord
	scenarios map[string]Scenario
}

type mergedCell struct {
	CellRecord
	ok, attempts *hdrhistogram.Histogram
	spans        [][2]float64
}

func (m *merger) add(rec *Record, offset time.Duration) error {
	shift := offset.Seconds()
	out := m.out
	if len(rec.MergedFrom) > 0 {
		out.MergedFrom = append(out.MergedFrom, rec.MergedFrom...)
	} else {
		out.MergedFrom = append(out.MergedFrom, rec.Invocation)
	}
	if len(rec.Generators) > 0 {
		out.Generators = append(out.Generators, rec.Generators...)
	} else {
		out.Generators = append(out.Generators, rec.Generator)
	}
	if out.StateBefore == nil {
		out.StateBefore = rec.StateBefore
	}
	if rec.StateAfter != nil {
		out.StateAfter = rec.StateAfter
	}
	for _, e := range rec.Events {
		e.AtS += shift
		out.Events = append(out.Events, e)
	}
	for _, r := range rec.Reasons {
		if r.Code == "identity_mismatch" {
			out.Reasons = append(out.Reasons, r)
		}
	}
	for _, s := range rec.Scenarios {
		m.addScenario(s)
	}
	for i := range rec.Cells {
		if err := m.addCell(rec.Cells[i], shift); err != nil {
			return err
		}
	}
	for i := range rec.Pairs {
		m.addPair(rec.Pairs[i], shift)
	}
	return nil
}

func (m *merger) addScenario(s Scenario) {
	have, ok := m.scenarios[s.Name]
	if ok {
		s.Started, s.Dropped = addKnown(have.Started, s.Started), addKnown(have.Dropped, s.Dropped)
		s.OnTimeShare = onTimeShare(s.Started, s.Dropped)
		s.Probe = s.Probe && have.Probe
	}
	m.scenarios[s.Name] = s
}

// addKnown is nil if one side is: half a count would be a wrong count.
func addKnown(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

func (m *merger) addCell(c CellRecord, shift float64) error {
	have := m.cells[c.Key()]
	if have == nil {
		have = &mergedCell{ok: newHDR(), attempts: newHDR()}
		have.CellRecord = CellRecord{
			Scenario: c.Scenario, Variant: c.Variant, Transport: c.Transport, Op: c.Op, Query: c.Query,
			Workers: c.Workers, Rate: c.Rate, Phase: c.Phase, Errors: map[string]uint64{},
		}
		m.cells[c.Key()] = have
	}
	if err := mergeEncoded(have.ok, c.Histogram); err != nil {
		return err
	}
	if err := mergeEncoded(have.attempts, c.AttemptHistogram); err != nil {
		return err
	}
	if c.N+c.Failed+c.Canceled > 0 {
		have.spans = append(have.spans, [2]float64{c.StartS + shift, c.StartS + shift + c.SpanS})
	}
	have.Decomposition = mergeDecompositions(have.Decomposition, c.Decomposition)
	have.N += c.N
	have.Failed += c.Failed
	have.Canceled += c.Canceled
	have.BusyS += c.BusyS
	have.Attempts += c.Attempts
	have.Retries += c.Retries
	have.Rows += c.Rows
	have.Nodes += c.Nodes
	have.Edges += c.Edges
	have.Over += c.Over
	for kind, n := range c.Errors {
		have.Errors[kind] += n
		for _, message := range c.Messages[kind] {
			have.Messages = addMessage(have.Messages, kind, message)
		}
	}
	for _, rows := range c.Raw {
		rows.AtS = shifted(rows.AtS, shift)
		have.Raw = append(have.Raw, rows)
	}
	return nil
}

func shifted(at []float64, by float64) []float64 {
	out := make([]float64, len(at))
	for i, v := range at {
		out[i] = round(v+by, 1e3)
	}
	return out
}

func mergeEncoded(into *hdrhistogram.Histogram, encoded string) error {
	if encoded == "" {
		return nil
	}
	h, err := decodeHistogram(encoded)
	if err != nil {
		return err
	}
	into.Merge(h)
	return nil
}

func (m *merger) addPair(p PairRecord, shift float64) {
	have := m.pairs[p.Key()]
	if have == nil {
		have = &PairRecord{Scenario: p.Scenario, Op: p.Op, Query: p.Query, Workers: p.Workers, Phase: p.Phase, A: p.A, B: p.B}
		m.pairs[p.Key()] = have
	}
	have.N += p.N
	have.Failed += p.Failed
	for _, rows := range p.Raw {
		rows.AtS = shifted(rows.AtS, shift)
		have.Raw = append(have.Raw, rows)
	}
}

// mergeDecompositions pools means by their counts; the intervals pool as those of a stratified mean.
func mergeDecompositions(a, b *Decomposition) *Decomposition {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	n := a.N + b.N
	wa, wb := float64(a.N)/float64(n), float64(b.N)/float64(n)
	out := &Decomposition{N: n, WallMS: wa*a.WallMS + wb*b.WallMS}
	other := map[string]PartRecord{}
	for _, p := range b.Parts {
		other[p.Part] = p
	}
	names := []string{}
	mine := map[string]PartRecord{}
	for _, p := range a.Parts {
		mine[p.Part] = p
	}
	for i := range partCount {
		names = append(names, i.String())
	}
	names = append(names, PartResidual)
	for _, name := range names {
		pa, okA := mine[name]
		pb, okB := other[name]
		if !okA && !okB {
			continue
		}
		p := PartRecord{Part: name, MeanMS: wa*pa.MeanMS + wb*pb.MeanMS}
		if out.WallMS > 0 {
			p.Share = notNaN(p.MeanMS / out.WallMS)
		}
		if (pa.MeanCI != nil || !okA) && (pb.MeanCI != nil || !okB) {
			half := math.Hypot(wa*halfWidth(pa.MeanCI), wb*halfWidth(pb.MeanCI))
			p.MeanCI = &Interval{p.MeanMS - half, p.MeanMS + half}
		}
		out.Parts = append(out.Parts, p)
	}
	return out
}

func halfWidth(ci *Interval) float64 {
	if ci == nil {
		return 0
	}
	return (ci[1] - ci[0]) / 2
}

func (m *merger) finish() error {
	out := m.out
	for _, c := range m.cells {
		var err error
		if c.Histogram, err = encode(c.ok); err != nil {
			return err
		}
		if c.AttemptHistogram, err = encode(c.attempts); err != nil {
			return err
		}
		c.StartS, c.SpanS = unionOf(c.spans)
		out.Cells = append(out.Cells, c.CellRecord)
	}
	for _, p := range m.pairs {
		out.Pairs = append(out.Pairs, *p)
	}
	out.Scenarios = slices.Collect(maps.Values(m.scenarios))
	out.Generator = worst(out.Generators)
	out.Invocation = mergedInvocation(out.MergedFrom)
	return nil
}

// unionOf gives the start and the total length of a set of time spans: generators that ran at the same time share
// their span, repetitions one after the other add up.
func unionOf(spans [][2]float64) (start, length float64) {
	if len(spans) == 0 {
		return 0, 0
	}
	slices.SortFunc(spans, func(a, b [2]float64) int {
		switch {
		case a[0] < b[0]:
			return -1
		case a[0] > b[0]:
			return 1
		}
		return 0
	})
	end := spans[0][0]
	for _, s := range spans {
		if s[1] <= end {
			continue
		}
		length += s[1] - max(s[0], end)
		end = s[1]
	}
	return spans[0][0], length
}

func mergedInvocation(all []Invocation) Invocation {
	out := all[0]
	ids := make([]string, len(all))
	var ended []string
	for i, inv := range all {
		ids[i] = inv.ID
		if inv.Start.Before(out.Start) {
			out.Start = inv.Start
		}
		if inv.End.After(out.End) {
			out.End = inv.End
		}
		out.Partial = out.Partial || inv.Partial
		if inv.EndedBy != "" && !slices.Contains(ended, inv.EndedBy) {
			ended = append(ended, inv.EndedBy)
		}
	}
	out.ID = strings.Join(ids, "+")
	out.Segment = ""
	out.EndedBy = strings.Join(ended, ", ")
	out.DurationS = out.End.Sub(out.Start).Seconds()
	return out
}

// worst takes the worst of each figure over several generators; counts add up.
func worst(all []Generator) Generator {
	out := all[0]
	out.Queues = maps.Clone(out.Queues)
	if out.Queues == nil {
		out.Queues = map[string]Queue{}
	}
	for _, g := range all[1:] {
		out.Ticks += g.Ticks
		out.TickerLagP99 = larger(out.TickerLagP99, g.TickerLagP99)
		out.GCShare = larger(out.GCShare, g.GCShare)
		out.MachineCPU = larger(out.MachineCPU, g.MachineCPU)
		out.MachineCPUP95 = larger(out.MachineCPUP95, g.MachineCPUP95)
		out.OwnCPU = larger(out.OwnCPU, g.OwnCPU)
		out.PeakRSSBytes = max(out.PeakRSSBytes, g.PeakRSSBytes)
		if g.PeakFDs > out.PeakFDs {
			out.PeakFDs, out.FDLimit = g.PeakFDs, g.FDLimit
		}
		out.FDExhausted = out.FDExhausted || g.FDExhausted
		out.MaxProcessesSet = out.MaxProcessesSet && g.MaxProcessesSet
		for name, q := range g.Queues {
			have := out.Queues[name]
			have.N += q.N
			have.SumS += q.SumS
			have.P50MS, have.P99MS = larger(have.P50MS, q.P50MS), larger(have.P99MS, q.P99MS)
			out.Queues[name] = have
		}
	}
	return out
}

func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
