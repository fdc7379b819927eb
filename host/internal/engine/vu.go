package engine

import (
	"context"
	"sync/atomic"

	"go.k6.io/k6/v2/metrics"
)

// A Runner makes VUs and runs what surrounds the iterations. Its methods return when their context ends.
type Runner interface {
	// NewVU runs the init code in a new VU. idLocal counts the VUs of this process from 1, idGlobal those of
	// the whole test.
	NewVU(ctx context.Context, idLocal, idGlobal uint64, out chan<- metrics.SampleContainer) (VU, error)
	Setup(ctx context.Context, out chan<- metrics.SampleContainer) error
	Teardown(ctx context.Context, out chan<- metrics.SampleContainer) error
}

// A VU is one JS runtime. One goroutine at a time uses it.
type VU interface {
	// Activate prepares the VU for iterations of a scenario, until its context ends.
	Activate(*Activation) ActiveVU
}

// An ActiveVU runs iterations of one scenario.
type ActiveVU interface {
	// RunOnce runs one iteration and returns its exception, if any. Once the activation's context has ended,
	// the iteration is cut off.
	RunOnce() error
	// Completed says whether the last iteration ran to its end, with an exception or without.
	Completed() bool
	// Deactivate ends the activation; it is called between iterations, once.
	Deactivate()
}

// Activation says what an active VU is to run and how.
type Activation struct {
	Context        context.Context //nolint:containedctx // it is the activation's life
	Scenario, Exec string
	Env, Tags      map[string]string
	// NextIteration numbers the scenario's iterations from 0: in this process and in the whole test.
	NextIteration func() (local, global uint64)
}

// vuPool holds the initialised VUs that no scenario uses. Planned VUs are enough for all scenarios at any time;
// unplanned ones are initialised on demand, up to a limit.
type vuPool struct {
	planned   chan VU
	unplanned chan VU
	left      atomic.Int64 // unplanned VUs that may still be initialised
}

func newVUPool(planned, unplanned int64) *vuPool {
	p := &vuPool{planned: make(chan VU, planned), unplanned: make(chan VU, unplanned)}
	p.left.Store(unplanned)
	return p
}

// take waits for a planned VU; it returns nil if the context ends first.
func (p *vuPool) take(ctx context.Context) VU {
	select {
	case vu := <-p.planned:
		return vu
	default:
	}
	select {
	case vu := <-p.planned:
		return vu
	case <-ctx.Done():
		return nil
	}
}

// reserve takes an idle unplanned VU, or says that one more may be initialised.
func (p *vuPool) reserve() (vu VU, mayInit bool) {
	select {
	case vu := <-p.unplanned:
		return vu, false
	default:
	}
	if p.left.Add(-1) < 0 {
		p.left.Add(1)
		return nil, false
	}
	return nil, true
}
