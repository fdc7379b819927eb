package summary

import (
	"encoding/json"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

type exportDocument struct {
	RootGroup *lib.Group                `json:"root_group"`
	Metrics   map[string]map[string]any `json:"metrics"`
	SetupData json.RawMessage           `json:"setup_data,omitempty"`
}

// Export returns the JSON that --summary-export writes. In it a threshold's value is true if it was crossed.
func (s *Summary) Export() ([]byte, error) {
	columns, err := s.resolvers()
	if err != nil {
		return nil, err
	}
	document := exportDocument{RootGroup: s.Root, Metrics: make(map[string]map[string]any), SetupData: s.SetupData}
	for _, m := range s.observed() {
		entry := make(map[string]any)
		for name, value := range values(m.Sink, columns, s.Duration) {
			if m.Type == metrics.Rate && name == "rate" {
				name = "value"
			}
			entry[name] = value
		}
		crossed := make(map[string]bool)
		for _, t := range m.Thresholds.Thresholds {
			crossed[t.Source] = t.LastFailed
		}
		if len(crossed) > 0 {
			entry["thresholds"] = crossed
		}
		document.Metrics[m.Name] = entry
	}
	return encode(document, "    ")
}
