package analysis

import (
	"fmt"
	"math"
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
	diffs := NewSample(diff)
	median := diffs.Quantile(0.5)
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
	ci := medianInterval(diffs, boot)
	res.MedianDiff.CI = &ci
	if shares := resampleShares(a, b, boot); ok && len(shares) > 0 {
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

// resampleShares gives the share of each resample of pairs.
func resampleShares(a, b []float64, boot Bootstrap) []float64 {
	byA, byB := sortedIndex(a), sortedIndex(b)
	times := make([]uint32, len(a)) // how often each pair is in the resample
	rng := boot.rng()
	shares := make([]float64, 0, boot.resamples())
	for range boot.resamples() {
		resample(times, rng)
		if s, ok := shareOf(weightedMedian(a, byA, times), weightedMedian(b, byB, times)); ok {
			shares = append(shares, s)
		}
	}
	return shares
}

// resample draws len(times) indices with replacement and counts them, two with each random number: scaling 32 bits
// to the number of indices is off by less than their number in 2^32.
func resample(times []uint32, rng *rand.Rand) {
	clear(times)
	n := uint64(len(times))
	for i := uint64(0); i < n; i += 2 {
		r := rng.Uint64()
		times[(r>>32)*n>>32]++
		if i+1 < n {
			times[(r&math.MaxUint32)*n>>32]++
		}
	}
}

func sortedIndex(values []float64) []int32 {
	index := make([]int32, len(values))
	for i := range index {
		index[i] = int32(i) // #nosec G115 -- reservoirs are far smaller than 2^31
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

// weightedMedian is the smoothed median of values that each occur times[i] times; index sorts them, and the times add
// up to their number n. Each value stands in the middle of its occurrences, and the median at n/2 is interpolated
// between the two values around it: see medianDraw for why.
func weightedMedian(values []float64, index []int32, times []uint32) float64 {
	half := float64(len(values)) / 2
	var seen, last, at float64
	first := true
	for _, i := range index {
		if times[i] == 0 {
			continue
		}
		t := float64(times[i])
		middle := seen + t/2
		if middle >= half {
			if first || middle == half {
				return values[i]
			}
			return last + (half-at)/(middle-at)*(values[i]-last)
		}
		seen += t
		last, at, first = values[i], middle, false
	}
	return last
}
