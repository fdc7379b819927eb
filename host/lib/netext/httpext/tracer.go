package httpext

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Tracer times the steps of one HTTP exchange. The zero value is ready; it serves one exchange. The hooks may be
// called from several goroutines, as the transport does.
type Tracer struct {
	// Moments in nanoseconds since started, plus one; 0 is "has not happened".
	getConn           atomic.Int64
	connectStart      atomic.Int64
	connectDone       atomic.Int64
	tlsHandshakeStart atomic.Int64
	tlsHandshakeDone  atomic.Int64
	gotConn           atomic.Int64
	wroteRequest      atomic.Int64
	firstByte         atomic.Int64

	connReused atomic.Bool
	// fromIdle says that the connection lay idle, so that the transport began no dial for this exchange whose
	// hooks might still come.
	fromIdle   atomic.Bool
	remoteAddr net.Addr // written before gotConn is set

	// outer is the trace that the caller had in its context; its hooks run as well.
	outer *httptrace.ClientTrace
}

// clockStart anchors the moments of all tracers on the monotonic clock.
var clockStart = time.Now() //nolint:gochecknoglobals // the zero point of a clock

func moment() int64 { return int64(time.Since(clockStart)) + 1 }

// mark notes the moment unless an earlier call did.
func mark(m *atomic.Int64) {
	if m.Load() == 0 {
		m.CompareAndSwap(0, moment())
	}
}

// Trace returns the hooks, to be put into the context of a request with httptrace.WithClientTrace.
func (t *Tracer) Trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:              t.GetConn,
		ConnectStart:         t.ConnectStart,
		ConnectDone:          t.ConnectDone,
		TLSHandshakeStart:    t.TLSHandshakeStart,
		TLSHandshakeDone:     t.TLSHandshakeDone,
		GotConn:              t.GotConn,
		WroteRequest:         t.WroteRequest,
		GotFirstResponseByte: t.GotFirstResponseByte,
	}
}

// GetConn is called when a connection is asked for.
func (t *Tracer) GetConn(hostPort string) {
	mark(&t.getConn)
	if t.outer != nil && t.outer.GetConn != nil {
		t.outer.GetConn(hostPort)
	}
}

// ConnectStart is called when a dial begins, several times if a name has several addresses.
func (t *Tracer) ConnectStart(network, addr string) {
	mark(&t.connectStart)
	if t.outer != nil && t.outer.ConnectStart != nil {
		t.outer.ConnectStart(network, addr)
	}
}

// ConnectDone is called when a dial ends; only the first that succeeds counts.
func (t *Tracer) ConnectDone(network, addr string, err error) {
	if err == nil {
		mark(&t.connectDone)
	}
	if t.outer != nil && t.outer.ConnectDone != nil {
		t.outer.ConnectDone(network, addr, err)
	}
}

// TLSHandshakeStart is called when the TLS handshake begins.
func (t *Tracer) TLSHandshakeStart() {
	mark(&t.tlsHandshakeStart)
	if t.outer != nil && t.outer.TLSHandshakeStart != nil {
		t.outer.TLSHandshakeStart()
	}
}

// TLSHandshakeDone is called when the TLS handshake ends.
func (t *Tracer) TLSHandshakeDone(state tls.ConnectionState, err error) {
	if err == nil {
		mark(&t.tlsHandshakeDone)
	}
	if t.outer != nil && t.outer.TLSHandshakeDone != nil {
		t.outer.TLSHandshakeDone(state, err)
	}
}

// GotConn is called when the request has a connection.
func (t *Tracer) GotConn(info httptrace.GotConnInfo) {
	now := moment()
	// A request that the transport repeats on another connection is timed on the last one.
	repeated := t.gotConn.Load() != 0
	if repeated {
		t.wroteRequest.Store(0)
		t.firstByte.Store(0)
	}
	t.connReused.Store(info.Reused)
	t.fromIdle.Store(info.WasIdle && !repeated)
	if info.Conn != nil {
		t.remoteAddr = info.Conn.RemoteAddr()
	}
	if info.Reused {
		// The dial and handshake of another request's connection, or of one that came too late, are not ours.
		t.connectStart.Store(0)
		t.connectDone.Store(0)
		t.tlsHandshakeStart.Store(0)
		t.tlsHandshakeDone.Store(0)
	}
	t.gotConn.Store(now)
	if t.outer != nil && t.outer.GotConn != nil {
		t.outer.GotConn(info)
	}
}

// WroteRequest is called when the request was written.
func (t *Tracer) WroteRequest(info httptrace.WroteRequestInfo) {
	// The response may be here before this hook returns: once the mark is made, the tracer may serve another exchange.
	outer := t.outer
	if info.Err == nil {
		t.wroteRequest.Store(moment())
	}
	if outer != nil && outer.WroteRequest != nil {
		outer.WroteRequest(info)
	}
}

// GotFirstResponseByte is called when the response begins.
func (t *Tracer) GotFirstResponseByte() {
	t.firstByte.Store(moment())
	if t.outer != nil && t.outer.GotFirstResponseByte != nil {
		t.outer.GotFirstResponseByte()
	}
}

// Done is called once the body was read, or the exchange failed, and returns what was timed.
func (t *Tracer) Done() *Trail {
	trail := new(Trail)
	t.done(trail)
	return trail
}

// done fills the trail. Steps that did not happen take no time.
func (t *Tracer) done(trail *Trail) {
	end := time.Now()
	now := int64(end.Sub(clockStart)) + 1
	trail.EndTime = end

	gotConn := t.gotConn.Load()
	if gotConn != 0 {
		trail.ConnReused = t.connReused.Load()
		trail.ConnRemoteAddr = t.remoteAddr
		if getConn := t.getConn.Load(); getConn != 0 && gotConn > getConn {
			trail.Blocked = time.Duration(gotConn - getConn)
		}
	}
	if !trail.ConnReused {
		trail.Connecting = span(t.connectStart.Load(), t.connectDone.Load())
		trail.TLSHandshaking = span(t.tlsHandshakeStart.Load(), t.tlsHandshakeDone.Load())
	}
	trail.ConnDuration = trail.Connecting + trail.TLSHandshaking

	wrote, first := t.wroteRequest.Load(), t.firstByte.Load()
	if gotConn != 0 {
		switch {
		case wrote != 0 && (first == 0 || wrote <= first):
			trail.Sending = span(gotConn, wrote)
		case first != 0:
			// The response began before the request was written out: what there was of sending ends there.
			trail.Sending = span(gotConn, first)
			wrote = first
		}
	}
	if wrote != 0 {
		if first != 0 {
			trail.Waiting = span(wrote, first)
		} else {
			// Nothing came: all that time was spent waiting.
			trail.Waiting = span(wrote, now)
		}
	}
	if first != 0 {
		trail.Receiving = span(first, now)
	}
	trail.Duration = trail.Sending + trail.Waiting + trail.Receiving
}

func span(from, to int64) time.Duration {
	if from == 0 || to <= from {
		return 0
	}
	return time.Duration(to - from)
}

// reset makes a tracer ready for another exchange.
func (t *Tracer) reset() {
	t.getConn.Store(0)
	t.connectStart.Store(0)
	t.connectDone.Store(0)
	t.tlsHandshakeStart.Store(0)
	t.tlsHandshakeDone.Store(0)
	t.gotConn.Store(0)
	t.wroteRequest.Store(0)
	t.firstByte.Store(0)
	t.connReused.Store(false)
	t.fromIdle.Store(false)
	t.remoteAddr = nil
	t.outer = nil
}

// quiet says that the transport will call no more hooks of this exchange, which ended well over HTTP/1: the
// connection came from the idle ones, so nothing was dialled, and the request was written.
func (t *Tracer) quiet() bool {
	return t.fromIdle.Load() && t.wroteRequest.Load() != 0
}

// tracedContext carries the hooks to the transport. It answers for the trace before its parent does, so that a
// trace that the caller put into its own context is not composed anew (by reflection) for every request.
type tracedContext struct {
	context.Context //nolint:containedctx // it is a context
	hooks           context.Context
}

// Value looks at the hooks first.
func (c *tracedContext) Value(key any) any {
	if v := c.hooks.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}
