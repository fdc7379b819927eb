package runner

import (
	"strconv"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// pushIterationSamples sends what every iteration reports: the bytes that went over the network and, if it was not
// cut off, its duration and itself. They go out even when the context has ended.
func (vu *VU) pushIterationSamples(start, end time.Time, complete bool) {
	tm := vu.state.Tags.GetCurrentValues()
	builtin := vu.state.BuiltinMetrics
	samples := make([]metrics.Sample, 0, 4) //nolint:mnd // the four below
	add := func(metric *metrics.Metric, value float64) {
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tm.Tags},
			Time:       end, Value: value, Metadata: tm.Metadata,
		})
	}
	add(builtin.DataSent, float64(atomic.SwapInt64(&vu.dialer.BytesWritten, 0)))
	add(builtin.DataReceived, float64(atomic.SwapInt64(&vu.dialer.BytesRead, 0)))
	if complete {
		add(builtin.IterationDuration, metrics.D(end.Sub(start)))
		add(builtin.Iterations, 1)
	}
	vu.out <- metrics.ConnectedSamples{Samples: samples, Tags: tm.Tags, Time: end}
}

func (vu *VU) setNumberTag(tm *metrics.TagsAndMeta, tag metrics.SystemTag, value uint64) {
	if vu.state.Options.SystemTags.Has(tag) {
		tm.SetSystemTagOrMeta(tag, strconv.FormatUint(value, 10))
	}
}
