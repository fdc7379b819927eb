package report

import (
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

func TestAPlanTakesNoThroughputFromOperationsThatTookTurns(t *testing.T) {
	t.Parallel()
	p95, ops := 6.0, 28.0
	cell := func(scenario, variant, query string) recorder.CellRecord {
		return recorder.CellRecord{Scenario: scenario, Variant: variant, Transport: "http", Op: "query", Query: query, N: 200, P95: &p95, OpsPerS: &ops}
	}
	for name, c := range map[string]struct {
		cells []recorder.CellRecord
		known bool
	}{
		"alone":  {[]recorder.CellRecord{cell("a", "", "q")}, true},
		"paired": {[]recorder.CellRecord{cell("a", "http", "q")}, false},
		"mixed":  {[]recorder.CellRecord{cell("a", "", "q"), cell("a", "", "r")}, false},
		"both":   {[]recorder.CellRecord{cell("a", "http", "q"), cell("b", "", "q")}, true},
	} {
		rec := &recorder.Record{Cells: c.cells}
		read := bestRead([]*recorder.Record{rec}, PlanOptions{Rate: 200, SLOP95MS: 50, Query: "q"})
		item := instances([]*recorder.Record{rec}, read, PlanOptions{Rate: 200, SLOP95MS: 50, Query: "q"})
		if (item.Value != nil) != c.known {
			t.Errorf("%s: %+v", name, item)
		}
		if !c.known && !strings.Contains(item.Basis, "capacity.js") {
			t.Errorf("%s: %q does not say what to do", name, item.Basis)
		}
	}
}
