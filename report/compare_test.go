package report

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// runOf is a record of cells with log-normal latencies around the medians, in milliseconds.
func runOf(t testing.TB, seed uint64, medians map[string]float64) *recorder.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	r := recorder.New(recorder.Config{})
	r.SetSystem(recorder.System{Server: "0.8.0"})
	for _, name := range slices.Sorted(maps.Keys(medians)) {
		median := medians[name]
		c := r.Cell(recorder.CellKey{Scenario: "s", Variant: "http", Transport: "http", Op: "query", Query: name})
		for range 200 {
			c.Record(logNormal(rng, median, 0.2), recorder.OK)
		}
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	return rec
}

var asRecorded = CompareOptions{Floor: -1, Margin: -1}

func TestCompareFindsWhatChanged(t *testing.T) {
	a := runOf(t, 1, map[string]float64{"same": 10, "worse": 10, "better": 10, "gone": 5})
	b := runOf(t, 2, map[string]float64{"same": 10, "worse": 15, "better": 5, "new": 5})
	c, err := Compare(a, b, asRecorded)
	require.NoError(t, err)
	got := map[string]string{}
	for _, cell := range c.Cells {
		got[cell.Cell] = cell.Verdict
	}
	assert.Equal(t, map[string]string{
		"http query same (s)": CellNoEffect, "http query worse (s)": CellSlower, "http query better (s)": CellFaster,
	}, got)
	assert.Equal(t, []string{"http query gone (s)"}, c.OnlyA)
	assert.Equal(t, []string{"http query new (s)"}, c.OnlyB)
	assert.Equal(t, recorder.Valid, c.Verdict)
	out := inTerminal(t, c.Document())
	assert.Contains(t, out, "B is slower in 1 and faster in 1 of 3 cells.")
	assert.Contains(t, out, "No A/A noise floor is recorded")
	assert.Contains(t, out, "Only in A: http query gone (s).")
	for form, text := range forms(t, c.Document()) {
		assert.NotContains(t, text, "NaN", form)
	}
}

func TestARecordAgainstItselfSaysNothing(t *testing.T) {
	a := spikeRecord(t)
	c, err := Compare(a, a, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, len(c.Cells), c.Count(CellNoEffect))
	assert.NotEmpty(t, c.Cells)
	assert.Contains(t, c.Document().Meaning, "No detected effect in any of")
}

func TestCompareSaysHowManySamplesWouldTell(t *testing.T) {
	c := &Comparison{Floor: 0.01, Margin: 0.03}
	wide := &ComparedCell{NA: 200, NB: 250, ChangeCI: &analysis.Interval{-0.1, 0.1}}
	// Half the width is 2.5 thresholds: 200 x 6.25.
	assert.Equal(t, "at this spread a change of 4.0 % takes about 1,300 samples a side to show", c.wouldTell(wide))
	assert.Empty(t, c.wouldTell(&ComparedCell{NA: 200, NB: 250, ChangeCI: &analysis.Interval{-0.03, 0.03}}))
	assert.Empty(t, c.wouldTell(&ComparedCell{NA: 5, NB: 5}))
}

func TestEffectsBelowTheFloorAreNone(t *testing.T) {
	a := runOf(t, 1, map[string]float64{"x": 10})
	b := runOf(t, 2, map[string]float64{"x": 12})
	c, err := Compare(a, b, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, CellSlower, c.Cells[0].Verdict)
	b.Limits.NoiseFloor = 0.4
	c, err = Compare(a, b, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, CellNoEffect, c.Cells[0].Verdict)
	c, err = Compare(a, b, CompareOptions{Floor: 0, Margin: 0.01})
	require.NoError(t, err)
	assert.Equal(t, CellSlower, c.Cells[0].Verdict)
}

func TestAnotherIdentityIsNeverComparedSilently(t *testing.T) {
	a, b := runOf(t, 1, map[string]float64{"x": 10}), runOf(t, 2, map[string]float64{"x": 20})
	b.System.Server = "0.9.0"
	c, err := Compare(a, b, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, recorder.Invalid, c.Verdict)
	assert.Equal(t, "identity_mismatch", c.Reasons[0].Code)
	assert.Contains(t, c.Reasons[0].Text, "server (0.8.0 against 0.9.0)")
	assert.Equal(t, CellNotJudged, c.Cells[0].Verdict)
	assert.Contains(t, inTerminal(t, c.Document()), "A: 0.8.0; B: 0.9.0")

	opts := asRecorded
	opts.Varies = []string{"server"}
	c, err = Compare(a, b, opts)
	require.NoError(t, err)
	assert.Equal(t, recorder.Valid, c.Verdict)
	assert.Equal(t, CellSlower, c.Cells[0].Verdict)

	opts.Varies = []string{"weather"}
	_, err = Compare(a, b, opts)
	assert.ErrorContains(t, err, `no identity field "weather"`)
}

func TestCompareTakesOverTheRunsOwnVerdicts(t *testing.T) {
	a, b := runOf(t, 1, map[string]float64{"x": 10}), runOf(t, 2, map[string]float64{"x": 10})
	b.Generator.MachineCPU = ptr(0.99)
	b.Verdict, b.Reasons = recorder.Judge(b)
	c, err := Compare(a, b, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, recorder.Directional, c.Verdict)
	assert.Equal(t, CellNoEffect, c.Cells[0].Verdict, "ratios stay valid")
	a.Invocation.Partial = true
	a.Verdict, a.Reasons = recorder.Judge(a)
	c, err = Compare(a, b, asRecorded)
	require.NoError(t, err)
	assert.Equal(t, recorder.Invalid, c.Verdict)
}

func TestCompareOfDegenerateRecords(t *testing.T) {
	empty := runOf(t, 1, nil)
	few := recorder.New(recorder.Config{})
	few.SetSystem(recorder.System{Server: "0.8.0"})
	few.Cell(recorder.CellKey{Scenario: "s", Variant: "http", Transport: "http", Op: "query", Query: "x"}).Record(time.Millisecond, recorder.OK)
	one, err := few.Finish()
	require.NoError(t, err)
	for name, pair := range map[string][2]*recorder.Record{
		"empty and empty": {empty, empty}, "empty and one": {empty, one}, "one and many": {one, runOf(t, 1, map[string]float64{"x": 10})},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Compare(pair[0], pair[1], asRecorded)
			require.NoError(t, err)
			for _, out := range forms(t, c.Document()) {
				assert.NotContains(t, out, "NaN")
			}
			assert.Zero(t, c.Count(CellSlower)+c.Count(CellFaster))
		})
	}
}

// capacityRecord holds a capacity run whose knee lies at 70 reads/s for a p95 of 100 ms, and writes.
func capacityRecord(t *testing.T) *recorder.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	r := recorder.New(recorder.Config{})
	var steps []map[string]any
	for _, rate := range []float64{30, 50, 60, 65, 70, 75, 80, 110} {
		var p95 []any
		for range 5 {
			if rate >= 100 {
				p95 = append(p95, nil)
				continue
			}
			p95 = append(p95, 3000/(100-rate)*math.Exp(0.05*rng.NormFloat64()))
		}
		by := ""
		if rate > 100 {
			by = "generator"
		}
		steps = append(steps, map[string]any{"rate": rate, "p95_ms": p95, "limited_by": by})
	}
	r.SetExtra(extraCapacity, map[string]any{"query": "point", "slo_p95_ms": 100, "steps": steps})
	var commits, latency []float64
	for i := range 200 {
		commits = append(commits, float64(i))
		latency = append(latency, (8+0.2*float64(i))*math.Exp(0.1*rng.NormFloat64()))
	}
	r.SetExtra("aging", map[string]any{"commits": commits, "ms": latency})
	read := r.Cell(recorder.CellKey{Scenario: "s", Variant: "http", Transport: "http", Op: "query", Query: "point", Workers: 1})
	for range 200 {
		read.Record(logNormal(rng, 20, 0.2), recorder.OK)
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	rec.Cells = append(rec.Cells, writeCells()...)
	return rec
}

func writeCells() []recorder.CellRecord {
	var out []recorder.CellRecord
	for i, workers := range []int{1, 4, 8} {
		out = append(out, recorder.CellRecord{
			Scenario: "writes", Variant: "http", Transport: "http", Op: "mutate", Query: "insert", Workers: ptr(workers),
			N: 40, Nodes: 40, SpanS: []float64{5, 12, 16}[i], OpsPerS: ptr([]float64{7.9, 3.4, 2.5}[i]), P50: ptr(50.0), P95: ptr(90.0),
		})
	}
	return append(out, recorder.CellRecord{
		Scenario: "batch", Variant: "http", Transport: "http", Op: "load", Query: "b64", N: 40, Nodes: 2560, SpanS: 8, OpsPerS: ptr(5.0),
	})
}

func TestPlanSaysHowMuchAndWhatLimitsIt(t *testing.T) {
	p, err := MakePlan([]*recorder.Record{capacityRecord(t)}, PlanOptions{Rate: 200, SLOP95MS: 100, WriteRows: 100})
	require.NoError(t, err)
	items := map[string]PlanItem{}
	for _, item := range p.Items {
		items[item.Name] = item
	}
	servers := items["server instances"]
	assert.InDelta(t, 3, *servers.Value, 0, "200/s over a knee near 70/s")
	require.NotNil(t, servers.CI)
	assert.True(t, servers.CI.Contains(3))
	assert.Equal(t, "the server's knee", servers.LimitedBy)
	vus := items["VUs of the load test"]
	assert.InDelta(t, 5, *vus.Value, 1, "200/s of 20 ms")
	assert.InDelta(t, 64, *items["rows per commit"].Value, 0, "the smallest batch that writes 100 rows/s")
	assert.InDelta(t, 1, *items["writers"].Value, 0, "one writer is the fastest level")
	every := items["optimize at least every"]
	require.NotNil(t, every.CI)
	// (100 / 1.17 - 8) / 0.2 = 387 commits, at 100/64 a second.
	assert.InEpsilon(t, 247, *every.Value, 0.1)
	out := inTerminal(t, p.Document())
	for name := range items {
		assert.Contains(t, out, name)
	}
}

func TestPlanSaysWhatWouldTell(t *testing.T) {
	rec := runOf(t, 1, map[string]float64{"x": 10})
	rec.Cells = rec.Cells[:0]
	p, err := MakePlan([]*recorder.Record{rec}, PlanOptions{Rate: 10, SLOP95MS: 100, WriteRows: 5})
	require.NoError(t, err)
	for _, item := range p.Items {
		assert.Nil(t, item.Value, item.Name)
		assert.Contains(t, item.Basis, "not known", item.Name)
	}
	assert.Contains(t, inTerminal(t, p.Document()), "scripts/capacity.js")
}

func TestPlanRefusesQuestionsWithoutAnAnswer(t *testing.T) {
	rec := runOf(t, 1, map[string]float64{"x": 10})
	for name, opts := range map[string]PlanOptions{
		"no rate":      {SLOP95MS: 100},
		"no objective": {Rate: 10},
		"NaN":          {Rate: math.NaN(), SLOP95MS: 100},
		"writes":       {Rate: 10, SLOP95MS: 100, WriteRows: -1},
		"endless":      {Rate: math.Inf(1), SLOP95MS: 100},
	} {
		_, err := MakePlan([]*recorder.Record{rec}, opts)
		assert.Error(t, err, name)
	}
	_, err := MakePlan(nil, PlanOptions{Rate: 1, SLOP95MS: 1})
	require.Error(t, err)
}

func TestAPlanOverRunsOfDifferentServersIsInvalid(t *testing.T) {
	a, b := runOf(t, 1, map[string]float64{"x": 10}), runOf(t, 2, map[string]float64{"x": 10})
	b.System.Server = "0.9.0"
	p, err := MakePlan([]*recorder.Record{a, b}, PlanOptions{Rate: 1, SLOP95MS: 100})
	require.NoError(t, err)
	assert.Equal(t, recorder.Invalid, p.Verdict)
}

func TestCapacityTellsKneePolicyAndGeneratorApart(t *testing.T) {
	step := func(rate, p95 float64, by string) capacityStep {
		return capacityStep{Rate: rate, P95MS: []*float64{ptr(p95), ptr(p95), ptr(p95)}, LimitedBy: by}
	}
	tests := map[string]struct {
		steps []capacityStep
		want  string
	}{
		"knee":      {[]capacityStep{step(10, 5, ""), step(20, 500, "")}, "point keeps a p95 of 100 ms up to"},
		"policy":    {[]capacityStep{step(10, 5, ""), step(12, 6, "policy"), step(20, 500, "policy")}, "capped by policy at about 12/s"},
		"generator": {[]capacityStep{step(10, 5, ""), step(20, 500, "generator")}, "the generator could not keep up"},
		"beyond":    {[]capacityStep{step(10, 5, ""), step(20, 6, "")}, "still keeps"},
		"below":     {[]capacityStep{step(10, 500, "")}, "even at the lowest rate"},
		"nothing":   {nil, "no step that can be judged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, f := capacityData{Query: "point", SLOP95MS: 100, Steps: tt.steps}.section()
			assert.Contains(t, f.Text, tt.want)
			assert.Len(t, s.Tables[0].Rows, len(tt.steps))
		})
	}
}
