package robust

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph"
)

// vu is a virtual user of one module, as k6 runs it, whose samples can be looked at.
type vu struct {
	*modulestest.Runtime
	t         testing.TB
	samples   chan metrics.SampleContainer
	state     *lib.State
	transport *http.Transport
}

// newVU makes a VU of a process of its own, in the init context.
func newVU(t testing.TB) *vu {
	t.Helper()
	return newVUOf(t, omnigraph.New(), 1)
}

// newVUOf makes a VU that shares its process with the others of the same module.
func newVUOf(t testing.TB, module modules.Module, id uint64) *vu {
	t.Helper()
	v := &vu{Runtime: modulestest.NewRuntime(t), t: t, samples: make(chan metrics.SampleContainer, 100_000)}
	require.NoError(t, v.SetupModuleSystem(map[string]any{omnigraph.ImportPath: module}, nil, nil))
	v.js(`const { connect, HTTPClient, CLIClient } = require("k6/x/omnigraph");`)
	dialer := netext.NewDialer(net.Dialer{Timeout: time.Minute}, netext.NewResolver(net.LookupIP, 0, types.DNSfirst, types.DNSpreferIPv4))
	v.transport = &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 6}
	t.Cleanup(v.transport.CloseIdleConnections)
	logger, _ := test.NewNullLogger()
	root := v.VU.InitEnvField.Registry.RootTagSet()
	v.state = &lib.State{
		Options: lib.Options{SystemTags: &metrics.DefaultSystemTagSet, UserAgent: null.NewString("k6-test", false)},
		Logger:  logger, Dialer: dialer, Transport: v.transport, BufferPool: lib.NewBufferPool(),
		Samples: v.samples, BuiltinMetrics: v.BuiltinMetrics, VUID: id, VUIDGlobal: id,
		Tags: lib.NewVUStateTags(root.With("scenario", "default").With("group", "")),
	}
	return v
}

// enter moves the VU into an iteration.
func (v *vu) enter() *vu {
	v.MoveToVUContext(v.state)
	return v
}

// js runs code and fails the test if it throws.
func (v *vu) js(code string, args ...any) sobek.Value {
	v.t.Helper()
	value, err := v.run(code, args...)
	require.NoError(v.t, err)
	return value
}

// run runs code; any goroutine that owns the VU may call it.
func (v *vu) run(code string, args ...any) (sobek.Value, error) {
	if len(args) > 0 {
		code = fmt.Sprintf(code, args...)
	}
	return v.RunOnEventLoop(code)
}

// object runs code that gives a result and decodes it through JSON.
func (v *vu) object(code string, args ...any) map[string]any {
	v.t.Helper()
	var out map[string]any
	require.NoError(v.t, json.Unmarshal([]byte(v.js("JSON.stringify("+code+")", args...).String()), &out))
	return out
}

// taken drains the samples pushed so far.
func (v *vu) taken() []metrics.Sample {
	var all []metrics.Sample
	for _, c := range metrics.GetBufferedSamples(v.samples) {
		all = append(all, c.GetSamples()...)
	}
	return all
}

// sum adds the values of a metric's samples whose tags contain all pairs given.
func sum(samples []metrics.Sample, name string, pairs ...string) float64 {
	total := 0.0
	for _, s := range samples {
		fits := s.Metric.Name == name
		for i := 0; fits && i+1 < len(pairs); i += 2 {
			value, _ := s.Tags.Get(pairs[i])
			fits = value == pairs[i+1]
		}
		if fits {
			total += s.Value
		}
	}
	return total
}
