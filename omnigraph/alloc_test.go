package omnigraph

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cannedTransport answers without a network, so that only our own and k6's allocations are counted.
type cannedTransport struct{ body string }

func (c cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(c.body)), Body: io.NopCloser(strings.NewReader(c.body)),
	}, nil
}

// The hot path may not grow unnoticed. The limit is what was counted when it was last looked at, plus what the race
// detector and another Go release may add.
func TestAPointReadAllocatesNoMoreThanBefore(t *testing.T) {
	const calls, limit = 100, 92
	r := newRuntime(t)
	r.js(`const og = connect("http://127.0.0.1:1", {graph: "council", token: "bench"}); const gq = ` + "`" + benchQuery + "`" + `
		function reads(n) { for (let i = 0; i < n; i++) { if (og.query(gq, {slug: "mem-0001"}).rowCount !== 3) { throw new Error("not three rows") } } }`)
	r.enter()
	r.state.Transport = cannedTransport{threeRows}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range r.samples { //nolint:revive // only drained
		}
	}()
	r.js(`reads(10)`)
	perRun := testing.AllocsPerRun(5, func() {
		if _, err := r.VU.Runtime().RunString(`reads(100)`); err != nil {
			panic(err)
		}
	})
	close(r.samples)
	<-drained
	perCall := perRun / calls
	t.Logf("%.1f allocations a read", perCall)
	require.LessOrEqual(t, perCall, float64(limit))
}
