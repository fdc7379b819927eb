package server

import (
	"bytes"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// faulty serves a request under the injector's plan.
func (r *request) faulty(name string, h func(*request)) {
	f := r.s.opts.Faults.Match(faults.Call{Route: name, Actor: r.actor})
	if f == nil {
		h(r)
		return
	}
	switch f.Kind {
	case faults.Latency:
		if until(r.Context(), time.Now().Add(time.Duration(f.Delay))) == nil {
			h(r)
		}
	case faults.ResetBefore:
		r.reset()
	case faults.ResetAfter:
		r.capture(h)
		r.reset()
	case faults.BadGateway:
		r.capture(h)
		r.gateway(http.StatusBadGateway)
	case faults.GatewayTimeout:
		r.capture(h)
		r.gateway(http.StatusGatewayTimeout)
	case faults.Truncated, faults.Malformed, faults.WrongType, faults.SlowBody:
		r.spoil(f, r.capture(h))
	case faults.Restart:
		r.restart(f)
	default:
		r.fail(faultError(f))
	}
}

// faultError is the answer of a kind that is a plain error.
func faultError(f *faults.Rule) *graph.Error {
	e := &graph.Error{Status: http.StatusConflict, Code: "conflict"}
	switch f.Kind {
	case faults.AdmissionCap:
		e.Status, e.Code, e.RetryAfter = http.StatusTooManyRequests, "too_many_requests", f.RetryAfter
		if e.RetryAfter == 0 {
			e.RetryAfter = 60
		}
		e.Message = "actor in-flight count cap 16 exceeded"
	case faults.ManifestConflict:
		e.Message = "stale view of 'node:Memory': expected manifest table version 545 but current is 546 — refresh and retry"
		e.Manifest = &graph.ManifestConflict{TableKey: "node:Memory", Expected: 545, Actual: 546}
	case faults.ReadSetConflict:
		e.Message = "write authority 'graph_head:main' changed during preparation (expected A, current B) — reprepare from the current branch state"
		e.ReadSet = &graph.ReadSetConflict{Member: "graph_head:main", Expected: "A", Actual: "B"}
	case faults.KeyConflict:
		e.Message = "node type 'Memory' already has id 'mem-0001'"
		e.Key = &graph.KeyConflict{EntityKind: "node", TypeName: "Memory", EntityID: "mem-0001"}
	case faults.DatasetConflict:
		e.Message = "published_dataset_version_conflict: dataset 'node:Memory' was published by another writer"
		e.Dataset = &graph.DatasetConflict{EntityKind: "node", TypeName: "Memory", Expected: 545, Actual: 546}
	case faults.IndexRebuild:
		e.Message = "full_text_index_rebuild_required: node 'Memory' property 'title'"
	case faults.MergeConflict:
		e.Message = "merge conflicts: node:Memory:mem-0001 (divergent_update)"
		row := "mem-0001"
		e.Merge = []graph.MergeConflict{{TableKey: "node:Memory", RowID: &row, Kind: "divergent_update", Message: "divergent update for id 'mem-0001'"}}
	case faults.Precondition:
		e.Status, e.Code = http.StatusPreconditionFailed, ""
		e.Message = "precondition failed on branch 'main': expected head 'A' but current is B"
		e.Precondition = &graph.Precondition{Expected: "A", Actual: "B"}
	case faults.RecoveryRequired:
		// The list of codes is closed: what it means stands in a field of its own.
		e.Status, e.Code = http.StatusServiceUnavailable, ""
		e.Message = "recovery_required: operation 01M8PAREQMG3R0MFM1HTK7M3V1 must be recovered before the graph serves again"
		e.Recovery = "01M8PAREQMG3R0MFM1HTK7M3V1"
	case faults.Unavailable:
		e.Status, e.Code = http.StatusServiceUnavailable, "graph_unavailable"
		e.Message = "graph_unavailable: the graph is not open yet"
	case faults.SidecarDiffers:
		e.Status, e.Code = http.StatusInternalServerError, "internal"
		e.Message = "occ recovery sidecar for 'node:Memory': manifest delta differs"
	case faults.AheadOfManifest:
		e.Status, e.Code = http.StatusInternalServerError, "internal"
		e.Message = "table 'node:Memory' head is ahead of manifest; run `omnigraph repair`"
	default:
		e.Status, e.Code, e.Message = http.StatusInternalServerError, "internal", "storage: injected failure"
	}
	return e
}

// captured is an answer that was not sent.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *captured) Header() http.Header { return c.header }

func (c *captured) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

func (c *captured) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.body.Write(p)
}

// capture carries the request out and keeps the answer.
func (r *request) capture(h func(*request)) *captured {
	c := &captured{header: r.w.Header().Clone()}
	real := r.w
	r.w = c
	h(r)
	r.w = real
	return c
}

// gateway answers as a proxy in front of the server does: not in JSON.
func (r *request) gateway(status int) {
	text := "<html><head><title>" + strconv.Itoa(status) + " " + http.StatusText(status) + "</title></head><body></body></html>\n"
	r.w.Header().Set("Content-Type", "text/html")
	r.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	r.w.WriteHeader(status)
	_, _ = io.WriteString(r.w, text) // the client may be gone
}

// reset ends the connection so that the client sees a reset rather than an end.
func (r *request) reset() {
	conn, _, err := http.NewResponseController(r.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes Close send RST; if it can't, the connection still ends
	}
	_ = conn.Close()
}

// spoil sends an answer damaged.
func (r *request) spoil(f *faults.Rule, c *captured) {
	h := r.w.Header()
	for k, v := range c.header {
		h[k] = v
	}
	body := c.body.Bytes()
	switch f.Kind {
	case faults.Malformed:
		body = append([]byte(`{"rows":[{`), body...)
	case faults.WrongType:
		h.Set("Content-Type", "text/html")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	r.w.WriteHeader(c.status)
	switch f.Kind {
	case faults.Truncated:
		_, _ = r.w.Write(body[:len(body)/2]) // the connection is about to end anyway
		_ = http.NewResponseController(r.w).Flush()
		r.reset()
	case faults.SlowBody:
		r.drip(body, time.Duration(f.Delay))
	default:
		_, _ = r.w.Write(body) // the client may be gone
	}
}

// pieces is into how many parts a slow body is cut.
const pieces = 8

func (r *request) drip(body []byte, delay time.Duration) {
	size := max((len(body)+pieces-1)/pieces, 1)
	for len(body) > 0 {
		n := min(size, len(body))
		if _, err := r.w.Write(body[:n]); err != nil {
			return
		}
		if err := http.NewResponseController(r.w).Flush(); err != nil {
			return
		}
		body = body[n:]
		if len(body) > 0 && until(r.Context(), time.Now().Add(delay)) != nil {
			return
		}
	}
}

// restart closes the port, then serves without graphs for a while.
func (r *request) restart(f *faults.Rule) {
	closed, missing := time.Duration(f.Closed), time.Duration(f.Missing)
	r.s.missing.Store(time.Now().Add(closed + missing).UnixNano())
	if r.s.opts.Restart != nil {
		// Closes this connection, too.
		r.s.opts.Restart(closed)
		return
	}
	r.reset()
}

// adminLimit bounds a fault file sent over the admin route.
const adminLimit = 1 << 20

// admin serves GET and PUT /admin/faults to loopback, for who has the admin token.
func (r *request) admin(path string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		r.w.WriteHeader(http.StatusNotFound)
		return
	}
	token, _ := bearer(r.Header.Get("Authorization"))
	if subtle.ConstantTimeCompare([]byte(token), []byte(r.s.opts.AdminToken)) != 1 {
		r.fail(&graph.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: r.refusal()})
		return
	}
	switch {
	case path != "/admin/faults" || r.s.opts.Faults == nil:
		r.w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		r.ok(r.s.opts.Faults.Plan())
	case r.Method == http.MethodPut:
		text, ok := r.rawBody(adminLimit)
		if !ok {
			return
		}
		plan, err := faults.Parse([]byte(text), RouteNames())
		if err != nil {
			r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: err.Error()})
			return
		}
		r.s.opts.Faults.Set(plan)
		r.ok(plan)
	default:
		r.w.Header().Set("Allow", "GET,PUT")
		r.w.WriteHeader(http.StatusMethodNotAllowed)
	}
}
