package omnigraph

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// newTLSStub answers over TLS with a certificate that nobody vouches for.
func newTLSStub(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/export"):
			_, _ = io.WriteString(w, exportOf(3))
		case strings.HasSuffix(r.URL.Path, "/mutate"):
			_, _ = io.WriteString(w, written)
		default:
			_, _ = io.WriteString(w, threeRows)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshakes that fail
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestACertificateThatNobodyVouchesForIsAConnectFailure(t *testing.T) {
	t.Parallel()
	server := newTLSStub(t)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const own = connect(%q, {graph: "council"}), shared = connect(%[1]q, {graph: "council", pool: "shared"})`, server.URL))
	r.enter()
	for _, client := range []string{"own", "shared"} {
		for _, code := range []string{
			`.mutate("query add() { insert Project { slug: \"a\", name: \"a\" } }")`, `.export()`, `.export({}, () => {})`,
		} {
			res := r.export(r.js(client + code))
			problem, _ := res["error"].(map[string]any)
			require.NotNil(t, problem, client+code)
			assert.Equal(t, "connect", problem["kind"], client+code)
			assert.Contains(t, problem["message"], "certificate", client+code)
			assert.Equal(t, false, problem["indeterminate"], "no handshake, no request")
			assert.EqualValues(t, 0, problem["status"])
		}
	}
	samples := r.taken()
	requests := of(samples, "http_reqs", "status", "0", "error_code", "1310")
	assert.Len(t, requests, 6, "with k6's own code, for exports too")
	assert.Len(t, of(samples, "http_req_failed"), 6)
}

func TestTheCLIsTLSFailuresAreConnectFailures(t *testing.T) {
	t.Parallel()
	server := newTLSStub(t)
	bin := rigtest.Start(t).Bin
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = new CLIClient({server: %q, graph: "council", bin: %q})`, server.URL, bin))
	r.enter()
	res := r.export(r.js(`og.mutate("query add() { insert Project { slug: \"a\", name: \"a\" } }")`))
	problem, _ := res["error"].(map[string]any)
	require.NotNil(t, problem)
	assert.Equal(t, "connect", problem["kind"], problem["message"])
	assert.Equal(t, false, problem["indeterminate"])
}

// Both pools follow k6's TLS options; insecureSkipTLSVerify is one of them.
func TestBothPoolsFollowK6sTLSOptions(t *testing.T) {
	t.Parallel()
	server := newTLSStub(t)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const own = connect(%q, {graph: "council"}), shared = connect(%[1]q, {graph: "council", pool: "shared"})`, server.URL))
	r.enter()
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // as the option says
	r.state.TLSConfig = config
	transport, _ := r.state.Transport.(*http.Transport)
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = config.Clone(), true
	for _, client := range []string{"own", "shared"} {
		for _, code := range []string{`.query("query q() { match { $m: Memory } return { $m.slug } }")`, `.export()`, `.export({}, () => {})`} {
			res := r.export(r.js(client + code))
			require.Equal(t, true, res["ok"], res["error"])
			assert.EqualValues(t, 3, res["rowCount"], client+code)
		}
	}
	samples := r.taken()
	assert.Len(t, of(samples, "http_reqs", "tls_version", "tls1.3", "proto", "HTTP/2.0", "status", "200"), 6)
	reused := 0.0
	for _, s := range of(samples, "omnigraph_conn_reused") {
		reused += s.Value
	}
	assert.Equal(t, 4.0, reused, "one connection for each pool")
}

func TestPlainHTTPToAServerOfTLSIsNoSuccess(t *testing.T) {
	t.Parallel()
	server := newTLSStub(t)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, strings.Replace(server.URL, "https://", "http://", 1)))
	r.enter()
	res := r.export(r.js(readCode))
	require.Equal(t, false, res["ok"])
	assert.Equal(t, "bad_request", res["error"].(map[string]any)["kind"])
	assert.Contains(t, res["error"].(map[string]any)["message"], "HTTPS")
}
