package modules

import (
	"slices"

	"github.com/grafana/sobek"
)

const defaultExport = "default"

// goModule is the record of a module written in Go. All VUs share it.
type goModule struct {
	mod   any
	names exportedNames
}

var _ sobek.ModuleRecord = (*goModule)(nil)

// Link implements sobek.ModuleRecord.
func (*goModule) Link() error { return nil }

// ResolveExport takes every name: one that the module lacks is bound to null.
func (m *goModule) ResolveExport(name string, _ ...sobek.ResolveSetElement) (*sobek.ResolvedBinding, bool) {
	return &sobek.ResolvedBinding{Module: m, BindingName: name}, false
}

// GetExportedNames implements sobek.ModuleRecord.
func (m *goModule) GetExportedNames(callback func([]string), _ ...sobek.ModuleRecord) bool {
	return m.names.get(callback)
}

// Evaluate makes the runtime's instance.
func (m *goModule) Evaluate(rt *sobek.Runtime) *sobek.Promise {
	return settled(rt, func() (any, error) { return systemOf(rt).goInstance(m) })
}

// goInstance is a Go module in one runtime.
type goInstance struct {
	rt      *sobek.Runtime
	exports Exports
	values  map[string]sobek.Value // what has been imported so far
}

func newGoInstance(vu VU, mod any) *goInstance {
	i := &goInstance{rt: vu.Runtime(), values: make(map[string]sobek.Value)}
	if m, ok := mod.(Module); ok {
		i.exports = m.NewModuleInstance(vu).Exports()
	} else {
		i.exports = Exports{Default: mod}
	}
	return i
}

// GetBindingValue implements sobek.ModuleInstance.
func (i *goInstance) GetBindingValue(name string) sobek.Value {
	if v, ok := i.values[name]; ok {
		return v
	}
	if name == defaultExport {
		v := i.defaultValue()
		i.values[name] = v
		return v
	}
	if i.exports.Named == nil {
		if obj, ok := i.GetBindingValue(defaultExport).(*sobek.Object); ok {
			if v := obj.Get(name); v != nil {
				return v
			}
		}
		return sobek.Null()
	}
	export, ok := i.exports.Named[name]
	if !ok {
		return sobek.Null()
	}
	v := i.rt.ToValue(export)
	i.values[name] = v
	return v
}

func (i *goInstance) defaultValue() sobek.Value {
	if i.exports.Default != nil {
		return i.rt.ToValue(i.exports.Default)
	}
	return i.namedObject()
}

func (i *goInstance) namedObject() *sobek.Object {
	obj := i.rt.NewObject()
	for _, name := range i.sortedNames() {
		_ = obj.Set(name, i.GetBindingValue(name)) // a fresh object takes any property
	}
	return obj
}

func (i *goInstance) sortedNames() []string {
	names := make([]string, 0, len(i.exports.Named))
	for name := range i.exports.Named {
		if name != defaultExport {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// exportNames lists what `import *` shows.
func (i *goInstance) exportNames() []string {
	if i.exports.Named != nil {
		return append(i.sortedNames(), defaultExport)
	}
	names := []string{defaultExport}
	if obj, ok := i.GetBindingValue(defaultExport).(*sobek.Object); ok {
		for _, key := range obj.Keys() {
			if key != defaultExport {
				names = append(names, key)
			}
		}
	}
	return names
}

// required is what require() returns for the module.
func (i *goInstance) required() *sobek.Object {
	if i.exports.Named == nil || i.exports.Default == nil {
		return i.GetBindingValue(defaultExport).ToObject(i.rt)
	}
	obj := i.namedObject()
	_ = obj.Set(defaultExport, i.GetBindingValue(defaultExport)) // a fresh object takes any property
	return obj
}
