// Package data is the module k6/data: arrays that all VUs share.
package data

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// RootModule holds the shared arrays of a test by name.
type RootModule struct {
	mu     sync.Mutex
	arrays map[string]*shared
}

// New returns the root module.
func New() *RootModule { return &RootModule{arrays: make(map[string]*shared)} }

type instance struct {
	root    *RootModule
	vu      modules.VU
	rt      *sobek.Runtime
	exports modules.Exports
}

// NewModuleInstance makes the module for one VU.
func (r *RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	i := &instance{root: r, vu: vu, rt: vu.Runtime()}
	i.exports = modules.Exports{Named: map[string]any{"SharedArray": i.construct}}
	return i
}

// Exports returns the constructor.
func (i *instance) Exports() modules.Exports { return i.exports }

var (
	errNotInInit = common.NewInitContextError("new SharedArray must be called in the init context")
	errNoName    = errors.New("empty name provided to SharedArray's constructor")
	errNoFunc    = errors.New("a function is expected as the second argument of SharedArray's constructor")
	errAsync     = errors.New("SharedArray constructor does not support async functions as second argument")
	errNoArray   = errors.New("only arrays can be made into SharedArray")
)

func (i *instance) construct(call sobek.ConstructorCall) *sobek.Object {
	if i.vu.InitEnv() == nil {
		common.Throw(i.rt, errNotInInit)
	}
	name := ""
	if v := call.Argument(0); !common.IsNullish(v) {
		name = v.String()
	}
	if name == "" {
		common.Throw(i.rt, errNoName)
	}
	fill, ok := sobek.AssertFunction(call.Argument(1))
	if !ok {
		common.Throw(i.rt, errNoFunc)
	}
	if common.IsAsyncFunction(i.rt, call.Argument(1)) {
		common.Throw(i.rt, errAsync)
	}
	array := i.root.array(name)
	if err := array.fillOnce(i.rt, fill); err != nil {
		common.Throw(i.rt, err)
	}
	view, err := newView(i.rt, array)
	if err != nil {
		common.Throw(i.rt, err)
	}
	return i.rt.NewDynamicArray(view)
}

func (r *RootModule) array(name string) *shared {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.arrays[name]
	if !ok {
		a = &shared{}
		r.arrays[name] = a
	}
	return a
}

// shared is an array as JSON texts. It does not change once it is filled.
type shared struct {
	mu       sync.Mutex
	filled   bool
	elements []string
}

// fillOnce fills the array with what the function returns, unless that has been done. A failure leaves it empty, for
// the next one to try.
func (s *shared) fillOnce(rt *sobek.Runtime, fill sobek.Callable) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filled {
		return nil
	}
	result, err := fill(sobek.Undefined())
	if err != nil {
		return err
	}
	obj, ok := result.(*sobek.Object)
	if !ok || obj.ClassName() != "Array" {
		return errNoArray
	}
	stringify, ok := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("stringify"))
	if !ok {
		return errors.New("JSON.stringify is not a function: the script must not replace it")
	}
	n := int(obj.Get("length").ToInteger())
	elements := make([]string, n)
	for at := range n {
		text, err := stringify(sobek.Undefined(), obj.Get(strconv.Itoa(at)))
		if err != nil {
			return fmt.Errorf("element %d of a SharedArray can't be turned into JSON: %w", at, err)
		}
		elements[at] = "null"
		if !sobek.IsUndefined(text) {
			elements[at] = text.String()
		}
	}
	s.elements, s.filled = elements, true
	return nil
}

// view is a shared array in one VU: a sobek.DynamicArray.
type view struct {
	rt       *sobek.Runtime
	elements []string
	parse    sobek.Callable
}

func newView(rt *sobek.Runtime, s *shared) (*view, error) {
	parse, ok := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	if !ok {
		return nil, errors.New("JSON.parse is not a function: the script must not replace it")
	}
	return &view{rt: rt, elements: s.elements, parse: parse}, nil
}

// Len is the number of elements.
func (v *view) Len() int { return len(v.elements) }

// Get is a frozen copy of an element.
func (v *view) Get(idx int) sobek.Value {
	if idx < 0 || idx >= len(v.elements) {
		return sobek.Undefined()
	}
	value, err := v.parse(sobek.Undefined(), v.rt.ToValue(v.elements[idx]))
	if err != nil {
		common.Throw(v.rt, err)
	}
	if err := common.FreezeObject(v.rt, value); err != nil {
		common.Throw(v.rt, err)
	}
	return value
}

// Set throws.
func (v *view) Set(int, sobek.Value) bool { panic(v.rt.NewTypeError("SharedArray is immutable")) }

// SetLen throws.
func (v *view) SetLen(int) bool { panic(v.rt.NewTypeError("SharedArray is immutable")) }
