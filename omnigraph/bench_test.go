package omnigraph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const benchQuery = `query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title } }`

// benchRuntime is a VU in an iteration whose samples are thrown away as they come.
func benchRuntime(b *testing.B, options string) *runtime {
	b.Helper()
	server := newStub(b, answer(200, threeRows))
	server.Config.ErrorLog = nil
	r := newRuntime(b)
	r.js(fmt.Sprintf(`const og = connect(%q, Object.assign({graph: "council", token: "bench"}, %s)); const gq = %q`, server.URL, options, benchQuery))
	r.enter()
	go func() {
		for range r.samples { //nolint:revive // only drained
		}
	}()
	b.Cleanup(func() { close(r.samples) })
	r.js(`og.query(gq, {slug: "mem-0001"})`)
	return r
}

// One point read through JS, as a script makes it; compare with BenchmarkRawHTTP in the same run.
func BenchmarkQuery(b *testing.B) {
	for _, c := range []struct{ name, look string }{
		{"rowCount", "res.rowCount"}, {"rows", "res.rows.length"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := benchRuntime(b, "{}")
			require.NoError(b, r.VU.Runtime().Set("n", b.N))
			b.ReportAllocs()
			b.ResetTimer()
			r.js(`for (let i = 0; i < n; i++) { const res = og.query(gq, {slug: "mem-0001"}); if (` + c.look + ` !== 3) { throw new Error("not three rows") } }`)
		})
	}
}

// The yardstick: net/http and encoding/json, nothing else.
func BenchmarkRawHTTP(b *testing.B) {
	server := newStub(b, answer(200, threeRows))
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		body, err := json.Marshal(map[string]any{"query": benchQuery, "params": map[string]string{"slug": "mem-0001"}})
		require.NoError(b, err)
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/graphs/council/query", bytes.NewReader(body))
		require.NoError(b, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		require.NoError(b, err)
		data, err := io.ReadAll(res.Body)
		require.NoError(b, err)
		require.NoError(b, res.Body.Close())
		var answer struct {
			RowCount int              `json:"row_count"`
			Rows     []map[string]any `json:"rows"`
		}
		require.NoError(b, json.Unmarshal(data, &answer))
	}
}
