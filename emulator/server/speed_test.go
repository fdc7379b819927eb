package server_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

const pointRead = `{"query":"query q($s: String) { match { $m: Memory { slug: $s } } return { $m.slug, $m.title, $m.body, $m.kind, $m.project, $m.importance } }","params":{"s":"mem-0100"}}`

func demoServer(t testing.TB, opts server.Options) *server.Server {
	t.Helper()
	graphs, clusterPolicy, err := demo.Open(t.Context(), graph.Options{Generation: opts.Generation})
	require.NoError(t, err)
	opts.Tokens = map[string]string{}
	for actor, token := range demo.Tokens {
		opts.Tokens[token] = actor
	}
	opts.ClusterPolicy = clusterPolicy
	return server.New(graphs, opts)
}

func authorized(req *http.Request) *http.Request {
	req.Header.Set("Authorization", "Bearer "+demo.Tokens["act-load"])
	req.Header.Set("Content-Type", "application/json")
	return req
}

// spent is the processor time that this process has taken so far: what other processes take is no part of it.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// batch sends n point reads one after the other and returns the processor time of both ends for that, and the last
// answer.
func batch(t *testing.T, client *http.Client, url string, n int) (time.Duration, []byte) {
	t.Helper()
	var last []byte
	start := spent(t)
	for range n {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphs/council/query", bytes.NewReader([]byte(pointRead)))
		require.NoError(t, err)
		res, err := client.Do(authorized(req))
		require.NoError(t, err)
		last, err = io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
	return spent(t) - start, last
}

// TestPointReadKeepsUpWithAHandlerOfTheSameBytes can't run beside other tests: it compares what two handlers take of the processor.
func TestPointReadKeepsUpWithAHandlerOfTheSameBytes(t *testing.T) { //nolint:paralleltest // as said
	emulator := httptest.NewServer(demoServer(t, server.Options{}))
	defer emulator.Close()
	client := emulator.Client()
	_, answer := batch(t, client, emulator.URL, 200)
	require.Contains(t, string(answer), `"row_count":1`)
	static := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	}))
	defer static.Close()
	batch(t, client, static.URL, 200)

	// Many short rounds, interleaved and in turns the one or the other first: what this process does besides, as collect
	// garbage, falls on both.
	const rounds, n = 101, 20
	ratios := make([]float64, rounds)
	for i := range ratios {
		var s, e time.Duration
		if i%2 == 0 {
			s, _ = batch(t, client, static.URL, n)
			e, _ = batch(t, client, emulator.URL, n)
		} else {
			e, _ = batch(t, client, emulator.URL, n)
			s, _ = batch(t, client, static.URL, n)
		}
		ratios[i] = s.Seconds() / e.Seconds()
	}
	slices.Sort(ratios)
	median := ratios[rounds/2]
	t.Logf("requests per second of processor time, the emulator's over the static handler's: median %.2f, from %.2f to %.2f", median, ratios[0], ratios[rounds-1])
	require.GreaterOrEqual(t, median, 0.6)
}

func BenchmarkPointRead(b *testing.B) {
	s := demoServer(b, server.Options{})
	b.ReportAllocs()
	for b.Loop() {
		req := authorized(httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/graphs/council/query", bytes.NewReader([]byte(pointRead))))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
