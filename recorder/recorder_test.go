package recorder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func TestRecordingAnOperationDoesNotAllocate(t *testing.T) {
	rec := New(Config{})
	cell := rec.Cell(CellKey{Scenario: "reads", Transport: "http", Op: "query", Query: "point"})
	pair := rec.Pair(PairKey{Scenario: "reads", A: "cli", B: "http"})
	failed := Failed("timeout")
	for range defaultMaxRaw + 10 { // past the reservoir's growth
		cell.Record(5*time.Millisecond, OK)
	}
	for range defaultMaxPairs + 10 {
		pair.Record(25, 5, true, false)
	}
	cell.Record(time.Second, failed)
	cell.RecordAttempt(5 * time.Millisecond)
	rec.Queued(QueueProcessSlot, time.Millisecond)

	allocs := testing.AllocsPerRun(2000, func() {
		cell.Record(5*time.Millisecond, OK)
		cell.Record(time.Second, failed)
		cell.Record(time.Second, Canceled)
		cell.RecordAttempt(5 * time.Millisecond)
		cell.AddAttempts(2)
		cell.AddRows(3)
		cell.AddAffected(1, 0)
		cell.RecordParts(5*time.Millisecond, Parts{PartWait: 4 * time.Millisecond})
		pair.Record(25, 5, true, false)
		rec.Queued(QueueProcessSlot, time.Millisecond)
		_ = rec.Cell(cell.Key())
	})
	assert.Zero(t, allocs)
}

func BenchmarkCellRecord(b *testing.B) {
	cell := New(Config{}).Cell(CellKey{Scenario: "reads", Transport: "http", Op: "query", Query: "point"})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		d := time.Duration(0)
		for pb.Next() {
			d = (d + 7919*time.Nanosecond) % (50 * time.Millisecond)
			cell.Record(d, OK)
		}
	})
}

func TestEveryOperationIsCountedOnce(t *testing.T) {
	rec := New(Config{MaxRaw: 50})
	const vus, each = 200, 50
	var wg sync.WaitGroup
	for vu := range vus {
		wg.Go(func() {
			cell := rec.Cell(CellKey{Scenario: "reads", Transport: "http", Op: "query", Query: "point", Workers: 8, Phase: "measure"})
			pair := rec.Pair(PairKey{Scenario: "reads", A: "cli", B: "http", Workers: 8})
			for i := range each {
				switch i % 5 {
				case 0:
					cell.Record(time.Millisecond, Failed("conflict"))
				case 1:
					cell.Record(time.Millisecond, Canceled)
				default:
					cell.Record(time.Duration(vu+1)*time.Millisecond, OK)
				}
				pair.Record(20, 5, i%2 == 0, i%10 == 0)
			}
		})
	}
	wg.Wait()
	got, err := rec.Finish()
	require.NoError(t, err)
	require.Len(t, got.Cells, 1)
	c := got.Cells[0]
	assert.EqualValues(t, vus*each*3/5, c.N)
	assert.EqualValues(t, vus*each/5, c.Failed)
	assert.EqualValues(t, vus*each/5, c.Canceled)
	assert.Equal(t, map[string]uint64{"conflict": vus * each / 5}, c.Errors)
	require.Len(t, c.Raw, 1)
	assert.Len(t, c.Raw[0].MS, 50)
	assert.Equal(t, c.N, c.Raw[0].Of)
	assert.InEpsilon(t, 100.5, *c.P50, 0.002)
	assert.InEpsilon(t, 190, *c.P95, 0.002)
	require.Len(t, got.Pairs, 1)
	assert.EqualValues(t, vus*each*9/10, got.Pairs[0].N)
	assert.EqualValues(t, vus*each/10, got.Pairs[0].Failed)
	assert.InDelta(t, 15, *got.Pairs[0].MedianDiff, 1e-9)
	assert.InDelta(t, 0.75, *got.Pairs[0].Share, 1e-9)
}

func TestRecordSurvivesWritingAndReading(t *testing.T) {
	for _, name := range []string{"record.json", "deeper/record.json.zst"} {
		t.Run(name, func(t *testing.T) {
			want := finished(t)
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, want.Write(path))
			got, err := Read(path)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

// finished is the record of a small run with everything in it.
func finished(t *testing.T) *Record {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	rec := New(Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Millisecond)
		return now
	}})
	require.NoError(t, rec.SetRun(Run{Data: map[string]string{"rows": "913"}}))
	rec.SetSystem(System{Server: "0.8.0", CLI: "0.8.0", Config: map[string]string{"cap": "16"}})
	rec.SetVersions("v2.2.0", "v0.1.0")
	rec.SetScript(Script{Path: "scripts/spike.js", SHA256: strings.Repeat("a", 64), Options: map[string]any{"preset": "full"}})
	commits, files, started, dropped := int64(3), int64(1), int64(100), int64(0)
	rec.SetStateBefore(State{Rows: map[string]int64{"Memory": 913}, Commits: &commits, DataFiles: &files})
	rec.SetStateAfter(State{Rows: map[string]int64{"Memory": 913}, Commits: &commits, DataFiles: &files})
	rec.SetScenario(Scenario{Name: "reads", Executor: "constant-arrival-rate", Started: &started, Dropped: &dropped})
	rec.Event("optimize", "omnigraph optimize", 2*time.Millisecond)
	for i := range 300 {
		for _, v := range []struct{ variant, transport string }{{"cli", "cli"}, {"http", "http"}} {
			cell := rec.Cell(CellKey{
				Scenario: "reads", Variant: v.variant, Transport: v.transport, Op: "query", Query: "point",
				Workers: 4, Phase: PhaseMeasure,
			})
			d := time.Duration(5000+i*10) * time.Microsecond
			if v.variant == "cli" {
				d *= 5
			}
			cell.Record(d, OK)
			cell.AddAttempts(1)
			cell.RecordAttempt(d)
			cell.AddRows(1)
			cell.RecordParts(d, Parts{PartWait: d / 2})
		}
		rec.Pair(PairKey{Scenario: "reads", Op: "query", Query: "point", Workers: 4, Phase: PhaseMeasure, A: "cli", B: "http"}).
			Record(float64(25+i%7), float64(5+i%3), i%2 == 0, false)
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	return got
}

func TestStartedRecorderKnowsItsOwnHealth(t *testing.T) {
	rec := New(Config{PartialPath: filepath.Join(t.TempDir(), "record.partial.ndjson"), FlushEvery: time.Hour})
	rec.Start(context.Background())
	rec.Start(context.Background())
	require.Eventually(t, func() bool { return rec.health.lag.n.Load() >= 5 }, time.Minute, time.Millisecond)
	got, err := rec.Finish()
	require.NoError(t, err)
	require.NoError(t, rec.Close())
	require.NoError(t, rec.Close())
	g := got.Generator
	assert.GreaterOrEqual(t, g.Ticks, uint64(5))
	require.NotNil(t, g.TickerLagP99)
	require.NotNil(t, g.GCShare)
	assert.NotEmpty(t, g.Go)
	assert.Positive(t, got.Machine.CPUs)
}

func TestPartialFileOfAKilledRunIsReadAsInvalid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.partial.ndjson")
	rec := New(Config{PartialPath: path})
	cell := rec.Cell(CellKey{Scenario: "reads", Transport: "http", Op: "query"})
	for range 25 {
		cell.Record(5*time.Millisecond, OK)
	}
	rec.Pair(PairKey{A: "cli", B: "http"}).Record(2, 1, true, false)
	require.NoError(t, rec.Flush())

	got, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, Invalid, got.Verdict)
	require.NotEmpty(t, got.Reasons)
	assert.Equal(t, "killed", got.Reasons[0].Code)
	require.Len(t, got.Cells, 1)
	assert.EqualValues(t, 25, got.Cells[0].N)
	assert.Len(t, got.Pairs, 1)
}

func TestPartsAndResidualAddUpToTheWallTime(t *testing.T) {
	rec := New(Config{})
	cell := rec.Cell(CellKey{Scenario: "s", Transport: "cli"})
	walls := []time.Duration{30 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond}
	for i, wall := range walls {
		cell.Record(wall, OK)
		cell.RecordParts(wall, Parts{
			PartSpawn: time.Duration(i) * time.Millisecond, PartCLI: 7 * time.Millisecond, PartDecode: 5 * time.Millisecond,
		})
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	d := got.Cells[0].Decomposition
	require.NotNil(t, d)
	assert.InDelta(t, 30, d.WallMS, 1e-9)
	sum, shares := 0.0, 0.0
	for _, p := range d.Parts {
		sum += p.MeanMS
		shares += *p.Share
	}
	assert.InDelta(t, d.WallMS, sum, 1e-9)
	assert.InDelta(t, 1, shares, 1e-9)
	last := d.Parts[len(d.Parts)-1]
	assert.Equal(t, PartResidual, last.Part)
	assert.InDelta(t, 30-1-7-5, last.MeanMS, 1e-9)
	assert.Nil(t, d.Parts[0].MeanCI, "three operations have no interval")
}

func TestAComparisonOfAVariantWithItselfSetsTheNoiseFloor(t *testing.T) {
	rec := New(Config{})
	pair := rec.Pair(PairKey{Scenario: "floor", A: "aa1", B: "aa2"})
	other := rec.Pair(PairKey{Scenario: "floor", A: "cli", B: "http"})
	for i := range 40 {
		pair.Record(100, 98, i%2 == 0, false)
		other.Record(100, 20, i%2 == 0, false)
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	assert.InDelta(t, 0.02, got.Limits.NoiseFloor, 1e-9)
	rec.SetNoiseFloor(0.05)
	got, err = rec.Finish()
	require.NoError(t, err)
	assert.InDelta(t, 0.05, got.Limits.NoiseFloor, 1e-9, "what the script says counts")
}

func TestAComparisonOfASampleOfItsPairsSaysSo(t *testing.T) {
	r := New(Config{MaxPairs: 50})
	p := r.Pair(PairKey{Scenario: "s", A: "cli", B: "http"})
	for i := range 80 {
		p.Record(20+float64(i%5), 5, i%2 == 0, false)
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	assert.Contains(t, rec.Pairs[0].Notes, "difference and share are of a uniform sample of 50 from 80 pairs")
}

func TestStartMayComeWhileVUsRecord(t *testing.T) {
	rec := New(Config{})
	cell := rec.Cell(CellKey{Scenario: "s"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				cell.Record(time.Millisecond, OK)
				rec.Event("tick", "", 0)
			}
		})
	}
	rec.Start(t.Context())
	rec.SetSession("a", "0:1/2")
	_, err := rec.Finish()
	require.NoError(t, err)
	wg.Wait()
	require.NoError(t, rec.Close())
}

func TestRowsAreThoseOfTheMetric(t *testing.T) {
	rec := New(Config{})
	want := map[string]uint64{"query": 7, "invoke": 7, "export": 7, "commits": 0, "snapshot": 0, "optimize": 0, "mutate": 0, "load": 0}
	for op := range want {
		cell := rec.Cell(CellKey{Scenario: "s", Transport: "http", Op: op})
		cell.Record(time.Millisecond, OK)
		cell.AddRows(7)
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	require.Len(t, got.Cells, len(want))
	for _, c := range got.Cells {
		assert.Equal(t, want[c.Op], c.Rows, c.Op)
	}
}

func TestARunLastsUntilItsEndAndNoLonger(t *testing.T) {
	clock := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	rec := New(Config{Now: func() time.Time { return clock }})
	lasts := func() float64 {
		t.Helper()
		got, err := rec.Finish()
		require.NoError(t, err)
		return got.Invocation.DurationS
	}
	clock = clock.Add(2 * time.Second)
	assert.InDelta(t, 2, lasts(), 0)
	clock = clock.Add(time.Second)
	rec.End()
	clock = clock.Add(time.Hour) // k6 lingers
	rec.End()
	assert.InDelta(t, 3, lasts(), 0)
}
