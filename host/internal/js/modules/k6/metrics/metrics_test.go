package metrics

import (
	"testing"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code, want, err, warning string
		throw                    bool
		values                   []float64
	}{
		"a number":            {code: `m.add(1.5)`, want: "true", values: []float64{1.5}},
		"a negative number":   {code: `m.add(-3)`, want: "true", values: []float64{-3}},
		"a numeric string":    {code: `m.add('5')`, want: "true", values: []float64{5}},
		"booleans":            {code: `m.add(true) && m.add(false)`, want: "true", values: []float64{1, 0}},
		"a text":              {code: `m.add('five')`, want: "false", warning: "'five' is an invalid value for metric 'my_metric'"},
		"NaN":                 {code: `m.add(NaN)`, want: "false", warning: "'NaN' is an invalid value"},
		"null":                {code: `m.add(null)`, want: "false", warning: "'null' is an invalid value"},
		"nothing":             {code: `m.add()`, want: "false", warning: "no value was provided for metric 'my_metric'"},
		"a text, with throw":  {code: `m.add('five')`, throw: true, err: "'five' is an invalid value"},
		"tags":                {code: `m.add(1, { t: 1 })`, want: "true", values: []float64{1}},
		"a bad tag":           {code: `m.add(1, { t: {} })`, err: "cannot add tags for the 'my_metric' custom metric: invalid value for metric tag 't'"},
		"its name":            {code: `m.name`, want: "my_metric"},
		"a fixed name":        {code: `m.name = 'x'; m.name`, want: "my_metric"},
		"its class":           {code: `m instanceof Trend`, want: "true"},
		"a metric after init": {code: `new Counter('later')`, err: "metrics must be declared in the init context"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := modulestest.NewRuntime(t)
			require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/metrics": New()}, nil, nil))
			_, err := rt.RunOnEventLoop(`var { Counter, Gauge, Rate, Trend } = require('k6/metrics'); var m = new Trend('my_metric', true);`)
			require.NoError(t, err)
			registry := rt.VU.InitEnv().Registry
			metric := registry.Get("my_metric")
			assert.Equal(t, []any{metrics.Trend, metrics.Time}, []any{metric.Type, metric.Contains})
			logger, hook := test.NewNullLogger()
			samples := make(chan metrics.SampleContainer, 10)
			rt.MoveToVUContext(&lib.State{
				Options: lib.Options{Throw: null.BoolFrom(tc.throw)}, Logger: logger, Samples: samples,
				Tags: lib.NewVUStateTags(registry.RootTagSet()),
			})
			value, err := rt.RunOnEventLoop(tc.code)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, tc.want, value.String())
			}
			var values []float64
			for _, container := range metrics.GetBufferedSamples(samples) {
				values = append(values, container.GetSamples()[0].Value)
			}
			assert.Equal(t, tc.values, values)
			if tc.warning == "" {
				assert.Empty(t, hook.AllEntries())
				return
			}
			assert.Contains(t, hook.LastEntry().Message, tc.warning)
		})
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/metrics": New()}, nil, nil))
	_, err := rt.RunOnEventLoop(`var { Counter, Trend } = require('k6/metrics'); new Counter('cc'); new Counter('cc');`)
	require.NoError(t, err, "the same declaration again is fine: every VU makes it")
	for code, want := range map[string]string{
		`new Trend('cc')`:          "already exists but with type counter, instead of trend",
		`new Counter('a b')`:       "invalid metric name",
		`new Counter()`:            "",
		`new Counter('x').add(1)`:  "invalid metric name",
		`new Counter('xx').add(1)`: "init context",
	} {
		_, err := rt.RunOnEventLoop(code)
		if want == "" {
			continue // the name is "undefined", which is one
		}
		require.ErrorContains(t, err, want, code)
	}
}
