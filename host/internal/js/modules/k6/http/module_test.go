package http

import (
	"net/http/cookiejar"
	"sync"
	"testing"

	nethttp "net/http"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
)

// testModule is the module in a VU of its own, as the global http.
type testModule struct {
	*modulestest.Runtime

	rt    *sobek.Runtime
	state *lib.State
	log   *logtest.Hook

	mu      sync.Mutex
	trails  []*httpext.Trail
	samples chan metrics.SampleContainer
	drained chan struct{}
}

func newTestModule(tb testing.TB) *testModule {
	tb.Helper()
	t := &testModule{Runtime: modulestest.NewRuntime(tb), samples: make(chan metrics.SampleContainer, 1000)}
	t.rt = t.VU.Runtime()
	instance := New().NewModuleInstance(t.VU)
	require.NoError(tb, t.rt.Set("http", instance.Exports().Default))

	logger, hook := logtest.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	t.log = hook
	jar, err := cookiejar.New(nil)
	require.NoError(tb, err)
	transport := &nethttp.Transport{DisableCompression: true}
	registry := metrics.NewRegistry()
	t.state = &lib.State{
		Options: lib.Options{
			SystemTags: &metrics.DefaultSystemTagSet, MaxRedirects: null.NewInt(10, false),
			UserAgent: null.NewString("test agent", false), Batch: null.NewInt(20, false), BatchPerHost: null.NewInt(6, false),
		},
		Transport:      transport,
		BufferPool:     lib.NewBufferPool(),
		Samples:        t.samples,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
		Logger:         logger,
		CookieJar:      jar,
		Tags:           lib.NewVUStateTags(registry.RootTagSet().With("scenario", "default").With("group", "")),
	}
	t.drained = make(chan struct{})
	samples := t.samples
	go func() {
		defer close(t.drained)
		for container := range samples {
			if trail, ok := container.(*httpext.Trail); ok {
				t.mu.Lock()
				t.trails = append(t.trails, trail)
				if _, isBenchmark := tb.(*testing.B); isBenchmark {
					t.trails = t.trails[:0]
				}
				t.mu.Unlock()
			}
		}
	}()
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		t.stop()
	})
	t.MoveToVUContext(t.state)
	return t
}

// stop waits until all samples have arrived.
func (t *testModule) stop() {
	if t.samples != nil {
		close(t.samples)
		t.samples = nil
		<-t.drained
	}
}

// function compiles an expression that is a function.
func (t *testModule) function(tb testing.TB, code string) sobek.Callable {
	tb.Helper()
	value, err := t.rt.RunString(code)
	require.NoError(tb, err)
	function, ok := sobek.AssertFunction(value)
	require.True(tb, ok)
	return function
}
