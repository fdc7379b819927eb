package k6

import (
	"reflect"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// check tells whether all conditions of a set hold for a value, and reports each of them.
func (k *instance) check(call sobek.FunctionCall) sobek.Value {
	state := k.vu.State()
	if state == nil {
		common.Throw(k.rt, errCheckInInit)
	}
	if common.IsNullish(call.Argument(1)) {
		common.Throw(k.rt, errNoChecks)
	}
	tm := state.Tags.GetCurrentValues()
	if err := common.ApplyCustomUserTags(k.rt, &tm, call.Argument(2)); err != nil { //nolint:mnd // the third
		common.Throw(k.rt, err)
	}
	value, set := call.Argument(0), call.Argument(1).ToObject(k.rt)
	now, all := time.Now(), true
	for _, name := range set.Keys() {
		if _, err := lib.NewGroupPath(lib.RootGroupPath, name); err != nil {
			common.Throw(k.rt, err) // a name that would not fit into the summary's tree
		}
		passed, err := k.holds(set.Get(name), value)
		if err == nil || isException(err) {
			k.report(state, tm, name, passed, now)
		}
		if err != nil {
			throwAgain(k.rt, err)
		}
		all = all && passed
	}
	return k.rt.ToValue(all)
}

// isException tells an exception of the condition from one about it.
func isException(err error) bool {
	_, ok := err.(*sobek.Exception) //nolint:errorlint // what a function call returns is not wrapped
	return ok
}

func (k *instance) holds(condition, value sobek.Value) (bool, error) {
	fn, ok := sobek.AssertFunction(condition)
	if !ok {
		return condition.ToBoolean(), nil
	}
	result, err := fn(sobek.Undefined(), value)
	if err != nil {
		return false, err
	}
	if isPromise(result) {
		return false, errAsyncCheck
	}
	return result.ToBoolean(), nil
}

func isPromise(v sobek.Value) bool {
	obj, ok := v.(*sobek.Object)
	return ok && obj.ExportType() == reflect.TypeFor[*sobek.Promise]()
}

func (k *instance) report(state *lib.State, tm metrics.TagsAndMeta, name string, passed bool, now time.Time) {
	tags := tm.Tags
	if state.Options.SystemTags.Has(metrics.TagCheck) {
		tags = tags.With(metrics.TagCheck.String(), name)
	}
	metrics.PushIfNotDone(k.vu.Context(), state.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.Checks, Tags: tags},
		Time:       now, Value: metrics.B(passed), Metadata: tm.Metadata,
	})
}
