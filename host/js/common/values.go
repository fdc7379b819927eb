// Package common holds what modules need to deal with JavaScript values and with the init context.
package common

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/grafana/sobek"
)

// Throw raises err as a JavaScript exception: a GoError, or the exception that err is already. It does not return
// and must only be called on the goroutine that runs JavaScript.
func Throw(rt *sobek.Runtime, err error) {
	if ex, ok := err.(*sobek.Exception); ok { //nolint:errorlint // a wrapped exception has a text of its own to keep
		panic(ex)
	}
	panic(rt.NewGoError(err))
}

// IsNullish tells whether a value is missing, undefined or null.
func IsNullish(v sobek.Value) bool {
	return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v)
}

// IsAsyncFunction tells whether a value is an async function.
func IsAsyncFunction(rt *sobek.Runtime, val sobek.Value) bool {
	if IsNullish(val) {
		return false
	}
	if _, ok := sobek.AssertFunction(val); !ok {
		return false
	}
	if tag := val.ToObject(rt).GetSymbol(sobek.SymToStringTag); tag != nil {
		return tag.String() == "AsyncFunction"
	}
	// The engine leaves the tag out for methods, whose source begins with the keyword.
	rest, found := strings.CutPrefix(val.String(), "async ")
	return found && !strings.HasPrefix(strings.TrimSpace(rest), "(")
}

// FreezeObject makes an object and all that it holds read-only.
func FreezeObject(rt *sobek.Runtime, obj sobek.Value) error {
	freeze, ok := sobek.AssertFunction(rt.GlobalObject().Get("Object").ToObject(rt).Get("freeze"))
	if !ok {
		return errors.New("the script must not replace Object.freeze: it is not a function any more")
	}
	return freezeAll(rt, freeze, obj, make(map[*sobek.Object]struct{}))
}

func freezeAll(rt *sobek.Runtime, freeze sobek.Callable, val sobek.Value, seen map[*sobek.Object]struct{}) error {
	obj, ok := val.(*sobek.Object)
	if !ok {
		return nil
	}
	if _, ok := seen[obj]; ok {
		return nil
	}
	seen[obj] = struct{}{}
	for _, key := range obj.GetOwnPropertyNames() {
		if err := freezeAll(rt, freeze, obj.Get(key), seen); err != nil {
			return err
		}
	}
	_, err := freeze(sobek.Undefined(), obj)
	return err
}

// UnwrapSobekInterruptedError returns the error that a runtime was interrupted with, or err itself.
func UnwrapSobekInterruptedError(err error) error {
	var interrupted *sobek.InterruptedError
	if errors.As(err, &interrupted) {
		if cause, ok := interrupted.Value().(error); ok {
			return cause
		}
	}
	return err
}

// NewRandSource returns a source for Math.random that is seeded anew. It is for one runtime only.
func NewRandSource() sobek.RandSource {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())).Float64 // #nosec -- Math.random is no secret
}
