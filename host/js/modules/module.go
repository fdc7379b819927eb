// Package modules is how Go code becomes importable in scripts, and how scripts' imports find their modules.
package modules

import (
	"context"
	"fmt"
	"strings"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
)

const extensionPrefix = "k6/x/"

// Register makes an extension importable as name. It panics unless the name starts with "k6/x/" and is new: it
// is called from init functions, where a fault is one of the build.
func Register(name string, mod any) {
	if !strings.HasPrefix(name, extensionPrefix) {
		panic(fmt.Sprintf("external module names must start with %q, but %q does not", extensionPrefix, name))
	}
	ext.Register(name, ext.JSExtension, mod)
}

// Module is the root of a module: one value for the process, shared by all VUs.
type Module interface {
	// NewModuleInstance makes the module's instance for a VU, in the VU's init context.
	NewModuleInstance(vu VU) Instance
}

// Instance is what a module is for one VU.
type Instance interface {
	// Exports may be called more than once and returns the same values each time.
	Exports() Exports
}

// Exports are what scripts can import from a module.
type Exports struct {
	// Default is the default export. When it is nil, an object of all named exports takes its place.
	Default any
	// Named are the named exports. When it is nil, the properties of Default can be imported by name.
	Named map[string]any
}

// VU is a virtual user as modules see it. Its methods are called on the goroutine that runs its JavaScript.
type VU interface {
	// Context ends with the current iteration, or the current setup, teardown or init. Read it when it is needed.
	Context() context.Context
	// Events are the events of the test and of this VU.
	Events() common.Events
	// InitEnv is nil outside the init context.
	InitEnv() *common.InitEnvironment
	// State is nil in the init context.
	State() *lib.State
	// Runtime is the VU's JavaScript runtime.
	Runtime() *sobek.Runtime
	// RegisterCallback keeps the iteration going until the returned function has been called, exactly once and
	// from any goroutine, with what is to run on the VU's goroutine.
	RegisterCallback() (enqueueCallback func(func() error))
}

// importRefuser is a known module that can't be imported, and says why.
type importRefuser interface{ ImportError() error }
