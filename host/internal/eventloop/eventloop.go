// Package eventloop serialises everything that touches one JS runtime, so that Go code running elsewhere can hand
// its results back to JavaScript safely.
package eventloop

import (
	"fmt"
	"strings"
	"sync"

	"github.com/grafana/sobek"
)

// EventLoop runs callbacks of one JS runtime, one after the other, on the goroutine that called Start.
//
// RegisterCallback belongs to that goroutine; the functions it returns may be called from any goroutine.
type EventLoop struct {
	rt *sobek.Runtime

	mu         sync.Mutex
	queue      []func() error
	spare      []func() error // the previous batch's storage, reused
	registered int
	wake       chan struct{}

	// rejected holds the promises rejected without a handler, in the order of their rejection.
	// Only the loop's goroutine touches it.
	rejected []*sobek.Promise
}

// New makes the event loop of a runtime and takes over its tracking of rejected promises.
func New(rt *sobek.Runtime) *EventLoop {
	e := &EventLoop{rt: rt, wake: make(chan struct{}, 1)}
	rt.SetPromiseRejectionTracker(e.trackRejection)
	return e
}

func (e *EventLoop) trackRejection(p *sobek.Promise, op sobek.PromiseRejectionOperation) {
	if op == sobek.PromiseRejectionReject {
		e.rejected = append(e.rejected, p)
		return
	}
	for i, r := range e.rejected {
		if r == p {
			e.rejected = append(e.rejected[:i], e.rejected[i+1:]...)
			return
		}
	}
}

// RegisterCallback keeps the loop alive until the returned function has been called, which must happen exactly once
// and hands over what the loop runs next.
func (e *EventLoop) RegisterCallback() func(func() error) {
	e.mu.Lock()
	e.registered++
	e.mu.Unlock()
	called := false
	return func(f func() error) {
		e.mu.Lock()
		if called {
			e.mu.Unlock()
			// The API's contract: a second call is a mistake of the calling module that must not go unnoticed.
			panic("a callback made by RegisterCallback was called a second time")
		}
		called = true
		e.registered--
		e.queue = append(e.queue, f)
		e.mu.Unlock()
		e.notify()
	}
}

func (e *EventLoop) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// next returns the callbacks that are due. It blocks until there are some, or nothing is outstanding.
func (e *EventLoop) next() []func() error {
	for {
		e.mu.Lock()
		batch, registered := e.queue, e.registered
		if len(batch) > 0 {
			e.queue, e.spare = e.spare[:0], nil
		}
		e.mu.Unlock()
		if len(batch) > 0 || registered == 0 {
			return batch
		}
		<-e.wake
	}
}

// giveBack puts callbacks that did not run before those that arrived since.
func (e *EventLoop) giveBack(rest []func() error) {
	if len(rest) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(append(make([]func() error, 0, len(rest)+len(e.queue)), rest...), e.queue...)
}

func (e *EventLoop) recycle(batch []func() error) {
	clear(batch)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spare == nil {
		e.spare = batch[:0]
	}
}

// Start runs first and then every callback until none is left or outstanding. It returns the first error: that of a
// callback, or of a promise that was rejected and has no handler.
func (e *EventLoop) Start(first func() error) error {
	e.rejected = e.rejected[:0]
	if err := first(); err != nil {
		return err
	}
	if err := e.uncaught(); err != nil {
		return err
	}
	for {
		batch := e.next()
		if len(batch) == 0 {
			return nil
		}
		for i, f := range batch {
			if err := f(); err != nil {
				e.giveBack(batch[i+1:])
				return err
			}
		}
		e.recycle(batch)
		if err := e.uncaught(); err != nil {
			return err
		}
	}
}

// WaitOnRegistered runs callbacks until none is outstanding and ignores their errors: it drains the loop once its
// work has failed or ended.
func (e *EventLoop) WaitOnRegistered() { e.Drain(func() {}) }

// Drain is WaitOnRegistered with something to do before each callback.
func (e *EventLoop) Drain(before func()) {
	for {
		batch := e.next()
		if len(batch) == 0 {
			e.rejected = e.rejected[:0]
			return
		}
		for _, f := range batch {
			before()
			_ = f() // what came before has been reported already
		}
		e.recycle(batch)
	}
}

// UncaughtError is a rejection that no handler was there for.
type UncaughtError struct {
	// Value is what the promise was rejected with.
	Value sobek.Value
	text  string
}

func (u *UncaughtError) Error() string { return "Uncaught (in promise) " + u.text }

// Unwrap returns the Go error behind the rejection, if there is one.
func (u *UncaughtError) Unwrap() error {
	if u.Value == nil {
		return nil
	}
	switch v := u.Value.Export().(type) {
	case error:
		return v
	default:
		return nil
	}
}

func (e *EventLoop) uncaught() error {
	if len(e.rejected) == 0 {
		return nil
	}
	value := e.rejected[0].Result()
	e.rejected = e.rejected[:0]
	return &UncaughtError{Value: value, text: e.describe(value)}
}

// describe gives the stack of an error object, or else the value as a string.
func (e *EventLoop) describe(value sobek.Value) (text string) {
	if value == nil {
		return "undefined"
	}
	ex := e.rt.Try(func() {
		text = value.String()
		obj, ok := value.(*sobek.Object)
		if !ok {
			return
		}
		if stack := obj.Get("stack"); stack != nil && sobek.IsString(stack) && stack.String() != "" {
			text = strings.TrimSuffix(stack.String(), "\n")
		}
	})
	if ex != nil {
		return fmt.Sprintf("a value that can't be shown: %s", ex.Error())
	}
	return text
}
