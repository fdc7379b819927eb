package httpext_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
)

// benchmarkBody is about what three rows of a query take.
const benchmarkBody = `{"columns":["slug","title"],"rows":[{"slug":"mem-0001","title":"the first memory"},` +
	`{"slug":"mem-0002","title":"the second memory"},{"slug":"mem-0003","title":"the third memory"}],"row_count":3}`

func newBenchmarkServer(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchmarkBody)
	}))
	tb.Cleanup(server.Close)
	return server.URL + "/graphs/council/query"
}

// newState makes a state that is enough for MakeRequest; its samples are thrown away.
func newState(tb testing.TB) *lib.State {
	tb.Helper()
	samples := make(chan metrics.SampleContainer, 1000)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for range samples { //nolint:revive // drains
		}
	}()
	transport := &http.Transport{DisableCompression: true}
	registry := metrics.NewRegistry()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		close(samples)
		<-stopped
	})
	return &lib.State{
		Options: lib.Options{
			SystemTags: &metrics.DefaultSystemTagSet, MaxRedirects: null.NewInt(10, false),
			UserAgent: null.StringFrom("bench"),
		},
		Transport:      transport,
		BufferPool:     lib.NewBufferPool(),
		Samples:        samples,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
		Logger:         logger,
		Tags:           lib.NewVUStateTags(registry.RootTagSet().With("scenario", "default").With("group", "")),
	}
}

func newRequest(state *lib.State, url httpext.URL) *httpext.ParsedHTTPRequest {
	return &httpext.ParsedHTTPRequest{
		URL: &url,
		Req: &http.Request{
			Method: http.MethodGet, URL: url.GetURL(),
			Header: http.Header{"User-Agent": {state.Options.UserAgent.String}},
		},
		Timeout:          time.Minute,
		Redirects:        state.Options.MaxRedirects,
		ResponseCallback: func(status int) bool { return status >= 200 && status < 400 },
		TagsAndMeta:      state.Tags.GetCurrentValues(),
	}
}

type benchmarkRows struct {
	Rows []struct {
		Slug, Title string
	} `json:"rows"`
}

// rawRequest is what MakeRequest is measured against: http.Client, io.ReadAll, encoding/json.
func rawRequest(b *testing.B, client *http.Client, address string) {
	b.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
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
	decode(b, body)
}

func measuredRequest(ctx context.Context, b *testing.B, state *lib.State, address string) {
	b.Helper()
	url, err := httpext.NewURL(address, "query")
	if err != nil {
		b.Fatal(err)
	}
	res, err := httpext.MakeRequest(ctx, state, newRequest(state, url))
	if err != nil || res.Status != http.StatusOK {
		b.Fatal(err, res)
	}
	decode(b, []byte(res.Body.(string))) //nolint:forcetypeassert // text was asked for
}

func decode(b *testing.B, body []byte) {
	b.Helper()
	var rows benchmarkRows
	if err := json.Unmarshal(body, &rows); err != nil || len(rows.Rows) != 3 {
		b.Fatal(err, len(rows.Rows))
	}
}

func newRawClient(b *testing.B) *http.Client {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	return client
}

func BenchmarkRawLoop(b *testing.B) {
	address, client := newBenchmarkServer(b), newRawClient(b)
	b.ReportAllocs()
	for b.Loop() {
		rawRequest(b, client, address)
	}
}

func BenchmarkMakeRequest(b *testing.B) {
	traced := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {}})
	for name, ctx := range map[string]context.Context{"plain": context.Background(), "trace in context": traced} {
		b.Run(name, func(b *testing.B) {
			address, state := newBenchmarkServer(b), newState(b)
			b.ReportAllocs()
			for b.Loop() {
				measuredRequest(ctx, b, state, address)
			}
		})
	}
}

// BenchmarkShareOfRawLoop takes turns with the raw loop, so that whatever else the machine does hits both alike, and
// reports which share of its rate MakeRequest reaches.
func BenchmarkShareOfRawLoop(b *testing.B) {
	const turn = 20
	address, client, state := newBenchmarkServer(b), newRawClient(b), newState(b)
	var raw, measured time.Duration
	for b.Loop() {
		began := time.Now()
		for range turn {
			rawRequest(b, client, address)
		}
		middle := time.Now()
		for range turn {
			measuredRequest(context.Background(), b, state, address)
		}
		raw += middle.Sub(began)
		measured += time.Since(middle)
	}
	b.ReportMetric(raw.Seconds()/measured.Seconds(), "of-raw")
}
