package report

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// clocked is a recorder whose clock stands still unless it is moved.
func clocked() (*recorder.Recorder, func(time.Duration)) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return recorder.New(recorder.Config{Now: func() time.Time { return now }}), func(d time.Duration) { now = now.Add(d) }
}

// writersRecord is a closed model in which n inserts by each number of writers take the given time.
func writersRecord(t *testing.T, n int, took map[int]time.Duration) *recorder.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	r, move := clocked()
	for _, workers := range []int{1, 8} {
		c := r.Cell(recorder.CellKey{Scenario: "w", Transport: "http", Op: "mutate", Query: "insert", Workers: workers})
		for range n {
			d := time.Duration(float64(took[workers]) * (0.9 + 0.2*rng.Float64()))
			move(d / time.Duration(workers))
			c.Record(d, recorder.OK)
		}
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	return rec
}

func TestWhatMoreWritersBringIsSaidWithItsInterval(t *testing.T) {
	tests := map[string]struct {
		n    int
		took map[int]time.Duration
		want string
	}{
		"slower":      {40, map[int]time.Duration{1: 100 * time.Millisecond, 8: 2 * time.Second}, "slows the system down"},
		"hardly more": {40, map[int]time.Duration{1: 100 * time.Millisecond, 8: 700 * time.Millisecond}, "hardly bring more"},
		"more":        {40, map[int]time.Duration{1: 100 * time.Millisecond, 8: 120 * time.Millisecond}, "operations/s with 1 worker"},
		"too few":     {10, map[int]time.Duration{1: 100 * time.Millisecond, 8: 2 * time.Second}, "too few samples for an interval"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Build(writersRecord(t, tt.n, tt.took))
			require.Len(t, d.Findings, 1)
			assert.Contains(t, d.Findings[0].Text, tt.want)
			if name != "too few" {
				assert.Regexp(t, `: \d[\d.]* \[[\d.]+, [\d.]+\] operations/s with 1 worker`, d.Findings[0].Text)
			}
		})
	}
}

func TestARateThatPausesSetHasNoInterval(t *testing.T) {
	now := time.Unix(0, 0)
	rec := withExtraAt(t, func() time.Time { return now }, nil, func(rec *recorder.Recorder) {
		c := rec.Cell(recorder.CellKey{Scenario: "watch", Transport: "http", Op: "query", Query: "watched", Workers: 1, Phase: "measure"})
		for range 40 {
			now = now.Add(time.Second)
			c.Record(5*time.Millisecond, recorder.OK)
		}
	})
	assert.NotContains(t, said(Build(rec)), "too few")
	text := inTerminal(t, Build(rec))
	assert.Contains(t, text, "Operations/s at 1 worker are the script's own: its workers paused for 99.5 % of the time.")
	for _, g := range groupsOf(rec) {
		if g.query == "watched" {
			e := g.throughput(g.levels[0], g.cells[g.levels[0]][0])
			assert.NotNil(t, e.Value)
			assert.Nil(t, e.CI)
		}
	}
}

func TestARateHasAnIntervalOnlyWhereDurationsMakeIt(t *testing.T) {
	const took = 5 * time.Millisecond
	tests := map[string]struct {
		executor string
		workers  int
		clients  string
		every    time.Duration // an operation ends
		failed   bool
		note     string
	}{
		"workers that pause":             {"constant-vus", 2, "", 50 * time.Millisecond, false, "at 2 workers are the script's own: its workers paused for 94.9 %"},
		"nobody says how many pause":     {"constant-vus", 0, "", 50 * time.Millisecond, false, "are the script's own: for at least 89.7 %"},
		"the run says how many pause":    {"constant-vus", 0, "4", 4 * time.Millisecond, false, "its workers paused for 6"},
		"an open model":                  {"constant-arrival-rate", 0, "", 4 * time.Millisecond, false, "the schedule's: the scenario is in the open model"},
		"failures that fill the time":    {"constant-vus", 1, "", 400 * time.Millisecond, true, "paused, or waited for operations that failed, for 9"},
		"workers that are busy":          {"constant-vus", 2, "", 3 * time.Millisecond, false, ""},
		"busy, and nobody says how many": {"constant-vus", 0, "", 5 * time.Millisecond, false, ""},
		"busy, as the run says":          {"constant-vus", 0, "2", 3 * time.Millisecond, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, move := clocked()
			require.NoError(t, r.SetRun(recorder.Run{Workload: map[string]string{"clients": tt.clients}}))
			r.SetScenario(recorder.Scenario{Name: "s", Executor: tt.executor, Dropped: new(int64)})
			c := r.Cell(recorder.CellKey{Scenario: "s", Transport: "http", Op: "query", Query: "q", Workers: tt.workers})
			for i := range 40 {
				move(tt.every)
				c.Record(took+time.Duration(i)*time.Microsecond, recorder.OK)
				if tt.failed && i == 20 {
					c.Record(took, recorder.Failed("timeout"))
				}
			}
			rec, err := r.Finish()
			require.NoError(t, err)
			g := groupsOf(rec)[0]
			e := g.throughput(g.levels[0], &rec.Cells[0])
			require.NotNil(t, e.Value)
			text := inTerminal(t, Build(rec))
			if tt.note == "" {
				assert.NotNil(t, e.CI)
				assert.NotContains(t, text, "Operations/s")
				return
			}
			assert.Nil(t, e.CI)
			assert.Contains(t, e.Note, tt.note)
			assert.Contains(t, text, e.Note)
		})
	}
}

func TestThroughputIntervalHoldsTheTruth(t *testing.T) {
	// One worker whose operations take 100 ms on average does 10 a second.
	held := 0
	const runs = 200
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r, move := clocked()
		c := r.Cell(recorder.CellKey{Scenario: "w", Transport: "http", Op: "mutate", Query: "insert", Workers: 1})
		for range 40 {
			d := time.Duration((50 + 100*rng.Float64()) * float64(time.Millisecond))
			move(d)
			c.Record(d, recorder.OK)
		}
		rec, err := r.Finish()
		require.NoError(t, err)
		g := groupsOf(rec)[0]
		if g.throughput(g.levels[0], &rec.Cells[0]).CI.Contains(10) {
			held++
		}
	}
	assert.GreaterOrEqual(t, held, runs*90/100)
}

func TestComparisonsAreSaidAsFarAsTheyHold(t *testing.T) {
	tests := map[string]struct {
		n          int
		a, b       float64
		text, next string
	}{
		"an effect":  {40, 25, 5, "saves, as a share of p50, 80.0 %", "pooled HTTP client"},
		"none":       {40, 5, 5, "no detected effect between CLI and HTTP", ""},
		"the margin": {40, 5.1, 5, "no detected effect between CLI and HTTP", ""},
		"the other":  {40, 5, 10, "-100.0 %", ""},
		"too few":    {10, 25, 5, "too few pairs for an interval", "at least 20 pairs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := recorder.New(recorder.Config{})
			for _, v := range []string{"cli", "http"} {
				c := r.Cell(recorder.CellKey{Scenario: "s", Variant: v, Transport: v, Op: "query", Query: "q"})
				for range 40 {
					c.Record(time.Millisecond, recorder.OK)
				}
			}
			p := r.Pair(recorder.PairKey{Scenario: "s", Op: "query", Query: "q", A: "cli", B: "http"})
			for i := range tt.n {
				p.Record(tt.a, tt.b, i%2 == 0, false)
			}
			rec, err := r.Finish()
			require.NoError(t, err)
			d := Build(rec)
			require.Len(t, d.Findings, 1)
			assert.Contains(t, d.Findings[0].Text, tt.text)
			assert.Contains(t, d.Findings[0].Next, tt.next)
			assert.Equal(t, tt.next == "", d.Findings[0].Next == "")
		})
	}
}

func TestFragmentationFindings(t *testing.T) {
	tests := map[string]struct {
		before, after float64
		n             int
		text, next    string
	}{
		"slower before": {160, 8, 40, "] times faster", "really runs"},
		"no difference": {8, 8, 40, "No detected effect of optimize", ""},
		"slower after":  {8, 16, 40, "the optimized store was the slower one", "what else changed"},
		"too few":       {160, 8, 10, "too few samples", "at least 20 reads"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			r := recorder.New(recorder.Config{})
			for _, state := range []struct {
				scenario string
				median   float64
			}{{"fragmented_read_1", tt.before}, {"optimized_read_1", tt.after}} {
				c := r.Cell(recorder.CellKey{Scenario: state.scenario, Transport: "http", Op: "query", Query: "q", Workers: 1})
				for range tt.n {
					c.Record(logNormal(rng, state.median, 0.1), recorder.OK)
				}
			}
			rec, err := r.Finish()
			require.NoError(t, err)
			d := Build(rec)
			require.Len(t, d.Findings, 1)
			assert.Contains(t, d.Findings[0].Text, tt.text)
			assert.Contains(t, d.Findings[0].Next, tt.next)
			assert.Equal(t, 1, strings.Count(inTerminal(t, d), "Fragments\n"))
		})
	}
}

func TestVariantsOfDifferentOperationsHaveAName(t *testing.T) {
	r, move := clocked()
	pair := r.Pair(recorder.PairKey{Scenario: "c", A: "cli", B: "sh"})
	cli := r.Cell(recorder.CellKey{Scenario: "c", Variant: "cli", Transport: "cli", Op: "query", Query: "q"})
	sh := r.Cell(recorder.CellKey{Scenario: "c", Variant: "sh", Transport: "http", Op: "health"})
	for i := range 30 {
		a, b := 20*time.Millisecond+time.Duration(i)*time.Microsecond, 2*time.Millisecond
		move(a + b)
		cli.Record(a, recorder.OK)
		sh.Record(b, recorder.OK)
		pair.Record(a.Seconds()*1e3, b.Seconds()*1e3, i%2 == 0, false)
	}
	for range 3 {
		pair.Record(0, 0, true, true)
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	d := Build(rec)
	assert.Contains(t, said(d), "different operations (c): sh instead of CLI saves")
	text := inTerminal(t, d)
	assert.Contains(t, text, "\ndifferent operations (c)\n")
	assert.Contains(t, text, "different operations, cli against sh (c): 3 of 33 pairs had a failed side")
	assert.NotRegexp(t, `(?m)^\s*(\d+\. )?\(c\)`, text)
	assert.NotContains(t, said(d), "pooled HTTP client", "what differs is more than the transport")
}
