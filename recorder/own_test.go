package recorder

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a run writes must never be refused, however its durations are distributed.
func TestWhatARunWritesHoldsTogether(t *testing.T) {
	t.Parallel()
	shapes := map[string]func(rng *rand.Rand) float64{
		"two lumps":      func(rng *rand.Rand) float64 { return []float64{1, 5000}[rng.IntN(2)] },
		"heavy tail":     func(rng *rand.Rand) float64 { return math.Exp(3 * rng.NormFloat64()) },
		"few values":     func(rng *rand.Rand) float64 { return float64(1 + rng.IntN(3)) },
		"one value":      func(*rand.Rand) float64 { return 7 },
		"hardly any":     func(rng *rand.Rand) float64 { return rng.Float64() / 100 },
		"beyond an hour": func(rng *rand.Rand) float64 { return 3e6 * (1 + rng.Float64()) },
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(12) {
				rng := rand.New(rand.NewPCG(seed, 1))
				rec := New(Config{})
				a, b := rec.Cell(CellKey{Scenario: "s", Variant: "a", Op: "query"}), rec.Cell(CellKey{Scenario: "s", Variant: "b", Op: "query"})
				pair := rec.Pair(PairKey{Scenario: "s", Op: "query", A: "a", B: "b"})
				for i := range []int{1, 20, 21, 100, 200, 1100}[seed%6] {
					x, y := shape(rng), shape(rng)
					a.Record(time.Duration(x*1e6), OK)
					b.Record(time.Duration(y*1e6), OK)
					a.RecordParts(time.Duration(x*1e6), Parts{PartWait: time.Duration(x * 5e5)})
					pair.Record(x, y, i%2 == 0, false)
				}
				got, err := rec.Finish()
				require.NoError(t, err)
				require.Empty(t, got.Check(), "seed %d", seed)
			}
		})
	}
}
