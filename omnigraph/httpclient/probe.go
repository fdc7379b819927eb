package httpclient

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// sendProbe watches one request from outside: when the transport was asked for a connection, which is when k6's rps
// limit let the request go, and how much of it was written, which decides about a write's outcome.
type sendProbe struct {
	asked  atomic.Int64 // UnixNano of the first request for a connection
	wrote  atomic.Bool
	broken atomic.Bool // the connection took only a part of the request
	early  *earlyAnswer
}

func newSendProbe(ctx context.Context, body int) *sendProbe {
	p := &sendProbe{}
	if body >= earlyAnswerBody {
		p.early = &earlyAnswer{ctx: ctx, returned: make(chan struct{})}
	}
	return p
}

func (p *sendProbe) trace() *httptrace.ClientTrace {
	trace := &httptrace.ClientTrace{
		GetConn:      func(string) { p.asked.CompareAndSwap(0, time.Now().UnixNano()) },
		WroteHeaders: func() { p.wrote.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			p.broken.Store(info.Err != nil)
			if p.early != nil && info.Err != nil && !closedHere(info.Err) {
				p.early.await()
			}
		},
	}
	if p.early != nil {
		trace.GotConn = p.early.over
	}
	return trace
}

// closedHere tells a connection that this side closed, at a time-out or the iteration's end, from one that the server
// broke. It goes by the text, since net/http wraps what breaks a request's body in a type that does not unwrap.
func closedHere(err error) bool { return strings.Contains(err.Error(), net.ErrClosed.Error()) }

// done is called once MakeRequest has returned.
func (p *sendProbe) done() {
	if p != nil && p.early != nil {
		close(p.early.returned)
	}
}

// earlyAnswerBody is the size of body, in bytes, from which on a server may answer and close while the client is still
// sending. Smaller ones fit the socket's buffer whole.
const earlyAnswerBody = 64 << 10

// earlyAnswer saves the answer of a server that refuses a request before it has read all of it, as omnigraph's does
// with one that is too large. When such a server closes, the client's next write breaks, and net/http gives up the
// connection for that although the answer has arrived: which of both it sees first is chance. So the writer, which
// reports the break to a trace before it reports it to the transport, waits here until the answer is read.
type earlyAnswer struct {
	ctx      context.Context //nolint:containedctx // a trace's hook gets none
	returned chan struct{}
	streams  atomic.Bool
	conn     atomic.Pointer[net.Conn]
}

// over notes the connection, and whether it is one of HTTP/2, whose streams can be refused without a break.
func (e *earlyAnswer) over(info httptrace.GotConnInfo) {
	conn, ok := info.Conn.(*tls.Conn)
	e.streams.Store(ok && conn.ConnectionState().NegotiatedProtocol == "h2")
	e.conn.Store(&info.Conn)
}

// await returns once the answer has been read, or the transport's reader, which met the break as well, has closed the
// connection for want of one. The answer is older than the break, so it is in the socket's buffer when the writer meets the
// break, or it never comes; but on a busy machine the reader's turn may take a while. The transport itself waits for its
// writer, for up to 50 ms, before it lets the answer's end be read; http_req_receiving of an answer so saved has them in it.
func (e *earlyAnswer) await() {
	if e.streams.Load() {
		return
	}
	const longest, every = 30 * time.Second, 5 * time.Millisecond
	limit, look := time.NewTimer(longest), time.NewTicker(every)
	defer limit.Stop()
	defer look.Stop()
	for {
		select {
		case <-e.returned:
			return
		case <-e.ctx.Done():
			return
		case <-limit.C:
			return
		case <-look.C:
			if e.closed() {
				return
			}
		}
	}
}

// closed tells whether this side has closed the connection: a deadline, of which none is set otherwise, is refused then.
func (e *earlyAnswer) closed() bool {
	conn := e.conn.Load()
	return conn == nil || (*conn).SetWriteDeadline(time.Time{}) != nil
}

// waited is how long the request was held back since start. Less than a tenth of a millisecond is the way to the
// transport and no queue.
func (p *sendProbe) waited(start time.Time) time.Duration {
	if p == nil {
		return 0
	}
	asked := p.asked.Load()
	if asked == 0 {
		return 0
	}
	const noQueue = 100 * time.Microsecond
	if d := time.Unix(0, asked).Sub(start); d > noQueue {
		return d
	}
	return 0
}

// sent tells whether the server may have got the request as a whole; of one that it got in part it can do nothing.
// Without a probe the safe answer is yes.
func (p *sendProbe) sent(write bool) bool {
	if p == nil {
		return !write
	}
	return p.wrote.Load() && !p.broken.Load()
}
