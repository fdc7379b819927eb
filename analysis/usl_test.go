package analysis

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUSLMatchesIndependentImplementations(t *testing.T) {
	// SPEC SDM91, as published; parameters from two independent implementations.
	sdm91 := []Throughput{{1, 65}, {18, 996}, {36, 1652}, {72, 1853}, {108, 1829}, {144, 1775}, {216, 1702}}
	fit := FitUSL(sdm91, DefaultBootstrap())
	require.NotNil(t, fit.Sigma.Value)
	assert.InEpsilon(t, 0.02773, *fit.Sigma.Value, 0.001)
	assert.InEpsilon(t, 0.0001043, *fit.Kappa.Value, 0.001)
	assert.InEpsilon(t, 89.99, *fit.Lambda.Value, 0.001)
	assert.InDelta(t, 96, *fit.PeakN.Value, 1)
	assert.InDelta(t, 1884, *fit.PeakX.Value, 2)
}

func TestUSLRecoversExactData(t *testing.T) {
	var points []Throughput
	truth := uslParams{1, 0.02, 0.02}
	for _, n := range []float64{1, 2, 4, 6, 8, 10} {
		points = append(points, Throughput{n, truth.at(n)})
	}
	fit := FitUSL(points, DefaultBootstrap())
	require.NotNil(t, fit.Sigma.Value)
	assert.InDelta(t, 0.02, *fit.Sigma.Value, 1e-6)
	assert.InDelta(t, 0.02, *fit.Kappa.Value, 1e-6)
	assert.InDelta(t, 1, *fit.Lambda.Value, 1e-6)
	assert.InDelta(t, 7, *fit.PeakN.Value, 0.001)
}

func TestUSLOfDegenerateInput(t *testing.T) {
	tests := map[string]struct {
		points []Throughput
		check  func(t *testing.T, f USLFit)
	}{
		"nothing": {nil, func(t *testing.T, f USLFit) { t.Helper(); assert.Contains(t, f.Note, "6 distinct levels") }},
		"five levels": {
			[]Throughput{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {5, 5.1}},
			func(t *testing.T, f USLFit) { t.Helper(); assert.Nil(t, f.Lambda.Value); assert.Equal(t, 5, f.Levels) },
		},
		"all zero": {
			[]Throughput{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}},
			func(t *testing.T, f USLFit) { t.Helper(); assert.Contains(t, f.Note, "throughput is 0") },
		},
		"linear scaling has no peak": {
			[]Throughput{{1, 10}, {2, 20}, {4, 40}, {8, 80}, {16, 160}, {32, 320}},
			func(t *testing.T, f USLFit) {
				t.Helper()
				assert.InDelta(t, 0, *f.Sigma.Value, 1e-9)
				assert.InDelta(t, 0, *f.Kappa.Value, 1e-9)
				assert.Nil(t, f.PeakN.Value)
				assert.NotEmpty(t, f.PeakN.Note)
			},
		},
		"constant throughput": {
			[]Throughput{{1, 10}, {2, 10}, {4, 10}, {8, 10}, {16, 10}, {32, 10}},
			func(t *testing.T, f USLFit) { t.Helper(); assert.InDelta(t, 1, *f.Sigma.Value, 1e-6) },
		},
		"one worker is best": {
			[]Throughput{{1, 15.8}, {2, 10}, {4, 6.8}, {6, 5.8}, {8, 5}, {10, 4}},
			func(t *testing.T, f USLFit) { t.Helper(); assert.NotNil(t, f.Lambda.Value) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { tt.check(t, FitUSL(tt.points, DefaultBootstrap())) })
	}
}
