// Package execution is the module k6/execution: what a script can learn about, and do to, the test that runs it.
package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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
	for name, getters := range parts() {
		// A fresh object takes any property.
		_ = obj.Set(name, i.rt.NewDynamicObject(&part{instance: i, getters: getters}))
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

// getter computes a property of a part when it is read.
type getter func(*instance) (any, error)

// parts are the objects of the module by name.
//
//nolint:gochecknoglobals // made once: it does not change
var parts = sync.OnceValue(func() map[string]map[string]getter {
	return map[string]map[string]getter{
		"scenario": {
			"name":      ofScenario(func(s *lib.ScenarioState, _ *lib.State) any { return s.Name }),
			"executor":  ofScenario(func(s *lib.ScenarioState, _ *lib.State) any { return s.Executor }),
			"startTime": ofScenario(func(s *lib.ScenarioState, _ *lib.State) any { return s.StartTime.UnixMilli() }),
			"progress": ofScenario(func(s *lib.ScenarioState, _ *lib.State) any {
				done, _ := s.ProgressFn()
				return done
			}),
			"iterationInInstance": ofScenario(func(_ *lib.ScenarioState, st *lib.State) any { return call(st.GetScenarioLocalVUIter) }),
			"iterationInTest":     ofScenario(func(_ *lib.ScenarioState, st *lib.State) any { return call(st.GetScenarioGlobalVUIter) }),
		},
		"instance": {
			"currentTestRunDuration": ofRun(func(es *lib.ExecutionState) any {
				return float64(es.GetCurrentTestRunDuration()) / float64(time.Millisecond)
			}),
			"iterationsCompleted":   ofRun(func(es *lib.ExecutionState) any { return es.GetFullIterationCount() }),
			"iterationsInterrupted": ofRun(func(es *lib.ExecutionState) any { return es.GetPartialIterationCount() }),
			"vusActive":             ofRun(func(es *lib.ExecutionState) any { return es.GetCurrentlyActiveVUsCount() }),
			"vusInitialized":        ofRun(func(es *lib.ExecutionState) any { return es.GetInitializedVUsCount() }),
		},
		"vu": {
			"idInInstance":        ofVU(func(s *lib.State) any { return s.VUID }),
			"idInTest":            ofVU(func(s *lib.State) any { return s.VUIDGlobal }),
			"iterationInInstance": ofVU(func(s *lib.State) any { return s.Iteration }),
			"iterationInScenario": (*instance).iterationInScenario,
			"metrics":             (*instance).metrics,
			hidden + "tags":       (*instance).tags, // the older name of vu.metrics.tags
		},
		"test": {
			"options": (*instance).testOptions,
			"abort":   func(i *instance) (any, error) { return i.abort, nil },
			"fail":    func(i *instance) (any, error) { return i.fail, nil },
		},
	}
})

// hidden marks properties that are there but don't show among the keys.
const hidden = "-"

func ofScenario(get func(*lib.ScenarioState, *lib.State) any) getter {
	return func(i *instance) (any, error) {
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

func ofRun(get func(*lib.ExecutionState) any) getter {
	return func(i *instance) (any, error) {
		es := lib.GetExecutionState(i.vu.Context())
		if es == nil {
			return nil, errInstance
		}
		return get(es), nil
	}
}

func ofVU(get func(*lib.State) any) getter {
	return func(i *instance) (any, error) {
		state := i.vu.State()
		if state == nil {
			return nil, errVUInInit
		}
		return get(state), nil
	}
}

func call(counter func() uint64) uint64 {
	if counter == nil {
		return 0
	}
	return counter()
}

func (i *instance) iterationInScenario() (any, error) {
	state := i.vu.State()
	if state == nil {
		return nil, errVUInInit
	}
	if state.GetScenarioVUIter == nil {
		return nil, errScenario
	}
	return state.GetScenarioVUIter(), nil
}

func (i *instance) metrics() (any, error) {
	metrics := i.rt.NewObject()
	_ = metrics.Set("tags", i.rt.NewDynamicObject(&tagsObject{i})) // a fresh object takes any property
	_ = metrics.Set("metadata", i.rt.NewDynamicObject(&metadataObject{i}))
	return metrics, nil
}

func (i *instance) tags() (any, error) { return i.rt.NewDynamicObject(&tagsObject{i}), nil }

func (i *instance) abort(call sobek.FunctionCall) sobek.Value {
	i.rt.Interrupt(&errext.InterruptError{Reason: reason(errext.AbortTest, call.Argument(0))})
	return sobek.Undefined()
}

func reason(what string, message sobek.Value) string {
	if common.IsNullish(message) {
		return what
	}
	return what + ": " + message.String()
}

func (i *instance) fail(call sobek.FunctionCall) sobek.Value {
	text := reason(errext.MarkedAsFailedTest, call.Argument(0))
	if state := i.vu.State(); state != nil {
		if state.TestStatus != nil {
			state.TestStatus.MarkFailed()
		}
		state.Logger.Error(text)
		return sobek.Undefined()
	}
	if env := i.vu.InitEnv(); env != nil && env.TestPreInitState != nil && env.TestStatus != nil {
		env.TestStatus.MarkFailed()
		env.Logger.Error(text)
	}
	return sobek.Undefined()
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
