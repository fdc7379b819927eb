package summary

import (
	"math"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// values returns a sink's aggregates by name, as handleSummary sees them.
func values(sink metrics.Sink, columns []column, duration time.Duration) map[string]float64 {
	switch sink := sink.(type) {
	case *metrics.CounterSink:
		return finite(map[string]float64{"count": sink.Value, "rate": sink.Rate(duration)})
	case *metrics.GaugeSink:
		return finite(map[string]float64{"value": sink.Value, "min": sink.Min, "max": sink.Max})
	case *metrics.RateSink:
		return finite(map[string]float64{
			"rate": share(sink.Trues, sink.Total), "passes": float64(sink.Trues), "fails": float64(sink.Total - sink.Trues),
		})
	case *metrics.TrendSink:
		result := make(map[string]float64, len(columns))
		for _, c := range columns {
			result[c.name] = c.resolve(sink)
		}
		return finite(result)
	default:
		return sink.Format(duration)
	}
}

// finite replaces what JSON can't hold.
func finite(values map[string]float64) map[string]float64 {
	for name, value := range values {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			values[name] = 0
		}
	}
	return values
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// machineName turns a column's name into one without parentheses: "p(95)" into "p95".
func machineName(stat string) string {
	if inner, ok := strings.CutPrefix(stat, "p("); ok {
		return "p" + strings.TrimSuffix(inner, ")")
	}
	return stat
}
