package runner

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/eventloop"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"
)

// VU is a virtual user: one JavaScript runtime that runs one iteration at a time.
type VU struct {
	runner    *Runner
	script    *script
	rt        *sobek.Runtime
	loop      *eventloop.EventLoop
	state     lib.State
	out       chan<- metrics.SampleContainer
	transport *http.Transport
	dialer    *netext.Dialer

	// busy is held while an iteration runs, and while the end of an activation is dealt with.
	busy      sync.Mutex
	iteration int64
	scenarios map[string]*uint64 // iterations by scenario

	setupDone bool
	setupArg  sobek.Value

	// The call that the event loop makes next, kept here so that an iteration needs no closure.
	callback func() error
	fn       sobek.Callable
	args     [1]sobek.Value
	result   sobek.Value
}

func (vu *VU) callFunction() (err error) {
	vu.result, err = vu.fn(sobek.Undefined(), vu.args[:]...)
	return err
}

// call runs a function on the event loop until nothing is pending any more.
func (vu *VU) call(fn sobek.Callable, arg sobek.Value) (sobek.Value, error) {
	vu.fn, vu.args[0], vu.result = fn, arg, nil
	err := vu.loop.Start(vu.callback)
	return vu.result, asScriptError(err)
}

// setupValue is setup()'s return value as this VU has it.
func (vu *VU) setupValue() (sobek.Value, error) {
	if vu.setupDone {
		return vu.setupArg, nil
	}
	arg := sobek.Undefined()
	if vu.runner.setupData != nil {
		var err error
		if arg, err = parseJSON(vu.rt, string(vu.runner.setupData)); err != nil {
			return nil, err
		}
	}
	vu.setupDone, vu.setupArg = true, arg
	return arg, nil
}

// Activation says what a VU is to run.
type Activation struct {
	// RunContext carries the scenario and the state of the run. Its end interrupts the VU and ends the activation.
	RunContext context.Context //nolint:containedctx // it is the activation's life
	// Scenario names the scenario and Exec the exported function that it runs.
	Scenario, Exec string
	// Env and Tags are the scenario's.
	Env, Tags map[string]string
	// GetNextIterationCounters numbers the scenario's iterations, in this process and in the whole test; it may be nil.
	GetNextIterationCounters func() (local, global uint64)
	// OnDeactivate is called once the activation is over; it may be nil.
	OnDeactivate func(*VU)
}

// ActiveVU is a VU that works for a scenario. One goroutine at a time may use it.
type ActiveVU struct {
	*VU
	*Activation

	fn       sobek.Callable
	started  *uint64 // iterations of this VU in the scenario
	localNo  uint64
	globalNo uint64
	complete bool
}

// Completed says whether the last iteration ran to its end, so that it was reported as an iteration.
func (a *ActiveVU) Completed() bool { return a.complete }

// Activate prepares the VU for iterations of a scenario.
func (vu *VU) Activate(a *Activation) *ActiveVU {
	vu.busy.Lock()
	defer vu.busy.Unlock()
	active := &ActiveVU{
		VU: vu, Activation: a, fn: vu.script.exports.functions[a.Exec], started: vu.counterOf(a.Scenario),
	}
	vu.resetEnv(a.Env)
	vu.resetTags(a)
	vu.state.GetScenarioVUIter = func() uint64 { return max(*active.started, 1) - 1 }
	vu.state.GetScenarioLocalVUIter = func() uint64 { return active.localNo }
	vu.state.GetScenarioGlobalVUIter = func() uint64 { return active.globalNo }
	vu.script.vu.ctx = a.RunContext
	context.AfterFunc(a.RunContext, active.deactivate)
	return active
}

// counterOf returns the counter of the VU's iterations in a scenario.
func (vu *VU) counterOf(scenario string) *uint64 {
	if vu.scenarios == nil {
		vu.scenarios = make(map[string]*uint64, 1)
	}
	if vu.scenarios[scenario] == nil {
		vu.scenarios[scenario] = new(uint64)
	}
	return vu.scenarios[scenario]
}

// deactivate interrupts what the VU is doing, waits for it to stop, and leaves the VU ready for another activation.
func (a *ActiveVU) deactivate() {
	a.rt.Interrupt(context.Cause(a.RunContext))
	a.busy.Lock()
	a.rt.ClearInterrupt()
	a.busy.Unlock()
	if a.OnDeactivate != nil {
		a.OnDeactivate(a.VU)
	}
}

// resetEnv makes __ENV that of the test and the scenario.
func (vu *VU) resetEnv(scenario map[string]string) {
	env := vu.script.env
	clear(env)
	for key, value := range vu.runner.pre.RuntimeOptions.Env {
		env[key] = value
	}
	for key, value := range scenario {
		env[key] = value
	}
	if flags := vu.runner.pre.FeatureFlags; flags != nil && flags.FreezeEnv {
		_ = vu.rt.Set("__ENV", vu.script.envValue(flags)) // a global takes any value
	}
}

// resetTags makes the tags those of the run, the scenario and the system.
func (vu *VU) resetTags(a *Activation) {
	enabled := vu.state.Options.SystemTags
	vu.state.Tags.Modify(func(tm *metrics.TagsAndMeta) {
		tm.Tags = vu.runner.runTags.WithTagsFromMap(a.Tags)
		tm.Metadata = nil
		tm.SetSystemTagOrMetaIfEnabled(enabled, metrics.TagGroup, lib.RootGroupPath)
		tm.SetSystemTagOrMetaIfEnabled(enabled, metrics.TagScenario, a.Scenario)
		vu.setNumberTag(tm, metrics.TagVU, vu.state.VUID)
	})
}

// RunOnce runs one iteration. The error is an exception of the script, an *errext.InterruptError behind it if the
// script aborts the test, or the reason why the activation ended. A panic of Go code comes through.
func (a *ActiveVU) RunOnce() error {
	vu := a.VU
	vu.busy.Lock()
	defer vu.busy.Unlock()
	a.complete = false
	if err := a.RunContext.Err(); err != nil {
		return err
	}
	arg, err := vu.setupValue()
	if err != nil {
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	ctx := newIterationContext(a.RunContext)
	defer ctx.end()
	vu.script.vu.ctx = ctx
	vu.emit(event.IterStart, a.Scenario, nil)
	if !vu.state.Options.NoCookiesReset.Bool {
		// It fails for bad options only.
		vu.state.CookieJar, _ = cookiejar.New(nil)
	}

	start := time.Now()
	_, err = vu.call(a.fn, arg)
	end := time.Now()
	a.complete = a.RunContext.Err() == nil && !errext.IsInterruptError(err)
	ctx.end()
	vu.loop.Drain(a.keepInterrupted)
	if vu.state.Options.NoVUConnectionReuse.Bool {
		vu.transport.CloseIdleConnections()
	}
	vu.pushIterationSamples(start, end, a.complete)
	vu.emit(event.IterEnd, a.Scenario, err)
	if rest := vu.runner.minIteration() - time.Since(start); rest > 0 && a.complete {
		a.rest(rest)
	}
	return err
}

// keepInterrupted keeps the JavaScript of late callbacks from running once the activation has ended, else a script
// could go on for ever in them. The engine forgets an interruption that has happened, so each callback needs one.
func (a *ActiveVU) keepInterrupted() {
	if err := a.RunContext.Err(); err != nil {
		a.rt.Interrupt(err)
	}
}

// begin numbers the iteration.
func (a *ActiveVU) begin() error {
	vu := a.VU
	if a.GetNextIterationCounters != nil {
		a.localNo, a.globalNo = a.GetNextIterationCounters()
	}
	*a.started++
	vu.state.Iteration = vu.iteration
	vu.iteration++
	if vu.state.Options.SystemTags.Has(metrics.TagIter) {
		vu.state.Tags.Modify(func(tm *metrics.TagsAndMeta) {
			vu.setNumberTag(tm, metrics.TagIter, uint64(vu.state.Iteration)) // #nosec -- it counts from 0
		})
	}
	return vu.rt.Set("__ITER", vu.state.Iteration)
}

func (a *ActiveVU) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.RunContext.Done():
	}
}

func (vu *VU) emit(typ event.Type, scenario string, err error) {
	if !vu.script.local.Wanted(typ) {
		return
	}
	wait := vu.script.local.Emit(&event.Event{Type: typ, Data: event.IterData{
		Iteration: vu.state.Iteration, VUID: vu.state.VUID, ScenarioName: scenario, Error: err,
	}})
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	if err := wait(ctx); err != nil {
		vu.state.Logger.WithError(err).Warn("A subscriber did not finish with an iteration's event")
	}
}

// eventTimeout is how long subscribers may take for an event.
const eventTimeout = 30 * time.Minute
