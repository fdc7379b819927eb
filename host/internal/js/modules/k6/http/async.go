package http

import (
	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/netext/httpext"
)

// asyncRequest is http.asyncRequest(method, url, body?, params?): a promise of what http.request would return.
func (m *module) asyncRequest(call sobek.FunctionCall) sobek.Value {
	state := m.state()
	promise, resolve, reject := m.rt.NewPromise()
	settled := m.rt.ToValue(promise)
	preq, refused, err := m.parse(state, call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
	switch {
	case err != nil:
		m.settle(reject(m.rt.NewGoError(err)))
		return settled
	case refused != nil:
		m.settle(resolve(m.response(refused)))
		return settled
	}
	// Context and callback are those of this iteration, whatever the VU does meanwhile. The request ends with the
	// context, and the iteration waits for the callback.
	ctx, enqueue := m.vu.Context(), m.vu.RegisterCallback()
	go func() {
		response, err := httpext.MakeRequest(ctx, state, preq)
		enqueue(func() error {
			if err != nil {
				return reject(m.rt.NewGoError(err))
			}
			return resolve(m.response(response))
		})
	}()
	return settled
}

// settle throws what settling a promise came to, if that was an error.
func (m *module) settle(err error) {
	if err != nil {
		common.Throw(m.rt, err)
	}
}
