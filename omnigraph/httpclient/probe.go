package httpclient

import (
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// sendProbe watches one request from outside: when the transport was asked for a connection, which is when k6's rps
// limit let the request go, and whether anything was written, which decides about a write's outcome.
type sendProbe struct {
	asked atomic.Int64 // UnixNano of the first request for a connection
	wrote atomic.Bool
}

func (p *sendProbe) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:      func(string) { p.asked.CompareAndSwap(0, time.Now().UnixNano()) },
		WroteHeaders: func() { p.wrote.Store(true) },
	}
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

// sent tells whether the server may have seen the request; without a probe the safe answer is yes.
func (p *sendProbe) sent(write bool) bool {
	if p == nil {
		return !write
	}
	return p.wrote.Load()
}
