package recorder

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// significantDigits is the precision of every histogram: a value is known to 0.1 %.
	significantDigits = 3
	// maxMicros is the longest duration a histogram tells apart, one hour; longer ones are counted there.
	maxMicros = int64(time.Hour / time.Microsecond)

	halfBits   = 10 // 2^10 slots per power of two keep three significant digits, as HdrHistogram does
	halfSlots  = 1 << halfBits
	chunkCount = 32 - halfBits + 1 // the first 1,024 values, then one chunk for each power of two below 2^32
)

// histogram counts durations in microseconds with the bucket boundaries of an HdrHistogram of three significant
// digits, so that its counts convert into one without loss. It is lock-free, and allocates 8 KB for each power of
// two in which a value was seen, instead of the 180 KB that a whole HdrHistogram takes: a run has many cells, and
// each sees few powers of two.
type histogram struct {
	chunks [chunkCount]atomic.Pointer[[halfSlots]atomic.Uint64]
	n      atomic.Uint64
	micros atomic.Int64  // sum of all values
	over   atomic.Uint64 // values beyond maxMicros
}

func (h *histogram) record(d time.Duration) {
	v := d.Microseconds()
	if v < 1 {
		v = 1 // HdrHistogram's lowest value that can be told apart
	}
	if v > maxMicros {
		v = maxMicros
		h.over.Add(1)
	}
	h.micros.Add(v)
	h.n.Add(1)
	h.add(v, 1)
}

func (h *histogram) add(v int64, n uint64) {
	chunk, slot := locate(v)
	p := h.chunks[chunk].Load()
	if p == nil {
		p = new([halfSlots]atomic.Uint64)
		if !h.chunks[chunk].CompareAndSwap(nil, p) {
			p = h.chunks[chunk].Load()
		}
	}
	p[slot].Add(n)
}

// locate gives the place of a value: values below 1,024 have chunk 0 to themselves, each power of two above has
// one chunk of 1,024 equal slots.
func locate(v int64) (chunk, slot int) {
	if v < halfSlots {
		return 0, int(v)
	}
	shift := bits.Len64(uint64(v)) - halfBits - 1 // #nosec G115 -- v is positive here
	return shift + 1, int(v>>shift) - halfSlots
}

// lowest is the inverse of locate: the smallest value that is counted there.
func lowest(chunk, slot int) int64 {
	if chunk == 0 {
		return int64(slot)
	}
	return int64(slot+halfSlots) << (chunk - 1)
}

// export makes an HdrHistogram of the counts. Values recorded meanwhile may be in it or not.
func (h *histogram) export() (*hdrhistogram.Histogram, error) {
	out := newHDR()
	for c := range h.chunks {
		p := h.chunks[c].Load()
		if p == nil {
			continue
		}
		for s := range p {
			n := p[s].Load()
			if n == 0 {
				continue
			}
			if err := out.RecordValues(lowest(c, s), int64(n)); err != nil { // #nosec G115 -- counts stay far below 2^63
				return nil, fmt.Errorf("convert histogram: %w", err)
			}
		}
	}
	return out, nil
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxMicros, significantDigits)
}
