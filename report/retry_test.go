package report

import (
	"testing"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

func TestRetriesShowTheirAmplification(t *testing.T) {
	t.Parallel()
	cell := recorder.CellRecord{Scenario: "w", Transport: "http", Op: "mutate", Query: "add", N: 8, Failed: 2, Attempts: 15, Retries: 5}
	rec := &recorder.Record{Cells: []recorder.CellRecord{cell}}
	table := retryTable(groupsOf(rec))
	if len(table.Rows) != 1 || table.Rows[0][4] != "1.50" {
		t.Fatalf("%v", table.Rows)
	}
	cell.Retries, cell.Attempts = 0, 10
	rec.Cells[0] = cell
	if rows := retryTable(groupsOf(rec)).Rows; len(rows) != 0 {
		t.Fatalf("without a retry there is nothing to show: %v", rows)
	}
}
