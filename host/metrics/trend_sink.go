package metrics

import (
	"math"
	"time"
)

// TrendSink keeps the distribution of the values, exactly.
type TrendSink struct {
	values   distribution
	count    uint64
	sum      float64
	min, max float64
}

// NewTrendSink returns an empty sink.
func NewTrendSink() *TrendSink { return &TrendSink{} }

// Add implements Sink.
func (t *TrendSink) Add(s Sample) {
	if t.count == 0 || s.Value > t.max {
		t.max = s.Value
	}
	if t.count == 0 || s.Value < t.min {
		t.min = s.Value
	}
	t.count++
	t.sum += s.Value
	t.values.add(s.Value)
}

// P returns the percentile, with pct from 0 to 1: a linear interpolation between the two neighbours of rank
// pct·(n−1) in the sorted values (definition 7 of Hyndman and Fan, 1996). No values give 0.
func (t *TrendSink) P(pct float64) float64 {
	if t.count == 0 {
		return 0
	}
	last := int(t.count) - 1 // #nosec -- memory ends long before
	rank := pct * float64(last)
	lower := min(max(int(math.Floor(rank)), 0), last)
	low := t.values.at(lower)
	fraction := rank - float64(lower)
	if lower == last || fraction == 0 {
		return low
	}
	return low + (t.values.at(lower+1)-low)*fraction
}

// Min returns the least value, 0 for none.
func (t *TrendSink) Min() float64 { return t.min }

// Max returns the greatest value, 0 for none.
func (t *TrendSink) Max() float64 { return t.max }

// Avg returns the mean, 0 for none.
func (t *TrendSink) Avg() float64 {
	if t.count == 0 {
		return 0
	}
	return t.sum / float64(t.count)
}

// Total returns the sum of the values.
func (t *TrendSink) Total() float64 { return t.sum }

// Count returns how many values there are.
func (t *TrendSink) Count() uint64 { return t.count }

// Format implements Sink: min, max, avg, med, p(90) and p(95).
func (t *TrendSink) Format(time.Duration) map[string]float64 {
	return map[string]float64{
		aggMin:  t.Min(),
		aggMax:  t.Max(),
		aggAvg:  t.Avg(),
		aggMed:  t.P(0.5),
		"p(90)": t.P(0.90),
		"p(95)": t.P(0.95),
	}
}

// IsEmpty implements Sink.
func (t *TrendSink) IsEmpty() bool { return t.count == 0 }
