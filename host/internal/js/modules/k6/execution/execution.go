// Package execution is the module k6/execution: what a script can learn about, and do to, the test that runs it.
package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

type instance struct {
	vu      modules.VU
	rt      *sobek.Runtime
	options sobek.Value
	exports modules.Exports
}

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	i := &instance{vu: vu, rt: vu.Runtime()}
	obj := i.rt.NewObject()
	for name, part := range map[string]*sobek.Object{
		"instance": i.instance(), "scenario": i.scenario(), "test": i.test(), "vu": i.virtualUser(),
	} {
		_ = obj.Set(name, part) // a fresh object takes any property
	}
	i.exports = modules.Exports{Default: obj}
	return i
}

// Exports returns the default export, whose parts can be imported by name.
func (i *instance) Exports() modules.Exports { return i.exports }

var (
	errVUInInit       = common.NewInitContextError("getting VU information in the init context is not supported")
	errScenario       = errors.New("getting scenario information outside of the VU context is not supported")
	errScenarioInInit = common.NewInitContextError("getting scenario information in the init context is not supported")
	errInstance       = errors.New("getting instance information in the init context, teardown() or handleSummary() is not supported")
	errOptionsInInit  = common.NewInitContextError("getting test options in the init context is not supported")
)

// getters defines properties that are computed when they are read.
func (i *instance) getters(obj *sobek.Object, all map[string]func() (any, error)) *sobek.Object {
	for name, get := range all {
		getter := i.rt.ToValue(func(sobek.FunctionCall) sobek.Value {
			value, err := get()
			if err != nil {
				common.Throw(i.rt, err)
			}
			return i.rt.ToValue(value)
		})
		// A fresh object takes any property.
		_ = obj.DefineAccessorProperty(name, getter, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	}
	return obj
}

func (i *instance) scenario() *sobek.Object {
	of := func(get func(*lib.ScenarioState, *lib.State) any) func() (any, error) {
		return func() (any, error) {
			state := i.vu.State()
			if state == nil {
				return nil, errScenarioInInit
			}
			scenario := lib.GetScenarioState(i.vu.Context())
			if scenario == nil {
				return nil, errScenario
			}
			return get(scenario, state), nil
		}
	}
	return i.getters(i.rt.NewObject(), map[string]func() (any, error){
		"name":      of(func(s *lib.ScenarioState, _ *lib.State) any { return s.Name }),
		"executor":  of(func(s *lib.ScenarioState, _ *lib.State) any { return s.Executor }),
		"startTime": of(func(s *lib.ScenarioState, _ *lib.State) any { return s.StartTime.UnixMilli() }),
		"progress": of(func(s *lib.ScenarioState, _ *lib.State) any {
			done, _ := s.ProgressFn()
			return done
		}),
		"iterationInInstance": of(func(_ *lib.ScenarioState, st *lib.State) any { return call(st.GetScenarioLocalVUIter) }),
		"iterationInTest":     of(func(_ *lib.ScenarioState, st *lib.State) any { return call(st.GetScenarioGlobalVUIter) }),
	})
}

func call(counter func() uint64) uint64 {
	if counter == nil {
		return 0
	}
	return counter()
}

func (i *instance) instance() *sobek.Object {
	of := func(get func(*lib.ExecutionState) any) func() (any, error) {
		return func() (any, error) {
			es := lib.GetExecutionState(i.vu.Context())
			if es == nil {
				return nil, errInstance
			}
			return get(es), nil
		}
	}
	return i.getters(i.rt.NewObject(), map[string]func() (any, error){
		"currentTestRunDuration": of(func(es *lib.ExecutionState) any {
			return float64(es.GetCurrentTestRunDuration()) / float64(time.Millisecond)
		}),
		"iterationsCompleted":   of(func(es *lib.ExecutionState) any { return es.GetFullIterationCount() }),
		"iterationsInterrupted": of(func(es *lib.ExecutionState) any { return es.GetPartialIterationCount() }),
		"vusActive":             of(func(es *lib.ExecutionState) any { return es.GetCurrentlyActiveVUsCount() }),
		"vusInitialized":        of(func(es *lib.ExecutionState) any { return es.GetInitializedVUsCount() }),
	})
}

func (i *instance) virtualUser() *sobek.Object {
	of := func(get func(*lib.State) any) func() (any, error) {
		return func() (any, error) {
			state := i.vu.State()
			if state == nil {
				return nil, errVUInInit
			}
			return get(state), nil
		}
	}
	vu := i.getters(i.rt.NewObject(), map[string]func() (any, error){
		"idInInstance":        of(func(s *lib.State) any { return s.VUID }),
		"idInTest":            of(func(s *lib.State) any { return s.VUIDGlobal }),
		"iterationInInstance": of(func(s *lib.State) any { return s.Iteration }),
		"iterationInScenario": func() (any, error) {
			state := i.vu.State()
			if state == nil {
				return nil, errVUInInit
			}
			if state.GetScenarioVUIter == nil {
				return nil, errScenario
			}
			return state.GetScenarioVUIter(), nil
		},
	})
	tags := i.rt.NewDynamicObject(&tagsObject{i})
	metrics := i.rt.NewObject()
	_ = metrics.Set("tags", tags)
	_ = metrics.Set("metadata", i.rt.NewDynamicObject(&metadataObject{i}))
	_ = vu.Set("metrics", metrics)
	// The older name of vu.metrics.tags.
	_ = vu.DefineDataProperty("tags", tags, sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE)
	return vu
}

func (i *instance) test() *sobek.Object {
	test := i.getters(i.rt.NewObject(), map[string]func() (any, error){"options": i.testOptions})
	_ = test.Set("abort", func(call sobek.FunctionCall) sobek.Value {
		i.rt.Interrupt(&errext.InterruptError{Reason: reason(errext.AbortTest, call.Argument(0))})
		return sobek.Undefined()
	})
	_ = test.Set("fail", func(call sobek.FunctionCall) sobek.Value {
		i.fail(reason(errext.MarkedAsFailedTest, call.Argument(0)))
		return sobek.Undefined()
	})
	return test
}

func reason(what string, message sobek.Value) string {
	if common.IsNullish(message) {
		return what
	}
	return what + ": " + message.String()
}

func (i *instance) fail(text string) {
	if state := i.vu.State(); state != nil {
		if state.TestStatus != nil {
			state.TestStatus.MarkFailed()
		}
		state.Logger.Error(text)
		return
	}
	if env := i.vu.InitEnv(); env != nil && env.TestPreInitState != nil && env.TestStatus != nil {
		env.TestStatus.MarkFailed()
		env.Logger.Error(text)
	}
}

// testOptions are the options as they came out, unset ones as null, read-only.
func (i *instance) testOptions() (any, error) {
	state := i.vu.State()
	if state == nil {
		return nil, errOptionsInInit
	}
	if i.options != nil {
		return i.options, nil
	}
	data, err := json.Marshal(state.Options)
	if err != nil {
		return nil, fmt.Errorf("test options: %w", err)
	}
	parse, ok := sobek.AssertFunction(i.rt.GlobalObject().Get("JSON").ToObject(i.rt).Get("parse"))
	if !ok {
		return nil, errors.New("JSON.parse is not a function: the script must not replace it")
	}
	options, err := parse(sobek.Undefined(), i.rt.ToValue(string(data)))
	if err != nil {
		return nil, fmt.Errorf("test options: %w", err)
	}
	if err := common.FreezeObject(i.rt, options); err != nil {
		return nil, fmt.Errorf("test options: %w", err)
	}
	i.options = options
	return options, nil
}
