package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib/types"
)

// Threshold is a condition on a metric that decides whether the test passes.
type Threshold struct {
	Source           string // the expression as written
	LastFailed       bool   // the outcome of the latest evaluation
	AbortOnFail      bool
	AbortGracePeriod types.NullDuration // no abort before the test has run this long

	parsed *expression
}

// thresholdConfig is the long JSON form of a threshold.
type thresholdConfig struct {
	Threshold        string             `json:"threshold"`
	AbortOnFail      bool               `json:"abortOnFail"`
	AbortGracePeriod types.NullDuration `json:"delayAbortEval"`
}

// Thresholds are the conditions on one metric.
type Thresholds struct {
	Thresholds []*Threshold
	Abort      bool // set by Run when a threshold wants the test stopped
}

// NewThresholds returns thresholds with these expressions, not parsed yet.
func NewThresholds(sources []string) Thresholds {
	thresholds := make([]*Threshold, len(sources))
	for i, source := range sources {
		thresholds[i] = &Threshold{Source: source}
	}
	return Thresholds{Thresholds: thresholds}
}

// Parse reads the expressions.
func (ts *Thresholds) Parse() error {
	for _, t := range ts.Thresholds {
		parsed, err := parseExpression(t.Source)
		if err != nil {
			return fmt.Errorf("failed parsing threshold expression %q; reason: %w", t.Source, err)
		}
		t.parsed = parsed
	}
	return nil
}

// Validate checks that the metric exists and has the aggregations. Its errors carry the exit code for a bad
// configuration.
func (ts *Thresholds) Validate(metricName string, r *Registry) error {
	return errext.WithExitCodeIfNone(ts.validate(metricName, r), exitcodes.InvalidConfig)
}

func (ts *Thresholds) validate(metricName string, r *Registry) error {
	name, _, err := ParseMetricName(metricName)
	if err != nil {
		return fmt.Errorf("invalid threshold defined on %s; reason: %w", metricName, err)
	}
	metric := r.Get(name)
	if metric == nil {
		return fmt.Errorf("invalid threshold defined on %s; reason: no metric name %q found", metricName, name)
	}
	for _, t := range ts.Thresholds {
		if t.parsed == nil {
			if err := ts.Parse(); err != nil {
				return err
			}
		}
		if !t.parsed.supports(metric.Type) {
			return fmt.Errorf("invalid threshold %q applied on metric %s; reason: "+
				"unsupported aggregation method %s on metric of type %s. "+
				"supported aggregation methods for this metric are: %s",
				t.Source, metricName, t.parsed.aggregation, metric.Type,
				strings.Join(metric.Type.supportedAggregations(), ", "))
		}
	}
	return nil
}

// Run evaluates all conditions and says whether every one holds; duration is how long the test has run. It sets
// LastFailed of each and Abort.
func (ts *Thresholds) Run(sink Sink, duration time.Duration) (bool, error) {
	ok := true
	for _, t := range ts.Thresholds {
		if t.parsed == nil {
			if err := ts.Parse(); err != nil {
				return false, err
			}
		}
		value, has, err := aggregate(sink, t.parsed, duration)
		if err != nil {
			return false, fmt.Errorf("threshold %q: %w", t.Source, err)
		}
		t.LastFailed = has && !t.parsed.holds(value)
		if !t.LastFailed {
			continue
		}
		ok = false
		if t.AbortOnFail && (!t.AbortGracePeriod.Valid || t.AbortGracePeriod.TimeDuration() < duration) {
			ts.Abort = true
		}
	}
	return ok, nil
}

// aggregate returns the value that the expression is about. A rate of nothing has none.
func aggregate(sink Sink, e *expression, duration time.Duration) (value float64, has bool, err error) {
	switch sink := sink.(type) {
	case *CounterSink:
		switch e.aggregation {
		case aggCount:
			return sink.Value, true, nil
		case aggRate:
			return sink.Rate(duration), true, nil
		}
	case *GaugeSink:
		if e.aggregation == aggValue {
			return sink.Value, true, nil
		}
	case *RateSink:
		if e.aggregation == aggRate {
			if sink.Total == 0 {
				return 0, false, nil
			}
			return float64(sink.Trues) / float64(sink.Total), true, nil
		}
	case *TrendSink:
		switch {
		case e.isP:
			return sink.P(e.percentile), true, nil
		case e.aggregation == aggAvg:
			return sink.Avg(), true, nil
		case e.aggregation == aggMin:
			return sink.Min(), true, nil
		case e.aggregation == aggMax:
			return sink.Max(), true, nil
		case e.aggregation == aggMed:
			return sink.P(0.5), true, nil
		}
	default:
		return 0, false, fmt.Errorf("a sink of type %T can't be aggregated", sink)
	}
	return 0, false, fmt.Errorf("a %T has no aggregation %s", sink, e.aggregation)
}

// UnmarshalJSON reads a list whose items are expressions or objects with threshold, abortOnFail and delayAbortEval.
func (ts *Thresholds) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return fmt.Errorf("the thresholds of a metric have to be a list: %w", err)
	}
	thresholds := make([]*Threshold, 0, len(items))
	for _, item := range items {
		var config thresholdConfig
		if item = bytes.TrimSpace(item); len(item) > 0 && item[0] == '"' {
			if err := json.Unmarshal(item, &config.Threshold); err != nil {
				return err
			}
		} else if err := json.Unmarshal(item, &config); err != nil {
			return fmt.Errorf("invalid threshold %s: %w", item, err)
		}
		thresholds = append(thresholds, &Threshold{
			Source: config.Threshold, AbortOnFail: config.AbortOnFail, AbortGracePeriod: config.AbortGracePeriod,
		})
	}
	*ts = Thresholds{Thresholds: thresholds}
	return nil
}

// MarshalJSON writes the list; a threshold without an abort is just its expression.
func (ts Thresholds) MarshalJSON() ([]byte, error) {
	items := make([]any, len(ts.Thresholds))
	for i, t := range ts.Thresholds {
		if t.AbortOnFail || t.AbortGracePeriod.Valid {
			items[i] = thresholdConfig{
				Threshold: t.Source, AbortOnFail: t.AbortOnFail, AbortGracePeriod: t.AbortGracePeriod,
			}
		} else {
			items[i] = t.Source
		}
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(items); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Aggregation returns what the threshold looks at, such as "p(95)", or "" before Parse.
func (t *Threshold) Aggregation() string {
	if t.parsed == nil {
		return ""
	}
	return t.parsed.aggregation
}
