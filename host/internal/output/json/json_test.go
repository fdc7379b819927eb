package json

import (
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

type fixture struct {
	registry *metrics.Registry
	fs       fsext.Fs
	stdOut   *bytes.Buffer
	logs     *test.Hook
	params   output.Params
}

func newFixture(argument string) *fixture {
	logger, hook := test.NewNullLogger()
	f := &fixture{registry: metrics.NewRegistry(), fs: fsext.NewMemMapFs(), stdOut: &bytes.Buffer{}, logs: hook}
	f.params = output.Params{ConfigArgument: argument, Logger: logger, FS: f.fs, StdOut: f.stdOut}
	return f
}

func (f *fixture) write(t *testing.T, samples ...metrics.SampleContainer) {
	t.Helper()
	o, err := New(f.params)
	require.NoError(t, err)
	withThresholds, ok := o.(output.WithThresholds)
	require.True(t, ok)
	withThresholds.SetThresholds(map[string]metrics.Thresholds{
		"a_trend": metrics.NewThresholds([]string{"p(95)<500"}),
	})
	require.NoError(t, o.Start())
	o.AddMetricSamples(samples)
	require.NoError(t, o.Stop())
}

func TestLines(t *testing.T) {
	t.Parallel()
	f := newFixture("out.json")
	trend := f.registry.MustNewMetric("a_trend", metrics.Trend, metrics.Time)
	_, err := trend.AddSubmetric("x:1")
	require.NoError(t, err)
	counter := f.registry.MustNewMetric("a_counter", metrics.Counter)
	tags := f.registry.RootTagSet().With("url", "http://a.test/?b=<c>&d").With("group", "")
	at := time.Date(2026, 11, 30, 10, 57, 20, 261961730, time.UTC)
	sample := func(m *metrics.Metric, v float64, ts *metrics.TagSet) metrics.Sample {
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: ts}, Time: at, Value: v}
	}
	withMetadata := sample(counter, 1e-9, f.registry.RootTagSet())
	withMetadata.Metadata = map[string]string{"vu": "1"}
	f.write(t,
		sample(trend, 1.5, tags),
		metrics.Samples{sample(counter, 1e21, tags), withMetadata, sample(trend, 1, tags)},
	)
	content, err := fsext.ReadFile(f.fs, "out.json")
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"type":"Metric","data":{"name":"a_trend","type":"trend","contains":"time","thresholds":["p(95)<500"],"submetrics":[{"name":"a_trend{x:1}","suffix":"x:1","tags":{"x":"1"}}]},"metric":"a_trend"}`,
		`{"metric":"a_trend","type":"Point","data":{"time":"2026-11-30T10:57:20.26196173Z","value":1.5,"tags":{"group":"","url":"http://a.test/?b=<c>&d"}}}`,
		`{"type":"Metric","data":{"name":"a_counter","type":"counter","contains":"default","thresholds":[],"submetrics":null},"metric":"a_counter"}`,
		`{"metric":"a_counter","type":"Point","data":{"time":"2026-11-30T10:57:20.26196173Z","value":1e+21,"tags":{"group":"","url":"http://a.test/?b=<c>&d"}}}`,
		`{"metric":"a_counter","type":"Point","data":{"time":"2026-11-30T10:57:20.26196173Z","value":1e-09,"tags":{},"metadata":{"vu":"1"}}}`,
		`{"metric":"a_trend","type":"Point","data":{"time":"2026-11-30T10:57:20.26196173Z","value":1,"tags":{"group":"","url":"http://a.test/?b=<c>&d"}}}`,
	}, strings.Split(strings.TrimSuffix(string(content), "\n"), "\n"))
}

func TestDestinations(t *testing.T) {
	t.Parallel()
	for argument, description := range map[string]string{
		"": "json(stdout)", "-": "json(stdout)", "a.json": "json (a.json)", "a.json.gz": "json (a.json.gz)",
	} {
		f := newFixture(argument)
		o, err := New(f.params)
		require.NoError(t, err)
		assert.Equal(t, description, o.Description())
		metric := f.registry.MustNewMetric("mm", metrics.Counter)
		f.write(t, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: f.registry.RootTagSet()}, Value: 4})
		var content io.Reader = f.stdOut
		if argument != "" && argument != "-" {
			file, err := f.fs.Open(argument)
			require.NoError(t, err)
			content = file
		}
		if strings.HasSuffix(argument, ".gz") {
			content, err = gzip.NewReader(content)
			require.NoError(t, err)
		}
		text, err := io.ReadAll(content)
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(string(text), "\n"), argument)
	}
}

func TestValuesThatJSONCannotHoldAreLeftOut(t *testing.T) {
	t.Parallel()
	f := newFixture("-")
	series := metrics.TimeSeries{Metric: f.registry.MustNewMetric("mm", metrics.Gauge), Tags: f.registry.RootTagSet()}
	f.write(t, metrics.Sample{TimeSeries: series, Value: math.Inf(1)}, metrics.Sample{TimeSeries: series, Value: 2})
	assert.Equal(t, 1, strings.Count(f.stdOut.String(), `"type":"Point"`))
	require.Len(t, f.logs.AllEntries(), 1)
	assert.Equal(t, logrus.WarnLevel, f.logs.LastEntry().Level)
}

func TestAFileThatCannotBeMadeFailsAtStart(t *testing.T) {
	t.Parallel()
	f := newFixture("out.json")
	f.params.FS = fsext.NewReadOnlyFs(f.fs)
	o, err := New(f.params)
	require.NoError(t, err)
	require.Error(t, o.Start())
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAFailedWriteIsReportedAtStop(t *testing.T) {
	t.Parallel()
	f := newFixture("-")
	f.params.StdOut = brokenWriter{}
	o, err := New(f.params)
	require.NoError(t, err)
	require.NoError(t, o.Start())
	series := metrics.TimeSeries{Metric: f.registry.MustNewMetric("mm", metrics.Gauge), Tags: f.registry.RootTagSet()}
	o.AddMetricSamples([]metrics.SampleContainer{metrics.Sample{TimeSeries: series}})
	require.ErrorIs(t, o.Stop(), io.ErrShortWrite)
}

func TestAPointHardlyAllocates(t *testing.T) { //nolint:paralleltest // counts allocations
	registry := metrics.NewRegistry()
	sample := &metrics.Sample{
		TimeSeries: metrics.TimeSeries{
			Metric: registry.MustNewMetric("mm", metrics.Gauge), Tags: registry.RootTagSet().With("a", "b"),
		},
		Time: time.Unix(1, 2), Value: 0.125,
	}
	e := newEncoder()
	require.True(t, e.isNew(sample.Metric))
	require.False(t, e.isNew(sample.Metric))
	e.point(sample)
	assert.Zero(t, testing.AllocsPerRun(100, func() { e.point(sample) }))
}

func FuzzPoint(f *testing.F) {
	f.Add("name", `va"l`, 1.5, int64(5))
	f.Add("\xff", "<&>\u2028", -1e300, int64(-1))
	f.Fuzz(func(t *testing.T, name, value string, number float64, ns int64) {
		registry := metrics.NewRegistry()
		e := newEncoder()
		sample := &metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: registry.MustNewMetric("mm", metrics.Gauge), Tags: registry.RootTagSet()},
			Time:       time.Unix(0, ns).UTC(), Value: number,
		}
		if name != "" {
			sample.Tags = sample.Tags.With(name, value)
			sample.Metadata = map[string]string{name: value}
		}
		e.isNew(sample.Metric)
		line, ok := e.point(sample)
		require.Equal(t, !math.IsNaN(number) && !math.IsInf(number, 0), ok)
		if !ok {
			return
		}
		var decoded struct {
			Data struct {
				Value float64           `json:"value"`
				Time  time.Time         `json:"time"`
				Tags  map[string]string `json:"tags"`
			} `json:"data"`
		}
		require.NoError(t, stdjson.Unmarshal(line, &decoded))
		require.Equal(t, number, decoded.Data.Value)
		require.True(t, sample.Time.Equal(decoded.Data.Time))
		require.Len(t, decoded.Data.Tags, len(sample.Tags.Map()))
	})
}
