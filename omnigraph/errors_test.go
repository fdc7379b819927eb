package omnigraph

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
)

const readCode = `og.query("query q() { match { $m: Memory } return { $m.slug } }")`
const writeCode = `og.mutate("query add() { insert Project { slug: \"a\", name: \"b\" } }")`

// drop closes the connection after reading the request, with or without a part of an answer.
func drop(part string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, part)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// endEarly announces more than it sends and ends the connection in an orderly way.
func endEarly(w http.ResponseWriter, _ *http.Request, _ string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"row")
	_ = conn.Close()
}

func hang(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }

// unlessTooSoon makes a call with a time-out that nothing runs into, or, of a server that hangs, with one that is run into:
// again with a longer one where it was over before the request had arrived. The call gives what to check of it.
func unlessTooSoon(t *testing.T, hangs bool, handler func(http.ResponseWriter, *http.Request, string), call func(address, timeout string) func()) {
	t.Helper()
	timeouts := []string{"1m"}
	if hangs {
		timeouts = []string{"200ms", "2s", "20s"}
	}
	for i, timeout := range timeouts {
		server := newStub(t, handler)
		check := call(server.URL, timeout)
		if len(server.asked()) > 0 || i == len(timeouts)-1 {
			check()
			return
		}
	}
}

func TestEveryHTTPFailureHasItsKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler func(http.ResponseWriter, *http.Request, string)
		write   bool
		kind    string
		status  int
		unknown bool
		retry   bool
		message string
		hangs   bool
	}{
		{name: "missing token", handler: answer(401, `{"error":"missing bearer token","code":"unauthorized"}`), kind: "unauthorized", status: 401, message: "missing bearer token"},
		{name: "policy", handler: answer(403, `{"error":"policy denied action 'change' on branch 'main' for actor 'act-reader'","code":"forbidden"}`), write: true, kind: "forbidden", status: 403},
		{name: "unknown graph", handler: answer(404, `{"error":"graph 'nope' not found","code":"not_found"}`), kind: "not_found", status: 404},
		{name: "unknown route", handler: answer(404, ``), kind: "unsupported", status: 404, message: "route"},
		{name: "wrong method", handler: answer(405, ``), kind: "unsupported", status: 405},
		{name: "parse error", handler: answer(400, `{"error":"parse error:  --> 1:10","code":"bad_request"}`), kind: "bad_request", status: 400},
		{name: "plain text", handler: answer(422, `Failed to deserialize the JSON body into the target type: missing field`), kind: "bad_request", status: 422},
		{name: "too large", handler: answer(413, `Failed to buffer the request body: length limit exceeded`), write: true, kind: "resource_limit", status: 413},
		{name: "stale", handler: answer(409, `{"error":"stale view of 'node:Memory': expected manifest table version 545 but current is 546 — refresh and retry","code":"conflict","manifest_conflict":{"table_key":"node:Memory","expected":545,"actual":546}}`), write: true, kind: "conflict_stale", status: 409, retry: true},
		{name: "write authority", handler: answer(409, `{"error":"write authority 'graph_head:main' changed during preparation","code":"conflict","read_set_conflict":{"member":"graph_head:main"}}`), write: true, kind: "conflict_stale", status: 409, retry: true},
		{name: "key", handler: answer(409, `{"error":"node type 'Project' already has id 'pl'","code":"conflict","key_conflict":{"entity_kind":"node"}}`), write: true, kind: "conflict_key", status: 409},
		{name: "merge", handler: answer(409, `{"error":"merge conflicts","merge_conflicts":[]}`), write: true, kind: "merge_conflict", status: 409},
		{name: "index", handler: answer(409, `{"error":"rebuild","code":"full_text_index_rebuild_required"}`), kind: "index_rebuild_required", status: 409},
		{name: "other conflict", handler: answer(409, `{"error":"hm","code":"conflict"}`), write: true, kind: "conflict", status: 409},
		{name: "precondition", handler: answer(412, `{"error":"precondition failed on branch 'main'","precondition_failure":{}}`), write: true, kind: "precondition_failed", status: 412},
		{name: "cap", handler: answer(429, `{"error":"actor in-flight count cap 16 exceeded","code":"too_many_requests"}`, "Retry-After", "60"), write: true, kind: "admission_capped", status: 429, retry: true},
		{name: "recovery", handler: answer(503, `{"error":"recovery required","code":"recovery_required","recovery_required":{"operation_id":"x"}}`), write: true, kind: "recovery_required", status: 503, unknown: true, retry: true},
		{name: "graph not yet", handler: answer(503, `{"error":"starting","code":"graph_unavailable"}`), kind: "graph_unavailable", status: 503, retry: true},
		{name: "unavailable", handler: answer(503, `busy`), write: true, kind: "unavailable", status: 503, retry: true},
		{name: "bad gateway", handler: answer(502, `<html>bad gateway</html>`), write: true, kind: "unavailable", status: 502, unknown: true, retry: true},
		{name: "gateway timeout", handler: answer(504, ``), write: true, kind: "unavailable", status: 504, unknown: true, retry: true},
		{name: "needs repair", handler: answer(500, `{"error":"storage: table node:Memory is ahead of manifest","code":"internal"}`), write: true, kind: "needs_repair", status: 500, unknown: true},
		{name: "quarantined", handler: answer(500, `{"error":"occ recovery sidecar 7: manifest delta differs","code":"internal"}`), write: true, kind: "store_quarantined", status: 500, unknown: true},
		{name: "a crash's leftovers, cleared away by another write", handler: answer(500, `{"error":"storage read failed for '/d/council.omni/__recovery/01M8.json': Object at location /d/council.omni/__recovery/01M8.json not found: No such file or directory (os error 2)","code":"internal"}`), write: true, kind: "recovery_required", status: 500, unknown: true, retry: true},
		{name: "user's words decide nothing", handler: answer(500, `{"error":"could not read 'ahead of manifest' and \"occ recovery sidecar\"","code":"internal"}`), kind: "internal", status: 500},
		{name: "api version", handler: answer(400, `{"error":"x","code":"api_contract_mismatch"}`), kind: "version_mismatch", status: 400},
		{name: "internal", handler: answer(500, `{"error":"boom","code":"internal"}`), write: true, kind: "internal", status: 500, unknown: true},
		{name: "redirect", handler: answer(301, ``, "Location", "/x"), kind: "protocol", status: 301},
		{name: "malformed", handler: answer(200, `{"row_count":`), kind: "protocol", status: 200},
		{name: "malformed write", handler: answer(200, `{"affected`), write: true, kind: "protocol", status: 200, unknown: true},
		{name: "empty", handler: answer(200, ``), kind: "protocol", status: 200, message: "empty"},
		{name: "another document", handler: answer(200, `{"hello":1}`), kind: "protocol", status: 200, message: "row_count"},
		{name: "an error that says 200", handler: answer(200, `{"error":"hm"}`), kind: "protocol", status: 200},
		{name: "HTML", handler: answer(200, `<html></html>`), kind: "protocol", status: 200},
		{name: "closed read", handler: drop(""), kind: "connect", retry: true},
		{name: "closed write", handler: drop(""), write: true, kind: "connect", unknown: true, retry: true},
		{name: "cut off", handler: drop("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"row"), write: true, kind: "connect", unknown: true, retry: true, message: "after"},
		{name: "ended early", handler: endEarly, write: true, kind: "protocol", unknown: true, message: "cut off after"},
		{name: "no gzip", handler: answer(200, `{"row_count":0}`, "Content-Encoding", "gzip"), kind: "protocol", message: "gzip"},
		{name: "no gzip of a write", handler: answer(200, written, "Content-Encoding", "gzip"), write: true, kind: "protocol", unknown: true, message: "gzip"},
		{name: "no deflate", handler: answer(200, `{"row_count":0}`, "Content-Encoding", "deflate"), kind: "protocol", message: "deflate"},
		{name: "no HTTP", handler: drop("SSH-2.0-OpenSSH\r\n\r\n"), kind: "protocol"},
		{name: "hang", handler: hang, write: true, kind: "timeout", unknown: true, retry: true, message: "timeout ", hangs: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unlessTooSoon(t, c.hangs, c.handler, func(address, timeout string) func() {
				r := newRuntime(t)
				r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", token: "secret-token", timeout: %q})`, address, timeout))
				r.enter()
				code := readCode
				if c.write {
					code = writeCode
				}
				res := r.export(r.js(code))
				message := c.message
				if c.hangs {
					message += timeout
				}
				return func() {
					require.Equal(t, false, res["ok"])
					problem := res["error"].(map[string]any)
					assert.Equal(t, c.kind, problem["kind"], problem["message"])
					assert.EqualValues(t, c.status, problem["status"])
					assert.Equal(t, c.unknown, problem["indeterminate"], "indeterminate")
					assert.Equal(t, c.retry, problem["retryable"], "retryable")
					assert.NotEmpty(t, problem["message"])
					assert.Contains(t, problem["message"], message)
					assert.NotContains(t, problem["message"], "secret-token")
					samples := r.taken()
					assert.Len(t, of(samples, "omnigraph_errors", "error_kind", c.kind), 1)
					assert.Len(t, of(samples, "omnigraph_op_duration", "ok", "false"), 1)
					assert.Equal(t, 1.0, of(samples, "omnigraph_op_failed")[0].Value)
					assert.Len(t, of(samples, "http_reqs"), 1)
				}
			})
		})
	}
}

func TestARefusedConnectionLeavesAWriteUndone(t *testing.T) {
	t.Parallel()
	// A port that a connection has as its own end: nobody listens on it, and nobody else gets it meanwhile.
	server := newStub(t, answer(200, written))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect("http://%s", {graph: "council"})`, conn.LocalAddr()))
	r.enter()
	problem := r.export(r.js(writeCode))["error"].(map[string]any)
	assert.Equal(t, "connect", problem["kind"])
	assert.Equal(t, false, problem["indeterminate"])
	assert.Contains(t, problem["message"], "refused")
}

func TestAnUnresolvableHostIsAConnectFailure(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.js(`const og = connect("http://no-such-host.invalid:1", {graph: "council"})`)
	r.enter()
	// As the system's own says it, without asking a name server, which may take its time to say nothing.
	dialer, _ := r.state.Dialer.(*netext.Dialer)
	dialer.Resolver = netext.NewResolver(func(host string) ([]net.IP, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}, 0, types.DNSfirst, types.DNSpreferIPv4)
	problem := r.export(r.js(writeCode))["error"].(map[string]any)
	assert.Equal(t, "connect", problem["kind"])
	assert.Equal(t, false, problem["indeterminate"])
}

func TestThrowRaisesAnErrorWithTheMembersOfAResultsError(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(409, `{"error":"stale view of 'node:Memory'","code":"conflict","manifest_conflict":{}}`))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", throw: true})`, server.URL))
	r.enter()
	got := r.export(r.js(`let e; try { ` + writeCode + ` } catch (x) { e = {isError: x instanceof Error, name: x.name, kind: x.kind, status: x.status, code: x.code, retryable: x.retryable, message: x.message, op: x.op} } e`))
	assert.Equal(t, map[string]any{
		"isError": true, "name": "OmnigraphError", "kind": "conflict_stale", "status": 409.0, "code": "conflict",
		"retryable": true, "message": "stale view of 'node:Memory'", "op": "mutate",
	}, got)
	members := append(slices.Clone(errorFields), "name", "op", "transport")
	whole := r.export(r.js(`let whole; try { ` + writeCode + ` } catch (x) { whole = x } whole`))
	for name := range whole {
		assert.Contains(t, members, name, "what the error's JSON holds is in index.d.ts")
	}
	assert.Equal(t, "conflict_stale", whole["kind"])
	assert.Nil(t, whole["retryAfter"])
	r.js(`let f; og.asyncQuery("query q() { match { $m: Memory } return { $m.slug } }").catch((x) => { f = {isError: x instanceof Error, kind: x.kind} })`)
	got = r.export(r.js(`f`))
	assert.Equal(t, map[string]any{"isError": true, "kind": "conflict_stale"}, got)
	assert.Equal(t, false, r.export(r.js(`og.query("query q() { match { $m: Memory } return { $m.slug } }", {}, {throw: false})`))["ok"])
}

func TestWhatATransportLacksSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.js(`const http = new HTTPClient({url: "http://127.0.0.1:1", graph: "g"}); const cli = new CLIClient({server: "http://127.0.0.1:1", graph: "g", bin: "/does/not/exist"})`)
	r.enter()
	for code, other := range map[string]string{
		`http.version()`: "CLIClient", `http.optimize()`: "CLIClient", `http.cleanup()`: "CLIClient", `http.repair()`: "CLIClient",
		`cli.health()`: "HTTPClient", `cli.graphs()`: "HTTPClient", `cli.queries()`: "HTTPClient",
	} {
		problem := r.export(r.js(code))["error"].(map[string]any)
		assert.Equal(t, "unsupported", problem["kind"], code)
		assert.Contains(t, problem["message"], other, code)
	}
}

func TestParametersAreCheckedAgainstTheQuerysHeader(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const gq = "query q($s: String, $n: I32?) { match { $m: Memory { slug: $s } } return { $m.slug } }"`, server.URL))
	r.enter()
	for params, want := range map[string]string{
		`{}`:               "needs s",
		`undefined`:        "needs s",
		`{s: null}`:        "null",
		`{s: 7}`:           "takes String, got 7",
		`{s: "a", n: "x"}`: "takes I32",
		`{s: "a", n: 1.5}`: "takes I32",
		`{s: "a", z: 1}`:   "does not declare z",
		`{s: "\ud800"}`:    "surrogate",
	} {
		problem := r.export(r.js(`og.query(gq, ` + params + `)`))["error"].(map[string]any)
		assert.Equal(t, "bad_request", problem["kind"], params)
		assert.Contains(t, problem["message"], want, params)
	}
	assert.Empty(t, server.asked(), "nothing is sent that does not fit")
	for _, params := range []string{`{s: "a"}`, `{s: "a", n: null}`, `{s: "a", n: 3}`, `{s: "\ud83d\ude00 ü 漢 \u0000 \" \n"}`} {
		assert.Equal(t, true, r.export(r.js(`og.query(gq, ` + params + `)`))["ok"], params)
	}
	assert.Equal(t, true, r.export(r.js(`og.query(gq, {}, {checkParams: false})`))["ok"])
	last := server.asked()[3].Body
	assert.Contains(t, last, "😀 ü 漢")
}

func TestRetriesRepeatWhatMayBeRepeated(t *testing.T) {
	t.Parallel()
	stale := `{"error":"stale view of 'x'","code":"conflict","manifest_conflict":{}}`
	for _, c := range []struct {
		name, options, code string
		answers             []string // status and body
		attempts            int
		ok                  bool
	}{
		{"ok/after a conflict", `{retry: {baseDelay: 0}}`, writeCode, []string{"409 " + stale, "200 " + written}, 2, true},
		{"ok/off by default", `{}`, writeCode, []string{"409 " + stale, "200 " + written}, 1, false},
		{"ok/gives up after maxAttempts", `{retry: {maxAttempts: 3, baseDelay: 0}}`, writeCode, []string{"409 " + stale}, 3, false},
		{"ok/indeterminate write not repeated", `{retry: {baseDelay: 0}}`, writeCode, []string{"502 x", "200 " + written}, 1, false},
		{"ok/indeterminate write repeated if told", `{retry: {baseDelay: 0, indeterminate: true}}`, writeCode, []string{"502 x", "200 " + written}, 2, true},
		{"ok/read repeated after 502", `{retry: {baseDelay: 0}}`, readCode, []string{"502 x", "200 " + threeRows}, 2, true},
		{"ok/only the kinds named", `{retry: {baseDelay: 0, kinds: ["admission_capped"]}}`, writeCode, []string{"409 " + stale, "200 " + written}, 1, false},
		{"ok/no kind named", `{retry: {baseDelay: 0, kinds: []}}`, writeCode, []string{"409 " + stale, "200 " + written}, 1, false},
		{"ok/a budget that is spent", `{retry: {baseDelay: 0, maxAttempts: 20, budget: 0.5}}`, writeCode, []string{"409 " + stale}, 11, false},
		{"ok/a budget of many for each", `{retry: {baseDelay: 0, maxAttempts: 20, budget: 30}}`, writeCode, []string{"409 " + stale}, 20, false},
		{"ok/Retry-After beyond the time left", `{retry: {baseDelay: 0, maxElapsed: "5s"}}`, writeCode, []string{"429 {}", "200 " + written}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
				n := int(asked.Add(1)) - 1
				status, body, _ := strings.Cut(c.answers[min(n, len(c.answers)-1)], " ")
				if status == "429" {
					w.Header().Set("Retry-After", "60")
				}
				code := 0
				_, _ = fmt.Sscan(status, &code)
				w.WriteHeader(code)
				_, _ = io.WriteString(w, body)
			})
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, Object.assign({graph: "council"}, %s))`, server.URL, c.options))
			r.enter()
			res := r.export(r.js(c.code))
			assert.Equal(t, c.ok, res["ok"], res["error"])
			assert.EqualValues(t, c.attempts, res["attempts"])
			assert.Len(t, server.asked(), c.attempts)
			samples := r.taken()
			assert.Len(t, of(samples, "omnigraph_attempt_duration"), c.attempts)
			assert.Len(t, of(samples, "omnigraph_op_duration"), 1)
			if c.attempts > 1 {
				assert.EqualValues(t, c.attempts-1, of(samples, "omnigraph_retries")[0].Value)
			}
		})
	}
}

// A write that may have been done stays so, however surely the last attempt was refused: that may be what the first one did.
func TestAnAttemptOfUnknownOutcomeDecidesAboutTheWholeWrite(t *testing.T) {
	t.Parallel()
	key := `409 {"error":"node type 'Project' already has id 'a'","code":"conflict","key_conflict":{"entity_kind":"node"}}`
	for _, c := range []struct {
		name, code string
		answers    []string
		kind       string
		unknown    bool
	}{
		{"refused after an unknown outcome", writeCode, []string{"502 x", key}, "conflict_key", true},
		{"refused after two", writeCode, []string{"502 x", "504 ", key}, "conflict_key", true},
		{"refused after a refusal", writeCode, []string{"429 {}", key}, "conflict_key", false},
		{"a batch that is not halved then", `og.mutateMany("query add($slug: String) { insert Project { slug: $slug, name: \"a\" } }", [{slug: "a"}, {slug: "b"}])`, []string{"502 x", "413 Failed to buffer the request body: length limit exceeded"}, "resource_limit", true},
		{"a read", readCode, []string{"502 x", `400 {"error":"no","code":"bad_request"}`}, "bad_request", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
				status, body, _ := strings.Cut(c.answers[min(int(asked.Add(1)), len(c.answers))-1], " ")
				code, err := strconv.Atoi(status)
				assert.NoError(t, err)
				w.WriteHeader(code)
				_, _ = io.WriteString(w, body)
			})
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", retry: {baseDelay: 0, indeterminate: true}})`, server.URL))
			r.enter()
			problem, _ := r.export(r.js(c.code))["error"].(map[string]any)
			require.NotNil(t, problem)
			assert.Equal(t, c.kind, problem["kind"])
			assert.Equal(t, c.unknown, problem["indeterminate"])
			if c.unknown {
				assert.Contains(t, problem["message"], "an earlier attempt, of unknown outcome, failed with unavailable")
			} else {
				assert.NotContains(t, problem["message"], "earlier attempt")
			}
			assert.EqualValues(t, len(c.answers), asked.Load())
		})
	}
}

// countConnections has a server count the connections that are made to it.
func (s *stub) countConnections(t *testing.T) *atomic.Int32 {
	t.Helper()
	var n atomic.Int32
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	return &n
}

func TestTheSharedPoolBoundsConnectionsAndCountsItsBytes(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	server := newUnstartedStub(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		answer(200, threeRows)(w, r, body)
	})
	connections := server.countConnections(t)
	server.Start()
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", pool: "shared", maxConnections: 1})`, server.URL))
	r.enter()
	r.js(`for (let i = 0; i < 5; i++) { ` + readCode + ` }`)
	r.js(`for (let i = 0; i < 5; i++) { ` + strings.Replace(readCode, "query(", "asyncQuery(", 1) + ` }`)
	samples := r.taken()
	assert.Len(t, of(samples, "omnigraph_conn_reused"), 10)
	reused := 0.0
	for _, s := range of(samples, "omnigraph_conn_reused") {
		reused += s.Value
	}
	// net/http makes a new connection where its writer took more than 50 ms to see that it had written.
	assert.EqualValues(t, 10-connections.Load(), reused, "all but those that made a connection")
	assert.Positive(t, reused)
	assert.EqualValues(t, 1, most.Load(), "one request at a time")
	sent := 0.0
	for _, s := range of(samples, "data_sent") {
		sent += s.Value
	}
	assert.Greater(t, sent, 500.0)
}

func TestNoConnectionReuseHoldsForBothPools(t *testing.T) {
	t.Parallel()
	for _, pool := range []string{"shared"} {
		server := newStub(t, answer(200, threeRows))
		r := newRuntime(t)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", pool: %q})`, server.URL, pool))
		r.enterWith(lib.Options{NoConnectionReuse: null.BoolFrom(true)})
		r.js(`for (let i = 0; i < 3; i++) { ` + readCode + ` }`)
		for _, s := range of(r.taken(), "omnigraph_conn_reused") {
			assert.Zero(t, s.Value, pool)
		}
	}
}
