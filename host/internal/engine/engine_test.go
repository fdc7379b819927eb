package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib"
	_ "go.k6.io/k6/v2/lib/executor" // registers the types of executors
	"go.k6.io/k6/v2/metrics"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// fakeRunner runs a Go function in place of a script.
type fakeRunner struct {
	iteration       func(ctx context.Context, it iteration) error
	initVU          func(id uint64) error
	setup, teardown func(ctx context.Context) error

	active, mostActive atomic.Int64
}

// iteration is what the function learns about where it runs.
type iteration struct {
	vu            *fakeVU
	scenario      string
	local, global uint64
}

func (r *fakeRunner) NewVU(_ context.Context, local, global uint64, _ chan<- metrics.SampleContainer) (VU, error) {
	if r.initVU != nil {
		if err := r.initVU(local); err != nil {
			return nil, err
		}
	}
	return &fakeVU{runner: r, local: local, global: global}, nil
}

func (r *fakeRunner) Setup(ctx context.Context, _ chan<- metrics.SampleContainer) error {
	if r.setup == nil {
		return nil
	}
	return r.setup(ctx)
}

func (r *fakeRunner) Teardown(ctx context.Context, _ chan<- metrics.SampleContainer) error {
	if r.teardown == nil {
		return nil
	}
	return r.teardown(ctx)
}

type fakeVU struct {
	runner        *fakeRunner
	local, global uint64
	busy          atomic.Bool
}

func (vu *fakeVU) Activate(a *Activation) ActiveVU {
	if vu.busy.Swap(true) {
		panic("a VU is used twice at the same time")
	}
	now := vu.runner.active.Add(1)
	for most := vu.runner.mostActive.Load(); now > most && !vu.runner.mostActive.CompareAndSwap(most, now); {
		most = vu.runner.mostActive.Load()
	}
	return &fakeActiveVU{vu: vu, activation: a}
}

type fakeActiveVU struct {
	vu         *fakeVU
	activation *Activation
}

func (a *fakeActiveVU) Deactivate() {
	a.vu.runner.active.Add(-1)
	a.vu.busy.Store(false)
}

func (a *fakeActiveVU) Completed() bool { return a.activation.Context.Err() == nil }

func (a *fakeActiveVU) RunOnce() error {
	local, global := a.activation.NextIteration()
	return a.vu.runner.iteration(a.activation.Context, iteration{
		vu: a.vu, scenario: a.activation.Scenario, local: local, global: global,
	})
}

// pause waits like an iteration that sleeps: until the time is over or it is cut off.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trial is a finished run.
type trial struct {
	err     error
	engine  *Engine
	dropped map[string]float64 // by scenario
	drops   map[string]int
	logs    []*logrus.Entry
}

// try runs scenarios, given as JSON, to their end.
func try(t *testing.T, runner *fakeRunner, scenarios string, adapt ...func(*lib.Options)) trial {
	t.Helper()
	registry := metrics.NewRegistry()
	builtin := metrics.RegisterBuiltinMetrics(registry)
	opts := lib.Options{SystemTags: &metrics.DefaultSystemTagSet}
	require.NoError(t, opts.Scenarios.UnmarshalJSON([]byte(scenarios)))
	require.Empty(t, opts.Scenarios.Validate())
	for _, f := range adapt {
		f(&opts)
	}
	state := &lib.TestRunState{
		TestPreInitState: &lib.TestPreInitState{Registry: registry, BuiltinMetrics: builtin},
		Options:          opts,
		RunTags:          registry.RootTagSet(),
	}
	logger, hook := logtest.NewNullLogger()
	samples := make(chan metrics.SampleContainer, 10)
	engine, err := New(state, runner, samples, logger)
	require.NoError(t, err)

	result := trial{engine: engine, dropped: map[string]float64{}, drops: map[string]int{}}
	var reading sync.WaitGroup
	reading.Go(func() {
		for container := range samples {
			for _, s := range container.GetSamples() {
				if s.Metric == builtin.DroppedIterations {
					name, _ := s.Tags.Get("scenario")
					result.dropped[name] += s.Value
					result.drops[name]++
				}
			}
		}
	})
	result.err = engine.Run(t.Context())
	close(samples)
	reading.Wait()
	result.logs = hook.AllEntries()
	return result
}

func (r trial) full() uint64    { return r.engine.exec.GetFullIterationCount() }
func (r trial) partial() uint64 { return r.engine.exec.GetPartialIterationCount() }

func TestSharedIterationsRunEachNumberOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[uint64]int{}
		runner := &fakeRunner{iteration: func(_ context.Context, it iteration) error {
			mu.Lock()
			defer mu.Unlock()
			seen[it.local]++
			return nil
		}}
		r := try(t, runner, `{"pot": {"executor": "shared-iterations", "vus": 7, "iterations": 1000}}`)
		require.NoError(t, r.err)
		assert.Len(t, seen, 1000)
		assert.EqualValues(t, 1000, r.full())
		assert.Empty(t, r.dropped)
		assert.Zero(t, r.engine.exec.GetCurrentlyActiveVUsCount())
	})
}

func TestPerVUIterationsRunInEveryVU(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var counts [4]atomic.Int64
		runner := &fakeRunner{iteration: func(_ context.Context, it iteration) error {
			counts[it.vu.local].Add(1)
			return errors.New("an exception does not matter")
		}}
		r := try(t, runner, `{"own": {"executor": "per-vu-iterations", "vus": 3, "iterations": 5}}`)
		require.NoError(t, r.err)
		for id := 1; id <= 3; id++ {
			assert.EqualValues(t, 5, counts[id].Load())
		}
		assert.EqualValues(t, 15, r.full())
		assert.Len(t, r.logs, 15, "every exception is logged")
	})
}

func TestIterationsBeyondMaxDurationAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := &fakeRunner{iteration: func(ctx context.Context, _ iteration) error { return pause(ctx, 400*time.Millisecond) }}
		r := try(t, runner, `{
		"own": {"executor": "per-vu-iterations", "vus": 2, "iterations": 50, "maxDuration": "1s"},
		"pot": {"executor": "shared-iterations", "vus": 2, "iterations": 50, "maxDuration": "1s"}
	}`)
		require.NoError(t, r.err)
		assert.Equal(t, map[string]int{"own": 2, "pot": 1}, r.drops)
		assert.InDelta(t, 150, r.dropped["own"]+r.dropped["pot"]+float64(r.full()), 0)
		assert.Zero(t, r.partial())
	})
}

func TestGracefulStopDecidesWhetherIterationsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var patient, hasty atomic.Int64
		runner := &fakeRunner{iteration: func(ctx context.Context, it iteration) error {
			err := pause(ctx, 1300*time.Millisecond)
			if err == nil {
				map[string]*atomic.Int64{"patient": &patient, "hasty": &hasty}[it.scenario].Add(1)
			}
			return err
		}}
		r := try(t, runner, `{
		"patient": {"executor": "constant-vus", "duration": "1s", "gracefulStop": "10s"},
		"hasty": {"executor": "constant-vus", "duration": "1s", "gracefulStop": "0s"}
	}`)
		require.NoError(t, r.err)
		assert.EqualValues(t, 1, patient.Load())
		assert.EqualValues(t, 0, hasty.Load())
		assert.EqualValues(t, 1, r.full())
		assert.EqualValues(t, 1, r.partial())
		assert.Empty(t, r.logs, "an iteration that is cut off is no exception")
	})
}

func TestRampingVUsFollowTheStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ids sync.Map
		runner := &fakeRunner{iteration: func(ctx context.Context, it iteration) error {
			ids.Store(it.vu.local, true)
			return pause(ctx, 10*time.Millisecond)
		}}
		began := time.Now()
		r := try(t, runner, `{"ramp": {"executor": "ramping-vus", "startVUs": 0, "gracefulRampDown": "0s", "stages": [
		{"duration": "300ms", "target": 6}, {"duration": "100ms", "target": 6}, {"duration": "300ms", "target": 0},
		{"duration": "0", "target": 2}, {"duration": "100ms", "target": 2}
	]}}`)
		require.NoError(t, r.err)
		assert.GreaterOrEqual(t, time.Since(began), 800*time.Millisecond)
		assert.EqualValues(t, 6, r.engine.exec.GetInitializedVUsCount())
		assert.EqualValues(t, 6, runner.mostActive.Load())
		// The area under the ramp in units of an iteration, give or take one for each start and stop of a slot.
		assert.InDelta(t, 6*15+6*10+6*15+2*10, float64(r.full()+r.partial()), 14)
	})
}

func TestRampDownLetsIterationsEndGracefully(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		runner := &fakeRunner{iteration: func(ctx context.Context, _ iteration) error {
			err := pause(ctx, 400*time.Millisecond)
			if err == nil {
				ended.Add(1)
			}
			return err
		}}
		r := try(t, runner, `{"ramp": {"executor": "ramping-vus", "startVUs": 3, "gracefulRampDown": "5s", "stages": [
		{"duration": "100ms", "target": 3}, {"duration": "0", "target": 0}, {"duration": "100ms", "target": 0},
		{"duration": "0", "target": 3}, {"duration": "100ms", "target": 3}
	]}}`)
		require.NoError(t, r.err)
		assert.EqualValues(t, 3, ended.Load(), "the slots come back while their iterations still run")
		assert.EqualValues(t, 3, r.engine.exec.GetInitializedVUsCount())
		assert.Zero(t, r.partial())
	})
}

func TestConstantArrivalRateStartsEveryIterationOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		starts := map[uint64]time.Duration{}
		runner := &fakeRunner{iteration: func(ctx context.Context, it iteration) error {
			mu.Lock()
			starts[it.global] = time.Since(began)
			mu.Unlock()
			return pause(ctx, 25*time.Millisecond)
		}}
		r := try(t, runner, `{"open": {"executor": "constant-arrival-rate", "rate": 2000, "duration": "5s", "preAllocatedVUs": 51}}`)
		require.NoError(t, r.err)
		assert.EqualValues(t, 10_000, r.full())
		assert.Empty(t, r.dropped)
		require.Len(t, starts, 10_000)
		for i, at := range starts {
			require.Equal(t, time.Duration(i)*500*time.Microsecond, at, "iteration %d", i)
		}
	})
}

func TestRampingArrivalRateStartsTheIntegral(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := &fakeRunner{iteration: func(context.Context, iteration) error { return nil }}
		r := try(t, runner, `{"open": {"executor": "ramping-arrival-rate", "preAllocatedVUs": 40,
		"stages": [{"duration": "1s", "target": 100}, {"duration": "200ms", "target": 100}]}}`)
		require.NoError(t, r.err)
		assert.InDelta(t, 70, float64(r.full())+r.dropped["open"], 0)
	})
}

func TestArrivalsWithoutAFreeVUAreDroppedAndGrowThePool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := &fakeRunner{iteration: func(ctx context.Context, _ iteration) error { return pause(ctx, 3*time.Second) }}
		r := try(t, runner, `{"open": {"executor": "constant-arrival-rate", "rate": 20, "duration": "1s",
		"preAllocatedVUs": 1, "maxVUs": 3, "gracefulStop": "0s"}}`)
		require.NoError(t, r.err)
		assert.EqualValues(t, 3, r.engine.exec.GetInitializedVUsCount())
		assert.EqualValues(t, 3, r.partial())
		assert.InDelta(t, 17, r.dropped["open"], 0)
		require.Len(t, r.logs, 1, "the warning comes once")
		assert.Equal(t, "Insufficient VUs, reached 3 active VUs and cannot initialize more", r.logs[0].Message)
		assert.Equal(t, "open", r.logs[0].Data["scenario"])
	})
}

func TestAScheduleFarBehindGivesUpTheRestAtOnce(t *testing.T) {
	t.Parallel()
	for name, began := range map[string]time.Duration{"after the end": -12 * time.Second, "long after": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := metrics.NewRegistry()
			opts := lib.Options{SystemTags: &metrics.DefaultSystemTagSet}
			require.NoError(t, opts.Scenarios.UnmarshalJSON([]byte(`{"open": {"executor": "constant-arrival-rate",
				"rate": 1, "timeUnit": "1ns", "duration": "10s", "preAllocatedVUs": 1}}`)))
			samples := make(chan metrics.SampleContainer, 1)
			logger, _ := logtest.NewNullLogger()
			engine, err := New(&lib.TestRunState{
				TestPreInitState: &lib.TestPreInitState{Registry: registry, BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry)},
				Options:          opts, RunTags: registry.RootTagSet(),
			}, &fakeRunner{}, samples, logger)
			require.NoError(t, err)
			defer engine.stop()
			open, ok := engine.scenarios[0].driver.(*arrivals)
			require.True(t, ok)

			open.startOnSchedule(t.Context(), time.Now().Add(began), nil, nil)
			dropped := (<-samples).GetSamples()
			require.Len(t, dropped, 1)
			assert.InDelta(t, 1e10, dropped[0].Value, 0)
			assert.Empty(t, samples)
		})
	}
}

func TestScenariosShareVUsOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := &fakeRunner{iteration: func(ctx context.Context, _ iteration) error { return pause(ctx, 50*time.Millisecond) }}
		r := try(t, runner, `{
		"a": {"executor": "constant-vus", "vus": 3, "duration": "1s", "gracefulStop": "0s"},
		"b": {"executor": "constant-vus", "vus": 2, "duration": "1s", "gracefulStop": "0s", "startTime": "1s"}
	}`)
		require.NoError(t, r.err)
		assert.EqualValues(t, 3, r.engine.Plan().PlannedVUs)
		assert.EqualValues(t, 3, r.engine.exec.GetInitializedVUsCount())
	})
}

func TestAbortStopsIterationsAndStillRunsTeardown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reason := &errext.InterruptError{Reason: errext.AbortTest}
		var tornDown atomic.Bool
		var running sync.WaitGroup
		running.Add(2)
		runner := &fakeRunner{
			iteration: func(ctx context.Context, it iteration) error {
				running.Done()
				running.Wait()
				if it.vu.local == 1 {
					return reason
				}
				return pause(ctx, time.Minute)
			},
			teardown: func(ctx context.Context) error {
				tornDown.Store(true)
				return ctx.Err()
			},
		}
		r := try(t, runner, `{
		"now": {"executor": "per-vu-iterations", "vus": 2, "iterations": 9},
		"later": {"executor": "per-vu-iterations", "startTime": "1m"}
	}`)
		require.ErrorIs(t, r.err, reason)
		assert.True(t, tornDown.Load())
		assert.EqualValues(t, 2, r.partial())
		assert.Empty(t, r.dropped, "nothing is dropped by an abort")
	})
}

func TestFailedSetupKeepsEverythingElseFromRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trouble := errors.New("trouble")
		runner := &fakeRunner{
			iteration: func(context.Context, iteration) error { t.Error("iteration"); return nil },
			setup:     func(context.Context) error { return trouble },
			teardown:  func(context.Context) error { t.Error("teardown"); return nil },
		}
		r := try(t, runner, `{"own": {"executor": "per-vu-iterations"}}`)
		require.ErrorIs(t, r.err, trouble)
	})
}

func TestFailedInitialisationEndsTheTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trouble := errors.New("trouble")
		runner := &fakeRunner{
			iteration: func(context.Context, iteration) error { t.Error("iteration"); return nil },
			initVU: func(id uint64) error {
				if id == 3 {
					return trouble
				}
				return nil
			},
		}
		r := try(t, runner, `{"own": {"executor": "per-vu-iterations", "vus": 5}}`)
		require.ErrorIs(t, r.err, trouble)
	})
}

func TestPanicInAModuleEndsTheTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := &fakeRunner{iteration: func(context.Context, iteration) error { panic("module") }}
		r := try(t, runner, `{"own": {"executor": "per-vu-iterations"}}`)
		var panicked *PanicError
		require.ErrorAs(t, r.err, &panicked)
		assert.Equal(t, "module", panicked.Value)
		assert.NotEmpty(t, panicked.Stack)
	})
}

func TestSegmentsTogetherRunEverythingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		iterations, vus := map[uint64]int{}, map[uint64]int{}
		runner := &fakeRunner{
			iteration: func(_ context.Context, it iteration) error {
				mu.Lock()
				defer mu.Unlock()
				iterations[it.global]++
				vus[it.vu.global]++
				return nil
			},
		}
		sequence, err := lib.NewExecutionSegmentSequenceFromString("0,1/4,1/2,3/4,1")
		require.NoError(t, err)
		for _, text := range []string{"0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"} {
			segment, err := lib.NewExecutionSegmentFromString(text)
			require.NoError(t, err)
			r := try(t, runner, `{"pot": {"executor": "shared-iterations", "vus": 4, "iterations": 10}}`,
				func(o *lib.Options) { o.ExecutionSegment, o.ExecutionSegmentSequence = segment, sequence })
			require.NoError(t, r.err)
		}
		assert.Len(t, iterations, 10)
		for n := range uint64(10) {
			assert.Equal(t, 1, iterations[n])
		}
		assert.Len(t, vus, 4)
	})
}

func TestProgressStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[string][]float64{}
		var mu sync.Mutex
		runner := &fakeRunner{iteration: func(ctx context.Context, it iteration) error {
			mu.Lock()
			fraction, _ := lib.GetScenarioState(ctx).ProgressFn()
			seen[it.scenario] = append(seen[it.scenario], fraction)
			mu.Unlock()
			err := pause(ctx, 700*time.Millisecond)
			mu.Lock()
			fraction, _ = lib.GetScenarioState(ctx).ProgressFn()
			seen[it.scenario] = append(seen[it.scenario], fraction)
			mu.Unlock()
			return err
		}}
		r := try(t, runner, `{
			"a": {"executor": "shared-iterations", "iterations": 2, "vus": 2},
			"b": {"executor": "per-vu-iterations", "iterations": 2},
			"c": {"executor": "constant-vus", "duration": "1s"},
			"d": {"executor": "ramping-vus", "stages": [{"duration": "1s", "target": 3}]},
			"e": {"executor": "constant-arrival-rate", "rate": 3, "duration": "1s", "preAllocatedVUs": 3},
			"f": {"executor": "ramping-arrival-rate", "stages": [{"duration": "1s", "target": 3}], "preAllocatedVUs": 3},
			"g": {"executor": "ramping-vus", "startVUs": 1, "stages": [{"duration": "0", "target": 1}]}
		}`)
		require.NoError(t, r.err)
		for name, fractions := range seen {
			for _, f := range fractions {
				assert.GreaterOrEqual(t, f, 0.0, name)
				assert.LessOrEqual(t, f, 1.0, name)
			}
		}
		for _, line := range r.engine.Lines() {
			assert.InDelta(t, 1.0, line.Fraction, 0, line.Name)
		}
		assert.Regexp(t, `^running \(00m0\d\.\ds\), 0+/\d+ VUs, \d+ complete and 0 interrupted iterations$`, r.engine.StatusLine())
	})
}
