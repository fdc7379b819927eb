package data

import (
	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// view is a shared array as one VU sees it: an element is decoded, and frozen, each time it's asked for.
type view struct {
	rt       *sobek.Runtime
	elements []string
	parse    sobek.Callable
}

var _ sobek.DynamicArray = (*view)(nil)

// Len returns the number of elements.
func (v *view) Len() int { return len(v.elements) }

// Get returns a copy of the element, undefined beyond the end.
func (v *view) Get(index int) sobek.Value {
	if index < 0 || index >= len(v.elements) {
		return sobek.Undefined()
	}
	element, err := v.parse(sobek.Undefined(), v.rt.ToValue(v.elements[index]))
	if err != nil {
		common.Throw(v.rt, err)
	}
	if object, ok := element.(*sobek.Object); ok {
		if err := common.FreezeObject(v.rt, object); err != nil {
			common.Throw(v.rt, err)
		}
	}
	return element
}

// Set refuses.
func (v *view) Set(int, sobek.Value) bool { panic(v.immutable()) }

// SetLen refuses.
func (v *view) SetLen(int) bool { panic(v.immutable()) }

// immutable is the TypeError that a script sees; sobek turns the panic into an exception.
func (v *view) immutable() *sobek.Object { return v.rt.NewTypeError("SharedArray is immutable") }
