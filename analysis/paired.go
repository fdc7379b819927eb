package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// MinPairsCI is the number of pairs from which a paired figure has an interval.
const MinPairsCI = 20

// minOrderSide is how many pairs of each order the check of the order takes.
const minOrderSide = 5

// PairedResult compares two variants that were measured together, pair by pair.
type PairedResult struct {
	N          int
	MedianDiff Estimate // A minus B
	// Share is (p50 of A - p50 of B) / p50 of A; it is negative where A is faster.
	Share Estimate
	// OrderP is the p value of the rank test that the difference does not depend on which variant went first; nil
	// with fewer than five pairs of either order.
	OrderP *float64
}

// ComparePairs compares a[i] with b[i]; firstA[i] tells whether a went first. Slices of different length are cut to
// the shortest. The intervals come from a bootstrap that resamples pairs, so that what both sides of a pair met
// together cancels out.
func ComparePairs(a, b []float64, firstA []bool, boot Bootstrap) PairedResult {
	n := min(len(a), len(b), len(firstA))
	if n == 0 {
		none := Estimate{Note: "no pair with two successes"}
		return PairedResult{MedianDiff: none, Share: none}
	}
	a, b, firstA = a[:n], b[:n], firstA[:n]
	diff := make([]float64, n)
	var whenA, whenB []float64
	for i := range diff {
		diff[i] = a[i] - b[i]
		if firstA[i] {
			whenA = append(whenA, diff[i])
		} else {
			whenB = append(whenB, diff[i])
		}
	}
	res := PairedResult{N: n}
	median := NewSample(diff).Quantile(0.5)
	res.MedianDiff.Value = &median
	share, ok := shareOf(NewSample(a).Quantile(0.5), NewSample(b).Quantile(0.5))
	if ok {
		res.Share.Value = &share
	} else {
		res.Share.Note = "the first variant's p50 is 0, so there is no share of it"
	}
	if len(whenA) >= minOrderSide && len(whenB) >= minOrderSide {
		res.OrderP = MannWhitney(NewSample(whenA), NewSample(whenB))
	}
	if n < MinPairsCI {
		note := fmt.Sprintf("an interval needs %d pairs, there are %d", MinPairsCI, n)
		res.MedianDiff.Note = note
		if ok {
			res.Share.Note = note
		}
		return res
	}
	diffs, shares := resamplePairs(a, b, diff, boot)
	ci := percentileInterval(diffs)
	res.MedianDiff.CI = &ci
	if ok && len(shares) > 0 {
		ci := percentileInterval(shares)
		res.Share.CI = &ci
	}
	return res
}

func shareOf(a, b float64) (float64, bool) {
	if a <= 0 {
		return 0, false
	}
	return (a - b) / a, true
}

// resamplePairs gives, for each resample of pairs, the median difference and the share.
func resamplePairs(a, b, diff []float64, boot Bootstrap) (diffs, shares []float64) {
	n := len(a)
	byA, byB, byDiff := sortedIndex(a), sortedIndex(b), sortedIndex(diff)
	times := make([]uint32, n) // how often each pair is in the resample
	rng := boot.rng()
	diffs = make([]float64, 0, boot.resamples())
	shares = make([]float64, 0, boot.resamples())
	for range boot.resamples() {
		resample(times, rng)
		diffs = append(diffs, weightedMedian(diff, byDiff, times))
		if s, ok := shareOf(weightedMedian(a, byA, times), weightedMedian(b, byB, times)); ok {
			shares = append(shares, s)
		}
	}
	return diffs, shares
}

// resample draws len(times) indices with replacement and counts them.
func resample(times []uint32, rng *rand.Rand) {
	clear(times)
	n := uint32(len(times)) //nolint:gosec // reservoirs are far smaller than 2^32
	for range n {
		times[rng.Uint32N(n)]++
	}
}

func sortedIndex(values []float64) []int32 {
	index := make([]int32, len(values))
	for i := range index {
		index[i] = int32(i) //nolint:gosec // reservoirs are far smaller than 2^31
	}
	slices.SortFunc(index, func(x, y int32) int {
		switch {
		case values[x] < values[y]:
			return -1
		case values[x] > values[y]:
			return 1
		}
		return 0
	})
	return index
}

// weightedMedian is the median of values that each occur times[i] times; index sorts them, and the times add up to
// their number.
func weightedMedian(values []float64, index []int32, times []uint32) float64 {
	n := uint32(len(values)) //nolint:gosec // reservoirs are far smaller than 2^32
	lower := (n + 1) / 2
	upper := n/2 + 1
	var seen uint32
	var low float64
	found := false
	for _, i := range index {
		if times[i] == 0 {
			continue
		}
		seen += times[i]
		if !found && seen >= lower {
			low, found = values[i], true
		}
		if seen >= upper {
			return (low + values[i]) / 2
		}
	}
	return low
}
