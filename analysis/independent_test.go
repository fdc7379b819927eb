package analysis

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFiguresAreThoseOfIndependentImplementations holds every estimate that has a counterpart in NumPy or SciPy against
// it; testdata/independent.py made the figures.
func TestFiguresAreThoseOfIndependentImplementations(t *testing.T) {
	text, err := os.ReadFile("testdata/independent.json")
	require.NoError(t, err)
	var want struct {
		Quantiles []struct {
			Values        []float64
			P50, P95, P99 *float64
		}
		RankTests []struct {
			A, B []float64
			P    float64
		} `json:"rank_tests"`
		Scaling []struct {
			N, X                          []float64
			Squares, Lambda, Sigma, Kappa float64
		}
		Aging []struct {
			Commits, MS []float64
			Base, Slope float64
		}
		OrderRanks []struct {
			N         int
			Q         float64
			Low, High int
		} `json:"order_ranks"`
	}
	require.NoError(t, json.Unmarshal(text, &want))
	require.NotEmpty(t, want.Quantiles)
	require.NotEmpty(t, want.RankTests)
	require.NotEmpty(t, want.Scaling)
	require.NotEmpty(t, want.Aging)
	require.NotEmpty(t, want.OrderRanks)

	for _, c := range want.Quantiles {
		s := NewSample(c.Values)
		for q, p := range map[float64]*float64{0.5: c.P50, 0.95: c.P95, 0.99: c.P99} {
			got := QuantileOf(s, q, DefaultBootstrap()).Value
			if p == nil {
				assert.Nil(t, got, "p%g of %d", q*100, s.Len())
				continue
			}
			require.NotNil(t, got)
			assert.InDelta(t, *p, *got, 1e-9, "p%g of %d", q*100, s.Len())
		}
	}
	for i, c := range want.RankTests {
		assert.InEpsilon(t, c.P, *MannWhitney(NewSample(c.A), NewSample(c.B)), 1e-7, "rank test %d", i)
	}
	for i, c := range want.Scaling {
		var points []Throughput
		for j := range c.N {
			points = append(points, Throughput{c.N[j], c.X[j]})
		}
		fit := FitUSL(points, DefaultBootstrap())
		var squares float64
		for _, p := range points {
			squares += (p.X - fit.At(p.N)) * (p.X - fit.At(p.N))
		}
		assert.LessOrEqual(t, squares, c.Squares*(1+1e-6), "fit %d leaves no more than the least squares", i)
		assert.InEpsilon(t, c.Lambda, *fit.Lambda.Value, 1e-3, "fit %d", i)
		assert.InDelta(t, c.Sigma, *fit.Sigma.Value, 1e-4, "fit %d", i)
		assert.InDelta(t, c.Kappa, *fit.Kappa.Value, 1e-5, "fit %d", i)
	}
	for i, c := range want.Aging {
		var reads []ReadAfter
		for j := range c.Commits {
			reads = append(reads, ReadAfter{c.Commits[j], c.MS[j]})
		}
		line := FitFragmentation(reads)
		assert.InEpsilon(t, c.Base, *line.Base.Value, 1e-6, "line %d", i)
		assert.InEpsilon(t, c.Slope, *line.Slope.Value, 1e-6, "line %d", i)
	}
	for _, c := range want.OrderRanks {
		low, high := orderRanks(c.N, c.Q)
		assert.Equal(t, [2]int{c.Low, c.High}, [2]int{low, high}, "ranks around p%g of %d", c.Q*100, c.N)
	}
}
