package schedule

import (
	"math"
	"sort"
	"time"
)

// Arrivals tells when the iterations of an open-model scenario start.
type Arrivals interface {
	// Start is the time, since the start of the scenario, at which iteration i (from 0) starts; ok is false
	// if the scenario ends before.
	Start(i uint64) (at time.Duration, ok bool)
	// Rate is the number of iterations per second at the time t.
	Rate(t time.Duration) float64
}

type constantArrivals struct {
	rate           int64
	unit, duration time.Duration
}

// ConstantArrivals starts rate iterations per unit for duration: iteration i starts at i·unit/rate.
func ConstantArrivals(rate int64, unit, duration time.Duration) Arrivals {
	return constantArrivals{rate: rate, unit: unit, duration: duration}
}

func (c constantArrivals) Start(i uint64) (time.Duration, bool) {
	at := mulDiv(i, c.unit, c.rate)
	return at, at < c.duration
}

func (c constantArrivals) Rate(time.Duration) float64 {
	return float64(c.rate) / c.unit.Seconds()
}

// rampStage is a stage with what came before it: the rates are iterations per nanosecond.
type rampStage struct {
	start, duration time.Duration
	from, to        float64
	before, after   float64 // integral of the rate at its ends, in iterations
}

type rampingArrivals struct {
	stages []rampStage
	total  float64
}

// slack covers the rounding of the integral at the ends of stages, in iterations.
const slack = 1e-6

// RampingArrivals starts iterations at a rate that goes linearly from startRate over the targets of the
// stages, each a number of iterations per unit: the i-th iteration (from 0) starts when the integral of the
// rate reaches i+1.
func RampingArrivals(startRate int64, unit time.Duration, stages []Stage) Arrivals {
	r := &rampingArrivals{}
	rate := float64(startRate) / float64(unit)
	var at time.Duration
	for _, s := range stages {
		target := float64(s.Target) / float64(unit)
		if s.Duration > 0 {
			area := (rate + target) / 2 * float64(s.Duration)
			r.stages = append(r.stages, rampStage{
				start: at, duration: s.Duration, from: rate, to: target, before: r.total, after: r.total + area,
			})
			r.total += area
			at = After(at, s.Duration)
		}
		rate = target
	}
	return r
}

func (r *rampingArrivals) Start(i uint64) (time.Duration, bool) {
	n := float64(i + 1)
	if n > r.total+slack {
		return 0, false
	}
	index := sort.Search(len(r.stages), func(k int) bool { return n <= r.stages[k].after+slack })
	if index == len(r.stages) {
		return 0, false
	}
	s := r.stages[index]
	return s.start + min(s.reach(n-s.before), s.duration), true
}

// reach solves from·t + (to−from)·t²/(2·duration) = n for t, in the form that does not cancel when to is
// close to from.
func (s rampStage) reach(n float64) time.Duration {
	if n <= 0 {
		return 0
	}
	slope := (s.to - s.from) / float64(s.duration)
	root := s.from*s.from + 2*n*slope
	denominator := s.from + math.Sqrt(max(root, 0))
	if denominator <= 0 {
		return s.duration
	}
	return time.Duration(min(2*n/denominator, float64(s.duration)))
}

func (r *rampingArrivals) Rate(t time.Duration) float64 {
	const perSecond = float64(time.Second)
	for _, s := range r.stages {
		if t < s.start+s.duration {
			return (s.from + (s.to-s.from)*float64(t-s.start)/float64(s.duration)) * perSecond
		}
	}
	if n := len(r.stages); n > 0 {
		return r.stages[n-1].to * perSecond
	}
	return 0
}
