package omnigraph

import (
	"github.com/grafana/sobek"
)

// syncMethod is the form of an operation that blocks its VU, as most of k6 does.
func (mi *instance) syncMethod(v *verb) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		inv, err := mi.prepare(v, call, v.name)
		if err != nil {
			mi.throw(err)
		}
		if inv.onRow != nil {
			if err := mi.executeStreaming(inv); err != nil {
				mi.throw(err)
			}
		} else {
			inv.execute()
		}
		value, err := mi.finish(inv)
		if err != nil {
			mi.throw(err)
		}
		return value
	}
}

// asyncMethod is the form that returns a promise. The operation runs in a goroutine that ends with the iteration's
// context at the latest; k6 keeps the iteration open until the promise is settled.
func (mi *instance) asyncMethod(v *verb) func(sobek.FunctionCall) sobek.Value {
	name := asyncName(v.name)
	return func(call sobek.FunctionCall) sobek.Value {
		inv, err := mi.prepare(v, call, name)
		if err != nil {
			mi.throw(err)
		}
		if inv.onRow != nil {
			return mi.promiseStreaming(inv)
		}
		return mi.promise(inv.execute, func() (sobek.Value, error) { return mi.finish(inv) })
	}
}

// promise runs execute in a goroutine and settles with what finish makes of it on the event loop.
func (mi *instance) promise(execute func(), finish func() (sobek.Value, error)) sobek.Value {
	rt := mi.vu.Runtime()
	promise, resolve, reject := rt.NewPromise()
	done := mi.vu.RegisterCallback()
	go func() {
		execute()
		done(func() error {
			value, err := finish()
			if err != nil {
				return reject(errorValue(rt, err))
			}
			return resolve(value)
		})
	}()
	return rt.ToValue(promise)
}

// finish makes the result, or the error of a failed operation that is to throw.
func (mi *instance) finish(inv *invocation) (sobek.Value, error) {
	if inv.out.Err != nil && inv.throws {
		return nil, mi.exception(inv)
	}
	return mi.newResult(inv), nil
}
