package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// spikeRecord is a record as a spike leaves it: reads and writes at three levels, the spawn floor, and the same read
// on the fragmented and on the optimized store. Latencies are log-normal around the given medians.
func spikeRecord(t testing.TB) *recorder.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	rec := recorder.New(recorder.Config{})
	rec.SetSystem(recorder.System{Server: "0.8.0", CLI: "0.8.0", Build: "release"})
	rec.SetVersions("v2.2.0", "v0.1.0")
	rec.SetScript(recorder.Script{Path: "scripts/spike.js"})
	levels := []int{1, 4, 8}
	for i, workers := range levels {
		name := map[int]string{1: "_1", 4: "_4", 8: "_8"}[workers]
		pairsInto(rec, rng, "reads"+name, "query", "point_read", workers, 200, []float64{25.9, 33.3, 45.8}[i], []float64{5.1, 6.8, 10.7}[i])
		pairsInto(rec, rng, "reads"+name, "query", "list_memories", workers, 200, []float64{27.8, 36, 50}[i], []float64{5.5, 7.6, 12}[i])
		pairsInto(rec, rng, "writes"+name, "mutate", "add_memory", workers, 40, []float64{69.5, 643, 1653}[i], []float64{47.6, 488, 1429}[i])
		floor := rec.Cell(recorder.CellKey{Scenario: "floor" + name, Transport: "cli", Op: "version", Workers: workers, Phase: "measure"})
		for range 40 {
			floor.Record(logNormal(rng, 6.7+float64(workers), 0.1), recorder.OK)
		}
	}
	pairsInto(rec, rng, "fragmented", "query", "point_read", 0, 60, 196, 167)
	pairsInto(rec, rng, "optimized", "query", "point_read", 0, 60, 45.3, 7.7)
	for _, name := range []string{"reads_1", "reads_4", "reads_8", "writes_1"} {
		rec.SetScenario(recorder.Scenario{Name: name, Executor: "shared-iterations"})
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	return got
}

func pairsInto(rec *recorder.Recorder, rng *rand.Rand, scenario, op, query string, workers, n int, cliMS, httpMS float64) {
	cell := func(variant string) *recorder.Cell {
		return rec.Cell(recorder.CellKey{
			Scenario: scenario, Variant: variant, Transport: variant, Op: op, Query: query, Workers: workers, Phase: "measure",
		})
	}
	pair := rec.Pair(recorder.PairKey{Scenario: scenario, Op: op, Query: query, Workers: workers, Phase: "measure", A: "cli", B: "http"})
	for i := range n {
		a, b := logNormal(rng, cliMS, 0.15), logNormal(rng, httpMS, 0.15)
		cell("cli").Record(a, recorder.OK)
		cell("http").Record(b, recorder.OK)
		if op == "mutate" {
			cell("cli").AddAffected(1, 0)
			cell("http").AddAffected(1, 0)
		}
		pair.Record(float64(a)/1e6, float64(b)/1e6, i%2 == 0, false)
	}
}

func logNormal(rng *rand.Rand, medianMS, sigma float64) time.Duration {
	return time.Duration(medianMS * math.Exp(sigma*rng.NormFloat64()) * float64(time.Millisecond))
}

func TestSpikeReport(t *testing.T) {
	d := Build(spikeRecord(t))
	var term, md bytes.Buffer
	require.NoError(t, d.Terminal(&term, TerminalOptions{}))
	require.NoError(t, d.Markdown(&md))
	t.Log(term.String())
	t.Log(md.String())
}
