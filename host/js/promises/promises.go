// Package promises makes JavaScript promises that Go code settles from any goroutine.
package promises

import (
	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/modules"
)

// New returns a promise and the two functions of which exactly one must be called, exactly once, from any
// goroutine. Until then the iteration does not end. New itself is called on the goroutine that runs JavaScript.
func New(vu modules.VU) (p *sobek.Promise, resolve func(result any), reject func(reason any)) {
	promise, settle, refuse := vu.Runtime().NewPromise()
	enqueue := vu.RegisterCallback()
	resolve = func(result any) {
		enqueue(func() error { return settle(result) })
	}
	reject = func(reason any) {
		enqueue(func() error { return refuse(reason) })
	}
	return promise, resolve, reject
}
