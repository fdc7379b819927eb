package metrics

import (
	"slices"
	"time"
)

// TrendSink keeps the distribution of the values, exactly.
type TrendSink struct {
	values   []float64
	sorted   bool
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
	t.values = append(t.values, s.Value)
	t.sorted = false
}

// P returns the percentile, with pct from 0 to 1: a linear interpolation between the two neighbours of rank
// pct·(n−1) in the sorted values (definition 7 of Hyndman and Fan, 1996). No values give 0.
func (t *TrendSink) P(pct float64) float64 {
	switch t.count {
	case 0:
		return 0
	case 1:
		return t.values[0]
	}
	if !t.sorted {
		slices.Sort(t.values)
		t.sorted = true
	}
	rank := pct * float64(t.count-1)
	lower := int(rank)
	if lower >= len(t.values)-1 {
		return t.values[len(t.values)-1]
	}
	low, high := t.values[lower], t.values[lower+1]
	return low + (high-low)*(rank-float64(lower))
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
