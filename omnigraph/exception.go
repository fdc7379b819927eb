package omnigraph

import (
	"errors"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// exception is what a failed operation throws if asked to: a real Error whose members are those of a result's error.
type exception struct {
	value *sobek.Object
	cause *wire.Error
}

// Error implements error.
func (e *exception) Error() string { return e.cause.Error() }

// Unwrap gives the operation's error.
func (e *exception) Unwrap() error { return e.cause }

func (mi *instance) exception(inv *invocation) *exception {
	rt := mi.vu.Runtime()
	object := rt.NewGoError(inv.out.Err)
	// What it was made of is Go's own form of the error, for Go: neither documented nor part of its JSON.
	_ = object.DefineDataProperty("value", object.Get("value"), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	_ = object.Set("name", "OmnigraphError")
	for _, field := range errorFields {
		_ = object.Set(field, errorField(rt, inv.out.Err, field))
	}
	_ = object.Set("op", string(inv.op.Op))
	_ = object.Set("transport", inv.c.transport)
	return &exception{value: object, cause: inv.out.Err}
}

// errorValue is what a promise is rejected with.
func errorValue(rt *sobek.Runtime, err error) sobek.Value {
	var e *exception
	if errors.As(err, &e) {
		return e.value
	}
	return rt.NewGoError(err)
}
