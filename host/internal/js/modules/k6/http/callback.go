package http

import (
	"errors"
	"fmt"
	nethttp "net/http"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// expectedStatuses is a rule that says which statuses are as expected.
type expectedStatuses struct {
	ranges []statusRange
}

// statusRange holds statuses from first to last.
type statusRange struct{ first, last int }

// defaultExpectedStatuses holds for requests unless the script sets another rule.
func defaultExpectedStatuses() expectedStatuses {
	return expectedStatuses{ranges: []statusRange{{nethttp.StatusOK, nethttp.StatusBadRequest - 1}}}
}

func (e expectedStatuses) matches(status int) bool {
	for _, r := range e.ranges {
		if r.first <= status && status <= r.last {
			return true
		}
	}
	return false
}

// expectedStatuses is http.expectedStatuses(…): numbers and {min, max} objects.
func (m *module) expectedStatuses(call sobek.FunctionCall) sobek.Value {
	if len(call.Arguments) == 0 {
		common.Throw(m.rt, errors.New("http.expectedStatuses: no arguments given; it takes statuses and {min, max} objects"))
	}
	rule := new(expectedStatuses)
	for i, argument := range call.Arguments {
		r, err := m.statusRange(argument)
		if err != nil {
			common.Throw(m.rt, fmt.Errorf("http.expectedStatuses: argument %d: %w", i+1, err))
		}
		rule.ranges = append(rule.ranges, r)
	}
	return m.rt.ToValue(rule)
}

func (m *module) statusRange(argument sobek.Value) (statusRange, error) {
	if status, ok := argument.Export().(int64); ok {
		return statusRange{int(status), int(status)}, nil
	}
	if object, ok := argument.(*sobek.Object); ok {
		first, firstOK := exportInteger(object.Get("min"))
		last, lastOK := exportInteger(object.Get("max"))
		if firstOK && lastOK {
			return statusRange{first, last}, nil
		}
	}
	return statusRange{}, fmt.Errorf("%s is neither an integer nor an object {min, max} of integers", argument)
}

func exportInteger(v sobek.Value) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, ok := v.Export().(int64)
	return int(n), ok
}

// setResponseCallback is http.setResponseCallback(rule): the rule for all further requests of the VU.
func (m *module) setResponseCallback(call sobek.FunctionCall) sobek.Value {
	callback, err := responseCallback(call.Argument(0))
	if err != nil {
		common.Throw(m.rt, fmt.Errorf("http.setResponseCallback: %w", err))
	}
	m.responseCallback = callback
	return sobek.Undefined()
}

// responseCallback reads a rule: what http.expectedStatuses returned, or null for none.
func responseCallback(v sobek.Value) (func(int) bool, error) {
	if v == nil || sobek.IsNull(v) {
		return nil, nil
	}
	if rule, ok := v.Export().(*expectedStatuses); ok {
		return rule.matches, nil
	}
	return nil, fmt.Errorf("%s is no rule for responses; use http.expectedStatuses(…) or null", v)
}
