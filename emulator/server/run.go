package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// readHeaderTimeout ends connections that send no request.
const readHeaderTimeout = 30 * time.Second

// Runner serves a handler on a port that it can close and open again.
type Runner struct {
	addr     string
	restarts chan restart
	listener net.Listener
}

// Listen opens the port; addr's port may be 0.
func Listen(ctx context.Context, addr string) (*Runner, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return &Runner{addr: l.Addr().String(), listener: l, restarts: make(chan restart)}, nil
}

// Addr is the address on which the runner listens.
func (r *Runner) Addr() string { return r.addr }

// restart is one order to close the port.
type restart struct {
	closed time.Duration
	done   chan struct{}
}

// Restart closes the port, and every connection, for a while; it returns once they are closed. A restart that is
// under way swallows further ones.
func (r *Runner) Restart(closed time.Duration) {
	order := restart{closed, make(chan struct{})}
	select {
	case r.restarts <- order:
		<-order.done
	default:
	}
}

// Serve answers requests until the context ends, then closes the port and all connections.
func (r *Runner) Serve(ctx context.Context, h http.Handler) error {
	// The port may be closed already, or be open again although the end was asked for meanwhile.
	defer func() { _ = r.listener.Close() }()
	for {
		closed, err := r.serveOnce(ctx, h)
		if ctx.Err() != nil {
			// Whatever went wrong at the end was due to the end that was asked for.
			return nil
		}
		if err == nil {
			err = r.reopen(ctx, closed)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// reopen opens the port again after a while.
func (r *Runner) reopen(ctx context.Context, closed time.Duration) error {
	if err := until(ctx, time.Now().Add(closed)); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", r.addr)
	if err != nil {
		return fmt.Errorf("listen on %s after a restart: %w", r.addr, err)
	}
	r.listener = l
	return nil
}

// serveOnce serves until a restart, whose length it returns, or the context's end.
func (r *Runner) serveOnce(ctx context.Context, h http.Handler) (time.Duration, error) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(r.listener) }()
	var order restart
	select {
	case <-ctx.Done():
	case order = <-r.restarts:
		defer close(order.done)
	case err := <-done:
		return 0, err
	}
	err := srv.Close()
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return order.closed, err
}
