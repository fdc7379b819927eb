package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/progress"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

const (
	// eventTimeout is how long subscribers of an event may take.
	eventTimeout = 30 * time.Minute
	// gaugePeriod is the time between samples of vus and vus_max.
	gaugePeriod = time.Second
)

// Engine runs one test, once.
type Engine struct {
	state  *lib.TestRunState
	exec   *lib.ExecutionState
	runner Runner
	logger logrus.FieldLogger

	samples   chan<- metrics.SampleContainer
	plan      Plan
	pool      *vuPool
	scenarios []*scenario
	began     atomic.Pointer[time.Time] // when the scenarios' clock started

	runCtx  context.Context //nolint:containedctx // ends when the test is aborted, at any time
	stop    context.CancelFunc
	abortMu sync.Mutex
	abort   error
}

// New prepares the scenarios of the consolidated options. Samples go to the channel, which somebody has to
// empty until Run has returned.
func New(
	state *lib.TestRunState, runner Runner, samples chan<- metrics.SampleContainer, logger logrus.FieldLogger,
) (*Engine, error) {
	tuple, err := lib.NewExecutionTuple(state.Options.ExecutionSegment, state.Options.ExecutionSegmentSequence)
	if err != nil {
		return nil, errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
	}
	e := &Engine{
		state:   state,
		exec:    lib.NewExecutionState(state, tuple),
		runner:  runner,
		logger:  logger,
		samples: samples,
		plan:    NewPlan(state.Options, tuple),
	}
	e.runCtx, e.stop = context.WithCancel(context.Background())
	e.pool = newVUPool(e.plan.PlannedVUs, e.plan.MaxVUs-e.plan.PlannedVUs)
	for _, config := range e.plan.Scenarios {
		s, err := newScenario(e, config)
		if err != nil {
			return nil, err
		}
		e.scenarios = append(e.scenarios, s)
	}
	return e, nil
}

// Plan is what the test is going to do.
func (e *Engine) Plan() Plan { return e.plan }

// ExecutionState is the state that scripts and the screen see.
func (e *Engine) ExecutionState() *lib.ExecutionState { return e.exec }

// Abort ends the test before its time, for the reason of the first call: no further iteration starts, running
// ones are cut off, then teardown runs.
func (e *Engine) Abort(reason error) {
	e.abortMu.Lock()
	defer e.abortMu.Unlock()
	if e.abort == nil {
		e.abort = reason
	}
	e.stop()
}

func (e *Engine) aborted() error {
	e.abortMu.Lock()
	defer e.abortMu.Unlock()
	return e.abort
}

// Run runs the test to its end. The error is the reason for an abort, or what failed first; the test's own
// metrics don't make it fail. Once the context ends, everything stops, teardown too.
func (e *Engine) Run(ctx context.Context) error {
	defer e.stop()
	defer context.AfterFunc(ctx, e.stop)()
	// Two families of contexts: this one ends with the process, the run's own also with an abort.
	ctx = lib.WithExecutionState(ctx, e.exec)
	e.runCtx = lib.WithExecutionState(e.runCtx, e.exec)

	stopGauges := e.startGauges()
	defer stopGauges()

	if err := e.initVUs(e.runCtx); err != nil {
		return e.firstOf(err)
	}
	e.emit(ctx, event.TestStart)
	err := e.runStages(ctx)
	e.emit(ctx, event.TestEnd)
	return e.firstOf(err)
}

// firstOf prefers the reason for an abort to an error that is likely to be its consequence.
func (e *Engine) firstOf(err error) error {
	if reason := e.aborted(); reason != nil {
		return reason
	}
	return err
}

// runStages runs setup, the scenarios and teardown.
func (e *Engine) runStages(ctx context.Context) error {
	e.exec.MarkStarted()
	defer e.exec.MarkEnded()

	e.exec.SetExecutionStatus(lib.ExecutionStatusSetup)
	if !e.state.Options.NoSetup.Bool {
		if err := e.runner.Setup(e.runCtx, e.samples); err != nil {
			e.exec.SetExecutionStatus(lib.ExecutionStatusInterrupted)
			return err
		}
	}

	e.exec.SetExecutionStatus(lib.ExecutionStatusRunning)
	now := time.Now()
	e.began.Store(&now)
	var wg sync.WaitGroup
	for _, s := range e.scenarios {
		wg.Go(func() { s.run(e.runCtx) })
	}
	wg.Wait()

	if !e.state.Options.NoTeardown.Bool {
		e.exec.SetExecutionStatus(lib.ExecutionStatusTeardown)
		if err := e.runner.Teardown(ctx, e.samples); err != nil {
			e.exec.SetExecutionStatus(lib.ExecutionStatusInterrupted)
			return err
		}
	}
	if e.runCtx.Err() != nil {
		e.exec.SetExecutionStatus(lib.ExecutionStatusInterrupted)
	} else {
		e.exec.SetExecutionStatus(lib.ExecutionStatusEnded)
	}
	return nil
}

func (e *Engine) emit(ctx context.Context, typ event.Type) {
	if e.state.Events == nil {
		return
	}
	wait := e.state.Events.Emit(&event.Event{Type: typ})
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	if err := wait(ctx); err != nil {
		e.logger.WithError(err).Warnf("not everybody was done with the event %s in time", typ)
	}
}

// initVUs initialises the planned VUs, as many at once as there are processors.
func (e *Engine) initVUs(ctx context.Context) error {
	e.exec.SetExecutionStatus(lib.ExecutionStatusInitVUs)
	vus := make([]VU, e.plan.PlannedVUs)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range vus {
		// Numbered here, so that the pool has the VUs in the order of their ids.
		local, global := e.exec.NextVUIDs()
		group.Go(func() error {
			vu, err := e.initVU(groupCtx, local, global)
			vus[i] = vu
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, vu := range vus {
		e.pool.planned <- vu
	}
	e.exec.SetExecutionStatus(lib.ExecutionStatusInitDone)
	return nil
}

func (e *Engine) initVU(ctx context.Context, local, global uint64) (VU, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the init context of a VU ends with its initialisation
	vu, err := e.runner.NewVU(ctx, local, global, e.samples)
	if err != nil {
		return nil, errext.WithHint(err, fmt.Sprintf("error while initializing VU #%d", global))
	}
	e.exec.ModInitializedVUsCount(1)
	return vu, nil
}

// unplannedVU returns an idle unplanned VU, or initialises one; nil if there may be no more.
func (e *Engine) unplannedVU(ctx context.Context) (VU, error) {
	vu, mayInit := e.pool.reserve()
	if !mayInit {
		return vu, nil
	}
	local, global := e.exec.NextVUIDs()
	return e.initVU(ctx, local, global)
}

// startGauges emits vus and vus_max every second until the returned function is called.
func (e *Engine) startGauges() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(gaugePeriod)
		defer ticker.Stop()
		builtin, tags := e.state.BuiltinMetrics, e.state.RunTags
		for {
			select {
			case now := <-ticker.C:
				e.samples <- metrics.ConnectedSamples{
					Samples: []metrics.Sample{
						{
							TimeSeries: metrics.TimeSeries{Metric: builtin.VUs, Tags: tags},
							Time:       now, Value: float64(e.exec.GetCurrentlyActiveVUsCount()),
						},
						{
							TimeSeries: metrics.TimeSeries{Metric: builtin.VUsMax, Tags: tags},
							Time:       now, Value: float64(e.exec.GetInitializedVUsCount()),
						},
					},
					Tags: tags,
					Time: now,
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// StatusLine says what the test is doing, and Lines the same for each scenario.
func (e *Engine) StatusLine() string {
	elapsed := progress.RunClock(e.exec.GetCurrentTestRunDuration(), e.plan.Duration)
	var status string
	switch current := e.exec.GetCurrentExecutionStatus(); current {
	case lib.ExecutionStatusCreated, lib.ExecutionStatusInitVUs:
		return fmt.Sprintf("Init (%s), %d/%d VUs initialized", elapsed, e.exec.GetInitializedVUsCount(), e.plan.PlannedVUs)
	case lib.ExecutionStatusSetup:
		status = "setup()"
	case lib.ExecutionStatusTeardown:
		status = "teardown()"
	default:
		status = "running"
	}
	vus := e.exec.GetInitializedVUsCount()
	return fmt.Sprintf("%s (%s), %s/%d VUs, %d complete and %d interrupted iterations", status, elapsed,
		progress.Count(e.exec.GetCurrentlyActiveVUsCount(), vus), vus,
		e.exec.GetFullIterationCount(), e.exec.GetPartialIterationCount())
}

// Lines are the progress of the scenarios.
func (e *Engine) Lines() []progress.Line {
	lines := make([]progress.Line, len(e.scenarios))
	for i, s := range e.scenarios {
		lines[i] = s.line()
	}
	return lines
}

// PanicError is a panic in Go code that an iteration called: a fault of a module, which ends the test.
type PanicError struct {
	Value any
	Stack []byte
}

// Error describes the panic.
func (p *PanicError) Error() string {
	return fmt.Sprintf("a panic occurred during JS execution: %v", p.Value)
}

// ExitCode makes the process exit as for a panic.
func (*PanicError) ExitCode() exitcodes.ExitCode { return exitcodes.GoPanic }

// AbortReason is the script's fault, as far as the test is concerned.
func (*PanicError) AbortReason() errext.AbortReason { return errext.AbortedByScriptError }

// runOnce is vu.RunOnce with a panic as an error.
func runOnce(vu ActiveVU) (err error) {
	defer func() {
		if value := recover(); value != nil {
			if inner, ok := value.(error); ok {
				var panicked *PanicError
				if errors.As(inner, &panicked) {
					err = panicked
					return
				}
			}
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return vu.RunOnce()
}
