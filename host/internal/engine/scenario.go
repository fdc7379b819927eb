package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/internal/progress"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// A driver starts a scenario's iterations according to its configuration. It returns when all iterations have
// ended.
type driver interface {
	// run gets two contexts: regular ends with the time in which iterations may start, hard with the time in
	// which they have to end.
	run(regular, hard context.Context)
	// duration is the time in which iterations may start.
	duration() time.Duration
	// progress is the share done, from 0 to 1, and what to show beside it.
	progress(elapsed time.Duration) (float64, []string)
}

// scenario is one scenario while it runs.
type scenario struct {
	engine *Engine
	config lib.ExecutorConfig
	logger logrus.FieldLogger
	driver driver

	// sampleTags are the tags of samples that no VU makes.
	sampleTags *metrics.TagSet
	iterations atomic.Uint64 // started in this process
	active     atomic.Int64  // VUs at the moment

	mu     sync.Mutex
	status progress.Status
	began  time.Time
	ended  time.Time
}

func newScenario(e *Engine, config lib.ExecutorConfig) (*scenario, error) {
	s := &scenario{
		engine: e,
		config: config,
		logger: e.logger.WithFields(logrus.Fields{"scenario": config.GetName(), "executor": config.GetType()}),
	}
	s.sampleTags = e.state.RunTags
	if e.state.Options.SystemTags.Has(metrics.TagScenario) {
		s.sampleTags = s.sampleTags.With(metrics.TagScenario.String(), config.GetName())
	}
	var err error
	s.driver, err = newDriver(s)
	return s, err
}

// run waits for the scenario's start time and runs it to its end.
func (s *scenario) run(ctx context.Context) {
	if wait := s.config.GetStartTime(); wait > 0 {
		timer := time.NewTimer(time.Until(s.engine.began.Load().Add(wait)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			s.setStatus(progress.Interrupted)
			return
		}
	}
	if ctx.Err() != nil {
		s.setStatus(progress.Interrupted)
		return
	}

	began := time.Now()
	s.mu.Lock()
	s.began = began
	s.status = progress.Running
	s.mu.Unlock()

	end := began.Add(s.driver.duration())
	hard, cancelHard := context.WithDeadline(ctx, end.Add(s.config.GetGracefulStop()))
	defer cancelHard()
	regular, cancelRegular := context.WithDeadline(hard, end)
	defer cancelRegular()

	hard = lib.WithScenarioState(hard, &lib.ScenarioState{
		Name:       s.config.GetName(),
		Executor:   s.config.GetType(),
		StartTime:  began,
		ProgressFn: s.progress,
	})
	s.driver.run(regular, hard)

	if ctx.Err() != nil {
		s.setStatus(progress.Interrupted)
		return
	}
	s.setStatus(progress.Done)
}

func (s *scenario) setStatus(status progress.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	s.ended = time.Now()
}

// progress is what the script and the screen see of the scenario's progress.
func (s *scenario) progress() (float64, []string) {
	line := s.line()
	return line.Fraction, line.Right
}

func (s *scenario) line() progress.Line {
	s.mu.Lock()
	status, began, ended := s.status, s.began, s.ended
	s.mu.Unlock()

	line := progress.Line{Name: s.config.GetName(), Status: status}
	if began.IsZero() {
		if status == progress.Waiting {
			wait := s.config.GetStartTime()
			if start := s.engine.began.Load(); start != nil {
				wait -= time.Since(*start)
			}
			line.Right = []string{"waiting", progress.Clock(wait, s.config.GetStartTime())}
		}
		return line
	}
	elapsed := time.Since(began)
	if !ended.IsZero() {
		elapsed = ended.Sub(began)
	}
	line.Fraction, line.Right = s.driver.progress(elapsed)
	if status == progress.Done {
		line.Fraction = 1
	}
	return line
}

// nextIteration numbers an iteration as it starts.
func (s *scenario) nextIteration() (local, global uint64) {
	local = s.iterations.Add(1) - 1
	return local, s.engine.exec.ExecutionTuple.Global(local)
}

// activate takes a planned VU for the scenario; it returns nil if the context ends first. release gives the VU
// back.
func (s *scenario) activate(ctx context.Context) (active ActiveVU, release func()) {
	vu := s.engine.pool.take(ctx)
	if vu == nil {
		return nil, nil
	}
	return s.activateVU(ctx, vu, s.engine.pool.planned)
}

func (s *scenario) activateVU(ctx context.Context, vu VU, home chan<- VU) (active ActiveVU, release func()) {
	s.active.Add(1)
	s.engine.exec.ModCurrentlyActiveVUsCount(1)
	active = vu.Activate(&Activation{
		Context:       ctx,
		Scenario:      s.config.GetName(),
		Exec:          s.config.GetExec(),
		Env:           s.config.GetEnv(),
		Tags:          s.config.GetTags(),
		NextIteration: s.nextIteration,
	})
	return active, func() {
		active.Deactivate()
		s.active.Add(-1)
		s.engine.exec.ModCurrentlyActiveVUsCount(-1)
		home <- vu
	}
}

// iterate runs one iteration and says whether there may be another one in this context.
func (s *scenario) iterate(ctx context.Context, vu ActiveVU) bool {
	err := runOnce(vu)
	if err != nil && stopsTest(err) {
		s.engine.exec.AddInterruptedIterations(1)
		s.engine.Abort(err)
		return false
	}
	complete, goOn := vu.Completed(), ctx.Err() == nil
	if complete {
		s.engine.exec.AddFullIterations(1)
	} else {
		s.engine.exec.AddInterruptedIterations(1)
	}
	if err != nil && (complete || goOn) {
		s.logException(err)
	}
	return goOn
}

// stopsTest tells the errors that end the whole test from exceptions that end an iteration.
func stopsTest(err error) bool {
	if errext.IsInterruptError(err) {
		return true
	}
	var panicked *PanicError
	return errors.As(err, &panicked)
}

func (s *scenario) logException(err error) {
	message, fields := errext.Format(err)
	entry := s.logger.WithFields(fields)
	var exception errext.Exception
	if errors.As(err, &exception) {
		entry = entry.WithField("source", "stacktrace")
	}
	entry.Error(message)
}

// drop reports iterations that were due and did not start. Nothing is reported once the test is aborted.
func (s *scenario) drop(n int64) {
	if n <= 0 {
		return
	}
	metrics.PushIfNotDone(s.engine.runCtx, s.engine.samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: s.engine.state.BuiltinMetrics.DroppedIterations, Tags: s.sampleTags},
		Time:       time.Now(),
		Value:      float64(n),
	})
}
