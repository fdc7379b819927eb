package dataset

import "math/bits"

// stream is a splitmix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// 2014). It is written out here because the bytes of a dataset must not change with a library's version.
type stream struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb

	return z ^ z>>31
}

// newStream starts an independent sequence for one purpose and one row, so that row i is the same whatever
// the number of rows.
func newStream(seed uint64, purpose, row uint64) *stream {
	return &stream{state: mix64(seed+golden) ^ mix64(purpose*golden+1) ^ mix64(row+0x632be59bd9b4e019)}
}

func (s *stream) next() uint64 {
	s.state += golden

	return mix64(s.state)
}

// below draws from 0 to n-1 by the high word of a product: without a loop, with a bias below n/2^64.
func (s *stream) below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.next(), n)

	return hi
}
