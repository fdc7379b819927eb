package omnigraph

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
)

func exportOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"type\":\"Memory\",\"data\":{\"slug\":\"m%d\"}}\n", i)
	}
	return b.String()
}

func TestExportHandsItsRowsOnAndCountsThem(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, exportOf(1000))
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); var seen = []`, server.URL))
	r.enter()
	res := r.export(r.js(`og.export()`))
	assert.EqualValues(t, 1000, res["rowCount"])
	assert.Nil(t, res["data"])
	for _, call := range []string{
		`og.export({types: ["Memory"]}, (row) => seen.push(row.data.slug))`,
		`var res; og.asyncExport({types: ["Memory"]}, (row) => seen.push(row.data.slug)).then((x) => { res = x.rowCount })`,
	} {
		r.js(`seen = []`)
		r.js(call)
		assert.Equal(t, "1000 m0 m999", r.js(`seen.length + " " + seen[0] + " " + seen[999]`).String(), call)
	}
	assert.EqualValues(t, 1000, r.js(`res`).ToInteger())
	samples := r.taken()
	assert.Len(t, of(samples, "omnigraph_ops", "op", "export"), 3)
	assert.Len(t, of(samples, "http_reqs", "name", "export", "status", "200", "method", "POST", "expected_response", "true", "proto", "HTTP/1.1"), 3)
	assert.Len(t, of(samples, "http_req_failed", "status", "200"), 3)
	assert.Len(t, of(samples, "http_req_receiving"), 3)
}

// A script may ask a proxy for packed answers. k6 unpacks those that it reads itself; an export's rows never reach it.
func TestAPackedExportIsUnpackedOnItsWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		encoding string
		pack     func(io.Writer) io.WriteCloser
	}{
		"gzip":    {"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"deflate": {"deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				w.Header().Set("Content-Encoding", c.encoding)
				if r.Header.Get("Accept-Encoding") != c.encoding {
					return
				}
				packed := c.pack(w)
				_, _ = io.WriteString(packed, exportOf(1000))
				_ = packed.Close()
			})
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", headers: {"Accept-Encoding": %q}}); var seen = []`, server.URL, c.encoding))
			r.enter()
			res := r.export(r.js(`og.export({}, (row) => seen.push(row.data.slug))`))
			assert.Equal(t, true, res["ok"], res["error"])
			assert.Equal(t, "1000 m0 m999", r.js(`seen.length + " " + seen[0] + " " + seen[999]`).String())
		})
	}
}

func TestAnExportThatIsNotPackedAsItSaysIsAProtocolError(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"gzip", "deflate", "compress"} {
		server := newStub(t, answer(200, exportOf(3), "Content-Encoding", encoding))
		r := newRuntime(t)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
		r.enter()
		problem, _ := r.export(r.js(`og.export()`))["error"].(map[string]any)
		assert.Equal(t, "protocol", problem["kind"], encoding)
		assert.Contains(t, problem["message"], encoding)
	}
}

func TestAnExceptionInTheCallbackEndsTheExport(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, exportOf(1000)); err != nil {
				return
			}
		}
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); let n = 0`, server.URL))
	r.enter()
	const callback = `(row) => { if (++n % 700 === 0) { throw new Error("enough") } }`
	assert.Contains(t, r.throws(`og.export({}, `+callback+`)`), "enough")
	assert.Contains(t, r.throws(`og.asyncExport({}, `+callback+`)`), "enough")
	assert.Contains(t, r.throws(`og.export({}, 7)`), "callback")
}

func TestAnExportThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler func(http.ResponseWriter, *http.Request, string)
		kind    string
		hangs   bool
	}{
		{"refused", answer(403, `{"error":"policy denied action 'export'","code":"forbidden"}`), "forbidden", false},
		{"no rows", answer(200, "{}\n<html>\n"), "protocol", false},
		{"cut off", drop("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}\n{\"a"), "connect", false},
		{"hang", hang, "timeout", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unlessTooSoon(t, c.hangs, c.handler, func(address, timeout string) func() {
				r := newRuntime(t)
				r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", timeout: %q})`, address, timeout))
				r.enter()
				res := r.export(r.js(`og.export({}, () => {})`))
				return func() {
					assert.Equal(t, c.kind, res["error"].(map[string]any)["kind"], res["error"])
					assert.Len(t, of(r.taken(), "http_reqs"), 1)
				}
			})
		})
	}
}

// Rows that a callback has got can't be taken back.
func TestAnExportIsRepeatedOnlyWhileNoRowWasHandedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, call     string
		first          func(http.ResponseWriter, *http.Request, string)
		ok             bool
		rows, attempts int
	}{
		{"busy first", `og.export({retry}, () => { n++ })`, answer(503, ``), true, 3, 2},
		{"busy first, counted", `og.export({retry})`, answer(503, ``), true, 0, 2},
		{"cut off, counted", `og.export({retry})`, drop("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}\n{}\n{\"a"), true, 0, 2},
		{"cut off within the rows", `og.export({retry}, () => { n++ })`, drop("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}\n{}\n{\"a"), false, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := newStub(t, func(w http.ResponseWriter, r *http.Request, body string) {
				if asked.Add(1) == 1 {
					c.first(w, r, body)
					return
				}
				answer(200, exportOf(3))(w, r, body)
			})
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); let n = 0; const retry = {maxAttempts: 3, baseDelay: 0}`, server.URL))
			r.enter()
			res := r.export(r.js(c.call))
			assert.Equal(t, c.ok, res["ok"], res["error"])
			assert.EqualValues(t, c.attempts, res["attempts"])
			assert.EqualValues(t, c.rows, r.js(`n`).ToInteger())
			if c.ok {
				assert.EqualValues(t, 3, res["rowCount"])
			}
		})
	}
}

func TestAnExportThatItsCallbackEndsIsCanceled(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, exportOf(20_000)))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", retry: {maxAttempts: 3, baseDelay: 0}})`, server.URL))
	r.enter()
	assert.Contains(t, r.throws(`og.export({}, () => { throw new Error("enough") })`), "enough")
	samples := r.taken()
	assert.Len(t, of(samples, "omnigraph_errors", "error_kind", "canceled"), 1)
	assert.Len(t, of(samples, "omnigraph_errors"), 1)
	assert.Len(t, server.asked(), 1)
}

// The export holds a connection or a process until its callback has taken what came: a wait for another of them could last
// for ever.
func TestAnOperationWithinACallbackWaitsForASlotNoLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if strings.HasSuffix(r.URL.Path, "/export") {
			_, _ = io.WriteString(w, exportOf(20_000))
			return
		}
		_, _ = io.WriteString(w, `{"status":"ok","version":"0.8.0"}`)
	})
	dir := t.TempDir()
	rows, bin := filepath.Join(dir, "rows"), filepath.Join(dir, "omnigraph")
	require.NoError(t, os.WriteFile(rows, []byte(exportOf(20_000)), 0o600))
	executable.Write(t, bin, fmt.Sprintf("#!/bin/sh\ncase $1 in export) exec cat %q;; esac\necho omnigraph 0.8.0\n", rows))
	for _, c := range []struct{ client, ask, what, option string }{
		{fmt.Sprintf(`new HTTPClient({url: %q, graph: "council", pool: "shared", maxConnections: 1})`, server.URL), "health", "no connection of the shared pool", "maxConnections"},
		{fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:1", bin: %q, graph: "council", maxProcesses: 1})`, bin), "version", "no process slot", "maxProcesses"},
	} {
		r := newRuntime(t)
		r.js(`const og = ` + c.client + `; let inner, n = 0`)
		r.enter()
		res := r.export(r.js(fmt.Sprintf(`og.export({}, () => { if (n++ === 0) { inner = og.%s({timeout: 50}) } })`, c.ask)))
		assert.Equal(t, true, res["ok"], res["error"])
		assert.EqualValues(t, 20_000, r.js(`n`).ToInteger())
		problem, _ := r.export(r.js(`inner`))["error"].(map[string]any)
		assert.Equal(t, "timeout", problem["kind"])
		assert.Equal(t, c.what+" became free within 50ms: an export's callback holds one itself; raise "+c.option+", or ask after the export", problem["message"])
		assert.Equal(t, false, problem["indeterminate"])
		assert.Equal(t, true, r.export(r.js(fmt.Sprintf(`og.%s()`, c.ask)))["ok"], "afterwards there is one")
	}
}

func TestTheEndOfAnIterationWithinACallbackIsNoExceptionOfTheScripts(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"og.export", "await og.asyncExport"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, answer(200, exportOf(2000)))
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); let caught = 0`, server.URL))
			r.enter()
			// As k6 does: the context is done, and the script is interrupted wherever it is.
			require.NoError(t, r.VU.Runtime().Set("end", func() { r.CancelContext(); r.VU.Runtime().Interrupt(context.Canceled) }))
			_, err := r.RunOnEventLoop(`(async () => { try { ` + call + `({}, () => { end(); while (true) {} }) } catch (e) { caught++ } caught += 2 })()`)
			var interrupted *sobek.InterruptedError
			require.ErrorAs(t, err, &interrupted)
			r.VU.Runtime().ClearInterrupt()
			r.EventLoop.WaitOnRegistered()
			assert.Zero(t, r.js(`caught`).ToInteger())
		})
	}
}
