package recorder

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// PairKey names one paired comparison: variant A minus variant B, made within one iteration.
type PairKey struct {
	Scenario string
	Op       string
	Query    string
	Workers  int
	Phase    string
	A, B     string // the variants' names
}

// Pair records the pairs of one [PairKey]; safe for concurrent use. It keeps the first [Config.MaxPairs] pairs and
// from then on a uniform sample of all, so that memory and record stay bounded.
type Pair struct {
	key   PairKey
	bound int
	clock func() time.Duration

	mu     sync.Mutex
	n      uint64 // pairs with two successes
	failed uint64 // pairs with a failed side
	raw    []rawPair
}

type rawPair struct {
	a, b   float64 // ms
	firstA bool
	at     time.Duration
}

// Key gives the key under which the pair was looked up.
func (p *Pair) Key() PairKey { return p.key }

// Record adds one pair: how long each variant took in milliseconds, which of them went first, and whether a side
// failed. A failed pair is counted and left out of the differences, as is one with a value that is no duration.
func (p *Pair) Record(aMS, bMS float64, firstWasA, failed bool) {
	v := rawPair{a: aMS, b: bMS, firstA: firstWasA, at: p.clock()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if failed || !isDuration(aMS) || !isDuration(bMS) {
		p.failed++
		return
	}
	p.n++
	if len(p.raw) < p.bound {
		p.raw = append(p.raw, v)
		return
	}
	if slot := rand.Uint64N(p.n); slot < uint64(len(p.raw)) { // #nosec G404 -- sampling, nothing secret
		p.raw[slot] = v
	}
}

func isDuration(ms float64) bool {
	return ms >= 0 && !math.IsInf(ms, 0) // false for NaN, too
}
