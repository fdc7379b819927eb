package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

const (
	rowsItem    = "rows per commit"
	rateItem    = "commits per second"
	writersItem = "writers"
	everyItem   = "optimize at least every"
	shareItem   = "share of the time that optimizes take"
)

// planned is a plan's items by name, for so many rows a second.
func planned(t *testing.T, rows float64, records ...*recorder.Record) map[string]PlanItem {
	t.Helper()
	p, err := MakePlan(records, PlanOptions{Rate: 10, SLOP95MS: 44, WriteRows: rows})
	require.NoError(t, err)
	items := map[string]PlanItem{}
	for _, item := range p.Items {
		items[item.Name] = item
	}
	for form, text := range forms(t, p.Document()) {
		assert.NotContains(t, text, "NaN", form)
		assert.NotContains(t, text, "Inf", form)
	}
	return items
}

// agingRecord is a fragmentation run: reads of 4 ms and 0.4 ms more for each commit; inserts of 10 ms and so much more
// for each; an optimize that takes so long after 100 commits.
func agingRecord(t *testing.T, optimizeMS, insertSlope float64) *recorder.Record {
	t.Helper()
	commits := func(i int) float64 { return float64(i / 5) }
	insert := func(i int) float64 { return 10 + insertSlope*float64(i) + 0.01*float64(i%3) }
	return withExtra(t, map[string]string{
		"aging": fmt.Sprintf(`{"commits":%s,"ms":%s,"insertCommits":%s,"insertMS":%s,"goal":{"sloP95":44,"writesPerHour":50}}`,
			listed(500, commits), listed(500, func(i int) float64 { return 4 + 0.4*commits(i) + 0.01*float64(i%3) }),
			listed(100, func(i int) float64 { return float64(i) }), listed(100, insert)),
		"aging_optimize": fmt.Sprintf(`{"ms":%g,"commits":100}`, optimizeMS),
	}, nil)
}

// batchRecord is a batch-writes run of one mutation of 1, 8 and 64 rows, each commit of 40 ms.
func batchRecord(t *testing.T) *recorder.Record {
	t.Helper()
	extras := map[string]string{}
	for _, rows := range []int{1, 8, 64} {
		extras[fmt.Sprintf("batch:mutate_%d", rows)] = fmt.Sprintf(`{"form":"mutate","rows":%d,"ms":%s}`, rows, listed(30, func(int) float64 { return 40 }))
	}
	return withExtra(t, extras, nil)
}

// contendedRecord is a writers run whose best level, 2 writers, comes to 12.5 commits a second: every commit waits for the
// other's.
func contendedRecord(t *testing.T) *recorder.Record {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	return withExtraAt(t, func() time.Time { return now }, nil, func(rec *recorder.Recorder) {
		for _, level := range []struct {
			workers int
			took    time.Duration
		}{{1, 100 * time.Millisecond}, {2, 160 * time.Millisecond}, {4, 400 * time.Millisecond}} {
			c := rec.Cell(recorder.CellKey{
				Scenario: fmt.Sprintf("distinct_r1_%d", level.workers), Transport: "http", Op: "mutate", Query: "add_memory",
				Workers: level.workers, Phase: "measure",
			})
			for range 40 {
				now = now.Add(level.took)
				for range level.workers {
					c.Record(level.took, recorder.OK)
					c.AddAffected(1, 0)
				}
			}
		}
	})
}

func TestAPlanWeighsWhatCompactingTheFragmentsTakes(t *testing.T) {
	t.Run("a quick optimize lets single rows be", func(t *testing.T) {
		// 100 commits may pass, 20 a second are made: every 5 s, of which 0.1 s are 2 %.
		items := planned(t, 20, batchRecord(t), agingRecord(t, 100, 0))
		assert.InDelta(t, 1, *items[rowsItem].Value, 0)
		assert.InEpsilon(t, 0.02, *items[shareItem].Value, 0.02)
	})
	t.Run("a slow one asks for more rows in a commit", func(t *testing.T) {
		// 3 s are 60 % of 5 s, and 7.5 % of the 40 s that commits of 8 rows allow.
		items := planned(t, 20, batchRecord(t), agingRecord(t, 3000, 0))
		assert.InDelta(t, 8, *items[rowsItem].Value, 0)
		assert.Contains(t, items[rowsItem].Basis, "1 row a commit would write enough by itself, but it takes an optimize every 4.99 s, 60.1 % of the time")
		assert.Contains(t, items[rowsItem].LimitedBy, "optimize")
		assert.InEpsilon(t, 40, *items[everyItem].Value, 0.02)
		assert.InEpsilon(t, 0.075, *items[shareItem].Value, 0.02)
	})
	t.Run("more rows than were measured", func(t *testing.T) {
		// 100 s for 100 commits leave one commit in 10 s.
		items := planned(t, 20, batchRecord(t), agingRecord(t, 100_000, 0))
		assert.InDelta(t, 200, *items[rowsItem].Value, 2)
		assert.Contains(t, items[rowsItem].Basis, "extrapolated")
		assert.LessOrEqual(t, *items[shareItem].Value, maxOptimizeShare*1.0001)
	})
	t.Run("nothing fits", func(t *testing.T) {
		items := planned(t, 20, batchRecord(t), agingRecord(t, 1e6, 0))
		for _, name := range []string{rowsItem, rateItem, writersItem, everyItem} {
			assert.Nil(t, items[name].Value, name)
		}
		assert.Contains(t, items[rowsItem].Basis, "nothing that was measured fits")
		assert.Contains(t, items[rowsItem].LimitedBy, "optimize")
		assert.NotContains(t, items, shareItem)
	})
	t.Run("not known", func(t *testing.T) {
		items := planned(t, 20, batchRecord(t))
		assert.InDelta(t, 1, *items[rowsItem].Value, 0)
		assert.Contains(t, items[rateItem].Basis, "what compacting its fragments takes is not weighed")
		assert.Contains(t, items[rateItem].Basis, "run scripts/writers.js")
		assert.NotContains(t, items, shareItem)
	})
}

func TestAPlanStaysBelowWhatTheWritersCameTo(t *testing.T) {
	// One writer alone wrote 25 rows/s, the writers at most 12.5: single rows are enough for 10, but not for 20.
	items := planned(t, 10, batchRecord(t), contendedRecord(t))
	assert.InDelta(t, 1, *items[rowsItem].Value, 0)
	assert.InDelta(t, 2, *items[writersItem].Value, 0)

	items = planned(t, 20, batchRecord(t), contendedRecord(t))
	assert.InDelta(t, 8, *items[rowsItem].Value, 0)
	assert.InDelta(t, 2.5, *items[rateItem].Value, 1e-9)
	assert.Contains(t, items[rowsItem].Basis, "1 row a commit would write enough by itself, but it takes 20.0 commits/s, and commits came to at most 12.5")
	assert.Equal(t, byWriters.String(), items[rowsItem].LimitedBy)

	// The cautious end counts: 12.5 is the middle of an interval.
	writers := contendedRecord(t)
	c := ceilingOf([]*recorder.Record{writers})
	c.rate.CI[0] = 11
	p := &writePlan{opts: PlanOptions{WriteRows: 12}, ceiling: c}
	b := batch{rows: 1, rowsPS: 25}
	p.limit(&b)
	assert.InDelta(t, 11, b.most, 0)
	assert.Equal(t, byWriters, b.bound)

	// Levels whose variants took turns are no ceiling: together they came to more.
	paired := contendedRecord(t)
	for i := range paired.Cells {
		paired.Cells[i].Scenario = "spike_writes"
	}
	paired.Pairs = []recorder.PairRecord{{Scenario: "spike_writes", Op: "mutate", Query: "add_memory", Workers: ptr(2), A: "cli", B: "http"}}
	assert.False(t, ceilingOf([]*recorder.Record{paired}).known)
}

func TestAPlanCountsThatCommitsSlowDown(t *testing.T) {
	// After n commits one takes n ms more. The 40 ms were of 30 commits in a row, so that a fresh store takes 25; the 100
	// commits that reads allow would take 75 ms on average, and 20 a second leave 50.
	slow := agingRecord(t, 10, 1)
	items := planned(t, 20, batchRecord(t), slow)
	every := items[everyItem]
	require.NotNil(t, every.Value)
	assert.InDelta(t, 1, *items[rowsItem].Value, 0)
	assert.Equal(t, "writes slow down with every commit", every.LimitedBy)
	// n (25 + n/2) + 10 = 50 n, so n = 25 + sqrt(605) = 49.6, at 20 a second.
	assert.InEpsilon(t, 49.6/20, *every.Value, 0.01)
	assert.InEpsilon(t, 0.01/(49.6/20), *items[shareItem].Value, 0.01)

	// An optimize of 1 s makes that too often: more rows in a commit.
	items = planned(t, 20, batchRecord(t), agingRecord(t, 1000, 1))
	assert.InDelta(t, 8, *items[rowsItem].Value, 0)
	assert.Equal(t, byCycle.String(), items[rowsItem].LimitedBy)
	assert.Equal(t, "reads slow down with every commit", items[everyItem].LimitedBy)
}

func TestEveryPlanOfWritesIsKeptUpByItsOwnRecords(t *testing.T) {
	records := []*recorder.Record{batchRecord(t), contendedRecord(t), agingRecord(t, 700, 0.7)}
	last := 0.0
	for rows := 0.5; rows < 5000; rows *= 1.3 {
		p := planWrites(records, PlanOptions{Rate: 10, SLOP95MS: 44, WriteRows: rows})
		if p.best == nil {
			assert.Greater(t, rows, maxExtrapolation*p.strongest.rows*p.strongest.most*0.99)
			continue
		}
		assert.LessOrEqual(t, p.commits, lowest(p.ceiling.rate))
		w, ok := p.compaction.cycle(p.commitMS(p.best))
		require.True(t, ok)
		require.False(t, math.IsNaN(p.between), "%g rows/s", rows)
		assert.LessOrEqual(t, w.Share(p.commits, p.between), maxOptimizeShare*1.0001)
		assert.GreaterOrEqual(t, w.Rate(p.between), p.commits*0.9999)
		assert.GreaterOrEqual(t, p.rows, last, "more rows a second take no fewer in a commit")
		last = p.rows
	}
	assert.Positive(t, last)
}

func TestAPlanTakesTheLowerEndOfARate(t *testing.T) {
	// 25 rows/s at the median, 21 at the interval's lower end: too few for 24.
	ms := func(i int) float64 { return 40 + 8*float64(i%2) - 4 }
	rec := withExtra(t, map[string]string{"batch:mutate_1": fmt.Sprintf(`{"form":"mutate","rows":1,"ms":%s}`, listed(40, ms))}, nil)
	item := planned(t, 24, rec)[rowsItem]
	assert.Contains(t, item.Basis, "more rows must go into each commit")
	assert.InDelta(t, 2, *item.Value, 0, "never fewer than were measured")
}

func TestAPlansJSONHasOneSpelling(t *testing.T) {
	p, err := MakePlan([]*recorder.Record{batchRecord(t)}, PlanOptions{Rate: 10, SLOP95MS: 44, WriteRows: 20})
	require.NoError(t, err)
	data, err := json.Marshal(p)
	require.NoError(t, err)
	for _, name := range []string{"rate", "slo_p95_ms", "write_rows", "query", "transport"} {
		assert.True(t, bytes.Contains(data, []byte(`"`+name+`":`)), name)
	}
	assert.NotRegexp(t, `"[A-Z]\w*":`, string(data))
}
