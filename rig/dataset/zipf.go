package dataset

import (
	"math"
	"sort"
)

// zipf draws ranks 0 to n-1 with a probability proportional to (rank+1)^-exponent.
//
// The weights are rounded to whole numbers before they are summed: processors differ in the last bit of a
// power, and the bytes of a dataset must not.
type zipf struct{ cumulative []uint64 }

const zipfScale = 1 << 32

func newZipf(n int, exponent float64) *zipf {
	z := &zipf{cumulative: make([]uint64, n)}

	var sum uint64

	for i := range z.cumulative {
		w := uint64(math.Round(zipfScale * math.Pow(float64(i+1), -exponent)))
		sum += max(w, 1)
		z.cumulative[i] = sum
	}

	return z
}

func (z *zipf) draw(s *stream) int {
	v := s.below(z.cumulative[len(z.cumulative)-1])

	return sort.Search(len(z.cumulative), func(i int) bool { return z.cumulative[i] > v })
}
