package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/internal/progress"
	"go.k6.io/k6/v2/lib/executor"
)

// forEachVU runs f for n VUs of the scenario at once and waits for all of them.
func (s *scenario) forEachVU(hard context.Context, n int64, f func(ActiveVU)) {
	var wg sync.WaitGroup
	for range n {
		// Taken here, not in the goroutines, so that ids come in order.
		vu, release := s.activate(hard)
		if vu == nil {
			break
		}
		wg.Go(func() {
			defer release()
			f(vu)
		})
	}
	wg.Wait()
}

// sharedIterations lets VUs take iterations from one pot.
type sharedIterations struct {
	*scenario
	vus, total           int64
	maxDuration          time.Duration
	taken, started, done atomic.Int64
}

func (d *sharedIterations) duration() time.Duration { return d.maxDuration }

func (d *sharedIterations) run(regular, hard context.Context) {
	over := regular.Done()
	d.forEachVU(hard, d.vus, func(vu ActiveVU) {
		for {
			select {
			case <-over:
				return
			default:
			}
			if d.taken.Add(1) > d.total {
				return
			}
			d.started.Add(1)
			goOn := d.iterate(hard, vu)
			d.done.Add(1)
			if !goOn {
				return
			}
		}
	})
	d.drop(d.total - d.started.Load())
}

func (d *sharedIterations) progress(elapsed time.Duration) (float64, []string) {
	done := d.done.Load()
	return float64(done) / float64(d.total), []string{
		fmt.Sprintf("%d VUs", d.vus),
		clockOf(elapsed, d.maxDuration),
		fmt.Sprintf("%s/%d shared iters", progress.Count(done, d.total), d.total),
	}
}

// perVUIterations lets each VU run the same number of iterations.
type perVUIterations struct {
	*scenario
	vus, each   int64
	maxDuration time.Duration
	done        atomic.Int64
}

func (d *perVUIterations) duration() time.Duration { return d.maxDuration }

func (d *perVUIterations) run(regular, hard context.Context) {
	over := regular.Done()
	var started atomic.Int64
	d.forEachVU(hard, d.vus, func(vu ActiveVU) {
		started.Add(1)
		for i := range d.each {
			select {
			case <-over:
				d.drop(d.each - i)
				return
			default:
			}
			ok := d.iterate(hard, vu)
			d.done.Add(1)
			if !ok {
				d.drop(d.each - i - 1)
				return
			}
		}
	})
	for range d.vus - started.Load() {
		d.drop(d.each)
	}
}

func (d *perVUIterations) progress(elapsed time.Duration) (float64, []string) {
	done, total := d.done.Load(), d.vus*d.each
	return float64(done) / float64(total), []string{
		fmt.Sprintf("%d VUs", d.vus),
		clockOf(elapsed, d.maxDuration),
		fmt.Sprintf("%s/%d iters, %d per VU", progress.Count(done, total), total, d.each),
	}
}

// constantVUs keeps VUs looping.
type constantVUs struct {
	*scenario
	vus int64
	d   time.Duration
}

func (d *constantVUs) duration() time.Duration { return d.d }

func (d *constantVUs) run(regular, hard context.Context) {
	over := regular.Done()
	d.forEachVU(hard, d.vus, func(vu ActiveVU) {
		for {
			select {
			case <-over:
				return
			default:
			}
			if !d.iterate(hard, vu) {
				return
			}
		}
	})
}

func (d *constantVUs) progress(elapsed time.Duration) (float64, []string) {
	return shareOf(elapsed, d.d), []string{fmt.Sprintf("%d VUs", d.vus), clockOf(elapsed, d.d)}
}

// rampingVUs gives every slot of a ramp a VU while the ramp is high enough.
type rampingVUs struct {
	*scenario
	slots []executor.RampSlot
	d     time.Duration
}

func (d *rampingVUs) duration() time.Duration { return d.d }

func (d *rampingVUs) run(regular, hard context.Context) {
	began, _ := regular.Deadline()
	began = began.Add(-d.d)
	var wg sync.WaitGroup
	for _, slot := range d.slots {
		if len(slot.Intervals) > 0 {
			wg.Go(func() { d.runSlot(hard, began, slot) })
		}
	}
	// The scenario lasts as long as its stages, even if they end without a VU.
	<-regular.Done()
	wg.Wait()
}

func (d *rampingVUs) runSlot(hard context.Context, began time.Time, slot executor.RampSlot) {
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	for k := 0; k < len(slot.Intervals); k++ {
		timer.Reset(time.Until(began.Add(slot.Intervals[k].From)))
		select {
		case <-timer.C:
		case <-hard.Done():
			return
		}
		k = d.runIntervals(hard, began, slot, k)
	}
}

// runIntervals runs iterations in interval k, and in those that follow as long as an iteration is under way
// when they begin. It returns the number of the last interval dealt with.
func (d *rampingVUs) runIntervals(hard context.Context, began time.Time, slot executor.RampSlot, k int) int {
	ctx, cancel := context.WithDeadline(hard, began.Add(slot.CutOff[k]))
	defer cancel()
	vu, release := d.activate(ctx)
	if vu == nil {
		return k
	}
	defer release()
	for {
		now := time.Since(began)
		if now >= slot.Intervals[k].To {
			if k+1 == len(slot.Intervals) || now < slot.Intervals[k+1].From {
				return k
			}
			k++
			continue
		}
		if !d.iterate(ctx, vu) {
			return k
		}
	}
}

func (d *rampingVUs) progress(elapsed time.Duration) (float64, []string) {
	highest := int64(len(d.slots))
	return shareOf(elapsed, d.d), []string{
		fmt.Sprintf("%s/%d VUs", progress.Count(d.active.Load(), highest), highest), clockOf(elapsed, d.d),
	}
}

// shareOf is the part of a time that has passed, at most 1.
func shareOf(elapsed, total time.Duration) float64 {
	if elapsed >= total {
		return 1
	}
	return elapsed.Seconds() / total.Seconds()
}

// clockOf is the time that has passed beside the time that there is.
func clockOf(elapsed, total time.Duration) string {
	return progress.Clock(min(elapsed, total), total) + "/" + total.String()
}
