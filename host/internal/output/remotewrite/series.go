package remotewrite

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// series is what the samples of one time series came to since the start of the test, and how it is written.
type series struct {
	sink      metrics.Sink
	histogram *histogram // in place of the sink, for trends as native histograms
	scale     float64    // what histogram values are multiplied with

	// exports are the series on the side of Prometheus: one, or one per statistic of a trend.
	exports []export

	latest  time.Time // of the newest sample
	sent    int64     // the time written last, in milliseconds
	changed bool
}

// export is one time series of Prometheus.
type export struct {
	labels []byte // encoded
	value  func() float64
}

// trendStat is a statistic of trends that is written.
type trendStat struct {
	suffix string
	value  func(*metrics.TrendSink) float64
}

// trendStats prepares the statistics: avg, min, med, max, count, sum and p(N).
func trendStats(names []string) ([]trendStat, error) {
	stats := make([]trendStat, 0, len(names))
	for _, name := range names {
		if name == "sum" {
			stats = append(stats, trendStat{suffix: name, value: (*metrics.TrendSink).Total})
			continue
		}
		resolvers, err := metrics.GetResolversForTrendColumns([]string{name})
		if err != nil {
			return nil, err
		}
		stats = append(stats, trendStat{suffix: statSuffix(name), value: resolvers[name]})
	}
	return stats, nil
}

// statSuffix makes "p999" of "p(99.9)".
func statSuffix(name string) string {
	return strings.NewReplacer("(", "", ")", "", ".", "").Replace(name)
}

const (
	namePrefix = "k6_"
	// millisecondsPerSecond is what the values of time trends are divided by, counts among them.
	millisecondsPerSecond = 1000
)

// newSeries prepares the time series of a metric with one set of tags.
func newSeries(ts metrics.TimeSeries, stats []trendStat, nativeHistograms bool) *series {
	s := &series{scale: 1}
	name := namePrefix + ts.Metric.Name
	add := func(name string, value func() float64) {
		s.exports = append(s.exports, export{labels: encodeLabels(name, ts.Tags), value: value})
	}
	isTime := ts.Metric.Contains == metrics.Time
	switch ts.Metric.Type {
	case metrics.Counter:
		sink := new(metrics.CounterSink)
		s.sink = sink
		add(name+"_total", func() float64 { return sink.Value })
	case metrics.Gauge:
		sink := new(metrics.GaugeSink)
		s.sink = sink
		add(name, func() float64 { return sink.Value })
	case metrics.Rate:
		sink := new(metrics.RateSink)
		s.sink = sink
		add(name+"_rate", func() float64 {
			if sink.Total == 0 {
				return 0
			}
			return float64(sink.Trues) / float64(sink.Total)
		})
	case metrics.Trend:
		if nativeHistograms {
			if isTime {
				s.scale = 1.0 / millisecondsPerSecond
			}
			s.histogram = newHistogram()
			add(name+unitSuffix(ts.Metric.Contains), nil)
			return s
		}
		sink := metrics.NewTrendSink()
		s.sink = sink
		for _, stat := range stats {
			value := func() float64 { return stat.value(sink) }
			if isTime {
				value = func() float64 { return stat.value(sink) / millisecondsPerSecond }
			}
			add(name+"_"+stat.suffix, value)
		}
	}
	return s
}

func unitSuffix(contains metrics.ValueType) string {
	switch contains {
	case metrics.Time:
		return "_seconds"
	case metrics.Data:
		return "_bytes"
	default:
		return ""
	}
}

// encodeLabels writes the labels of a series sorted by name, as the protocol wants them; empty ones are left out.
func encodeLabels(name string, tags *metrics.TagSet) []byte {
	labels := tags.Map()
	labels["__name__"] = name
	names := make([]string, 0, len(labels))
	for label := range labels {
		names = append(names, label)
	}
	slices.Sort(names)
	var encoded []byte
	for _, label := range names {
		if labels[label] != "" {
			encoded = appendLabel(encoded, label, labels[label])
		}
	}
	return encoded
}

func (s *series) add(sample metrics.Sample) {
	if s.histogram != nil {
		s.histogram.add(sample.Value * s.scale)
	} else {
		s.sink.Add(sample)
	}
	if sample.Time.After(s.latest) {
		s.latest = sample.Time
	}
	s.changed = true
}

// append writes the present values as TimeSeries of a WriteRequest.
func (s *series) append(b []byte) []byte {
	// Samples of several VUs come out of order, but the times of a series have to rise.
	s.sent = max(s.latest.UnixMilli(), s.sent+1)
	s.changed = false
	for _, e := range s.exports {
		message := slices.Clone(e.labels)
		if s.histogram != nil {
			message = appendBytes(message, fieldHistograms, s.histogram.appendMessage(nil, s.sent))
		} else {
			message = appendSample(message, e.value(), s.sent)
		}
		b = appendBytes(b, fieldTimeseries, message)
	}
	return b
}

// staleBits is the not-a-number by which Prometheus knows that a series has ended.
const staleBits = 0x7ff0000000000002

// appendStale writes the mark that the series has ended.
func (s *series) appendStale(b []byte, now time.Time) []byte {
	s.sent = max(now.UnixMilli(), s.sent+1)
	for _, e := range s.exports {
		message := appendSample(slices.Clone(e.labels), math.Float64frombits(staleBits), s.sent)
		b = appendBytes(b, fieldTimeseries, message)
	}
	return b
}
