package modules

import (
	"errors"
	"net/url"

	"github.com/grafana/sobek"
)

// commonJSModule is the record of a CommonJS file. All VUs share it and its compiled program.
type commonJSModule struct {
	url   *url.URL
	prg   *sobek.Program
	names exportedNames
}

var _ sobek.ModuleRecord = (*commonJSModule)(nil)

// Link implements sobek.ModuleRecord.
func (*commonJSModule) Link() error { return nil }

// ResolveExport takes every name: what a CommonJS file exports shows only when it has run.
func (m *commonJSModule) ResolveExport(name string, _ ...sobek.ResolveSetElement) (*sobek.ResolvedBinding, bool) {
	return &sobek.ResolvedBinding{Module: m, BindingName: name}, false
}

// GetExportedNames implements sobek.ModuleRecord.
func (m *commonJSModule) GetExportedNames(callback func([]string), _ ...sobek.ModuleRecord) bool {
	return m.names.get(callback)
}

// Evaluate runs the file, once per runtime.
func (m *commonJSModule) Evaluate(rt *sobek.Runtime) *sobek.Promise {
	return settled(rt, func() (any, error) { return systemOf(rt).commonJSInstance(m) })
}

// commonJSInstance is a CommonJS file in one runtime.
type commonJSInstance struct {
	rt     *sobek.Runtime
	module *sobek.Object
}

func newCommonJSInstance(rt *sobek.Runtime) *commonJSInstance {
	i := &commonJSInstance{rt: rt, module: rt.NewObject()}
	_ = i.module.Set("exports", rt.NewObject()) // a fresh object takes any property
	return i
}

func (i *commonJSInstance) run(m *commonJSModule, require func(sobek.FunctionCall) sobek.Value) error {
	wrapper, err := i.rt.RunProgram(m.prg)
	if err != nil {
		return err
	}
	call, ok := sobek.AssertFunction(wrapper)
	if !ok {
		return errors.New("a CommonJS file did not compile to a function")
	}
	exports := i.module.Get("exports")
	_, err = call(exports, i.module, exports, i.rt.ToValue(require))
	return err
}

func (i *commonJSInstance) exports() sobek.Value { return i.module.Get("exports") }

// GetBindingValue implements sobek.ModuleInstance.
func (i *commonJSInstance) GetBindingValue(name string) sobek.Value {
	exports := i.exports()
	obj, isObject := exports.(*sobek.Object)
	if name == defaultExport {
		if isObject {
			if flag := obj.Get("__esModule"); flag != nil && flag.ToBoolean() {
				if v := obj.Get(defaultExport); v != nil {
					return v
				}
				return sobek.Undefined()
			}
		}
		return exports
	}
	if isObject {
		if v := obj.Get(name); v != nil {
			return v
		}
	}
	return sobek.Null()
}

func (i *commonJSInstance) exportNames() []string {
	names := []string{defaultExport}
	if obj, ok := i.exports().(*sobek.Object); ok {
		for _, key := range obj.Keys() {
			if key != defaultExport {
				names = append(names, key)
			}
		}
	}
	return names
}
