package omnigraph

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"

	"gopkg.in/guregu/null.v3"
	"net"
)

// runtime is a VU with the module in it, whose samples can be looked at.
type runtime struct {
	*modulestest.Runtime
	t       testing.TB
	samples chan metrics.SampleContainer
	logs    *test.Hook
	state   *lib.State
	root    *rootModule
}

// newRuntime makes a VU in the init context that has everything of the module as globals.
func newRuntime(t testing.TB) *runtime {
	t.Helper()
	return newRuntimeOf(t, New().(*rootModule))
}

func newRuntimeOf(t testing.TB, root *rootModule) *runtime {
	t.Helper()
	r := &runtime{Runtime: modulestest.NewRuntime(t), t: t, root: root}
	require.NoError(t, r.SetupModuleSystem(map[string]any{ImportPath: root}, nil, nil))
	r.js(`const { connect, HTTPClient, CLIClient, compare, levels, sequence, record, report } = require("k6/x/omnigraph");`)
	return r
}

// js runs code and fails the test if it throws.
func (r *runtime) js(code string) sobek.Value {
	r.t.Helper()
	v, err := r.RunOnEventLoop(code)
	require.NoError(r.t, err)
	return v
}

// throws runs code that has to throw, and gives the error's text.
func (r *runtime) throws(code string) string {
	r.t.Helper()
	_, err := r.RunOnEventLoop(code)
	require.Error(r.t, err)
	return err.Error()
}

// enter moves the VU into an iteration of its first scenario.
func (r *runtime) enter() *runtime {
	r.t.Helper()
	return r.enterWith(lib.Options{})
}

func (r *runtime) enterWith(options lib.Options) *runtime {
	r.t.Helper()
	logger, hook := test.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	r.logs = hook
	dialer := netext.NewDialer(net.Dialer{Timeout: time.Minute}, netext.NewResolver(net.LookupIP, 0, types.DNSfirst, types.DNSpreferIPv4))
	transport := &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 6}
	r.t.Cleanup(transport.CloseIdleConnections)
	r.samples = make(chan metrics.SampleContainer, 100_000)
	root := r.VU.InitEnvField.Registry.RootTagSet()
	options.SystemTags = &metrics.DefaultSystemTagSet
	options.UserAgent = null.NewString("k6-test", false)
	r.state = &lib.State{
		Options: options, Logger: logger, Dialer: dialer, Transport: transport, BufferPool: lib.NewBufferPool(),
		Samples: r.samples, BuiltinMetrics: r.BuiltinMetrics, VUID: 1, VUIDGlobal: 1,
		Tags: lib.NewVUStateTags(root.With("scenario", "default").With("group", "")),
	}
	r.MoveToVUContext(r.state)
	return r
}

// taken drains the samples pushed so far.
func (r *runtime) taken() []metrics.Sample {
	var all []metrics.Sample
	for _, c := range metrics.GetBufferedSamples(r.samples) {
		all = append(all, c.GetSamples()...)
	}
	return all
}

// of selects samples of a metric whose tags contain all pairs given.
func of(samples []metrics.Sample, name string, pairs ...string) []metrics.Sample {
	var found []metrics.Sample
	for _, s := range samples {
		if s.Metric.Name != name {
			continue
		}
		fits := true
		for i := 0; i+1 < len(pairs); i += 2 {
			v, _ := s.Tags.Get(pairs[i])
			fits = fits && v == pairs[i+1]
		}
		if fits {
			found = append(found, s)
		}
	}
	return found
}

// stub is a server that answers as a test says and remembers what it was asked.
type stub struct {
	*httptest.Server
	mu       sync.Mutex
	requests []seen
}

type seen struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// newStub answers every request by a handler that gets the request's body.
func newStub(t testing.TB, handler func(w http.ResponseWriter, r *http.Request, body string)) *stub {
	t.Helper()
	s := newUnstartedStub(t, handler)
	s.Start()
	return s
}

func newUnstartedStub(t testing.TB, handler func(w http.ResponseWriter, r *http.Request, body string)) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, seen{r.Method, r.URL.RequestURI(), r.Header, string(body)})
		s.mu.Unlock()
		handler(w, r, string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) asked() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.requests...)
}

// answer is a handler that always answers the same.
func answer(status int, body string, header ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// threeRows is an answer of the real server to a query, shortened.
const threeRows = `{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":3,"columns":["m.slug","m.importance"],"rows":[{"m.slug":"mem-0001","m.importance":1},{"m.slug":"mem-0002","m.importance":2},{"m.slug":"mem-0003","m.importance":null}]}`

// written is an answer of the real server to a mutation.
const written = `{"branch":"main","query_name":"add","affected_nodes":1,"affected_edges":2,"actor_id":"act-load"}`

// export decodes a JS value through JSON, so that objects made lazily come out whole.
func (r *runtime) export(v sobek.Value) map[string]any {
	r.t.Helper()
	text, err := r.VU.Runtime().RunString("JSON.stringify")
	require.NoError(r.t, err)
	stringify, _ := sobek.AssertFunction(text)
	s, err := stringify(sobek.Undefined(), v)
	require.NoError(r.t, err)
	var out map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(s.String()), &out))
	return out
}
