// Package globals installs what scripts find in the global object besides the language itself.
package globals

import (
	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/internal/js/textcoding"
	"go.k6.io/k6/v2/internal/js/timers"
	"go.k6.io/k6/v2/internal/js/webcrypto"
	"go.k6.io/k6/v2/js/modules"
)

// Install adds timers, crypto, TextEncoder and TextDecoder to the VU's runtime. All but the timers are made when
// they are first used.
func Install(vu modules.VU) error {
	rt := vu.Runtime()
	for name, f := range timers.New(vu).Functions() {
		if err := rt.Set(name, f); err != nil {
			return err
		}
	}
	lazy := map[string]func() sobek.Value{
		"crypto":      func() sobek.Value { return webcrypto.New(vu) },
		"TextEncoder": func() sobek.Value { return textcoding.NewEncoder(rt) },
		"TextDecoder": func() sobek.Value { return textcoding.NewDecoder(rt) },
	}
	for name, build := range lazy {
		if err := defineLazily(rt, name, build); err != nil {
			return err
		}
	}
	return nil
}

// defineLazily defines a global that is built when it is read for the first time.
func defineLazily(rt *sobek.Runtime, name string, build func() sobek.Value) error {
	global := rt.GlobalObject()
	replace := func(v sobek.Value) error {
		return global.DefineDataProperty(name, v, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
	get := func(sobek.FunctionCall) sobek.Value {
		v := build()
		if err := replace(v); err != nil {
			panic(err)
		}
		return v
	}
	set := func(call sobek.FunctionCall) sobek.Value {
		if err := replace(call.Argument(0)); err != nil {
			panic(err)
		}
		return sobek.Undefined()
	}
	return global.DefineAccessorProperty(name, rt.ToValue(get), rt.ToValue(set), sobek.FLAG_TRUE, sobek.FLAG_FALSE)
}
