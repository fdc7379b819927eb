package metrics

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Sink aggregates the samples of one metric. It is not safe for concurrent use.
type Sink interface {
	// Add takes a sample in.
	Add(s Sample)
	// Format returns the aggregates by name; t is how long the test has run.
	Format(t time.Duration) map[string]float64
	// IsEmpty says whether no sample was added.
	IsEmpty() bool
}

var (
	_ Sink = (*CounterSink)(nil)
	_ Sink = (*GaugeSink)(nil)
	_ Sink = (*RateSink)(nil)
	_ Sink = (*TrendSink)(nil)
)

// NewSink returns an empty sink for the type; it panics on a type that doesn't exist.
func NewSink(mt MetricType) Sink {
	switch mt {
	case Counter:
		return &CounterSink{}
	case Gauge:
		return &GaugeSink{}
	case Trend:
		return NewTrendSink()
	case Rate:
		return &RateSink{}
	default:
		panic(fmt.Sprintf("metric type %d has no sink", mt))
	}
}

// CounterSink sums the values.
type CounterSink struct {
	Value float64
	First time.Time // the time of the first sample
}

// Add implements Sink.
func (c *CounterSink) Add(s Sample) {
	c.Value += s.Value
	if c.First.IsZero() {
		c.First = s.Time
	}
}

// Rate returns the value per second, 0 for no time.
func (c *CounterSink) Rate(t time.Duration) float64 {
	if t == 0 {
		return 0
	}
	return c.Value / t.Seconds()
}

// Format implements Sink: count and rate.
func (c *CounterSink) Format(t time.Duration) map[string]float64 {
	return map[string]float64{aggCount: c.Value, aggRate: c.Rate(t)}
}

// IsEmpty implements Sink.
func (c *CounterSink) IsEmpty() bool { return c.First.IsZero() }

// GaugeSink keeps the latest value and the extremes.
type GaugeSink struct {
	Value, Max, Min float64

	observed bool
}

// Add implements Sink.
func (g *GaugeSink) Add(s Sample) {
	g.Value = s.Value
	if !g.observed || s.Value > g.Max {
		g.Max = s.Value
	}
	if !g.observed || s.Value < g.Min {
		g.Min = s.Value
	}
	g.observed = true
}

// Format implements Sink: value.
func (g *GaugeSink) Format(time.Duration) map[string]float64 {
	return map[string]float64{aggValue: g.Value}
}

// IsEmpty implements Sink.
func (g *GaugeSink) IsEmpty() bool { return !g.observed }

// RateSink counts the non-zero values.
type RateSink struct {
	Trues, Total int64
}

// Add implements Sink.
func (r *RateSink) Add(s Sample) {
	r.Total++
	if s.Value != 0 {
		r.Trues++
	}
}

// Format implements Sink: rate, which is 0 for no samples.
func (r *RateSink) Format(time.Duration) map[string]float64 {
	rate := 0.0
	if r.Total > 0 {
		rate = float64(r.Trues) / float64(r.Total)
	}
	return map[string]float64{aggRate: rate}
}

// IsEmpty implements Sink.
func (r *RateSink) IsEmpty() bool { return r.Total == 0 }

//nolint:gochecknoglobals // compiled once, never changed
var percentile = regexp.MustCompile(`^p\(([^()]+)\)$`)

// parsePercentile reads "p(N)" with 0 ≤ N ≤ 100.
func parsePercentile(s string) (float64, error) {
	match := percentile.FindStringSubmatch(s)
	if match == nil {
		return 0, fmt.Errorf("'%s' is not of the form p(N)", s)
	}
	n, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, fmt.Errorf("'%s' has a malformed percentile: %w", s, err)
	}
	if math.IsNaN(n) || n < 0 || n > 100 {
		return 0, fmt.Errorf("'%s' has a percentile outside 0 to 100", s)
	}
	return n, nil
}

// GetResolversForTrendColumns returns, for each column name of a summary, the function that gets it from a sink.
func GetResolversForTrendColumns(trendColumns []string) (map[string]func(s *TrendSink) float64, error) {
	resolvers := make(map[string]func(*TrendSink) float64, len(trendColumns))
	for _, column := range trendColumns {
		switch column {
		case aggAvg:
			resolvers[column] = (*TrendSink).Avg
		case aggMin:
			resolvers[column] = (*TrendSink).Min
		case aggMed:
			resolvers[column] = func(s *TrendSink) float64 { return s.P(0.5) }
		case aggMax:
			resolvers[column] = (*TrendSink).Max
		case aggCount:
			resolvers[column] = func(s *TrendSink) float64 { return float64(s.Count()) }
		default:
			n, err := parsePercentile(column)
			if err != nil {
				return nil, fmt.Errorf("invalid trend column '%s', it has to be avg, min, med, max, count or p(N)", column)
			}
			resolvers[column] = func(s *TrendSink) float64 { return s.P(n / 100) }
		}
	}
	return resolvers, nil
}
