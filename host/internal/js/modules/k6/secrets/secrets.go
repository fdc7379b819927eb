// Package secrets is the k6/secrets module: secrets by name, for scripts.
package secrets

import (
	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/js/promises"
	"go.k6.io/k6/v2/secretsource"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &module{vu: vu}
	if env := vu.InitEnv(); env != nil && env.TestPreInitState != nil {
		m.manager = env.SecretsManager
	}
	rt := vu.Runtime()
	object := rt.NewObject()
	for name, function := range map[string]any{"get": m.get, "source": m.source} {
		if err := object.Set(name, function); err != nil {
			common.Throw(rt, err)
		}
	}
	m.exports = modules.Exports{Default: object}
	return m
}

type module struct {
	vu      modules.VU
	manager *secretsource.Manager
	exports modules.Exports
}

// Exports returns the default export.
func (m *module) Exports() modules.Exports { return m.exports }

func (m *module) get(key string) *sobek.Promise {
	return m.lookUp(secretsource.DefaultSourceName, key)
}

// source returns an object whose get asks the named source.
func (m *module) source(name string) (*sobek.Object, error) {
	object := m.vu.Runtime().NewObject()
	err := object.Set("get", func(key string) *sobek.Promise { return m.lookUp(name, key) })
	return object, err
}

func (m *module) lookUp(source, key string) *sobek.Promise {
	promise, resolve, reject := promises.New(m.vu)
	go func() {
		value, err := m.manager.Get(source, key)
		if err != nil {
			reject(err)
			return
		}
		resolve(value)
	}()
	return promise
}
