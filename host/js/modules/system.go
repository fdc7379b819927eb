package modules

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/js/common"
)

// systemSymbol is where a runtime's global object keeps its module system, out of scripts' reach by name.
//
//nolint:gochecknoglobals // a symbol is its identity
var systemSymbol = sobek.NewSymbol("module system")

// ModuleSystem holds the module instances of one VU. Its methods are for the goroutine that runs the VU.
type ModuleSystem struct {
	vu        VU
	resolver  *ModuleResolver
	instances map[sobek.ModuleRecord]sobek.ModuleInstance
	running   []*url.URL // the files that require() is running, innermost last
}

// NewModuleSystem makes the module system of a VU.
func NewModuleSystem(resolver *ModuleResolver, vu VU) *ModuleSystem {
	ms := &ModuleSystem{
		vu: vu, resolver: resolver,
		instances: make(map[sobek.ModuleRecord]sobek.ModuleInstance),
	}
	rt := vu.Runtime()
	err := rt.GlobalObject().DefineDataPropertySymbol(systemSymbol, rt.ToValue(&systemHolder{ms}),
		sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	if err != nil && resolver.logger != nil {
		resolver.logger.WithError(err).Error("The script's global object does not take the module system")
	}
	rt.SetGetImportMetaProperties(func(record sobek.ModuleRecord) []sobek.MetaProperty {
		return []sobek.MetaProperty{{Key: "resolve", Value: rt.ToValue(func(specifier string) (string, error) {
			u, err := ms.Resolve(record, specifier)
			if err != nil {
				return "", err
			}
			return u.String(), nil
		})}}
	})
	return ms
}

// systemHolder keeps the system's methods from showing as properties.
type systemHolder struct{ system *ModuleSystem }

func systemOf(rt *sobek.Runtime) *ModuleSystem {
	if v := rt.GlobalObject().GetSymbol(systemSymbol); v != nil {
		if holder, ok := v.Export().(*systemHolder); ok {
			return holder.system
		}
	}
	return nil
}

var errNoSystem = errors.New("this JavaScript runtime has no module system")

// settled returns a promise that is settled already with what do returned. Its rejection counts as handled: the
// engine looks at it at once.
func settled(rt *sobek.Runtime, do func() (any, error)) *sobek.Promise {
	p, resolve, reject := rt.NewPromise()
	var (
		result any
		err    error
	)
	if ex := rt.Try(func() { result, err = do() }); ex != nil {
		err = ex
	}
	if err == nil {
		if err = resolve(result); err == nil {
			return p
		}
	}
	_ = reject(err)
	markHandled(rt, p)
	return p
}

// markHandled keeps a promise that Go code looks after from being reported as one that nobody handles.
func markHandled(rt *sobek.Runtime, p *sobek.Promise) {
	promise := rt.ToValue(p).ToObject(rt)
	then, ok := sobek.AssertFunction(promise.Get("then"))
	if !ok {
		return
	}
	ignore := rt.ToValue(func(sobek.FunctionCall) sobek.Value { return sobek.Undefined() })
	_, _ = then(promise, sobek.Undefined(), ignore) // the promise's own then does not throw
}

func (ms *ModuleSystem) goInstance(m *goModule) (sobek.ModuleInstance, error) {
	if ms == nil {
		return nil, errNoSystem
	}
	if known, ok := ms.instances[m]; ok {
		return known, nil
	}
	if unknown, ok := m.mod.(unknownModule); ok {
		return nil, UnknownModulesError{names: []string{unknown.name}}
	}
	instance := newGoInstance(ms.vu, m.mod)
	ms.instances[m] = instance
	m.names.set(instance.exportNames)
	return instance, nil
}

func (ms *ModuleSystem) commonJSInstance(m *commonJSModule) (sobek.ModuleInstance, error) {
	if ms == nil {
		return nil, errNoSystem
	}
	if known, ok := ms.instances[m]; ok {
		return known, nil // complete, or incomplete in a cycle of files that require each other
	}
	instance := newCommonJSInstance(ms.vu.Runtime())
	ms.instances[m] = instance
	ms.running = append(ms.running, m.url)
	defer func() { ms.running = ms.running[:len(ms.running)-1] }()
	folder := loader.Dir(m.url)
	err := instance.run(m, func(call sobek.FunctionCall) sobek.Value {
		obj, err := ms.require(folder, call.Argument(0).String())
		if err != nil {
			common.Throw(ms.vu.Runtime(), err)
		}
		return obj
	})
	if err != nil {
		delete(ms.instances, m)
		return nil, err
	}
	m.names.set(instance.exportNames)
	return instance, nil
}

// Require returns what the global require() does: the exports of a module named relative to the calling file.
func (ms *ModuleSystem) Require(specifier string) (*sobek.Object, error) {
	return ms.require(ms.callerFolder(), specifier)
}

func (ms *ModuleSystem) callerFolder() *url.URL {
	if u := ms.RequiredFolder(); u != nil {
		return u
	}
	return ms.resolver.folderOf(ms.vu.Runtime().GetActiveScriptOrModule())
}

// RequiredFolder returns the folder of the file that require() is running just now, or nil if it runs none.
func (ms *ModuleSystem) RequiredFolder() *url.URL {
	if n := len(ms.running); n > 0 && ms.running[n-1] != ms.resolver.mainURL() {
		return loader.Dir(ms.running[n-1])
	}
	return nil
}

func (ms *ModuleSystem) require(folder *url.URL, specifier string) (*sobek.Object, error) {
	if specifier == "" {
		return nil, errors.New("require() can't be called with an empty module specifier")
	}
	record, err := ms.resolver.resolve(folder, specifier)
	if err != nil {
		return nil, err
	}
	rt := ms.vu.Runtime()
	switch m := record.(type) {
	case *goModule:
		instance, err := ms.goInstance(m)
		if err != nil {
			return nil, err
		}
		return instance.(*goInstance).required(), nil
	case *commonJSModule:
		instance, err := ms.commonJSInstance(m)
		if err != nil {
			return nil, err
		}
		return instance.(*commonJSInstance).exports().ToObject(rt), nil
	default:
		return ms.requireESM(record, specifier)
	}
}

func (ms *ModuleSystem) requireESM(record sobek.ModuleRecord, specifier string) (*sobek.Object, error) {
	rt := ms.vu.Runtime()
	if rt.GetModuleInstance(record) == nil {
		if err := ms.link(record); err != nil {
			return nil, err
		}
		p := record.Evaluate(rt)
		switch p.State() {
		case sobek.PromiseStateRejected:
			markHandled(rt, p)
			return nil, rejectionError(p)
		case sobek.PromiseStatePending:
			return nil, fmt.Errorf("module %q awaits at its top level: it can be imported, not required", specifier)
		case sobek.PromiseStateFulfilled:
		}
	}
	return rt.NamespaceObjectFor(record), nil
}

// link prepares a module that only require() asks for. After the first VU that has happened already.
func (ms *ModuleSystem) link(record sobek.ModuleRecord) error {
	ms.resolver.mu.RLock()
	locked := ms.resolver.locked
	ms.resolver.mu.RUnlock()
	if locked {
		return nil
	}
	return record.Link()
}

// Resolve returns the URL that a specifier means for the module mr.
func (ms *ModuleSystem) Resolve(mr sobek.ModuleRecord, specifier string) (*url.URL, error) {
	if _, ok := ms.resolver.goModules[specifier]; ok || isGoModuleName(specifier) {
		return url.Parse(specifier)
	}
	return ms.resolver.resolveURL(ms.resolver.folderOf(mr), specifier)
}

// RunMain evaluates the main module. The evaluation goes on, on the VU's event loop, while it is pending; settle
// then tells its result.
func (ms *ModuleSystem) RunMain() (settle func() (*sobek.Object, error)) {
	rt := ms.vu.Runtime()
	record := ms.resolver.main
	p := record.Evaluate(rt)
	markHandled(rt, p)
	return func() (*sobek.Object, error) {
		switch p.State() {
		case sobek.PromiseStateRejected:
			return nil, rejectionError(p)
		case sobek.PromiseStatePending:
			return nil, ErrMainPending
		case sobek.PromiseStateFulfilled:
		}
		if cjs, ok := ms.instances[record].(*commonJSInstance); ok {
			exports, ok := cjs.exports().(*sobek.Object)
			if !ok {
				return nil, errors.New("module.exports of the script must be an object")
			}
			return exports, nil
		}
		return rt.NamespaceObjectFor(record), nil
	}
}

// ErrMainPending says that the main module still awaits something.
var ErrMainPending = errors.New("the script's init code awaits a promise that nothing settles")

func rejectionError(p *sobek.Promise) error {
	if err, ok := p.Result().Export().(error); ok {
		return err
	}
	return fmt.Errorf("the module failed: %s", p.Result().String())
}
