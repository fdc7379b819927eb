package remotewrite

import (
	"math"
	"slices"
	"sort"
)

// A native histogram has 2^schema buckets for each power of two: schema 3 makes them 9 % wide.
const (
	histogramSchema  = 3
	bucketsPerOctave = 1 << histogramSchema
	// zeroThreshold is 2^-128, below which values count as zero.
	zeroThreshold = 0x1p-128
)

// octaveBounds returns the bounds within an octave, as fractions of what math.Frexp returns: from 0.5 on.
func octaveBounds() [bucketsPerOctave]float64 {
	var bounds [bucketsPerOctave]float64
	for i := range bounds {
		bounds[i] = 0.5 * math.Exp2(float64(i)/bucketsPerOctave)
	}
	return bounds
}

// histogram is a native histogram of Prometheus: sparse buckets whose bounds are powers of 2^(2^-schema).
type histogram struct {
	bounds             [bucketsPerOctave]float64
	count, zeros       uint64
	sum                float64
	positive, negative map[int]int64
}

func newHistogram() *histogram {
	return &histogram{bounds: octaveBounds(), positive: make(map[int]int64), negative: make(map[int]int64)}
}

func (h *histogram) add(value float64) {
	h.count++
	h.sum += value
	switch {
	case math.IsNaN(value):
		// It is counted, but belongs into no bucket.
	case value > zeroThreshold:
		h.positive[h.bucket(value)]++
	case value < -zeroThreshold:
		h.negative[h.bucket(-value)]++
	default:
		h.zeros++
	}
}

// bucket returns the index i of the bucket that holds a positive value: base^(i-1) < value <= base^i.
func (h *histogram) bucket(value float64) int {
	if math.IsInf(value, 1) {
		value = math.MaxFloat64
	}
	fraction, exponent := math.Frexp(value)
	return sort.SearchFloat64s(h.bounds[:], fraction) + (exponent-1)*bucketsPerOctave
}

// appendMessage writes the histogram as a prometheus.Histogram message.
func (h *histogram) appendMessage(b []byte, timestamp int64) []byte {
	b = appendVarint(b, fieldCountInt, h.count)
	b = appendDouble(b, fieldSum, h.sum)
	b = appendSint(b, fieldSchema, histogramSchema)
	b = appendDouble(b, fieldZeroThreshold, zeroThreshold)
	b = appendVarint(b, fieldZeroCountInt, h.zeros)
	b = appendBuckets(b, fieldNegativeSpans, fieldNegativeDeltas, h.negative)
	b = appendBuckets(b, fieldPositiveSpans, fieldPositiveDeltas, h.positive)
	return appendVarint(b, fieldHistogramTime, uint64(timestamp)) // #nosec G115 -- times after 1970
}

// maxBridgedGap is how many empty buckets are written out rather than starting another span.
const maxBridgedGap = 2

// appendBuckets writes spans of neighbouring buckets, and each count as its difference from the one before.
func appendBuckets(b []byte, spansField, deltasField uint64, buckets map[int]int64) []byte {
	if len(buckets) == 0 {
		return b
	}
	indices := make([]int, 0, len(buckets))
	for index := range buckets {
		indices = append(indices, index)
	}
	slices.Sort(indices)

	var deltas []int64
	var last int64
	add := func(count int64) {
		deltas = append(deltas, count-last)
		last = count
	}
	offset, length := indices[0], uint64(0)
	next := indices[0]
	endSpan := func() {
		span := appendSint(nil, fieldSpanOffset, int64(offset))
		span = appendVarint(span, fieldSpanLength, length)
		b = appendBytes(b, spansField, span)
	}
	for _, index := range indices {
		if gap := index - next; gap > maxBridgedGap {
			endSpan()
			offset, length = gap, 0
		} else {
			for range gap {
				add(0)
				length++
			}
		}
		add(buckets[index])
		length++
		next = index + 1
	}
	endSpan()
	return appendPackedSints(b, deltasField, deltas)
}
