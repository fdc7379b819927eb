package analysis

import (
	"math"
	"slices"
	"sort"
)

// Sample is a distribution of observed values, held as distinct values in ascending order with cumulative counts. It
// is immutable and safe for concurrent use. The zero value is the empty sample.
type Sample struct {
	values []float64
	upTo   []uint64 // upTo[i] is how many observations are at most values[i]
	sum    float64
}

// NewSample makes a sample of single values. NaN and infinite values are left out.
func NewSample(values []float64) Sample {
	sorted := make([]float64, 0, len(values))
	for _, v := range values {
		if isFinite(v) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	var s Sample
	for i, v := range sorted {
		s.sum += v
		if last := len(s.values) - 1; last >= 0 && s.values[last] == v {
			s.upTo[last] = uint64(i) + 1
			continue
		}
		s.values = append(s.values, v)
		s.upTo = append(s.upTo, uint64(i)+1)
	}
	return s
}

// Bin is a value with the number of times it was seen.
type Bin struct {
	Value float64
	Count uint64
}

// FromBins makes a sample of counted values, as a histogram gives them. Empty bins and values that are not finite are
// left out.
func FromBins(bins []Bin) Sample {
	sorted := slices.Clone(bins)
	slices.SortFunc(sorted, func(a, b Bin) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	var s Sample
	var n uint64
	for _, b := range sorted {
		if b.Count == 0 || !isFinite(b.Value) {
			continue
		}
		n += b.Count
		s.sum += b.Value * float64(b.Count)
		if last := len(s.values) - 1; last >= 0 && s.values[last] == b.Value {
			s.upTo[last] = n
			continue
		}
		s.values = append(s.values, b.Value)
		s.upTo = append(s.upTo, n)
	}
	return s
}

// Len is the number of observations.
func (s Sample) Len() int {
	if len(s.upTo) == 0 {
		return 0
	}
	return int(s.upTo[len(s.upTo)-1]) // #nosec G115 -- counts of observations fit an int
}

// Sum is the sum of all observations.
func (s Sample) Sum() float64 { return s.sum }

// Min and Max are 0 for the empty sample.
func (s Sample) Min() float64 { return s.Rank(1) }

// Max is the largest observation, 0 for the empty sample.
func (s Sample) Max() float64 { return s.Rank(s.Len()) }

// Rank is the k-th smallest observation, counted from 1; ranks outside the sample give its ends, and the empty sample
// gives 0.
func (s Sample) Rank(k int) float64 {
	if len(s.values) == 0 {
		return 0
	}
	k = min(max(k, 1), s.Len())
	i := sort.Search(len(s.upTo), func(i int) bool { return s.upTo[i] >= uint64(k) }) // #nosec G115 -- k is positive
	return s.values[i]
}

// Quantile is the value at a level in (0, 1): the mean of the two middle observations for the median, else the
// observation of rank ceil(q n), as HdrHistogram defines percentiles. The empty sample gives 0.
func (s Sample) Quantile(q float64) float64 {
	n := s.Len()
	if q == 0.5 {
		return (s.Rank((n+1)/2) + s.Rank(n/2+1)) / 2
	}
	return s.Rank(rankOf(q, n))
}

// rankOf is ceil(q n), guarded against q n being a hair above an integer by rounding alone.
func rankOf(q float64, n int) int {
	return int(math.Ceil(q*float64(n) - 1e-9))
}

// Bins gives the sample's distinct values in ascending order with their counts.
func (s Sample) Bins() []Bin {
	bins := make([]Bin, len(s.values))
	var before uint64
	for i, v := range s.values {
		bins[i] = Bin{Value: v, Count: s.upTo[i] - before}
		before = s.upTo[i]
	}
	return bins
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
