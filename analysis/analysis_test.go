package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func upTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i + 1)
	}
	return out
}

func TestQuantilesFollowTheSampleSizeRules(t *testing.T) {
	tests := []struct {
		n               int
		q               float64
		value, interval bool
	}{
		{0, 0.5, false, false},
		{1, 0.5, true, false},
		{19, 0.5, true, false},
		{20, 0.5, true, true},
		{19, 0.95, false, false},
		{20, 0.95, true, false},
		{199, 0.95, true, false},
		{200, 0.95, true, true},
		{99, 0.99, false, false},
		{100, 0.99, true, false},
		{999, 0.99, true, false},
		{1000, 0.99, true, true},
		{9, 0.9, false, false},
		{100, 0.9, true, true},
	}
	for _, tt := range tests {
		e := QuantileOf(NewSample(upTo(tt.n)), tt.q, DefaultBootstrap())
		assert.Equal(t, tt.value, e.Value != nil, "n %d, q %g: value", tt.n, tt.q)
		assert.Equal(t, tt.interval, e.CI != nil, "n %d, q %g: interval", tt.n, tt.q)
		assert.Equal(t, tt.interval, e.Note == "", "n %d, q %g: a missing figure has its reason", tt.n, tt.q)
	}
}

func TestQuantileOfKnownSamples(t *testing.T) {
	s := NewSample(upTo(100))
	assert.InDelta(t, 50.5, s.Quantile(0.5), 1e-12)
	assert.InDelta(t, 95, s.Quantile(0.95), 1e-12)
	assert.InDelta(t, 99, s.Quantile(0.99), 1e-12)
	assert.InDelta(t, 1, s.Min(), 1e-12)
	assert.InDelta(t, 100, s.Max(), 1e-12)
	assert.InDelta(t, 5050, s.Sum(), 1e-9)
	odd := NewSample([]float64{3, 1, 2})
	assert.InDelta(t, 2, odd.Quantile(0.5), 1e-12)
}

func TestCountedAndSingleValuesAreTheSameSample(t *testing.T) {
	single := NewSample([]float64{1, 2, 2, 3, 3, 3})
	counted := FromBins([]Bin{{3, 3}, {1, 1}, {2, 1}, {2, 1}, {9, 0}, {math.NaN(), 4}})
	assert.Equal(t, single, counted)
}

func TestZeroVarianceHasAnIntervalOfNoWidth(t *testing.T) {
	values := make([]float64, 300)
	for i := range values {
		values[i] = 7
	}
	for _, q := range []float64{0.5, 0.95} {
		e := QuantileOf(NewSample(values), q, DefaultBootstrap())
		assert.Equal(t, Interval{7, 7}, *e.CI)
	}
	r := ComparePairs(values, values, make([]bool, len(values)), DefaultBootstrap())
	assert.Zero(t, *r.MedianDiff.Value)
	assert.Equal(t, Interval{0, 0}, *r.MedianDiff.CI)
	assert.Equal(t, Interval{0, 0}, *r.Share.CI)
	assert.Nil(t, r.OrderP, "the order never varied")
}

func TestValuesThatAreNoneAreLeftOut(t *testing.T) {
	s := NewSample([]float64{math.NaN(), 1, math.Inf(1), 2, math.Inf(-1)})
	assert.Equal(t, 2, s.Len())
	assert.Zero(t, NewSample(nil).Quantile(0.5))
}

func TestTheSameSeedGivesTheSameInterval(t *testing.T) {
	s := NewSample(upTo(50))
	a, b := QuantileOf(s, 0.5, Bootstrap{2000, 1}), QuantileOf(s, 0.5, Bootstrap{2000, 1})
	c := QuantileOf(s, 0.5, Bootstrap{2000, 2})
	assert.Equal(t, a.CI, b.CI)
	assert.NotEqual(t, a.CI, c.CI)
}

func TestOrderStatisticRanks(t *testing.T) {
	// Tables of the binomial distribution: for the median of 20, ranks 6 and 15 cover 95.86 %.
	lo, hi := orderRanks(20, 0.5)
	assert.Equal(t, 6, lo)
	assert.Equal(t, 15, hi)
}

func TestPairedComparisonOfKnownPairs(t *testing.T) {
	a, b := make([]float64, 40), make([]float64, 40)
	first := make([]bool, 40)
	for i := range a {
		a[i], b[i], first[i] = 20+float64(i%5), 5+float64(i%5), i%2 == 0
	}
	r := ComparePairs(a, b, first, DefaultBootstrap())
	assert.Equal(t, 40, r.N)
	assert.InDelta(t, 15, *r.MedianDiff.Value, 1e-12)
	assert.InDelta(t, (22.0-7)/22, *r.Share.Value, 1e-12)
	assert.True(t, r.Share.CI.Contains(*r.Share.Value))
}

func TestAnOrderEffectIsFound(t *testing.T) {
	var a, b []float64
	var first []bool
	for i := range 40 {
		extra := 0.0
		if i%2 == 0 {
			extra = 5
		}
		a, b, first = append(a, 20+extra+float64(i)/100), append(b, 10), append(first, i%2 == 0)
	}
	r := ComparePairs(a, b, first, DefaultBootstrap())
	require.NotNil(t, r.OrderP)
	assert.Less(t, *r.OrderP, 0.001)
}

func TestDegeneratePairs(t *testing.T) {
	tests := map[string]struct {
		a, b                        []float64
		n                           int
		diff, share, diffCI, share2 bool
	}{
		"none":                    {nil, nil, 0, false, false, false, false},
		"one":                     {[]float64{2}, []float64{1}, 1, true, true, false, false},
		"one side missing":        {upTo(30), nil, 0, false, false, false, false},
		"first side is 0":         {make([]float64, 30), upTo(30), 30, true, false, true, false},
		"a is faster: share < 0":  {upTo(30), append(upTo(29), 90), 30, true, true, true, true},
		"different lengths, less": {upTo(30), upTo(25), 25, true, true, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ComparePairs(tt.a, tt.b, make([]bool, 30), DefaultBootstrap())
			assert.Equal(t, tt.n, r.N)
			assert.Equal(t, tt.diff, r.MedianDiff.Value != nil)
			assert.Equal(t, tt.share, r.Share.Value != nil)
			assert.Equal(t, tt.diffCI, r.MedianDiff.CI != nil)
			assert.Equal(t, tt.share2, r.Share.CI != nil)
		})
	}
}

func TestMannWhitneyAgreesWithPublishedValues(t *testing.T) {
	// Exact: of the C(6,3) = 20 arrangements, the two extreme ones.
	p := MannWhitney(NewSample([]float64{1, 2, 3}), NewSample([]float64{4, 5, 6}))
	assert.InDelta(t, 0.1, *p, 1e-12)
	p = MannWhitney(NewSample([]float64{1, 2, 4}), NewSample([]float64{3, 5, 6}))
	assert.InDelta(t, 0.2, *p, 1e-12)
	// Hollander and Wolfe (1973), page 69: permeability of the amnion, two-sided exact p = 0.2544.
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	p = MannWhitney(NewSample(x), NewSample(y))
	assert.InDelta(t, 0.2544, *p, 0.0001)
	// With ties the normal approximation is used, with continuity correction: z = 7.5/sqrt(35) here.
	p = MannWhitney(NewSample([]float64{1, 2, 2, 3, 3}), NewSample([]float64{3, 4, 4, 5, 5}))
	assert.InDelta(t, 0.0184, *p, 0.003)
}

func TestMannWhitneyOfDegenerateInput(t *testing.T) {
	assert.Nil(t, MannWhitney(Sample{}, NewSample(upTo(5))))
	assert.InDelta(t, 1, *MannWhitney(NewSample([]float64{1, 1, 1}), NewSample([]float64{1, 1})), 1e-12)
	assert.InDelta(t, 1, *MannWhitney(NewSample(upTo(100)), NewSample(upTo(100))), 1e-12)
}

func TestHolm(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	got := Holm([]*float64{p(0.01), nil, p(0.04), p(0.03), p(0.005)})
	want := []*float64{p(0.03), nil, p(0.06), p(0.06), p(0.02)}
	for i := range want {
		if want[i] == nil {
			assert.Nil(t, got[i])
			continue
		}
		assert.InDelta(t, *want[i], *got[i], 1e-12)
	}
	assert.Empty(t, Holm(nil))
}

func TestDropAwareQuantiles(t *testing.T) {
	s := NewSample(upTo(100))
	assert.InDelta(t, 95, *DropAwareQuantile(s, 0.95, 0), 1e-12)
	// 100 ran and 25 never did: the p50 of 125 is the 63rd, rounded up.
	assert.InDelta(t, 63, *DropAwareQuantile(s, 0.5, 0.2), 1e-12)
	assert.Nil(t, DropAwareQuantile(s, 0.95, 0.2), "infinite: a fifth never ran")
	assert.Nil(t, DropAwareQuantile(s, 0.5, 1))
	assert.Nil(t, DropAwareQuantile(Sample{}, 0.5, 0))
}

func TestLittlesLaw(t *testing.T) {
	l := CheckLittle(79, 10, 8)
	assert.True(t, l.Known && l.Holds)
	assert.InDelta(t, 7.9, l.InFlight, 1e-12)
	assert.InDelta(t, 0.9875, *l.Busy, 1e-12)
	assert.False(t, CheckLittle(90, 10, 8).Holds, "nine operations in flight from eight workers")
	assert.True(t, CheckLittle(90, 10, 0).Holds, "workers not known")
	for _, bad := range [][2]float64{{1, 0}, {math.NaN(), 1}, {1, math.NaN()}, {-1, 1}, {math.Inf(1), 1}} {
		assert.False(t, CheckLittle(bad[0], bad[1], 1).Known)
	}
}

func TestFragmentationOfAnExactLine(t *testing.T) {
	var reads []ReadAfter
	for c := range 50 {
		reads = append(reads, ReadAfter{float64(c * 10), 6 + 0.2*float64(c*10)})
	}
	f := FitFragmentation(reads)
	assert.InDelta(t, 6, *f.Base.Value, 1e-9)
	assert.InDelta(t, 0.2, *f.Slope.Value, 1e-9)
	assert.InDelta(t, 106, f.At(500), 1e-6)
	// An optimize of 3.7 s after 500 commits saves each read 100 ms.
	assert.InDelta(t, 37, *f.PaybackReads(3700, 500).Value, 1e-6)
	// The p95 is the line itself: 26 ms are reached after 100 commits.
	assert.InDelta(t, 100, *f.CommitsUnder(26, DefaultBootstrap()).Value, 1e-6)
	assert.InDelta(t, 0, *f.CommitsUnder(5, DefaultBootstrap()).Value, 1e-12)
}

func TestDegenerateFragmentation(t *testing.T) {
	tests := map[string][]ReadAfter{
		"nothing":            nil,
		"one read":           {{1, 1}},
		"one commit level":   make([]ReadAfter, 100),
		"values that aren't": {{math.NaN(), 1}, {1, math.Inf(1)}, {-1, 2}},
	}
	for name, reads := range tests {
		t.Run(name, func(t *testing.T) {
			f := FitFragmentation(reads)
			assert.Nil(t, f.Slope.Value)
			assert.NotEmpty(t, f.Note)
			assert.Nil(t, f.PaybackReads(1000, 10).Value)
			assert.Nil(t, f.CommitsUnder(10, DefaultBootstrap()).Value)
			assert.Zero(t, f.At(5))
		})
	}
	t.Run("flat", func(t *testing.T) {
		var reads []ReadAfter
		for c := range 40 {
			reads = append(reads, ReadAfter{float64(c), 5})
		}
		f := FitFragmentation(reads)
		assert.Nil(t, f.PaybackReads(1000, 10).Value)
		assert.Contains(t, f.CommitsUnder(10, DefaultBootstrap()).Note, "no optimize is needed")
	})
}

func TestKnee(t *testing.T) {
	steps := func(latencies ...float64) []LoadStep {
		var out []LoadStep
		for i, l := range latencies {
			out = append(out, LoadStep{Rate: float64(10 * (i + 1)), Latencies: []float64{l, l, l}})
		}
		return out
	}
	inf := math.Inf(1)
	tests := map[string]struct {
		steps []LoadStep
		rate  float64 // 0: none
		note  string
	}{
		"between two steps":       {steps(5, 10, 1000), 25, ""},
		"never kept":              {steps(200, 300), 0, "even the lowest rate"},
		"never missed":            {steps(5, 6, 7), 0, "lies beyond"},
		"the next step collapsed": {steps(5, 10, inf, inf), 20, ""},
		"noise is made monotone":  {steps(5, 12, 8, 1000), 0, ""},
		"nothing":                 {nil, 0, "needs steps"},
		"no latencies":            {[]LoadStep{{Rate: 10}}, 0, "needs steps"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := FindKnee(tt.steps, 100, DefaultBootstrap())
			assert.Contains(t, k.Note, tt.note)
			if tt.rate != 0 {
				require.NotNil(t, k.Rate.Value)
				assert.InDelta(t, tt.rate, *k.Rate.Value, 1e-9)
				assert.True(t, k.Rate.CI.Contains(tt.rate))
			}
		})
	}
	assert.NotEmpty(t, FindKnee(steps(1, 2), math.NaN(), DefaultBootstrap()).Note)
	once := FindKnee([]LoadStep{{10, []float64{5}}, {20, []float64{500}}}, 100, DefaultBootstrap())
	assert.NotNil(t, once.Rate.Value)
	assert.Nil(t, once.Rate.CI)
}

func TestCompareSaysNothingAboutARunAgainstItself(t *testing.T) {
	s := NewSample(upTo(200))
	for _, c := range CompareCells([]Sides{{s, s}, {s, s}}, 0, 0, DefaultBootstrap()) {
		assert.Equal(t, NoEffect, c.Verdict)
		assert.Zero(t, *c.P50.Value)
	}
}

func TestCompareOfDegenerateCells(t *testing.T) {
	full := NewSample(upTo(200))
	tests := map[string]struct {
		sides Sides
		want  Verdict
	}{
		"both empty":      {Sides{}, Unknown},
		"one side empty":  {Sides{A: full}, Unknown},
		"one sample each": {Sides{NewSample([]float64{1}), NewSample([]float64{2})}, Unknown},
		"zero latencies":  {Sides{NewSample(make([]float64, 50)), full}, Unknown},
		"a sure change":   {Sides{full, FromBins([]Bin{{500, 200}})}, Slower},
		"and back":        {Sides{FromBins([]Bin{{500, 200}}), full}, Faster},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := CompareCells([]Sides{tt.sides}, 0.01, 0.03, DefaultBootstrap())[0]
			assert.Equal(t, tt.want, c.Verdict)
			assert.Equal(t, tt.want == Unknown, c.Note != "")
		})
	}
	assert.Empty(t, CompareCells(nil, 0, 0, DefaultBootstrap()))
}

func TestNoiseFloor(t *testing.T) {
	floor, ok := NoiseFloor([]Sides{
		{NewSample([]float64{100}), NewSample([]float64{103})},
		{NewSample([]float64{100}), NewSample([]float64{96})},
		{},
	})
	assert.True(t, ok)
	assert.InDelta(t, math.Sqrt((0.0009+0.0016)/2), floor, 1e-12)
	_, ok = NoiseFloor(nil)
	assert.False(t, ok)
}

func FuzzNothingPanicsOrReturnsNaN(f *testing.F) {
	f.Add(uint64(1), 30, 5.0, -1.0)
	f.Add(uint64(2), 0, math.NaN(), math.Inf(1))
	f.Add(uint64(3), 1, 0.0, 1e300)
	f.Fuzz(func(t *testing.T, seed uint64, n int, x, y float64) {
		n = min(max(n, 0), 60)
		boot := Bootstrap{Seed: seed}
		values, points, reads := make([]float64, n), make([]Throughput, n), make([]ReadAfter, n)
		first := make([]bool, n)
		for i := range values {
			values[i] = x
			if i%3 == 0 {
				values[i] = y * float64(i)
			}
			points[i] = Throughput{float64(i % 8), values[i]}
			reads[i] = ReadAfter{float64(i), values[i]}
			first[i] = i%2 == 0
		}
		check := func(e Estimate) {
			if e.Value != nil && math.IsNaN(*e.Value) {
				t.Fatal("an estimate is NaN")
			}
			if e.CI != nil && (math.IsNaN(e.CI[0]) || math.IsNaN(e.CI[1]) || e.CI[0] > e.CI[1]) {
				t.Fatalf("interval %v", *e.CI)
			}
		}
		s := NewSample(values)
		check(QuantileOf(s, 0.5, boot))
		check(QuantileOf(s, 0.95, boot))
		fit := FitUSL(points, boot)
		check(fit.Sigma)
		check(fit.PeakN)
		frag := FitFragmentation(reads)
		check(frag.Slope)
		check(frag.PaybackReads(x, y))
		check(frag.CommitsUnder(x, boot))
		check(FindKnee([]LoadStep{{x, values}, {y, values}}, 10, boot).Rate)
		CompareCells([]Sides{{s, s}}, x, y, boot)
		if isFinite(x) && isFinite(y) {
			r := ComparePairs(values, values, first, boot)
			check(r.Share)
			check(r.MedianDiff)
		}
	})
}
