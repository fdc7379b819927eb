package engine

import (
	"fmt"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// judged makes an aggregator with thresholds on the counter hits and its sub-metrics.
func judged(t *testing.T, thresholds map[string]metrics.Thresholds) (*Aggregator, *metrics.Registry, *metrics.Metric) {
	t.Helper()
	registry := metrics.NewRegistry()
	metrics.RegisterBuiltinMetrics(registry)
	hits := registry.MustNewMetric("hits", metrics.Counter)
	logger, _ := logtest.NewNullLogger()
	a, err := NewAggregator(registry, thresholds, &metrics.DefaultSystemTagSet, logger)
	require.NoError(t, err)
	return a, registry, hits
}

func hit(m *metrics.Metric, tags *metrics.TagSet, value float64) metrics.Sample {
	return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: time.Now(), Value: value}
}

func TestThresholdsJudgeMetricsAndTheirParts(t *testing.T) {
	t.Parallel()
	a, registry, hits := judged(t, map[string]metrics.Thresholds{
		"hits":            metrics.NewThresholds([]string{"count==5"}),
		"hits{kind:good}": metrics.NewThresholds([]string{"count>2"}),
		"hits{kind:none}": metrics.NewThresholds([]string{"count>0"}),
	})
	root := registry.RootTagSet()
	a.Add([]metrics.SampleContainer{
		hit(hits, root.With("kind", "good").With("x", "y"), 2),
		metrics.Samples{hit(hits, root, 3)},
	})
	crossed, abort := a.Judge(time.Second, false)
	assert.Equal(t, []string{"hits{kind:good}"}, crossed, "what has no sample is not judged before the end")
	assert.False(t, abort)
	crossed, _ = a.Judge(time.Second, true)
	assert.Equal(t, []string{"hits{kind:good}", "hits{kind:none}"}, crossed)
	assert.True(t, hits.Observed)
	assert.False(t, hits.Tainted.Bool)
}

func TestAbortWaitsForItsDelay(t *testing.T) {
	t.Parallel()
	thresholds := metrics.NewThresholds([]string{"count<1"})
	thresholds.Thresholds[0].AbortOnFail = true
	thresholds.Thresholds[0].AbortGracePeriod = types.NullDurationFrom(10 * time.Second)
	a, registry, hits := judged(t, map[string]metrics.Thresholds{"hits": thresholds})
	a.Add([]metrics.SampleContainer{hit(hits, registry.RootTagSet(), 1)})
	_, abort := a.Judge(5*time.Second, false)
	assert.False(t, abort)
	crossed, abort := a.Judge(11*time.Second, false)
	assert.True(t, abort)
	assert.Contains(t, (&ThresholdError{Metrics: crossed}).Error(),
		"thresholds on metrics 'hits' were crossed; at least one has abortOnFail enabled, stopping test prematurely")
}

func TestManySeriesAreWarnedOfOnce(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry()
	hits := registry.MustNewMetric("hits", metrics.Counter)
	logger, hook := logtest.NewNullLogger()
	a, err := NewAggregator(registry, nil, nil, logger)
	require.NoError(t, err)
	a.warnSeries = 10
	for range 2 {
		for i := range 15 {
			a.Add([]metrics.SampleContainer{hit(hits, registry.RootTagSet().With("n", fmt.Sprint(i)), 1)})
		}
	}
	assert.Len(t, hook.AllEntries(), 1)
	assert.Equal(t, 20, a.warnSeries)
}

func TestThresholdsOnUnknownMetricsAreRefused(t *testing.T) {
	t.Parallel()
	logger, _ := logtest.NewNullLogger()
	_, err := NewAggregator(metrics.NewRegistry(),
		map[string]metrics.Thresholds{"nowhere{a:b}": metrics.NewThresholds([]string{"count>1"})}, nil, logger)
	require.ErrorContains(t, err, `no metric name "nowhere" found`)
}

func TestAddingSamplesAllocatesNothing(t *testing.T) {
	a, registry, hits := judged(t, nil)
	batch := []metrics.SampleContainer{metrics.Samples{
		hit(hits, registry.RootTagSet().With("a", "b"), 1), hit(hits, registry.RootTagSet(), 1),
	}}
	assert.Zero(t, testing.AllocsPerRun(100, func() { a.Add(batch) }))
}
