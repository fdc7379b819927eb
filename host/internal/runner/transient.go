package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// The time that the functions get that run once, unless the options say otherwise.
const (
	defaultSetupTimeout   = 60 * time.Second
	defaultSummaryTimeout = 120 * time.Second
)

// once is a function of the script that the test runs once, in a VU of its own.
type once struct {
	name     string
	option   string // names the option that sets the timeout
	timeout  time.Duration
	exitCode exitcodes.ExitCode
}

// timeoutError says that such a function took too long.
type timeoutError struct {
	once
}

func (e timeoutError) Error() string {
	return fmt.Sprintf("%s() execution timed out after %.f seconds", e.name, e.timeout.Seconds())
}

func (e timeoutError) Hint() string {
	return fmt.Sprintf("You can increase the time limit via the %s option", e.option)
}

func (e timeoutError) ExitCode() exitcodes.ExitCode  { return e.exitCode }
func (timeoutError) AbortReason() errext.AbortReason { return errext.AbortedByTimeout }

func timeoutOr(set time.Duration, valid bool, otherwise time.Duration) time.Duration {
	if valid {
		return set
	}
	return otherwise
}

// Setup runs the script's setup(), if any, and keeps what it returns.
func (r *Runner) Setup(ctx context.Context, out chan<- metrics.SampleContainer) error {
	if !r.bundle.has(setupName) {
		return nil
	}
	value, err := r.runOnce(ctx, out, once{
		name: setupName, option: "setupTimeout", exitCode: exitcodes.SetupTimeout,
		timeout: timeoutOr(r.options.SetupTimeout.TimeDuration(), r.options.SetupTimeout.Valid, defaultSetupTimeout),
	}, nil)
	if err != nil {
		return err
	}
	if value == nil || sobek.IsUndefined(value) {
		r.setupData = nil
		return nil
	}
	data, err := json.Marshal(value.Export())
	if err != nil {
		return fmt.Errorf("the setup() data can't be turned into JSON: %w", err)
	}
	r.setupData = data
	return nil
}

// Teardown runs the script's teardown(), if any.
func (r *Runner) Teardown(ctx context.Context, out chan<- metrics.SampleContainer) error {
	if !r.bundle.has(teardownName) {
		return nil
	}
	ctx = lib.WithExecutionState(ctx, nil) // the run is over
	_, err := r.runOnce(ctx, out, once{
		name: teardownName, option: "teardownTimeout", exitCode: exitcodes.TeardownTimeout,
		timeout: timeoutOr(r.options.TeardownTimeout.TimeDuration(), r.options.TeardownTimeout.Valid, defaultSetupTimeout),
	}, (*VU).setupValue)
	return err
}

// HandleSummary runs the script's handleSummary() with the JSON data and returns what goes where. It returns nil,
// which asks for the built-in summary, if there is no such function, it returns nothing or it throws. What it
// returns in vain is an error and an empty result. The samples of this VU go nowhere.
func (r *Runner) HandleSummary(ctx context.Context, data []byte) (map[string]io.Reader, error) {
	ctx = lib.WithExecutionState(ctx, nil) // the run is over
	out := make(chan metrics.SampleContainer)
	over, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		for {
			select {
			case <-out: // nobody wants them
			case <-over:
				return
			}
		}
	}()
	defer func() {
		close(over)
		<-drained
	}()

	argument := func(vu *VU) (sobek.Value, error) {
		value, err := parseJSON(vu.rt, string(data))
		if err != nil {
			return nil, fmt.Errorf("summary data: %w", err)
		}
		if obj, ok := value.(*sobek.Object); ok && obj.Get("root_group") != nil && obj.Get("setup_data") == nil {
			// JSON has no undefined, which setup() may have returned.
			err = obj.Set("setup_data", sobek.Undefined())
		}
		return value, err
	}
	value, err := r.runOnce(ctx, out, once{
		name: handleSummaryName, option: "handleSummaryTimeout", exitCode: exitcodes.GenericTimeout,
		timeout: timeoutOr(r.options.HandleSummaryTimeout.TimeDuration(), r.options.HandleSummaryTimeout.Valid,
			defaultSummaryTimeout),
	}, argument)
	if errors.Is(err, errBadSummary) {
		return map[string]io.Reader{}, err
	}
	if err != nil || value == nil || !value.ToBoolean() {
		return nil, err
	}
	return summaryResults(value)
}

var errBadSummary = errors.New("handleSummary must be a function")

// summaryResults takes what handleSummary returned apart. If a part of it can't be written, nothing is.
func summaryResults(value sobek.Value) (map[string]io.Reader, error) {
	nothing := make(map[string]io.Reader)
	obj, ok := value.(*sobek.Object)
	if !ok {
		return nothing, fmt.Errorf("handleSummary() should return a map of destinations to contents, not %s", value)
	}
	results := make(map[string]io.Reader)
	var err error
	for _, key := range obj.Keys() {
		content, badContent := common.ToBytes(obj.Get(key).Export())
		if badContent != nil {
			err = errors.Join(err, fmt.Errorf(
				"error handling summary object %s: it has to be a string or ArrayBuffer: %w", key, badContent))
			continue
		}
		results[key] = bytes.NewReader(bytes.Clone(content))
	}
	if err != nil {
		return nothing, err
	}
	return results, nil
}

// runOnce runs the function in a new VU and returns its result, awaited. The VU is made even if there is no such
// function.
func (r *Runner) runOnce(
	ctx context.Context, out chan<- metrics.SampleContainer, what once, argument func(*VU) (sobek.Value, error),
) (result sobek.Value, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicError(value)
		}
	}()
	vu, err := r.NewVU(ctx, 0, 0, out)
	if err != nil {
		return nil, err
	}
	defer vu.transport.CloseIdleConnections()
	if what.name == handleSummaryName && vu.script.exports.badSummary {
		return nil, errBadSummary
	}
	fn := vu.script.exports.functions[what.name]
	if fn == nil {
		return nil, nil //nolint:nilnil // no function, no result
	}
	vu.resetTags(&Activation{})
	vu.state.Tags.Modify(func(tm *metrics.TagsAndMeta) {
		tm.DeleteTag(metrics.TagScenario.String())
		if what.name != handleSummaryName {
			tm.SetSystemTagOrMetaIfEnabled(vu.state.Options.SystemTags, metrics.TagGroup, lib.GroupSeparator+what.name)
		}
	})
	arg := sobek.Undefined()
	if argument != nil {
		if arg, err = argument(vu); err != nil {
			return nil, err
		}
	}
	return vu.runOnce(ctx, what, fn, arg)
}

func (vu *VU) runOnce(ctx context.Context, what once, fn sobek.Callable, arg sobek.Value) (sobek.Value, error) {
	limited, cancel := context.WithTimeout(ctx, what.timeout)
	defer cancel()
	vu.script.vu.ctx = limited
	release := interruptWith(limited, vu.rt)
	start := time.Now()
	result, err := vu.call(fn, arg)
	timedOut := errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil
	cancelled := ctx.Err() != nil
	release()
	cancel()
	vu.loop.Drain(func() {
		if timedOut || ctx.Err() != nil {
			vu.rt.Interrupt(limited.Err())
		}
	})
	if what.name != handleSummaryName {
		vu.pushIterationSamples(start, time.Now(), false)
	}
	switch {
	case timedOut:
		return nil, timeoutError{what}
	case cancelled && !errext.IsInterruptError(err):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return awaited(result), nil
}

// awaited is the value of a promise that was fulfilled, or the value itself.
func awaited(value sobek.Value) sobek.Value {
	if value == nil {
		return sobek.Undefined()
	}
	obj, ok := value.(*sobek.Object)
	if !ok {
		return value
	}
	promise, ok := obj.Export().(*sobek.Promise)
	if !ok {
		return value
	}
	if promise.State() != sobek.PromiseStateFulfilled {
		return sobek.Undefined()
	}
	return promise.Result()
}
