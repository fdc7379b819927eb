package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// The exports with a meaning of their own.
const (
	optionsName       = "options"
	setupName         = "setup"
	teardownName      = "teardown"
	handleSummaryName = "handleSummary"
)

var errNoFunctions = errors.New("no exported functions in script")

// exports are what a script exports, in one VU.
type exports struct {
	functions map[string]sobek.Callable
	options   sobek.Value // nil if there are none
	// badSummary says that handleSummary is exported but no function, which is told when it would be called.
	badSummary bool
}

func readExports(rt *sobek.Runtime, obj *sobek.Object) (*exports, error) {
	e := &exports{functions: make(map[string]sobek.Callable)}
	var err error
	ex := rt.Try(func() {
		for _, name := range obj.Keys() {
			value := obj.Get(name)
			if fn, ok := sobek.AssertFunction(value); ok {
				e.functions[name] = fn
				continue
			}
			switch name {
			case optionsName:
				e.options = value
			case handleSummaryName:
				e.badSummary = !common.IsNullish(value)
			case setupName, teardownName:
				if !common.IsNullish(value) {
					err = errors.Join(err, fmt.Errorf("exported '%s' must be a function", name))
				}
			}
		}
	})
	if ex != nil {
		return nil, ex
	}
	return e, err
}

// executable lists the functions that a scenario may run.
func (e *exports) executable() []string {
	names := slices.Collect(maps.Keys(e.functions))
	return slices.DeleteFunc(names, func(name string) bool {
		switch name {
		case optionsName, setupName, teardownName, handleSummaryName:
			return true
		default:
			return false
		}
	})
}
