package summary

import (
	"time"

	"go.k6.io/k6/v2/metrics"
)

// machineVersion is the version of the machine-readable form.
const machineVersion = "1.0.0"

type (
	machineDocument struct {
		Version  string          `json:"version"`
		Config   machineConfig   `json:"config"`
		Metadata machineMetadata `json:"metadata"`
		Results  machineResults  `json:"results"`
	}
	machineConfig struct {
		Duration  float64 `json:"duration"` // seconds
		Execution string  `json:"execution"`
		Script    string  `json:"script"` // the source text
	}
	machineMetadata struct {
		GeneratedAt time.Time `json:"generated_at"`
		K6Version   string    `json:"k6_version"`
	}
	machineResults struct {
		Checks  machineChecks   `json:"checks"`
		Metrics []machineMetric `json:"metrics"`
	}
	machineChecks struct {
		Metrics []machineMetric `json:"metrics"`
		Results []machineCheck  `json:"results"`
	}
	machineCheck struct {
		Name   string `json:"name"`
		Path   string `json:"path"`
		Passes int64  `json:"passes"`
		Fails  int64  `json:"fails"`
	}
	machineMetric struct {
		Name     string             `json:"name"`
		Type     metrics.MetricType `json:"type"`
		Contains metrics.ValueType  `json:"contains"`
		Values   map[string]float64 `json:"values"`
	}
)

// MachineReadable returns the JSON that handleSummary and --summary-export get with
// --new-machine-readable-summary.
func (s *Summary) MachineReadable() ([]byte, error) {
	columns, err := s.resolvers()
	if err != nil {
		return nil, err
	}
	for i := range columns {
		columns[i].name = machineName(columns[i].name)
	}
	document := machineDocument{
		Version:  machineVersion,
		Config:   machineConfig{Duration: s.Duration.Seconds(), Execution: s.Execution, Script: s.Script},
		Metadata: machineMetadata{GeneratedAt: s.FinishedAt, K6Version: s.K6Version},
		Results:  machineResults{Checks: s.machineChecks(), Metrics: []machineMetric{}},
	}
	for _, m := range s.observed() {
		if isHidden(m.Name) {
			continue
		}
		document.Results.Metrics = append(document.Results.Metrics, machineMetric{
			Name: m.Name, Type: m.Type, Contains: m.Contains, Values: values(m.Sink, columns, s.Duration),
		})
	}
	return encode(document, "  ")
}

func (s *Summary) machineChecks() machineChecks {
	checks := machineChecks{Metrics: []machineMetric{}, Results: []machineCheck{}}
	var passes, fails int64
	for _, c := range s.Checks {
		passes += c.Passes
		fails += c.Fails
		checks.Results = append(checks.Results, machineCheck{Name: c.Name, Path: c.Path, Passes: c.Passes, Fails: c.Fails})
	}
	total := passes + fails
	if total == 0 {
		return checks
	}
	rate := func(name string, part int64) machineMetric {
		return machineMetric{Name: name, Type: metrics.Rate, Contains: metrics.Default, Values: map[string]float64{
			"rate": share(part, total), "matches": float64(part), "total": float64(total),
		}}
	}
	checks.Metrics = append(checks.Metrics,
		machineMetric{Name: "checks_total", Type: metrics.Counter, Contains: metrics.Default, Values: finite(map[string]float64{
			"count": float64(total), "rate": float64(total) / s.Duration.Seconds(),
		})},
		rate("checks_succeeded", passes), rate("checks_failed", fails))
	return checks
}
