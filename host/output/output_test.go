package output

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/metrics"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func TestSampleBufferKeepsOrderAndLosesNothing(t *testing.T) {
	t.Parallel()
	var buffer SampleBuffer
	assert.Empty(t, buffer.GetBufferedSamples())
	batch := []metrics.SampleContainer{metrics.Sample{Value: 1}, metrics.Sample{Value: 2}}
	buffer.AddMetricSamples(batch)
	buffer.AddMetricSamples(nil)
	batch[0] = metrics.Sample{Value: 9} // the caller may reuse its slice
	buffer.AddMetricSamples([]metrics.SampleContainer{metrics.Sample{Value: 3}})
	taken := buffer.GetBufferedSamples()
	require.Len(t, taken, 3)
	for i, container := range taken {
		assert.InDelta(t, i+1, container.GetSamples()[0].Value, 0)
	}
	assert.Empty(t, buffer.GetBufferedSamples())

	var all sync.WaitGroup
	var seen atomic.Int64
	for range 4 {
		all.Go(func() {
			for range 500 {
				buffer.AddMetricSamples([]metrics.SampleContainer{metrics.Sample{}})
				seen.Add(int64(len(buffer.GetBufferedSamples())))
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 2000, seen.Load()+int64(len(buffer.GetBufferedSamples())))
}

func TestPeriodicFlusherFlushesOnceMoreAtStop(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	flusher, err := NewPeriodicFlusher(time.Hour, func() { calls.Add(1) })
	require.NoError(t, err)
	assert.Zero(t, calls.Load())
	var all sync.WaitGroup
	for range 3 {
		all.Go(flusher.Stop)
	}
	all.Wait()
	assert.EqualValues(t, 1, calls.Load())
}

func TestPeriodicFlusherNeverFlushesTwiceAtOnce(t *testing.T) {
	t.Parallel()
	var inside, worst, calls atomic.Int64
	enough := make(chan struct{})
	flusher, err := NewPeriodicFlusher(time.Millisecond, func() {
		if now := inside.Add(1); now > worst.Load() {
			worst.Store(now)
		}
		if calls.Add(1) == 5 {
			close(enough)
		}
		inside.Add(-1)
	})
	require.NoError(t, err)
	<-enough
	flusher.Stop()
	assert.EqualValues(t, 1, worst.Load())
	for _, period := range []time.Duration{0, -time.Second} {
		_, err = NewPeriodicFlusher(period, func() {})
		require.Error(t, err)
	}
}

func constructor(Params) (Output, error) { return nil, nil }

func init() { RegisterExtension("test-output", constructor) } // once, however often the test runs

func TestRegisterExtension(t *testing.T) {
	t.Parallel()
	registered := ext.Get(ext.OutputExtension)["test-output"]
	require.NotNil(t, registered)
	assert.Equal(t, "go.k6.io/k6/v2", registered.Path)
	assert.Panics(t, func() { RegisterExtension("test-output", constructor) })
}
