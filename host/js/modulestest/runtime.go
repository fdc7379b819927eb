// Package modulestest lets a module's tests run JavaScript against it without a whole test run.
package modulestest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/eventloop"
	"go.k6.io/k6/v2/internal/js/compiler"
	"go.k6.io/k6/v2/internal/js/globals"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// Runtime is a VU with its JavaScript runtime and event loop, in the init context at first. It is for one test and
// not safe for concurrent use.
type Runtime struct {
	VU             *VU
	EventLoop      *eventloop.EventLoop
	CancelContext  func()
	BuiltinMetrics *metrics.BuiltinMetrics

	resolver *modules.ModuleResolver
}

// NewRuntime makes a runtime whose context ends with the test.
func NewRuntime(t testing.TB) *Runtime {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)

	logger := logrus.New()
	logger.SetOutput(testWriter{t})
	registry := metrics.NewRegistry()
	vu := &VU{
		CtxField:     ctx,
		RuntimeField: sobek.New(),
		InitEnvField: &common.InitEnvironment{
			TestPreInitState: &lib.TestPreInitState{
				Logger:   logger,
				Registry: registry,
				Usage:    usage.New(),
			},
			CWD: new(url.URL),
		},
	}
	vu.RuntimeField.SetFieldNameMapper(common.FieldNameMapper{})
	vu.RuntimeField.SetRandSource(common.NewRandSource())
	loop := eventloop.New(vu.RuntimeField)
	vu.RegisterCallbackField = loop.RegisterCallback
	if err := globals.Install(vu); err != nil {
		t.Fatalf("installing the globals: %v", err)
	}
	return &Runtime{
		VU: vu, EventLoop: loop, CancelContext: cancel,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
	}
}

// testWriter sends log lines to the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	// A line logged by a goroutine that outlives the test has nowhere to go.
	defer func() { _ = recover() }()
	w.t.Log(string(p))
	return len(p), nil
}

// MoveToVUContext ends the init context: from now on the VU has the state and no init environment.
func (r *Runtime) MoveToVUContext(state *lib.State) {
	r.VU.InitEnvField = nil
	r.VU.StateField = state
}

// SetupModuleSystem defines the global function require. Go modules need neither the loader nor the compiler.
func (r *Runtime) SetupModuleSystem(goModules map[string]any, loader modules.FileLoader, c *compiler.Compiler) error {
	base := &url.URL{Scheme: "file", Path: "/"}
	if env := r.VU.InitEnvField; env != nil && env.CWD != nil && env.CWD.Path != "" {
		base = env.CWD
	}
	return r.useResolver(modules.NewModuleResolver(goModules, loader, c, base, nil, nil))
}

// SetupModuleSystemFromAnother is SetupModuleSystem with the modules that another runtime loads, as a second VU of
// the same test has them.
func (r *Runtime) SetupModuleSystemFromAnother(another *Runtime) error {
	return r.useResolver(another.resolver)
}

func (r *Runtime) useResolver(resolver *modules.ModuleResolver) error {
	r.resolver = resolver
	system := modules.NewModuleSystem(resolver, r.VU)
	return r.VU.RuntimeField.Set("require", system.Require)
}

// RunOnEventLoop runs code and then the event loop until nothing is pending. A rejection that nothing handles is
// an error.
func (r *Runtime) RunOnEventLoop(code string) (value sobek.Value, err error) {
	defer r.EventLoop.WaitOnRegistered()
	err = r.EventLoop.Start(func() error {
		value, err = r.VU.RuntimeField.RunString(code)
		return err
	})
	return value, err
}

// CompileFile compiles the script base/name as it stands.
func CompileFile(base, name string) (*sobek.Program, error) {
	path := filepath.Join(base, name)
	source, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	return sobek.Compile(name, string(source), false)
}
