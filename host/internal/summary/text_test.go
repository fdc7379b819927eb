package summary

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// run is a test run in miniature: samples go where the engine would send them.
type run struct {
	t        *testing.T
	registry *metrics.Registry
	builtin  *metrics.BuiltinMetrics
	groups   *lib.GroupSummary
	scopes   *Scopes
}

func newRun(t *testing.T) *run {
	t.Helper()
	groups, err := lib.NewGroupSummary()
	require.NoError(t, err)
	registry := metrics.NewRegistry()
	return &run{
		t: t, registry: registry, builtin: metrics.RegisterBuiltinMetrics(registry), groups: groups, scopes: NewScopes(),
	}
}

func (r *run) add(m *metrics.Metric, value float64, tags map[string]string) {
	r.t.Helper()
	sample := metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: m, Tags: r.registry.RootTagSet().WithTagsFromMap(tags)},
		Time:       time.Unix(1, 0), Value: value,
	}
	m.Sink.Add(sample)
	m.Observed = true
	for _, sub := range m.Submetrics {
		if sample.Tags.Contains(sub.Tags) {
			sub.Metric.Sink.Add(sample)
			sub.Metric.Observed = true
		}
	}
	require.NoError(r.t, r.groups.AddSample(&sample))
	r.scopes.AddMetricSamples([]metrics.SampleContainer{sample})
}

func (r *run) thresholds(m *metrics.Metric, sources ...string) {
	r.t.Helper()
	ts := metrics.NewThresholds(sources)
	require.NoError(r.t, ts.Parse())
	_, err := ts.Run(m.Sink, duration)
	require.NoError(r.t, err)
	m.Thresholds = ts
	m.Observed = true
}

const duration = 144056 * time.Microsecond

func (r *run) summary(mode Mode) *Summary {
	return &Summary{
		Mode: mode, Metrics: r.registry.All(), Root: r.groups.Root(), Checks: r.groups.Checks(), Scopes: r.scopes, Duration: duration, NoColor: true,
	}
}

// sampleRun has every kind of metric, thresholds, checks, groups and a scenario.
func sampleRun(t *testing.T) *run {
	r := newRun(t)
	kind := map[string]string{"kind": "read"}
	trend := r.registry.MustNewMetric("my_trend", metrics.Trend, metrics.Time)
	sub, err := trend.AddSubmetric("kind:read")
	require.NoError(t, err)
	_, err = r.builtin.HTTPReqDuration.AddSubmetric("expected_response:true")
	require.NoError(t, err)

	scenario := map[string]string{"scenario": "nightly", "group": "::outer::inner"}
	for i := range 4 {
		r.add(trend, 12.5, kind)
		r.add(r.builtin.HTTPReqDuration, 8.625+float64(i)*12, map[string]string{"expected_response": "true"})
		r.add(r.builtin.HTTPReqDuration, 46.318, map[string]string{"expected_response": "false"})
		r.add(r.builtin.HTTPReqWaiting, 3, scenario)
		r.add(r.builtin.HTTPReqFailed, 0, nil)
		r.add(r.builtin.HTTPReqFailed, 1, nil)
		r.add(r.builtin.HTTPReqs, 2, nil)
		r.add(r.registry.MustNewMetric("my_count", metrics.Counter), 2, nil)
		r.add(r.registry.MustNewMetric("my_gauge", metrics.Gauge), 7, nil)
		r.add(r.registry.MustNewMetric("my_rate", metrics.Rate), 1, nil)
		r.add(r.builtin.Checks, 1, map[string]string{"check": "is 200"})
		r.add(r.builtin.Checks, 0, map[string]string{"check": "never"})
		r.add(r.builtin.Checks, metrics.B(i > 0), map[string]string{
			"check": "mostly", "scenario": "nightly", "group": "::outer::inner",
		})
		r.add(r.builtin.IterationDuration, 52.24+float64(i)*10, map[string]string{"scenario": "nightly"})
		r.add(r.builtin.Iterations, 1, map[string]string{"scenario": "nightly"})
		r.add(r.builtin.DataReceived, 450, nil)
		r.add(r.builtin.DataSent, 179, nil)
		r.add(r.builtin.GroupDuration, 9, scenario)
	}
	r.thresholds(r.builtin.HTTPReqDuration, "p(95)<500", "avg<1")
	r.thresholds(r.builtin.HTTPReqDuration.Submetrics[0].Metric, "max<1000")
	r.thresholds(sub.Metric, "avg<5")
	return r
}

func TestTextMatchesTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Summary){
		"compact": func(*Summary) {},
		"full":    func(s *Summary) { s.Mode = ModeFull },
		"seconds": func(s *Summary) { s.TimeUnit, s.TrendStats = "s", []string{"min", "p(99.9)", "count"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sampleRun(t).summary(ModeCompact)
			change(s)
			text, err := s.Text()
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".txt")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
			}
			want, err := os.ReadFile(golden) //nolint:gosec // a fixed name
			require.NoError(t, err)
			assert.Equal(t, string(want), text)
		})
	}
}

func TestColourAddsOnlyANSICodes(t *testing.T) {
	t.Parallel()
	s := sampleRun(t).summary(ModeFull)
	plain, err := s.Text()
	require.NoError(t, err)
	s.NoColor, s.IsStdOutTTY = false, true
	coloured, err := s.Text()
	require.NoError(t, err)
	assert.NotEqual(t, plain, coloured)
	assert.Equal(t, plain, stripANSI(coloured))
}

func stripANSI(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\x1b' {
			for s[i] != 'm' {
				i++
			}
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}
