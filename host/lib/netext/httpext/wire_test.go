package httpext_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs a test on a clock of its own, which stands still while anything is left to do. So what the test measures,
// and whether the transport finds a connection ready for use again, does not depend on how busy the machine is. The
// bubble has no network but a wire.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// wire is a network in memory with one server on it. Only what it says takes time.
type wire struct {
	dialTime  time.Duration // to connect
	writeTime time.Duration // before each write arrives
	conns     chan net.Conn
	closed    chan struct{}
	once      sync.Once
	// hurried says that nothing takes time any more.
	hurried atomic.Bool
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the server, whatever the address, and calls the hooks of a trace as net.Dialer does.
func (w *wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.ConnectStart != nil {
		trace.ConnectStart(network, addr)
	}
	time.Sleep(w.dialTime)
	client, server := net.Pipe()
	select {
	case w.conns <- slowConn{server, w}:
	case <-w.closed:
		return nil, net.ErrClosed
	}
	if trace != nil && trace.ConnectDone != nil {
		trace.ConnectDone(network, addr, nil)
	}
	return slowConn{client, w}, nil
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (*wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

type slowConn struct {
	net.Conn

	wire *wire
}

func (c slowConn) Write(b []byte) (int, error) {
	if !c.wire.hurried.Load() {
		time.Sleep(c.wire.writeTime)
	}
	return c.Conn.Write(b)
}

// hurry waits until what is on its way has arrived, and lets nothing take time from then on.
func (w *wire) hurry() {
	w.hurried.Store(true)
	time.Sleep(10 * w.writeTime)
}

// serve makes a server on the wire, which the caller starts. Its end takes no time: it says farewell to its clients while it
// holds a lock, and a bubble's clock stands still for whoever waits for that.
func (w *wire) serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = w
	t.Cleanup(func() {
		w.hurry()
		server.Close()
	})
	return server
}
