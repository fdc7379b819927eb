package summary

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/metrics"
)

// object decodes JSON and follows keys.
func object(t *testing.T, data []byte, keys ...string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	for _, key := range keys {
		m, ok := v.(map[string]any)
		require.True(t, ok, key)
		require.Contains(t, m, key)
		v = m[key]
	}
	return v
}

func TestDataForHandleSummary(t *testing.T) {
	t.Parallel()
	s := sampleRun(t).summary(ModeCompact)
	s.SetupData = []byte(`{"a":1}`)
	s.IsStdOutTTY = true
	data, err := s.Data()
	require.NoError(t, err)

	assert.Equal(t, map[string]any{"a": 1.0}, object(t, data, "setup_data"))
	assert.Equal(t, map[string]any{
		"summaryTrendStats": []any{"avg", "min", "med", "max", "p(90)", "p(95)"}, "summaryTimeUnit": "", "noColor": true,
	}, object(t, data, "options"))
	assert.Equal(t, map[string]any{
		"isStdOutTTY": true, "isStdErrTTY": false, "testRunDurationMs": 144.056,
	}, object(t, data, "state"))

	root, ok := object(t, data, "root_group").(map[string]any)
	require.True(t, ok)
	checks, ok := root["checks"].([]any)
	require.True(t, ok)
	assert.Len(t, checks, 2)
	assert.Equal(t, map[string]any{
		"name": "never", "path": "::never", "id": "37e11a830f2688f1da7507cfd24c82a4", "passes": 0.0, "fails": 4.0,
	}, checks[1])
	outer, ok := root["groups"].([]any)[0].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "::outer", outer["path"])
	assert.Empty(t, outer["checks"])

	assert.Equal(t, map[string]any{
		"type": "gauge", "contains": "default", "values": map[string]any{"value": 7.0, "min": 7.0, "max": 7.0},
	}, object(t, data, "metrics", "my_gauge"))
	assert.Equal(t, map[string]any{"rate": 0.5, "passes": 4.0, "fails": 4.0}, object(t, data, "metrics", "http_req_failed", "values"))
	assert.Equal(t, map[string]any{
		"p(95)<500": map[string]any{"ok": true}, "avg<1": map[string]any{"ok": false},
	}, object(t, data, "metrics", "http_req_duration", "thresholds"))
	assert.Equal(t, map[string]any{"max<1000": map[string]any{"ok": true}},
		object(t, data, "metrics", "http_req_duration{expected_response:true}", "thresholds"))
	assert.NotContains(t, object(t, data, "metrics"), "vus", "it has no sample")
	assert.Contains(t, object(t, data, "metrics"), "group_duration")
}

func TestExport(t *testing.T) {
	t.Parallel()
	data, err := sampleRun(t).summary(ModeCompact).Export()
	require.NoError(t, err)
	assert.Len(t, object(t, data), 2, "no setup data")
	assert.Equal(t, map[string]any{"value": 0.5, "passes": 4.0, "fails": 4.0}, object(t, data, "metrics", "http_req_failed"))
	assert.Equal(t, map[string]any{"p(95)<500": false, "avg<1": true}, object(t, data, "metrics", "http_req_duration", "thresholds"))
	assert.EqualValues(t, 3, object(t, data, "root_group", "groups", "outer", "groups", "inner", "checks", "mostly", "passes"))
	assert.EqualValues(t, 8, object(t, data, "metrics", "my_count", "count"))
	assert.NotContains(t, object(t, data, "metrics", "my_count"), "thresholds")
}

func TestMachineReadable(t *testing.T) {
	t.Parallel()
	s := sampleRun(t).summary(ModeCompact)
	s.Execution, s.Script, s.K6Version, s.FinishedAt = "local", "export default () => {}", "2.2.0", time.Unix(1, 0).UTC()
	data, err := s.MachineReadable()
	require.NoError(t, err)
	assert.Equal(t, "1.0.0", object(t, data, "version"))
	assert.Equal(t, map[string]any{
		"duration": 0.144056, "execution": "local", "script": "export default () => {}",
	}, object(t, data, "config"))
	assert.Equal(t, map[string]any{
		"generated_at": "1970-01-01T00:00:01Z", "k6_version": "2.2.0",
	}, object(t, data, "metadata"))
	list, ok := object(t, data, "results", "metrics").([]any)
	require.True(t, ok)
	first, ok := list[2].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "http_req_duration", first["name"])
	assert.Contains(t, first["values"], "p95")
	results, ok := object(t, data, "results", "checks", "results").([]any)
	require.True(t, ok)
	assert.Len(t, results, 3)
	totals, ok := object(t, data, "results", "checks", "metrics").([]any)
	require.True(t, ok)
	assert.Len(t, totals, 3)
}

func TestAnEmptyRun(t *testing.T) {
	t.Parallel()
	s := newRun(t).summary(ModeFull)
	text, err := s.Text()
	require.NoError(t, err)
	assert.NotContains(t, text, "RESULTS")
	data, err := s.Data()
	require.NoError(t, err)
	assert.Empty(t, object(t, data, "metrics"))
	s.Duration = 0
	_, err = s.MachineReadable()
	require.NoError(t, err)
	s.TrendStats = []string{"mode"}
	for _, write := range []func() ([]byte, error){s.Data, s.Export, s.MachineReadable} {
		_, err = write()
		require.ErrorContains(t, err, "'mode'")
	}
	_, err = s.Text()
	require.ErrorContains(t, err, "'mode'")
}

func TestValuesThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.add(r.registry.MustNewMetric("odd", metrics.Trend), math.Inf(1), nil)
	data, err := r.summary(ModeCompact).Data()
	require.NoError(t, err)
	assert.EqualValues(t, 0, object(t, data, "metrics", "odd", "values", "max"))
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Mode{"": ModeCompact, "compact": ModeCompact, "full": ModeFull, "disabled": ModeDisabled} {
		got, err := ParseMode(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, name := range []string{"legacy", "brief"} {
		_, err := ParseMode(name)
		require.ErrorContains(t, err, "invalid summary mode")
	}
}

func TestHumanize(t *testing.T) {
	t.Parallel()
	auto := humanize{}
	for ms, want := range map[float64]string{
		0: "0s", 0.000123: "123ns", 0.0005: "500ns", 0.0123: "12.3µs", 0.999: "999µs", 1: "1ms", 12.5: "12.5ms",
		45.759: "45.75ms", 999.999: "999.99ms", 1250: "1.25s", 59_999: "59.99s", 60_000: "1m0s", 90_500: "1m30s",
		3_600_000: "1h0m0s", 7_384_000: "2h3m4s", -12.5: "-12.5ms", 0.29: "290µs", 8.2: "8.2ms", 1e20: "100000000000000000s",
	} {
		assert.Equal(t, want, auto.time(ms), ms)
	}
	assert.Equal(t, "1.25s", humanize{unit: "s"}.time(1250))
	assert.Equal(t, "1250.00ms", humanize{unit: "ms"}.time(1250))
	assert.Equal(t, "4000000.00µs", humanize{unit: "us"}.time(4000))
	for v, want := range map[float64]string{
		0: "0 B", 5: "5 B", 5.25: "5.2 B", 716: "716 B", 716.4: "716 B", 1800: "1.8 kB", 5000: "5.0 kB", 12_800: "13 kB",
		3.45e6: "3.5 MB", 2e9: "2.0 GB", 5e18: "5.0 EB", 5e21: "5000 EB", -1800: "-1.8 kB",
	} {
		assert.Equal(t, want, dataSize(v), v)
	}
	for v, want := range map[float64]string{8: "8", 83.300266: "83.300266", 3.9969999999: "3.997", -0.0000001: "0", 1e15: "1000000000000000", 100: "100"} {
		assert.Equal(t, want, number(v), v)
	}
	for v, want := range map[float64]string{2. / 3: "66.66%", 0.5: "50.00%", 1: "100.00%", 0: "0.00%", 0.99999: "99.99%", 0.29: "29.00%"} {
		assert.Equal(t, want, percent(v), v)
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]family{
		"http_reqs": familyHTTP, "http_req_waiting": familyHTTP, "http_req_mine": familyCustom, "vus_max": familyExecution,
		"dropped_iterations": familyExecution, "data_sent": familyNetwork, "browser_data_sent": familyBrowser,
		"browser_web_vital_lcp": familyWebVitals, "grpc_req_duration": familyGRPC, "ws_ping": familyWebSocket, "mine": familyCustom,
	} {
		assert.Equal(t, want, familyOf(name), name)
	}
	assert.True(t, isHidden("checks"))
	assert.True(t, isHidden("group_duration"))
	assert.False(t, isHidden("iterations"))
}
