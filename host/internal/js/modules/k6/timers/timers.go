// Package timers is the module k6/timers: the global timer functions, to be imported.
package timers

import (
	"go.k6.io/k6/v2/internal/js/timers"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

type instance struct{ exports modules.Exports }

// NewModuleInstance makes the module for one VU. It shares the timers of the global functions, so that either can
// clear what the other has set.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	named := make(map[string]any)
	for name, f := range timers.New(vu).Functions() {
		named[name] = f
		if global := vu.Runtime().Get(name); !common.IsNullish(global) {
			named[name] = global
		}
	}
	return &instance{exports: modules.Exports{Named: named}}
}

// Exports returns the functions.
func (i *instance) Exports() modules.Exports { return i.exports }
