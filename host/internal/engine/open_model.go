package engine

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/internal/progress"
	"go.k6.io/k6/v2/internal/schedule"
)

// arrivals starts iterations when they are due, whatever the ones before take.
type arrivals struct {
	*scenario
	schedule          schedule.Arrivals
	d                 time.Duration
	preAllocated, max int64

	vus  atomic.Int64 // that the scenario has
	idle atomic.Int64 // of these, waiting for an iteration; whoever takes one off may send one start

	pending atomic.Int64  // starts that were sent and not begun
	waiting atomic.Bool   // for an idle VU
	freed   chan struct{} // tells that there is one, if somebody waits
}

// stall is how late the process may wake up before it counts as having been without a processor.
const stall = time.Millisecond

// patience is how long a start may wait for a VU when the process has been without a processor: had there been
// one, a VU would have been free in time. A busy machine takes its processors away again and again.
const patience = 50 * time.Millisecond

// overdue is how long after the scenario's end its last starts may be made up for. A schedule that lags further
// behind has more starts than the process can count one by one.
const overdue = time.Second

func (d *arrivals) duration() time.Duration { return d.d }

func (d *arrivals) run(regular, hard context.Context) {
	began, _ := regular.Deadline()
	began = began.Add(-d.d)

	var wg sync.WaitGroup
	// A start is sent only after an idle VU was counted off, so sending never blocks.
	starts := make(chan struct{}, d.max)
	more := make(chan struct{}, d.max)
	work := func(vu ActiveVU, release func()) {
		d.vus.Add(1)
		d.free()
		wg.Go(func() {
			defer release()
			for range starts {
				d.pending.Add(-1)
				if !d.iterate(hard, vu) {
					return
				}
				d.free()
			}
		})
	}
	for range d.preAllocated {
		vu, release := d.activate(hard)
		if vu == nil {
			break
		}
		work(vu, release)
	}
	grown := make(chan struct{})
	go func() {
		defer close(grown)
		d.grow(hard, more, work)
	}()

	d.startOnSchedule(hard, began, starts, more)
	close(more)
	// Even after the last start, the scenario takes its whole time.
	<-regular.Done()
	<-grown
	close(starts)
	wg.Wait()
}

// startOnSchedule sends each start at its time, or drops it when no VU is free and asks for one more.
func (d *arrivals) startOnSchedule(hard context.Context, began time.Time, starts, more chan<- struct{}) {
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	tuple := d.engine.exec.ExecutionTuple
	asked, warned := d.preAllocated, false
	awake := time.Now()
	for i := uint64(0); ; i++ {
		at, ok := d.schedule.Start(tuple.Global(i))
		if !ok {
			return
		}
		due := began.Add(at)
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-hard.Done():
			}
			awake = time.Now()
		} else if -wait > overdue && time.Since(began) > d.d+overdue {
			d.drop(d.startsFrom(i))
			return
		}
		if hard.Err() != nil {
			if d.engine.runCtx.Err() == nil { // it is time, not an abort, that leaves no more
				d.drop(d.startsFrom(i))
			}
			return
		}
		if d.takeIdle() || d.waitIdle(hard, timer, waitUntil(due, awake, d.pending.Load() > 0)) {
			d.pending.Add(1)
			starts <- struct{}{}
			continue
		}
		d.drop(1)
		switch {
		case asked < d.max:
			asked++
			more <- struct{}{}
		case !warned:
			warned = true
			d.logger.Warnf("Insufficient VUs, reached %d active VUs and cannot initialize more", asked)
		}
	}
}

// startsFrom counts the starts of this process from number i on.
func (d *arrivals) startsFrom(i uint64) int64 {
	over := func(n uint64) bool {
		_, ok := d.schedule.Start(d.engine.exec.ExecutionTuple.Global(i + n))
		return !ok
	}
	// The schedule ends once: a bound that lies beyond it first, then the place.
	bound := uint64(1)
	for !over(bound) {
		bound *= 2
	}
	return int64(sort.Search(int(bound), func(n int) bool { return over(uint64(n)) })) // #nosec G115 -- see above
}

// waitUntil tells how long a start that was due may wait for a VU. awake is when the schedule was last waited for;
// VUs that have pending starts, which they have not even begun, are not busy but waiting for a processor.
func waitUntil(due, awake time.Time, pending bool) time.Time {
	switch {
	case pending:
		return due.Add(patience)
	case awake.Sub(due) > stall:
		return awake.Add(patience)
	default:
		return time.Time{}
	}
}

func (d *arrivals) takeIdle() bool {
	for {
		n := d.idle.Load()
		if n <= 0 {
			return false
		}
		if d.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// free counts a VU as idle.
func (d *arrivals) free() {
	d.idle.Add(1)
	if d.waiting.Load() {
		select {
		case d.freed <- struct{}{}:
		default:
		}
	}
}

// waitIdle waits for an idle VU and takes it off, until the deadline.
func (d *arrivals) waitIdle(hard context.Context, timer *time.Timer, deadline time.Time) bool {
	if !time.Now().Before(deadline) {
		return false
	}
	d.waiting.Store(true)
	defer d.waiting.Store(false)
	timer.Reset(time.Until(deadline))
	defer timer.Stop()
	for {
		if d.takeIdle() {
			return true
		}
		select {
		case <-d.freed:
		case <-timer.C:
			return d.takeIdle()
		case <-hard.Done():
			return false
		}
	}
}

// grow adds a VU for every message, initialising it if there is no idle one, until the channel is closed.
func (d *arrivals) grow(hard context.Context, more <-chan struct{}, work func(ActiveVU, func())) {
	for range more {
		if hard.Err() != nil {
			continue
		}
		vu, err := d.engine.unplannedVU(hard)
		if err != nil {
			if hard.Err() == nil {
				d.logger.WithError(err).Error("could not initialize another VU")
			}
			continue
		}
		if vu != nil {
			work(d.activateVU(hard, vu, d.engine.pool.unplanned))
		}
	}
}

func (d *arrivals) progress(elapsed time.Duration) (float64, []string) {
	vus := d.vus.Load()
	busy := max(vus-d.idle.Load(), 0)
	at := min(elapsed, d.d)
	rate := d.schedule.Rate(at) * d.engine.exec.ExecutionTuple.Fraction()
	return shareOf(elapsed, d.d), []string{
		fmt.Sprintf("%s/%d VUs", progress.Count(busy, vus), vus),
		clockOf(elapsed, d.d),
		fmt.Sprintf("%.2f iters/s", rate),
	}
}
