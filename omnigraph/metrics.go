package omnigraph

import (
	"fmt"

	"go.k6.io/k6/v2/metrics"
)

// metricSpec describes one of the extension's metrics; the table below is what code, documentation and dashboards
// share.
type metricSpec struct {
	Name     string
	Type     metrics.MetricType
	Contains metrics.ValueType
	Meaning  string
}

// The extension's metrics.
var metricTable = []metricSpec{
	{"omnigraph_op_duration", metrics.Trend, metrics.Time, "one operation as the caller waits for it, retries and queueing included"},
	{"omnigraph_attempt_duration", metrics.Trend, metrics.Time, "one attempt, without waiting on the generator's side"},
	{"omnigraph_ops", metrics.Counter, metrics.Default, "operations"},
	{"omnigraph_op_failed", metrics.Rate, metrics.Default, "operations that failed"},
	{"omnigraph_errors", metrics.Counter, metrics.Default, "failed attempts, and operations refused before there was one, by error_kind"},
	{"omnigraph_retries", metrics.Counter, metrics.Default, "attempts after the first"},
	{"omnigraph_rows", metrics.Counter, metrics.Default, "rows returned"},
	{"omnigraph_affected", metrics.Counter, metrics.Default, "entities written, by entity (node, edge)"},
	{"omnigraph_conn_reused", metrics.Rate, metrics.Default, "HTTP attempts on a kept connection"},
	{"omnigraph_cli_spawn", metrics.Trend, metrics.Time, "fork and exec until the process runs"},
	{"omnigraph_queued", metrics.Trend, metrics.Time, "waiting on the generator's side: process slot, shared pool, k6's rps limit; a sample for each attempt that waited, none for others"},
	{"omnigraph_cli_cpu", metrics.Trend, metrics.Time, "user and system time of the process"},
	{"omnigraph_cli_max_rss", metrics.Trend, metrics.Data, "the process's peak resident memory"},
	{"omnigraph_pair_overhead", metrics.Trend, metrics.Time, "difference between two variants within one iteration, by pair"},
}

// extensionMetrics are the registered metrics, ready for the hot path.
type extensionMetrics struct {
	opDuration, attemptDuration, ops, opFailed, errors, retries, rows, affected *metrics.Metric
	connReused, cliSpawn, queued, cliCPU, cliMaxRSS, pairOverhead               *metrics.Metric
}

// registerMetrics registers all metrics. Every VU does: the registry returns what it has already.
func registerMetrics(registry *metrics.Registry) (*extensionMetrics, error) {
	m := &extensionMetrics{}
	targets := []**metrics.Metric{
		&m.opDuration, &m.attemptDuration, &m.ops, &m.opFailed, &m.errors, &m.retries, &m.rows, &m.affected,
		&m.connReused, &m.cliSpawn, &m.queued, &m.cliCPU, &m.cliMaxRSS, &m.pairOverhead,
	}
	for i, spec := range metricTable {
		metric, err := registry.NewMetric(spec.Name, spec.Type, spec.Contains)
		if err != nil {
			return nil, fmt.Errorf("metric %s can't be registered: %w", spec.Name, err)
		}
		*targets[i] = metric
	}
	return m, nil
}
