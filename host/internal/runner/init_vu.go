package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/eventloop"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/js/console"
	"go.k6.io/k6/v2/internal/js/globals"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib/fsext"
)

// script is a VU's runtime after the script's init code has run in it.
type script struct {
	vu      *moduleVU
	exports *exports
	env     map[string]string
	local   *event.System

	console logrus.FieldLogger
}

// maxCallDepth ends an endless recursion before it takes all memory; browsers and Node.js end it earlier.
const maxCallDepth = 20_000

// eventBuffer is how many events a subscriber may be behind before emitting blocks.
const eventBuffer = 100

// runInit makes a runtime and runs the script's init code in it. vuID is what __VU says.
func (b *Bundle) runInit(ctx context.Context, vuID uint64, consoleLogger logrus.FieldLogger) (*script, error) {
	rt := sobek.New()
	rt.SetFieldNameMapper(common.FieldNameMapper{})
	rt.SetRandSource(common.NewRandSource())
	rt.SetMaxCallStackSize(maxCallDepth)

	s := &script{
		vu:  &moduleVU{ctx: ctx, rt: rt, loop: eventloop.New(rt)},
		env: maps.Clone(b.pre.RuntimeOptions.Env), local: event.NewSystem(eventBuffer, b.pre.Logger),
		console: consoleLogger,
	}
	if s.env == nil {
		s.env = make(map[string]string)
	}
	s.vu.initEnv = &common.InitEnvironment{TestPreInitState: b.pre, FileSystems: b.files, CWD: b.source.PWD}
	s.vu.events.Local = s.local
	if b.pre.Events != nil {
		s.vu.events.Global = b.pre.Events
	}
	system := modules.NewModuleSystem(b.resolver, s.vu)
	if err := b.installGlobals(s, system, vuID); err != nil {
		return nil, fmt.Errorf("preparing the script's globals: %w", err)
	}

	defer interruptWith(ctx, rt)()
	var settle func() (*sobek.Object, error)
	err := s.vu.loop.Start(func() error {
		settle = system.RunMain()
		if _, err := settle(); err != nil && !errors.Is(err, modules.ErrMainPending) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, explainInitError(err)
	}
	obj, err := settle()
	if err != nil {
		return nil, explainInitError(err)
	}
	if s.exports, err = readExports(rt, obj); err != nil {
		return nil, asScriptError(err)
	}
	s.vu.initEnv = nil
	return s, nil
}

// interruptWith interrupts what the runtime does once the context ends, until the returned function is called. After that
// no interruption comes any more, and one that met nothing is forgotten.
func interruptWith(ctx context.Context, rt *sobek.Runtime) (release func()) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		rt.Interrupt(context.Cause(ctx))
	})
	return func() {
		if !stop() {
			<-interrupted
			rt.ClearInterrupt()
		}
	}
}

func (b *Bundle) installGlobals(s *script, system *modules.ModuleSystem, vuID uint64) error {
	rt := s.vu.rt
	if err := globals.Install(s.vu); err != nil {
		return err
	}
	values := map[string]any{
		"__VU":    vuID,
		"__ENV":   s.envValue(b.pre.FeatureFlags),
		"console": console.New(rt, func() logrus.FieldLogger { return s.console }),
		"require": s.inInitOnly("require", func(call sobek.FunctionCall) sobek.Value {
			obj, err := system.Require(call.Argument(0).String())
			if err != nil {
				common.Throw(rt, err)
			}
			return obj
		}),
		"open": s.inInitOnly("open", func(call sobek.FunctionCall) sobek.Value { return b.open(s, system, call) }),
	}
	if b.pre.RuntimeOptions.CompatibilityMode.String != "base" {
		values["global"] = rt.GlobalObject()
	}
	for name, value := range values {
		if err := rt.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// envValue is __ENV: the map itself, so that a change of either shows in the other, or a frozen copy.
func (s *script) envValue(flags *features.Flags) sobek.Value {
	rt := s.vu.rt
	if flags == nil || !flags.FreezeEnv {
		return rt.ToValue(s.env)
	}
	obj := rt.NewObject()
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		// A fresh object takes any property.
		_ = obj.DefineDataProperty(name, rt.ToValue(s.env[name]), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	}
	_ = common.FreezeObject(rt, obj) // as far as it goes: the values are read-only already
	return obj
}

// inInitOnly is f, which throws outside the init context.
func (s *script) inInitOnly(name string, f func(sobek.FunctionCall) sobek.Value) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		if s.vu.initEnv == nil {
			common.Throw(s.vu.rt, common.NewInitContextError(fmt.Sprintf(
				"the %q function is only available in the init stage (i.e. the global scope)", name)))
		}
		return f(call)
	}
}

// open is the global function open: it reads a file as text, or with "b" as bytes.
func (b *Bundle) open(s *script, system *modules.ModuleSystem, call sobek.FunctionCall) sobek.Value {
	rt := s.vu.rt
	if common.IsNullish(call.Argument(0)) || call.Argument(0).String() == "" {
		common.Throw(rt, errors.New("open() can't be used with an empty filename"))
	}
	folder := system.RequiredFolder()
	if folder == nil {
		folder = b.source.PWD
	}
	data, err := b.readFile(folder, call.Argument(0).String())
	if err != nil {
		common.Throw(rt, err)
	}
	if mode := call.Argument(1); !common.IsNullish(mode) && mode.String() == "b" {
		// A copy: scripts may change an ArrayBuffer, and other VUs read the same file.
		return rt.ToValue(rt.NewArrayBuffer(append([]byte(nil), data...)))
	}
	return rt.ToValue(string(data))
}

func (b *Bundle) readFile(folder *url.URL, name string) ([]byte, error) {
	path := filepath.FromSlash(strings.TrimPrefix(name, "file://"))
	if !filepath.IsAbs(path) {
		if folder.Scheme != "file" {
			return nil, fmt.Errorf("open() can't open %q: a remote module has no local files", name)
		}
		path = fsext.Abs(loader.FilePath(folder), path)
	}
	data, err := fsext.ReadFile(b.files["file"], filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("open() can't open %q: %w", name, err)
	}
	return data, nil
}
