package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// oneRow is a server's answer to a query.
const oneRow = `{"query_name":"q","target":{},"row_count":1,"columns":["m"],"rows":[{"m":"a"}]}`

// asked is one request as a server saw it.
type asked struct {
	params     map[string]any
	graph      string
	begun, end time.Time
}

// slowServer answers queries after a while and remembers them.
func slowServer(t *testing.T, delay time.Duration) (url string, all func() []asked) {
	t.Helper()
	var mu sync.Mutex
	var list []asked
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{begun: time.Now(), graph: strings.Split(r.URL.Path, "/")[2]}
		var body struct {
			Params map[string]any `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		a.params = body.Params
		time.Sleep(delay)
		a.end = time.Now()
		mu.Lock()
		list = append(list, a)
		mu.Unlock()
		fmt.Fprint(w, oneRow)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []asked {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func TestAnIterationWaitsForCallsThatNobodyAwaits(t *testing.T) {
	t.Parallel()
	url, all := slowServer(t, 60*time.Millisecond)
	r := start(t, `
		import exec from 'k6/execution';
		import { HTTPClient } from 'k6/x/omnigraph';
		export const options = { vus: 1, iterations: 4, thresholds: {
			'omnigraph_ops': ['count==8'], 'omnigraph_ops{mark:before}': ['count==8'], 'omnigraph_op_duration{mark:before,ok:true}': ['min>50'],
			'omnigraph_ops{late:yes}': ['count==0'], 'http_reqs{mark:before}': ['count==8'], 'iteration_duration': ['min>55'],
		} };
		const og = new HTTPClient({ url: __ENV.URL, graph: 'before' });
		export default function () {
			exec.vu.metrics.tags.late = 'no';
			const params = { n: exec.scenario.iterationInTest, when: 'before' };
			const options = { tags: { mark: 'before' }, graph: 'before', name: 'q' };
			og.asyncQuery('query q($n: I32, $when: String) { match { $m: M } return { $m } }', params, options);
			og.asyncQuery('query q($n: I32, $when: String) { match { $m: M } return { $m } }', params, options);
			params.when = 'after'; params.n = -1; options.tags.mark = 'after'; options.graph = 'after';
			exec.vu.metrics.tags.late = 'yes';
		}`, "URL="+url)
	require.Zero(t, r.exit(), r.output.String())
	requests := all()
	require.Len(t, requests, 8)
	ended := map[int]time.Time{}
	for _, a := range requests {
		assert.Equal(t, "before", a.params["when"])
		assert.Equal(t, "before", a.graph)
		n, _ := a.params["n"].(float64)
		if a.end.After(ended[int(n)]) {
			ended[int(n)] = a.end
		}
	}
	require.Len(t, ended, 4)
	for _, a := range requests {
		if n, _ := a.params["n"].(float64); n > 0 {
			assert.True(t, a.begun.After(ended[int(n)-1]), "iteration %v began before both calls of the one before it had ended", n)
		}
	}
}

func TestNoConnectionReuseHoldsForBothPools(t *testing.T) {
	t.Parallel()
	const iterations, calls = 3, 2
	for _, c := range []struct {
		name, pool, options string
		connections         int
	}{
		{"reuse, own", "vu", "", 1},
		{"reuse, shared", "shared", "", 1},
		{"noConnectionReuse, own", "vu", "noConnectionReuse: true", iterations * calls},
		{"noConnectionReuse, shared", "shared", "noConnectionReuse: true", iterations * calls},
		{"noVUConnectionReuse, own", "vu", "noVUConnectionReuse: true", iterations},
		// Connections of a shared pool belong to no iteration: it keeps none at all then.
		{"noVUConnectionReuse, shared", "shared", "noVUConnectionReuse: true", iterations * calls},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			connections := 0
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				// A connection is kept only if whoever wrote the request has said so before the answer was read, or 50 ms later.
				time.Sleep(500 * time.Millisecond)
				fmt.Fprint(w, oneRow)
			}))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					mu.Lock()
					connections++
					mu.Unlock()
				}
			}
			s.Start()
			t.Cleanup(s.Close)
			r := start(t, fmt.Sprintf(`
				import { HTTPClient } from 'k6/x/omnigraph';
				export const options = { vus: 1, iterations: %d, %s };
				const og = new HTTPClient({ url: __ENV.URL, graph: 'g', pool: '%s', throw: true });
				export default function () {
					for (let i = 0; i < %d; i++) { og.query('query q() { match { $m: M } return { $m } }'); }
				}`, iterations, c.options, c.pool, calls), "URL="+s.URL)
			require.Zero(t, r.exit(), r.output.String())
			mu.Lock()
			defer mu.Unlock()
			assert.Equal(t, c.connections, connections)
		})
	}
}

func TestTooFewDescriptorsAreNamedAndMakeTheRecordInvalid(t *testing.T) {
	t.Parallel()
	// Nobody gets an answer before there was a descriptor too few for both.
	enough := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-enough:
			fmt.Fprint(w, oneRow)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	bin := filepath.Join(t.TempDir(), "omnigraph")
	executable.Write(t, bin, "#!/bin/sh\necho '"+oneRow+"'\n")
	limited := filepath.Join(t.TempDir(), "limited")
	executable.Write(t, limited, fmt.Sprintf("#!/bin/sh\nulimit -n 60\nexec %q \"$@\"\n", k6))
	r := startWith(t, limited, `
		import { Counter } from 'k6/metrics';
		import { HTTPClient, CLIClient, record, report } from 'k6/x/omnigraph';
		export const options = {
			scenarios: { rush: { executor: 'per-vu-iterations', vus: 100, iterations: 2 } },
			thresholds: {
				unexplained: ['count==0'], 'omnigraph_errors{error_kind:connect}': ['count>0'], 'omnigraph_errors{error_kind:spawn_failed}': ['count>0'],
				omnigraph_ops: ['count==400'],
			},
		};
		const unexplained = new Counter('unexplained');
		const http = new HTTPClient({ url: __ENV.URL, graph: 'g' });
		const cli = new CLIClient({ server: __ENV.URL, graph: 'g', bin: __ENV.FAKE, maxProcesses: 100 });
		record({ name: 'e2e' });
		export default function () {
			for (const [og, kind] of [[http, 'connect'], [cli, 'spawn_failed']]) {
				const r = og.query('query q() { match { $m: M } return { $m } }');
				if (!r.ok && (r.error.kind !== kind || !r.error.message.includes('ulimit -n'))) {
					unexplained.add(1);
					console.error(r.error.kind + ': ' + r.error.message);
				} else if (!r.ok) {
					console.log('too few for ' + r.transport);
				}
			}
		}
		export function handleSummary(data) { return report(data); }`, "URL="+s.URL, "FAKE="+bin)
	eventually(t, "a lack of descriptors", func() bool {
		return r.output.count("too few for http") > 0 && r.output.count("too few for cli") > 0
	})
	close(enough)
	require.Zero(t, r.exit(), r.output.String())
	assert.NotContains(t, r.output.String(), "panic")
	assert.NotContains(t, r.output.String(), "goroutine ")
	rec := r.record()
	assert.Equal(t, recorder.Invalid, rec.Verdict)
	assert.True(t, hasReason(rec, "fd_limit"), "%v", rec.Reasons)
}

// point is a sample as the JSON output writes it.
type point struct {
	Metric string `json:"metric"`
	Type   string `json:"type"`
	Data   struct {
		Value float64           `json:"value"`
		Tags  map[string]string `json:"tags"`
	} `json:"data"`
}

// points reads a file of the JSON output.
func points(t *testing.T, path string) []point {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // read only
	var all []point
	for decoder := json.NewDecoder(file); ; {
		var p point
		if err := decoder.Decode(&p); err != nil {
			require.ErrorIs(t, err, io.EOF)
			return all
		}
		if p.Type == "Point" {
			all = append(all, p)
		}
	}
}

// TestRequestsShowAsThoseOfK6HTTPDo sends the same requests by k6/http and by a client, and compares what the JSON
// output has of them: the same metrics, as often, with the same tags.
func TestRequestsShowAsThoseOfK6HTTPDo(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(r.URL.Path, "/bad/"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"parse error: no","code":"bad_request"}`)
		case strings.Contains(r.URL.Path, "/broken/"):
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"error":"boom","code":"internal"}`)
		case strings.Contains(r.URL.Path, "/slow/"):
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		case strings.Contains(r.URL.Path, "/reset/"):
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				if tcp, ok := conn.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				_ = conn.Close()
			}
		case strings.HasSuffix(r.URL.Path, "/export"):
			fmt.Fprint(w, `{"type":"M","data":{}}`+"\n")
		default:
			_ = body
			fmt.Fprint(w, oneRow)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(stop) })
	for _, route := range []string{"query", "export"} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			r := startWith(t, k6, `
				import http from 'k6/http';
				import { HTTPClient } from 'k6/x/omnigraph';
				export const options = { vus: 1, iterations: 1, systemTags: ['proto', 'status', 'method', 'url', 'name', 'group', 'check', 'error', 'error_code', 'tls_version', 'scenario', 'service', 'expected_response', 'ip'] };
				const gq = 'query q() { match { $m: M } return { $m } }';
				export default function () {
					for (const [graph, url] of [['good', __ENV.URL], ['bad', __ENV.URL], ['broken', __ENV.URL], ['slow', __ENV.URL], ['reset', __ENV.URL], ['refused', 'http://127.0.0.1:1']]) {
						const timeout = graph === 'slow' ? '3s' : '40s';
						const og = new HTTPClient({ url, graph, timeout, tags: { via: 'client', graph_asked: graph } });
						const tags = { via: 'k6/http', graph_asked: graph, name: 'q' };
						const params = { timeout, tags, headers: { 'Content-Type': 'application/json' }, responseType: 'text' };
						for (let i = 0; i < 2; i++) {
							if (__ENV.ROUTE === 'export') {
								http.post(url + '/graphs/' + graph + '/export', '{}', params);
								og.export({ name: 'q' });
							} else {
								http.post(url + '/graphs/' + graph + '/query', JSON.stringify({ query: gq }), params);
								og.query(gq, {}, { name: 'q' });
							}
						}
					}
				}`, "URL="+s.URL, "ROUTE="+route, "K6_OUT=json=out.json")
			require.Zero(t, r.exit(), r.output.String())
			seen := map[string]map[string]int{"client": {}, "k6/http": {}}
			for _, p := range points(t, r.file("out.json")) {
				via := p.Data.Tags["via"]
				if !strings.HasPrefix(p.Metric, "http_req") {
					continue
				}
				delete(p.Data.Tags, "via")
				tags, err := json.Marshal(p.Data.Tags)
				require.NoError(t, err)
				value := ""
				if p.Metric == "http_reqs" || p.Metric == "http_req_failed" {
					value = fmt.Sprint(" = ", p.Data.Value)
				}
				seen[via][p.Metric+value+" "+string(tags)]++
			}
			assert.Equal(t, seen["k6/http"], seen["client"])
			assert.NotEmpty(t, seen["k6/http"])
		})
	}
}

func TestATokensFileTravelsInAnArchive(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("Authorization")] = true
		mu.Unlock()
		fmt.Fprint(w, oneRow)
	}))
	t.Cleanup(s.Close)
	dir, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "scripts"), 0o750))
	tokens := filepath.Join(dir, "tokens.json")
	require.NoError(t, os.WriteFile(tokens, []byte(`{"act-b":"token-b","act-a":"token-a","act-c":"token-c"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scripts", "script.js"), []byte(`
		import { HTTPClient } from 'k6/x/omnigraph';
		export const options = { scenarios: { each: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };
		const og = new HTTPClient({ url: __ENV.URL, graph: 'g', tokensFile: '../tokens.json', throw: true });
		export default function () { og.query('query q() { match { $m: M } return { $m } }'); }`), 0o600))
	archive := filepath.Join(elsewhere, "archive.tar")
	for _, args := range [][]string{
		{"archive", "-e", "URL=" + s.URL, "-O", archive, filepath.Join(dir, "scripts", "script.js")},
		{"run", "--quiet", "--no-usage-report", archive},
	} {
		cmd := exec.CommandContext(t.Context(), k6, args...)
		cmd.Dir = elsewhere
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		_ = os.Remove(tokens) // the archive has it
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, map[string]bool{"Bearer token-a": true, "Bearer token-b": true}, seen, "each VU its own, by the actors' names")
}
