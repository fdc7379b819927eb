// Package k6 is the module k6: what nearly every script uses.
package k6

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	k := &instance{vu: vu, rt: vu.Runtime()}
	k.exports = modules.Exports{Named: map[string]any{
		"check":      k.check,
		"fail":       k.fail,
		"group":      k.group,
		"randomSeed": k.randomSeed,
		"sleep":      k.sleep,
	}}
	return k
}

type instance struct {
	vu      modules.VU
	rt      *sobek.Runtime
	exports modules.Exports
}

// Exports returns the functions.
func (k *instance) Exports() modules.Exports { return k.exports }

func (k *instance) fail(call sobek.FunctionCall) sobek.Value {
	common.Throw(k.rt, errors.New(call.Argument(0).String()))
	return nil
}

func (k *instance) sleep(call sobek.FunctionCall) sobek.Value {
	seconds := call.Argument(0).ToFloat()
	if math.IsNaN(seconds) || seconds <= 0 {
		return sobek.Undefined()
	}
	const longest = math.MaxInt64 / float64(time.Second)
	pause(k.vu.Context(), time.Duration(min(seconds, longest/2)*float64(time.Second)))
	return sobek.Undefined()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (k *instance) randomSeed(call sobek.FunctionCall) sobek.Value {
	source := rand.New(rand.NewSource(call.Argument(0).ToInteger())) // #nosec -- the script wants it to repeat
	k.rt.SetRandSource(source.Float64)
	return sobek.Undefined()
}

var (
	errGroupInInit = common.NewInitContextError("using group() in the init context is not supported")
	errCheckInInit = common.NewInitContextError("using check() in the init context is not supported")
	errAsyncGroup  = errors.New("group() does not support async functions as its argument: what they start runs after the group has ended")
	errAsyncCheck  = errors.New("check() does not support async functions: await the value first and check that")
	errNoGroup     = errors.New("group() requires a callback as a second argument")
	errNoChecks    = errors.New("no checks provided to `check`")
)

func (k *instance) group(call sobek.FunctionCall) sobek.Value {
	state := k.vu.State()
	if state == nil {
		common.Throw(k.rt, errGroupInInit)
	}
	fn, ok := sobek.AssertFunction(call.Argument(1))
	if !ok {
		common.Throw(k.rt, errNoGroup)
	}
	if common.IsAsyncFunction(k.rt, call.Argument(1)) {
		common.Throw(k.rt, errAsyncGroup)
	}
	leave, err := enterGroup(state, call.Argument(0).String())
	if err != nil {
		common.Throw(k.rt, err)
	}
	start := time.Now()
	// Also when the function throws or is interrupted.
	defer func() {
		end := time.Now()
		tm := state.Tags.GetCurrentValues()
		metrics.PushIfNotDone(k.vu.Context(), state.Samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.GroupDuration, Tags: tm.Tags},
			Time:       end, Value: metrics.D(end.Sub(start)), Metadata: tm.Metadata,
		})
		leave()
	}()
	result, err := fn(sobek.Undefined())
	if err != nil {
		throwAgain(k.rt, err)
	}
	return result // a promise too: a function that only starts something is none that k6 refuses
}

// throwAgain passes on an error of a function that was called: an exception, or an interruption.
func throwAgain(rt *sobek.Runtime, err error) {
	var interrupted *sobek.InterruptedError
	if errors.As(err, &interrupted) {
		panic(interrupted)
	}
	common.Throw(rt, err)
}

// enterGroup appends to the tag group and returns the way back.
func enterGroup(state *lib.State, name string) (leave func(), err error) {
	if !state.Options.SystemTags.Has(metrics.TagGroup) {
		_, err := lib.NewGroupPath(lib.RootGroupPath, name)
		return func() {}, err
	}
	tag := metrics.TagGroup.String()
	var old string
	state.Tags.Modify(func(tm *metrics.TagsAndMeta) {
		old, _ = tm.Tags.Get(tag)
		var path string
		if path, err = lib.NewGroupPath(old, name); err == nil {
			tm.SetTag(tag, path)
		}
	})
	return func() {
		state.Tags.Modify(func(tm *metrics.TagsAndMeta) { tm.SetTag(tag, old) })
	}, err
}
