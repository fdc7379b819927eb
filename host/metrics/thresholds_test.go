package metrics

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib/types"
)

// sinks returns a sink of each type that saw the values 10, 20, 30, 40.
func sinks() map[MetricType]Sink {
	all := make(map[MetricType]Sink)
	for _, typ := range []MetricType{Counter, Gauge, Trend, Rate} {
		sink := NewSink(typ)
		for _, v := range []float64{10, 20, 30, 40} {
			sink.Add(Sample{Value: v, Time: time.Unix(1, 0)})
		}
		all[typ] = sink
	}
	all[Rate].Add(Sample{Value: 0})
	return all
}

func TestThresholdExpressions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typ    MetricType
		source string
		want   bool
	}{
		{Counter, "count==100", true}, {Counter, "count === 100", true}, {Counter, "count!=100", false},
		{Counter, " count >= 100 ", true}, {Counter, "count>100", false}, {Counter, "rate<=50", true}, {Counter, "rate<50", false},
		{Gauge, "value==40", true}, {Gauge, "value<4e1", false},
		{Rate, "rate==0.8", true}, {Rate, "rate>.8", false},
		{Trend, "avg==25", true}, {Trend, "min==10", true}, {Trend, "max<=40", true}, {Trend, "med==25", true},
		{Trend, "p(50)==25", true}, {Trend, "p(100)==40", true}, {Trend, "p(0)<10", false}, {Trend, "p( 75 )<33", true},
		{Trend, "p(99.9)<=40", true}, {Trend, "avg>-1", true}, {Trend, "p(99)>=39.6", true},
	} {
		ts := NewThresholds([]string{tc.source})
		require.NoError(t, ts.Parse(), tc.source)
		got, err := ts.Run(sinks()[tc.typ], 2*time.Second)
		require.NoError(t, err, tc.source)
		assert.Equal(t, tc.want, got, "%s of a %s", tc.source, tc.typ)
		assert.Equal(t, !tc.want, ts.Thresholds[0].LastFailed)
		assert.False(t, ts.Abort)
	}
}

func TestMalformedThresholds(t *testing.T) {
	t.Parallel()
	for source, detail := range map[string]string{
		"count~1": "", "": "", "count": "", "count=1": "", "total>1": "", "count>1 && count<3": "", "count>": "",
		"p95<1": "", "p()<1": "", "p(-1)<1": "", "count>x": "invalid syntax", "p(101)<1": "percentile", "avg<NaN": "NaN",
		"1>count": "", "Count>1": "", "p(1.2.3)<1": "percentile",
	} {
		ts := NewThresholds([]string{"count>0", source})
		err := ts.Parse()
		require.Error(t, err, source)
		assert.Contains(t, err.Error(),
			`failed parsing threshold expression `+strconv.Quote(source)+`; reason: malformed threshold expression`)
		assert.Contains(t, err.Error(), detail, source)
	}
}

func TestThresholdsThatFitNoMetric(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	builtin := RegisterBuiltinMetrics(registry)
	require.NotNil(t, builtin)
	for _, tc := range []struct{ metric, source, want string }{
		{"nometric", "count>1", `invalid threshold defined on nometric; reason: no metric name "nometric" found`},
		{"nometric{a:b}", "count>1", `invalid threshold defined on nometric{a:b}; reason: no metric name "nometric" found`},
		{
			"iterations", "avg<1", `invalid threshold "avg<1" applied on metric iterations; reason: ` +
				`unsupported aggregation method avg on metric of type counter. ` +
				`supported aggregation methods for this metric are: count, rate`,
		},
		{
			"iterations", "p(95)<1", `invalid threshold "p(95)<1" applied on metric iterations; reason: ` +
				`unsupported aggregation method p(95) on metric of type counter. ` +
				`supported aggregation methods for this metric are: count, rate`,
		},
		{
			"http_req_duration{a:b}", "rate<1", `invalid threshold "rate<1" applied on metric http_req_duration{a:b}; reason: ` +
				`unsupported aggregation method rate on metric of type trend. ` +
				`supported aggregation methods for this metric are: avg, min, max, med, p(N)`,
		},
		{
			"vus", "count>1", `invalid threshold "count>1" applied on metric vus; reason: ` +
				`unsupported aggregation method count on metric of type gauge. ` +
				`supported aggregation methods for this metric are: value`,
		},
	} {
		ts := NewThresholds([]string{tc.source})
		err := ts.Validate(tc.metric, registry)
		require.EqualError(t, err, tc.want)
		var code errext.HasExitCode
		require.ErrorAs(t, err, &code)
		assert.Equal(t, exitcodes.InvalidConfig, code.ExitCode())
	}
	for _, name := range []string{"iterations{a", "iterations{a}", "iterations{a:}", "iterations}", "iterations{a:b}c"} {
		ts := NewThresholds([]string{"count>1"})
		require.Error(t, ts.Validate(name, registry), name)
	}
	ts := NewThresholds([]string{"count>1", "rate<3"})
	require.NoError(t, ts.Validate("iterations{scenario:x}", registry))
}

func TestAMetricWithoutSamples(t *testing.T) {
	t.Parallel()
	for typ, sources := range map[MetricType][]string{
		Counter: {"count==0", "rate==0"}, Gauge: {"value==0"},
		Trend: {"avg==0", "min==0", "max==0", "med==0", "p(99)==0"},
		Rate:  {"rate>0.9", "rate<0.1"}, // it has no value, which crosses nothing
	} {
		ts := NewThresholds(sources)
		require.NoError(t, ts.Parse())
		ok, err := ts.Run(NewSink(typ), time.Second)
		require.NoError(t, err)
		assert.True(t, ok, typ)
	}
}

func TestAbortWaitsForItsDelay(t *testing.T) {
	t.Parallel()
	run := func(delay types.NullDuration, elapsed time.Duration) Thresholds {
		ts := Thresholds{Thresholds: []*Threshold{{Source: "count<1", AbortOnFail: true, AbortGracePeriod: delay}}}
		ok, err := ts.Run(sinks()[Counter], elapsed)
		require.NoError(t, err)
		require.False(t, ok)
		return ts
	}
	assert.True(t, run(types.NullDuration{}, 0).Abort)
	assert.False(t, run(types.NullDurationFrom(time.Minute), 59*time.Second).Abort)
	assert.True(t, run(types.NullDurationFrom(time.Minute), 61*time.Second).Abort)
}

func TestThresholdsInJSON(t *testing.T) {
	t.Parallel()
	var ts Thresholds
	const source = `["p(95)<500",{"threshold":"rate>0","abortOnFail":true,"delayAbortEval":"10s"},{"threshold":"avg<1"}]`
	require.NoError(t, json.Unmarshal([]byte(source), &ts))
	require.Len(t, ts.Thresholds, 3)
	assert.Equal(t, &Threshold{
		Source: "rate>0", AbortOnFail: true, AbortGracePeriod: types.NullDurationFrom(10 * time.Second),
	}, ts.Thresholds[1])
	encoded, err := json.Marshal(ts)
	require.NoError(t, err)
	assert.JSONEq(t,
		`["p(95)<500",{"threshold":"rate>0","abortOnFail":true,"delayAbortEval":"10s"},"avg<1"]`, string(encoded))
	encoded, err = json.Marshal(Thresholds{})
	require.NoError(t, err)
	assert.Equal(t, `[]`, string(encoded))

	for source, text := range map[string]string{
		`"count>1"`: "threshold", `[1]`: "threshold", `[{"threshold":"a","delayAbortEval":"soon"}]`: "invalid duration",
	} {
		err := json.Unmarshal([]byte(source), &ts)
		require.Error(t, err)
		assert.Contains(t, err.Error(), text)
	}
}

func FuzzThresholds(f *testing.F) {
	for _, seed := range []string{"p(95)<500", "count === 1", "rate>=.5", "avg<1e3", "p(0x1)<1", "med!=-0", "value>inf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		ts := NewThresholds([]string{source})
		if ts.Parse() != nil {
			return
		}
		fits := false
		for typ, sink := range sinks() {
			registry := NewRegistry()
			registry.MustNewMetric("metric", typ)
			if ts.Validate("metric", registry) != nil {
				continue
			}
			fits = true
			_, err := ts.Run(sink, time.Second)
			require.NoError(t, err)
		}
		require.True(t, fits, "%q was parsed, so some type has it", source)
	})
}

func FuzzParseMetricName(f *testing.F) {
	for _, seed := range []string{"a{b:c}", "a{ b : c , d:'e,f' }", `a{b:"c}"}`, "a{", "a}", "a{}", "a{:}", "a{b:::c}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		name, pairs, err := ParseMetricName(source)
		if err != nil {
			return
		}
		require.True(t, len(pairs) == 0 || len(name) < len(source))
		registry := NewRegistry()
		metric := registry.MustNewMetric("metric", Counter)
		if len(pairs) > 0 {
			_, err = metric.AddSubmetric(source[len(name)+1 : len(source)-1])
			require.NoError(t, err)
		}
	})
}
