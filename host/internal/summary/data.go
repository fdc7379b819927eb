package summary

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// The shape of handleSummary's argument.
type (
	dataDocument struct {
		RootGroup dataGroup             `json:"root_group"`
		Options   dataOptions           `json:"options"`
		State     dataState             `json:"state"`
		Metrics   map[string]dataMetric `json:"metrics"`
		SetupData json.RawMessage       `json:"setup_data,omitempty"`
	}
	dataGroup struct {
		Name   string      `json:"name"`
		Path   string      `json:"path"`
		ID     string      `json:"id"`
		Groups []dataGroup `json:"groups"`
		Checks []lib.Check `json:"checks"`
	}
	dataOptions struct {
		TrendStats []string `json:"summaryTrendStats"`
		TimeUnit   string   `json:"summaryTimeUnit"`
		NoColor    bool     `json:"noColor"`
	}
	dataState struct {
		IsStdOutTTY bool    `json:"isStdOutTTY"`
		IsStdErrTTY bool    `json:"isStdErrTTY"`
		DurationMS  float64 `json:"testRunDurationMs"`
	}
	dataMetric struct {
		Type       metrics.MetricType       `json:"type"`
		Contains   metrics.ValueType        `json:"contains"`
		Values     map[string]float64       `json:"values"`
		Thresholds map[string]dataThreshold `json:"thresholds,omitempty"`
	}
	dataThreshold struct {
		OK bool `json:"ok"`
	}
)

// Data returns the JSON of handleSummary's argument.
func (s *Summary) Data() ([]byte, error) {
	columns, err := s.resolvers()
	if err != nil {
		return nil, err
	}
	document := dataDocument{
		RootGroup: newDataGroup(s.Root),
		Options:   dataOptions{TrendStats: s.trendStats(), TimeUnit: s.TimeUnit, NoColor: s.NoColor},
		State: dataState{
			IsStdOutTTY: s.IsStdOutTTY, IsStdErrTTY: s.IsStdErrTTY, DurationMS: metrics.D(s.Duration),
		},
		Metrics:   make(map[string]dataMetric),
		SetupData: s.SetupData,
	}
	for _, m := range s.observed() {
		entry := dataMetric{Type: m.Type, Contains: m.Contains, Values: values(m.Sink, columns, s.Duration)}
		for _, t := range m.Thresholds.Thresholds {
			if entry.Thresholds == nil {
				entry.Thresholds = make(map[string]dataThreshold)
			}
			entry.Thresholds[t.Source] = dataThreshold{OK: !t.LastFailed}
		}
		document.Metrics[m.Name] = entry
	}
	return encode(document, "")
}

func newDataGroup(g *lib.Group) dataGroup {
	group := dataGroup{Name: g.Name, Path: g.Path, ID: g.ID, Groups: []dataGroup{}, Checks: []lib.Check{}}
	for _, inner := range g.OrderedGroups {
		group.Groups = append(group.Groups, newDataGroup(inner))
	}
	for _, check := range g.OrderedChecks {
		group.Checks = append(group.Checks, *check)
	}
	return group
}

// encode writes JSON that leaves <, > and & as they are.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the summary: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
