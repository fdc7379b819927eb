package http

import (
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
)

// benchmarkBody is about what three rows of a query take.
const benchmarkBody = `{"columns":["slug","title"],"rows":[{"slug":"mem-0001","title":"the first memory"},` +
	`{"slug":"mem-0002","title":"the second memory"},{"slug":"mem-0003","title":"the third memory"}],"row_count":3}`

const requestsPerCall = 50

func newBenchmarkServer(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchmarkBody)
	}))
	tb.Cleanup(server.Close)
	return server.URL + "/graphs/council/query"
}

// BenchmarkRawLoop makes the same 50 requests in plain Go.
func BenchmarkRawLoop(b *testing.B) {
	address := newBenchmarkServer(b)
	client := &nethttp.Client{Transport: &nethttp.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	for b.Loop() {
		for range requestsPerCall {
			req, err := nethttp.NewRequestWithContext(context.Background(), nethttp.MethodGet, address, nil)
			if err != nil {
				b.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil {
				b.Fatal(err)
			}
			var rows struct {
				Rows []struct{ Slug, Title string } `json:"rows"`
			}
			if err := json.Unmarshal(body, &rows); err != nil || len(rows.Rows) != 3 {
				b.Fatal(err, len(rows.Rows))
			}
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for name, code := range map[string]string{
		"JSON.parse": "JSON.parse(http.get(address, params).body).rows.length",
		"json":       "http.get(address, params).json().rows.length",
		"status":     "(http.get(address, params).status === 200 ? 3 : 0)",
	} {
		b.Run(name, func(b *testing.B) {
			t := newTestModule(b)
			if err := t.rt.Set("address", newBenchmarkServer(b)); err != nil {
				b.Fatal(err)
			}
			run := t.function(b, `(n) => {
				const params = { tags: { name: 'query' }, headers: { 'X-One': '1' } };
				for (let i = 0; i < n; i++) if (`+code+` !== 3) throw new Error('no rows');
			}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := run(nil, t.rt.ToValue(requestsPerCall)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
