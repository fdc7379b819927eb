package omnigraph

import (
	"context"
	"errors"
	"fmt"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
)

// exportBatch is how many rows travel to the event loop at once.
const exportBatch = 256

// readCallback takes export's second argument: a function that gets every row.
func readCallback(a *arguments, inv *invocation) error {
	v := a.call.Argument(1)
	if common.IsNullish(v) {
		return nil
	}
	fn, ok := sobek.AssertFunction(v)
	if !ok {
		return fmt.Errorf("%s: argument callback got %s; it takes a function of one row", a.verb, describe(v))
	}
	inv.onRow = fn
	return nil
}

// errCallbackFailed ends an export whose callback threw.
var errCallbackFailed = errors.New("the callback threw")

// rows carries an export's rows from the transport's goroutine to the event loop, a few batches ahead at most, so that
// the export is never in memory as a whole.
type rows struct {
	batches chan []string
	ctx     context.Context
	cancel  context.CancelFunc
	pending []string
}

// stream prepares an invocation to hand its rows on.
func (inv *invocation) stream() *rows {
	ctx, cancel := context.WithCancel(inv.ctx)
	r := &rows{batches: make(chan []string, 2), ctx: ctx, cancel: cancel}
	inv.opCtx = ctx
	inv.op.Each = func(row string) error {
		inv.handedOn = true
		r.pending = append(r.pending, row)
		if len(r.pending) < exportBatch {
			return nil
		}
		return r.flush()
	}
	return r
}

func (r *rows) flush() error {
	if len(r.pending) == 0 {
		return nil
	}
	batch := r.pending
	r.pending = nil
	select {
	case r.batches <- batch:
		return nil
	case <-r.ctx.Done():
		return errCallbackFailed
	}
}

// run executes the invocation; the rows' channel is closed once the last of them is in it.
func (r *rows) run(inv *invocation) {
	defer close(r.batches)
	inv.execute()
	_ = r.flush() // fails only if nobody wants the rest
}

// deliver calls the callback with a batch, on the event loop.
func (inv *invocation) deliver(mi *instance, batch []string) error {
	rt := mi.vu.Runtime()
	mi.delivering = true
	defer func() { mi.delivering = false }()
	for _, row := range batch {
		if _, err := inv.onRow(sobek.Undefined(), decodeJSON(rt, row)); err != nil {
			return err
		}
	}
	return nil
}

// executeStreaming runs an export whose rows go to a callback, for the synchronous form. It gives the callback's own
// exception, if it threw.
func (mi *instance) executeStreaming(inv *invocation) error {
	r := inv.stream()
	defer r.cancel()
	go r.run(inv)
	var thrown error
	for batch := range r.batches {
		if thrown != nil {
			continue
		}
		if thrown = inv.deliver(mi, batch); thrown != nil {
			r.cancel()
		}
	}
	return thrown
}

// promiseStreaming is the same for the asynchronous form: each batch is a callback of the event loop of its own.
func (mi *instance) promiseStreaming(inv *invocation) sobek.Value {
	rt := mi.vu.Runtime()
	promise, resolve, reject := rt.NewPromise()
	r := inv.stream()
	go r.run(inv)
	var thrown error
	var next func()
	next = func() {
		done := mi.vu.RegisterCallback()
		go func() {
			batch, more := <-r.batches
			done(func() error {
				if more {
					if thrown == nil {
						if thrown = inv.deliver(mi, batch); thrown != nil {
							r.cancel()
						}
						next()
						if isInterruption(thrown) {
							return thrown
						}
						return nil
					}
					next()
					return nil
				}
				r.cancel()
				if isInterruption(thrown) {
					return nil // the iteration is over: the promise stays as it is
				}
				value, err := mi.finish(inv)
				switch {
				case thrown != nil:
					return reject(thrownValue(rt, thrown))
				case err != nil:
					return reject(errorValue(rt, err))
				}
				return resolve(value)
			})
		}()
	}
	next()
	return rt.ToValue(promise)
}

// isInterruption tells the end of the iteration, which no script may catch, from what a script threw.
func isInterruption(err error) bool {
	var interrupted *sobek.InterruptedError
	return errors.As(err, &interrupted)
}

// thrownValue is what a script threw, as it threw it.
func thrownValue(rt *sobek.Runtime, err error) sobek.Value {
	var exception *sobek.Exception
	if errors.As(err, &exception) {
		return exception.Value()
	}
	return rt.NewGoError(err)
}
