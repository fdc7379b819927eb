package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MetricType is how the samples of a metric are aggregated.
type MetricType int

// The metric types.
const (
	Counter MetricType = iota // the sum of the values
	Gauge                     // the latest value, the least and the greatest
	Trend                     // the distribution of the values
	Rate                      // the share of non-zero values
)

// ErrInvalidMetricType is the error for a name or number that is no MetricType.
var ErrInvalidMetricType = errors.New("invalid metric type")

// String returns the name that outputs use, or "[INVALID]".
func (t MetricType) String() string {
	switch t {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	case Trend:
		return "trend"
	case Rate:
		return "rate"
	default:
		return "[INVALID]"
	}
}

// MarshalText writes the name.
func (t MetricType) MarshalText() ([]byte, error) {
	if t < Counter || t > Rate {
		return nil, fmt.Errorf("%w: %d", ErrInvalidMetricType, int(t))
	}
	return []byte(t.String()), nil
}

// MarshalJSON writes the name.
func (t MetricType) MarshalJSON() ([]byte, error) {
	text, err := t.MarshalText()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

// UnmarshalText reads the name.
func (t *MetricType) UnmarshalText(data []byte) error {
	for candidate := Counter; candidate <= Rate; candidate++ {
		if candidate.String() == string(data) {
			*t = candidate
			return nil
		}
	}
	return fmt.Errorf("%w: %q", ErrInvalidMetricType, data)
}

// supportedAggregations lists, as messages show them, what a threshold may use on the type.
func (t MetricType) supportedAggregations() []string {
	switch t {
	case Counter:
		return []string{aggCount, aggRate}
	case Gauge:
		return []string{aggValue}
	case Rate:
		return []string{aggRate}
	case Trend:
		return []string{aggAvg, aggMin, aggMax, aggMed, "p(N)"}
	default:
		return nil
	}
}
