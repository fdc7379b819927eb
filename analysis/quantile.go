package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// How many observations a figure takes, by docs/statistics.md: below, the figure or its interval is left out.
const (
	MinP50CI = 20
	MinP95   = 20
	MinP95CI = 200
	MinP99   = 100
	MinP99CI = 1000
)

// Interval is a 95 % confidence interval, lower bound first.
type Interval [2]float64

// Contains tells whether v lies in the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i[0] <= v && v <= i[1] }

// Estimate is a figure with its interval. A nil Value or CI is "not known"; Note says why.
type Estimate struct {
	Value *float64
	CI    *Interval
	Note  string
}

// Bootstrap says how intervals are resampled. The same seed gives the same interval.
type Bootstrap struct {
	Resamples int
	Seed      uint64
}

// DefaultBootstrap is what a record uses unless told otherwise: 2,000 resamples, a fixed seed.
func DefaultBootstrap() Bootstrap { return Bootstrap{Resamples: 2000, Seed: 20260801} }

// Method names the bootstrap for a report.
func (b Bootstrap) Method() string {
	return fmt.Sprintf("percentile bootstrap, smoothed for medians (%d resamples, seed %d); order statistics for p90 and beyond",
		b.Resamples, b.Seed)
}

func (b Bootstrap) rng() *rand.Rand {
	return rand.New(rand.NewPCG(b.Seed, 0x9e3779b97f4a7c15)) // #nosec G404 -- resampling, nothing secret
}

func (b Bootstrap) resamples() int { return max(b.Resamples, 2000) }

// QuantileOf estimates a quantile under the sample-size rules: a p50 has an interval from 20 observations, a p95 is
// given from 20 and has an interval from 200, a p99 from 100 and 1,000. Other levels follow the same rule: at least
// one observation beyond the quantile for the value and ten for the interval.
func QuantileOf(s Sample, q float64, boot Bootstrap) Estimate {
	n := s.Len()
	if n == 0 {
		return Estimate{Note: "no successful operation"}
	}
	value, interval := thresholds(q)
	if n < value {
		return Estimate{Note: fmt.Sprintf("%s needs %d samples, there are %d", levelName(q), value, n)}
	}
	v := s.Quantile(q)
	e := Estimate{Value: &v}
	if n < interval {
		e.Note = fmt.Sprintf("an interval of %s needs %d samples, there are %d", levelName(q), interval, n)
		return e
	}
	var ci Interval
	if q == 0.5 {
		ci = medianInterval(s, boot)
	} else {
		ci = orderInterval(s, q)
	}
	e.CI = &ci
	return e
}

func thresholds(q float64) (value, interval int) {
	switch q {
	case 0.5:
		return 1, MinP50CI
	case 0.95:
		return MinP95, MinP95CI
	case 0.99:
		return MinP99, MinP99CI
	}
	tail := math.Min(q, 1-q)
	return int(math.Ceil(1/tail - 1e-9)), int(math.Ceil(10/tail - 1e-9))
}

func levelName(q float64) string { return fmt.Sprintf("p%g", math.Round(q*1e4)/1e2) }

// medianInterval is the smoothed percentile bootstrap of the median.
func medianInterval(s Sample, boot Bootstrap) Interval {
	medians := make([]float64, boot.resamples())
	draw := newMedianDraw(s.Len(), boot.rng())
	for i := range medians {
		medians[i] = draw.median(s)
	}
	return percentileInterval(medians)
}

// medianDraw draws the median of bootstrap resamples. A resample of size n draws n uniform positions in the sorted
// sample; its k-th smallest value stands at the k-th smallest position, which is Beta(k, n+1-k) distributed (David and
// Nagaraja, Order Statistics, 2003, section 2.1), and the median at k = (n+1)/2. Drawing the position itself takes one
// draw instead of n. Between two observations the value is interpolated: without that smoothing the interval can only
// end at observations, and covers 92 % at n = 21 instead of 95 % (Hettmansperger and Sheather, 1986).
type medianDraw struct {
	n        float64
	position distuv.Beta
}

func newMedianDraw(n int, rng *rand.Rand) medianDraw {
	k := float64(n+1) / 2
	return medianDraw{n: float64(n), position: distuv.Beta{Alpha: k, Beta: k, Src: rng}}
}

// median is the median of one resample of s.
func (m medianDraw) median(s Sample) float64 {
	at := m.position.Rand() * (m.n + 1)
	below := math.Floor(at)
	low := s.Rank(int(below))
	return low + (at-below)*(s.Rank(int(below)+1)-low)
}

// percentileInterval is the middle 95 % of the resampled values.
func percentileInterval(values []float64) Interval {
	s := NewSample(values)
	return Interval{s.Quantile(0.025), s.Quantile(0.975)}
}

// orderInterval is the distribution-free interval between two order statistics: the number of observations below the
// q-quantile is binomial(n, q) (Conover, Practical Nonparametric Statistics, 1999, section 3.2). It covers at least
// 95 %.
func orderInterval(s Sample, q float64) Interval {
	lo, hi := orderRanks(s.Len(), q)
	return Interval{s.Rank(lo), s.Rank(hi)}
}

// orderRanks gives the narrowest ranks with at most 2.5 % beyond each; they are clamped to the sample where it is too
// small for that.
func orderRanks(n int, q float64) (lo, hi int) {
	binom := distuv.Binomial{N: float64(n), P: q}
	// P(X(lo) > quantile) = P(fewer than lo observations below it) must be at most 2.5 %.
	lo = searchRank(n, func(k int) bool { return binom.CDF(float64(k-1)) > 0.025 }) - 1
	hi = searchRank(n, func(k int) bool { return binom.CDF(float64(k-1)) >= 0.975 })
	return max(lo, 1), min(hi, n)
}

// searchRank is the smallest k in 1..n+1 for which the monotone condition holds.
func searchRank(n int, holds func(k int) bool) int {
	lo, hi := 1, n+1
	for lo < hi {
		mid := lo + (hi-lo)/2
		if holds(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
