package robust

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// largeWrites makes a few writes, each larger than the buffers of both sockets, and counts how they fail.
const largeWrites = `(() => {
	const text = "x".repeat(6000000), counts = {};
	for (let i = 0; i < 3; i++) {
		const r = og.mutate("query add($n: String) { insert Project { slug: \"k\", name: $n } }", { n: text });
		const how = r.ok ? "ok" : [r.error.kind, r.error.status, r.error.indeterminate].join(" ");
		counts[how] = (counts[how] || 0) + 1;
	}
	return counts;
})()`

const tooLarge = "Failed to buffer the request body: length limit exceeded"

// readAndClose takes the first megabyte of what each connection brings, answers with a text, and closes. It gives the
// listener's address.
func readAndClose(t *testing.T, answer string, config *tls.Config) string {
	t.Helper()
	return eachConnection(t, func(conn net.Conn) {
		if plain, ok := conn.(*net.TCPConn); ok {
			_ = plain.SetReadBuffer(64 << 10)
		}
		if config != nil {
			conn = tls.Server(conn, config)
		}
		_, _ = io.CopyN(io.Discard, conn, 1<<20)
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close() // what was not read makes it a reset
	})
}

// eachConnection listens, and serves one connection after the other until the test ends. It gives the listener's address.
func eachConnection(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute)) // a client may connect and never ask
			serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// A server that refuses a request before it has read all of it closes the connection under the client's hands.
func TestTheAnswerOfAServerThatDoesNotReadOnIsNotLost(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 413 Payload Too Large\r\nContent-Type: text/plain\r\nContent-Length: 56\r\n\r\n" + tooLarge
	streams := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
	}))
	streams.Config.ErrorLog = log.New(io.Discard, "", 0)
	streams.EnableHTTP2 = true
	streams.StartTLS()
	t.Cleanup(streams.Close)
	certified := &tls.Config{Certificates: streams.TLS.Certificates, MinVersion: tls.VersionTLS12}
	for name, url := range map[string]string{
		"HTTP/1.1":          "http://" + readAndClose(t, answer, nil),
		"HTTP/1.1 over TLS": "https://" + readAndClose(t, answer, certified),
		"HTTP/2":            streams.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pool := range []string{"vu", "shared"} {
				v := newVU(t)
				v.transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the stub's certificate is its own
				v.transport.ForceAttemptHTTP2 = name == "HTTP/2"
				v.state.TLSConfig = v.transport.TLSClientConfig
				v.js(`const og = new HTTPClient({ url: %q, graph: "g", pool: %q });`, url, pool)
				v.enter()
				assert.Equal(t, map[string]any{"resource_limit 413 false": 3.0}, v.object(largeWrites), pool)
				assert.EqualValues(t, 3, sum(v.taken(), "http_reqs", "status", "413"), pool)
			}
		})
	}
}

// What breaks while a request is being sent has not reached the server as a whole: such a write was not done.
func TestAConnectionLostWhileSendingIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	v := newVU(t)
	v.js(`const og = new HTTPClient({ url: "http://%s", graph: "g" });`, readAndClose(t, "", nil))
	v.enter()
	assert.Equal(t, map[string]any{"connect 0 false": 3.0}, v.object(largeWrites))
	samples := v.taken()
	assert.EqualValues(t, 3, sum(samples, "omnigraph_errors", "error_kind", string(wire.KindConnect)))
	assert.EqualValues(t, 3, sum(samples, "http_reqs", "status", "0"))
}
