// Package schedule computes when a scenario's VUs and iterations start; it knows neither clocks nor goroutines.
package schedule

import (
	"math/bits"
	"time"
)

// A Stage changes a level (of VUs, or of iterations per time unit) linearly to Target within Duration; with
// a Duration of zero it jumps.
type Stage struct {
	Duration time.Duration
	Target   int64
}

// Longest is the longest time that there is, about 292 years.
const Longest = time.Duration(1<<63 - 1)

// After is a+b, or Longest if that is too long. Neither is negative.
func After(a, b time.Duration) time.Duration {
	if a > Longest-b {
		return Longest
	}
	return a + b
}

// Total is the time that all stages take together.
func Total(stages []Stage) time.Duration {
	var total time.Duration
	for _, s := range stages {
		total = After(total, s.Duration)
	}
	return total
}

// Peak is the highest level that start and stages reach.
func Peak(start int64, stages []Stage) int64 {
	peak := start
	for _, s := range stages {
		peak = max(peak, s.Target)
	}
	return peak
}

// An Interval is a time, from From up to but not including To, since the start of a scenario.
type Interval struct {
	From, To time.Duration
}

// SlotIntervals tells when the VU slot number k (from 1) of a ramp is to run: while the level is at least k.
// Counting up from a to b in a stage of length d, level k is reached at d·(k−a)/(b−a); counting down, it is
// left at d·(a−k+1)/(a−b).
func SlotIntervals(start int64, stages []Stage, k int64) []Interval {
	var (
		intervals []Interval
		at        time.Duration
		from      time.Duration
		level     = start
		running   = level >= k
	)
	begin := func(t time.Duration) { from, running = t, true }
	end := func(t time.Duration) {
		running = false
		if t <= from {
			return
		}
		if n := len(intervals); n > 0 && intervals[n-1].To == from {
			intervals[n-1].To = t
			return
		}
		intervals = append(intervals, Interval{From: from, To: t})
	}
	for _, s := range stages {
		switch {
		case !running && s.Target >= k:
			begin(After(at, part(s.Duration, k-level, s.Target-level)))
		case running && s.Target < k:
			end(After(at, part(s.Duration, level-k+1, level-s.Target)))
		}
		level = s.Target
		at = After(at, s.Duration)
	}
	if running {
		end(at)
	}
	return intervals
}

// part is d·num/den without overflow, for 0 <= num <= den.
func part(d time.Duration, num, den int64) time.Duration {
	if num <= 0 || den <= 0 {
		return 0
	}
	return mulDiv(uint64(num), d, den)
}

// mulDiv is n·d/div, rounded down; the product may exceed 64 bits, the result must not: it is capped at the
// longest duration.
func mulDiv(n uint64, d time.Duration, div int64) time.Duration {
	if d <= 0 || div <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(n, uint64(d)) // #nosec G115 -- both are positive
	if hi >= uint64(div) {             // #nosec G115 -- as above
		return Longest
	}
	quotient, _ := bits.Div64(hi, lo, uint64(div))
	if quotient > uint64(Longest) {
		return Longest
	}
	return time.Duration(quotient)
}
