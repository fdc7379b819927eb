// Package metrics is the module k6/metrics: the metrics that scripts define themselves.
package metrics

import (
	"fmt"
	"math"
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
	m := &instance{vu: vu, rt: vu.Runtime()}
	m.exports = modules.Exports{Named: map[string]any{
		"Counter": m.constructor(metrics.Counter),
		"Gauge":   m.constructor(metrics.Gauge),
		"Rate":    m.constructor(metrics.Rate),
		"Trend":   m.constructor(metrics.Trend),
	}}
	return m
}

type instance struct {
	vu      modules.VU
	rt      *sobek.Runtime
	exports modules.Exports
}

// Exports returns the constructors.
func (m *instance) Exports() modules.Exports { return m.exports }

var (
	errNotInInit = common.NewInitContextError("metrics must be declared in the init context")
	errAddInInit = common.NewInitContextError("Adding to metrics in the init context is not supported")
)

func (m *instance) constructor(typ metrics.MetricType) func(sobek.ConstructorCall) *sobek.Object {
	return func(call sobek.ConstructorCall) *sobek.Object {
		env := m.vu.InitEnv()
		if env == nil {
			common.Throw(m.rt, errNotInInit)
		}
		contains := metrics.Default
		if call.Argument(1).ToBoolean() {
			contains = metrics.Time
		}
		metric, err := env.Registry.NewMetric(call.Argument(0).String(), typ, contains)
		if err != nil {
			common.Throw(m.rt, err)
		}
		_ = call.This.DefineDataProperty("name", m.rt.ToValue(metric.Name), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
		_ = call.This.Set("add", func(add sobek.FunctionCall) sobek.Value { return m.add(metric, add) })
		return nil
	}
}

func (m *instance) add(metric *metrics.Metric, call sobek.FunctionCall) sobek.Value {
	state := m.vu.State()
	if state == nil {
		common.Throw(m.rt, errAddInInit)
	}
	value, err := number(metric, call.Argument(0))
	if err != nil {
		return m.refuse(state, err)
	}
	tm := state.Tags.GetCurrentValues()
	if err := common.ApplyCustomUserTags(m.rt, &tm, call.Argument(1)); err != nil {
		common.Throw(m.rt, fmt.Errorf("cannot add tags for the '%s' custom metric: %w", metric.Name, err))
	}
	metrics.PushIfNotDone(m.vu.Context(), state.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tm.Tags},
		Time:       time.Now(), Value: value, Metadata: tm.Metadata,
	})
	return m.rt.ToValue(true)
}

// refuse warns about a value that is no number, or throws if the options want that.
func (m *instance) refuse(state *lib.State, err error) sobek.Value {
	if state.Options.Throw.Bool {
		common.Throw(m.rt, err)
	}
	state.Logger.Warn(err.Error())
	return m.rt.ToValue(false)
}

func number(metric *metrics.Metric, v sobek.Value) (float64, error) {
	if v == nil || sobek.IsUndefined(v) {
		return 0, fmt.Errorf("no value was provided for metric '%s', a number or a boolean value is expected", metric.Name)
	}
	if !sobek.IsNull(v) {
		if f := v.ToFloat(); !math.IsNaN(f) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("'%s' is an invalid value for metric '%s', a number or a boolean value is expected", v, metric.Name)
}
