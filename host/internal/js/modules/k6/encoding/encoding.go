// Package encoding is the k6/encoding module: base64 for scripts.
package encoding

import (
	"encoding/base64"
	"fmt"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &module{vu: vu}
	m.exports = modules.Exports{Named: map[string]any{"b64encode": m.b64encode, "b64decode": m.b64decode}}
	return m
}

type module struct {
	vu      modules.VU
	exports modules.Exports
}

// Exports returns the functions.
func (m *module) Exports() modules.Exports { return m.exports }

// variant returns the base64 variant of a name; an empty or unknown name is the standard one.
func variant(name string) *base64.Encoding {
	switch name {
	case "rawstd":
		return base64.RawStdEncoding
	case "url":
		return base64.URLEncoding
	case "rawurl":
		return base64.RawURLEncoding
	default:
		return base64.StdEncoding
	}
}

func (m *module) b64encode(input sobek.Value, encoding string) (string, error) {
	if common.IsNullish(input) {
		return "", fmt.Errorf("b64encode needs a string or an ArrayBuffer, but got %v", input)
	}
	data, err := common.ToBytes(input.Export())
	if err != nil {
		return "", err
	}
	return variant(encoding).EncodeToString(data), nil
}

// b64decode returns an ArrayBuffer, or a string if the format is "s".
func (m *module) b64decode(input, encoding, format string) (sobek.Value, error) {
	data, err := variant(encoding).DecodeString(input)
	if err != nil {
		return nil, err
	}
	rt := m.vu.Runtime()
	if format == "s" {
		return rt.ToValue(string(data)), nil
	}
	return rt.ToValue(rt.NewArrayBuffer(data)), nil
}
