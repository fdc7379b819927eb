package engine

import (
	"sync"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// samplesOfAnIteration is what a VU pushes at the end of an empty iteration.
func samplesOfAnIteration(builtin *metrics.BuiltinMetrics, tags *metrics.TagSet) metrics.SampleContainer {
	now := time.Now()
	sample := func(m *metrics.Metric, value float64) metrics.Sample {
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: now, Value: value}
	}
	return metrics.ConnectedSamples{Samples: []metrics.Sample{
		sample(builtin.DataSent, 0), sample(builtin.DataReceived, 0),
		sample(builtin.IterationDuration, 0.01), sample(builtin.Iterations, 1),
	}, Tags: tags, Time: now}
}

func newTestPump(tb testing.TB, receivers ...func([]metrics.SampleContainer)) (*Pump, *lib.TestRunState) {
	tb.Helper()
	registry := metrics.NewRegistry()
	state := &lib.TestRunState{
		TestPreInitState: &lib.TestPreInitState{Registry: registry, BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry)},
		RunTags:          registry.RootTagSet(),
	}
	groups, err := lib.NewGroupSummary()
	require.NoError(tb, err)
	state.GroupSummary = groups
	logger, _ := logtest.NewNullLogger()
	aggregator, err := NewAggregator(registry, nil, &metrics.DefaultSystemTagSet, logger)
	require.NoError(tb, err)
	return NewPump(1000, aggregator, state, receivers, func(err error) { tb.Error(err) }), state
}

func TestPumpHandsEverythingOnInOrder(t *testing.T) {
	t.Parallel()
	var values []float64
	pump, state := newTestPump(t, func(containers []metrics.SampleContainer) {
		for _, c := range containers {
			values = append(values, c.GetSamples()[0].Value)
		}
	})
	tags := state.RunTags.With("group", "::g").With("check", "fine")
	for i := range 5000 {
		pump.Samples() <- metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.Checks, Tags: tags}, Time: time.Now(), Value: float64(i),
		}
	}
	pump.Close()
	require.Len(t, values, 5000)
	for i, v := range values {
		assert.InDelta(t, float64(i), v, 0)
	}
	assert.EqualValues(t, 4999, state.GroupSummary.Root().Groups["g"].Checks["fine"].Passes)
	assert.EqualValues(t, 1, state.GroupSummary.Root().Groups["g"].Checks["fine"].Fails)
}

func BenchmarkPump(b *testing.B) {
	pump, state := newTestPump(b)
	tags := state.RunTags.With("group", "").With("scenario", "default")
	var producers sync.WaitGroup
	b.ReportAllocs()
	for range 2 {
		producers.Go(func() {
			for range b.N / 2 {
				pump.Samples() <- samplesOfAnIteration(state.BuiltinMetrics, tags)
			}
		})
	}
	producers.Wait()
	pump.Close()
}
