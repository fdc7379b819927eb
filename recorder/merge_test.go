package recorder

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// segment is the record of one of several generators, with its share of the values.
func segment(t *testing.T, values []time.Duration, start time.Time) *Record {
	t.Helper()
	now := start
	rec := New(Config{Session: "one test", Now: func() time.Time { return now }})
	rec.SetSystem(System{Server: "0.8.0"})
	rec.SetScenario(Scenario{
		Name: "reads", Executor: "constant-arrival-rate", Started: ptr(int64(len(values))), Dropped: ptr(int64(1)),
	})
	cell := rec.Cell(CellKey{Scenario: "reads", Variant: "http", Transport: "http", Op: "query", Workers: 4})
	pair := rec.Pair(PairKey{Scenario: "reads", A: "cli", B: "http", Workers: 4})
	for i, v := range values {
		now = now.Add(10 * time.Millisecond)
		cell.Record(v, OK)
		cell.RecordParts(v, Parts{PartWait: v / 2})
		pair.Record(float64(5*v)/1e6, float64(v)/1e6, i%2 == 0, i%50 == 0)
	}
	cell.Record(time.Millisecond, Failed("timeout"))
	got, err := rec.Finish()
	require.NoError(t, err)
	return got
}

func latencies(n int) []time.Duration {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(5 * math.Exp(0.3*rng.NormFloat64()) * float64(time.Millisecond))
	}
	return out
}

func TestMergedGeneratorsGiveThePooledFigures(t *testing.T) {
	all := latencies(2000)
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	whole := segment(t, all, start)
	var parts []*Record
	for i := range 4 {
		var values []time.Duration
		for k := i; k < len(all); k += 4 {
			values = append(values, all[k])
		}
		parts = append(parts, segment(t, values, start.Add(time.Duration(i)*100*time.Millisecond)))
	}
	merged, err := Merge(parts...)
	require.NoError(t, err)

	require.Len(t, merged.Cells, 1)
	c, w := merged.Cells[0], whole.Cells[0]
	assert.Equal(t, w.N, c.N)
	assert.EqualValues(t, 4, c.Failed)
	assert.Equal(t, map[string]uint64{"timeout": 4}, c.Errors)
	assert.InDelta(t, *w.P50, *c.P50, 1e-9)
	assert.InDelta(t, *w.P95, *c.P95, 1e-9)
	assert.InDelta(t, *w.P99, *c.P99, 1e-9)
	assert.Equal(t, w.Histogram, c.Histogram)
	assert.InDelta(t, w.Decomposition.WallMS, c.Decomposition.WallMS, 1e-9)
	assert.InDelta(t, w.Decomposition.Parts[0].MeanMS, c.Decomposition.Parts[0].MeanMS, 1e-9)
	assert.Equal(t, whole.Verdict, merged.Verdict)
	assert.Equal(t, codesOf(whole.Reasons), codesOf(merged.Reasons))
	assert.InDelta(t, 5.3, c.SpanS, 0.05, "they ran at the same time, each 0.1 s later than the one before")
	assert.Len(t, merged.MergedFrom, 4)
	assert.Len(t, merged.Generators, 4)
	require.Len(t, merged.Pairs, 1)
	assert.InDelta(t, 0.8, *merged.Pairs[0].Share, 1e-3)
	assert.EqualValues(t, 2000, merged.Pairs[0].N+merged.Pairs[0].Failed)
	assert.EqualValues(t, 2000, *merged.Scenarios[0].Started)
	assert.EqualValues(t, 4, *merged.Scenarios[0].Dropped)
	assert.Empty(t, merged.Check())
}

func TestMergingInAnyGroupingIsTheSame(t *testing.T) {
	all := latencies(300)
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a, b, c := segment(t, all[:100], start), segment(t, all[100:200], start.Add(time.Minute)), segment(t, all[200:], start.Add(2*time.Minute))
	ab, err := Merge(a, b)
	require.NoError(t, err)
	left, err := Merge(ab, c)
	require.NoError(t, err)
	flat, err := Merge(c, a, b)
	require.NoError(t, err)
	assert.Equal(t, flat.Cells[0].Histogram, left.Cells[0].Histogram)
	assert.InDelta(t, flat.Cells[0].SpanS, left.Cells[0].SpanS, 1e-6)
	assert.InDelta(t, 3, flat.Cells[0].SpanS, 0.05, "repetitions' spans add up without the pauses between them")
	assert.Equal(t, flat.Pairs[0].MedianDiff, left.Pairs[0].MedianDiff)
	assert.Equal(t, flat.Verdict, left.Verdict)
	assert.Len(t, left.MergedFrom, 3)
}

func TestMergeRefusesOrMarksWhatDoesNotBelongTogether(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a, b := segment(t, latencies(50), start), segment(t, latencies(50), start)
	_, err := Merge()
	require.Error(t, err)
	_, err = Merge(a, a)
	require.ErrorContains(t, err, "given twice")
	only, err := Merge(a)
	require.NoError(t, err)
	assert.Same(t, a, only)

	b.System.Server = "0.9.0"
	mixed, err := Merge(a, b)
	require.NoError(t, err)
	assert.Equal(t, Invalid, mixed.Verdict)
	assert.Contains(t, codesOf(mixed.Reasons), "identity_mismatch")
	again, err := Merge(mixed, segment(t, latencies(50), start))
	require.NoError(t, err)
	assert.Contains(t, codesOf(again.Reasons), "identity_mismatch", "it stays with what is merged later")

	b.System.Server = "0.8.0"
	b.Machine.CPUModel = "another"
	apart, err := Merge(a, b)
	require.NoError(t, err)
	assert.NotContains(t, codesOf(apart.Reasons), "identity_mismatch", "generators may stand on different machines")

	b.Cells[0].Histogram = "broken"
	_, err = Merge(a, b)
	require.Error(t, err)
}

func TestAMergeTakesTheLargestNoiseFloor(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a, b := segment(t, latencies(50), start), segment(t, latencies(50), start.Add(time.Second))
	a.Limits.NoiseFloor, b.Limits.NoiseFloor = 0.02, 0.05
	merged, err := Merge(a, b)
	require.NoError(t, err)
	assert.InDelta(t, 0.05, merged.Limits.NoiseFloor, 1e-12)
}

func TestWhatSeveralGeneratorsHaveInCommonIsSaidOnce(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var parts []*Record
	for i, busy := range []float64{0.95, 0.99, 0.99, 0.5} {
		part := segment(t, latencies(50), start.Add(time.Duration(i)*time.Second))
		lag := 60 + 10*float64(i)
		part.Generator.MachineCPU, part.Generator.TickerLagP99 = &busy, &lag
		parts = append(parts, part)
	}
	merged, err := Merge(parts...)
	require.NoError(t, err)
	said := map[string]string{}
	for _, r := range merged.Reasons {
		said[r.Code] = r.Text
	}
	assert.Equal(t, "the machine's CPUs were 99 % busy (limit 90 %): ratios hold, absolute figures are pessimistic "+
		"(so in 3 of 4 generators; the worst stands here)", said["shared_machine"])
	assert.Contains(t, said["generator_lag"], "90 ms late")
	assert.Contains(t, said["generator_lag"], "4 of 4 generators")
	assert.Equal(t, 1, strings.Count(said["generator_lag"], "ticker"))
}

func TestOneGeneratorWithoutDroppedCountsLeavesTheSumUnknown(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a, b := segment(t, latencies(50), start), segment(t, latencies(50), start)
	b.Scenarios[0].Dropped, b.Scenarios[0].OnTimeShare = nil, nil
	merged, err := Merge(a, b)
	require.NoError(t, err)
	assert.Nil(t, merged.Scenarios[0].OnTimeShare)
	assert.Contains(t, codesOf(merged.Reasons), "schedule_unknown")
}
