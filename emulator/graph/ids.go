package graph

import (
	"crypto/rand"
	"sync"
	"time"
)

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// idSource makes ULIDs that ascend within one process.
type idSource struct {
	now func() time.Time

	mu   sync.Mutex
	ms   int64
	tail [10]byte
}

func (s *idSource) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := s.now().UnixMilli()
	if ms > s.ms {
		s.ms = ms
		_, _ = rand.Read(s.tail[:]) // never fails, see crypto/rand
		s.tail[0] &= 0x7f
	} else {
		for i := len(s.tail) - 1; i >= 0; i-- {
			s.tail[i]++
			if s.tail[i] != 0 {
				break
			}
		}
	}
	return encodeULID(s.ms, s.tail)
}

// encodeULID writes 48 bits of time and 80 of randomness in Crockford's base 32.
func encodeULID(ms int64, tail [10]byte) string {
	var raw [16]byte
	for i := range 6 {
		raw[i] = byte(ms >> (8 * (5 - i))) // #nosec G115 -- the lowest eight bits
	}
	copy(raw[6:], tail[:])
	var out [26]byte
	// 128 bits in 26 characters of 5 bits: the first carries the top 3.
	acc, bits := uint(0), uint(2)
	j := 0
	for _, b := range raw {
		acc = acc<<8 | uint(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[j] = crockford[acc>>bits&31]
			j++
		}
	}
	return string(out[:])
}

// NewID returns a fresh ULID.
func NewID() string {
	s := idSource{now: time.Now}
	return s.next()
}
