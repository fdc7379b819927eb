package runner

import (
	"context"
	"sync"
	"time"
)

// iterationContext is a context that a VU makes and ends with every iteration. Most iterations never wait for its
// end, so the machinery for that is made when somebody asks for it.
type iterationContext struct {
	parent context.Context //nolint:containedctx // it is a context itself

	mu     sync.Mutex
	err    error
	inner  context.Context //nolint:containedctx // as above
	cancel context.CancelFunc
}

func newIterationContext(parent context.Context) *iterationContext {
	return &iterationContext{parent: parent}
}

// full returns the context that answers all questions, made on the first call.
func (c *iterationContext) full() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancel(c.parent)
		if c.err != nil {
			c.cancel()
		}
	}
	return c.inner
}

// end ends the context.
func (c *iterationContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = context.Canceled
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// Deadline implements context.Context.
func (c *iterationContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *iterationContext) Done() <-chan struct{} { return c.full().Done() }

// Err implements context.Context.
func (c *iterationContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.err != nil:
		return c.err
	default:
		return c.parent.Err()
	}
}

// Value implements context.Context. It goes through the full context, if that is there, so that the context package
// recognises it and derives contexts without a goroutine.
func (c *iterationContext) Value(key any) any {
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.parent.Value(key)
}
