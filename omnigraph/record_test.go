package omnigraph

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// stateServer answers what a recording asks for, and queries.
func stateServer(w http.ResponseWriter, r *http.Request, _ string) {
	switch {
	case r.URL.Path == "/healthz":
		_, _ = io.WriteString(w, `{"status":"ok","version":"0.8.0-emulator+spike","internal_schema_version":4}`)
	case strings.HasSuffix(r.URL.Path, "/snapshot"):
		_, _ = io.WriteString(w, `{"branch":"main","tables":[{"table_key":"node:Memory","table_version":3,"row_count":913}]}`)
	case strings.HasSuffix(r.URL.Path, "/commits"):
		_, _ = io.WriteString(w, `{"commits":[{"graph_commit_id":"a","manifest_version":1,"actor_id":null},{"graph_commit_id":"b","manifest_version":2,"actor_id":"x"},{"graph_commit_id":"c","manifest_version":3,"actor_id":"x"}]}`)
	default:
		_, _ = io.WriteString(w, threeRows)
	}
}

func TestARunIsRecordedWithItsStateDatasetAndScenarios(t *testing.T) {
	server := newStub(t, stateServer)
	dir := t.TempDir()
	store := filepath.Join(dir, "g[1].omni")
	for _, f := range []string{"nodes/a/data/1.lance", "nodes/a/data/2.lance", "edges/b/data/3.lance", "nodes/a/other"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(store, f)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(store, f), nil, 0o600))
	}
	t.Setenv("OMNIGRAPH_STORE", store)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"});
		const rec = record({name: "test", dir: %q, dataset: '{"builder":"council/1","seed":7,"rows":913,"sha256":"abc"}', run: {data: {rows: 913, skew: "none"}, workload: null}, system: {config: {cache_mb: 64}}, settings: {preset: "quick"}});
		record({name: "test", dir: %q})`, server.URL, dir, dir))
	assert.Contains(t, r.throws(`record({name: "other"})`), "one record")
	r.enter()
	assert.Equal(t, map[string]any{"rows": map[string]any{"node:Memory": 913.0}, "commits": 3.0, "commitsSinceOptimize": 2.0, "dataFiles": 3.0}, r.export(r.js(`rec.before(og)`)))
	r.js(readCode)
	r.js(`rec.event("optimize", "by hand", 12); rec.extra("own", {a: [1, NaN]}); rec.noiseFloor(0.02); rec.after(og)`)
	for code, want := range map[string]string{`rec.noiseFloor("x")`: "noiseFloor", `rec.noiseFloor(2)`: "got 2; it takes a share from 0 to 1", `rec.event("a", "b", -1)`: "took", `rec.event()`: "event: argument kind got undefined", `rec.event("")`: "takes a word", `rec.extra()`: "extra: argument section got undefined", `rec.before({})`: "client"} {
		assert.Contains(t, r.throws(code), want)
	}
	out := r.export(r.js(`report({metrics: {"iterations{scenario:default}": {type: "counter", contains: "default", values: {count: 1, rate: 1}}, omnigraph_ops: {type: "counter", contains: "default", values: {count: 8, rate: 1}, thresholds: {"count<1": {ok: false}}}}, options: {}, state: {}})`))
	text := out["stdout"].(string)
	assert.Contains(t, text, "omnigraph_ops")
	assert.Contains(t, text, "✗ count<1")
	assert.Contains(t, text, "emulator, cost model spike: a model's figures, not a measurement")

	rec, err := recorder.Read(filepath.Join(dir, recordFile))
	require.NoError(t, err)
	assert.Equal(t, "0.8.0-emulator+spike", rec.System.Server)
	assert.Equal(t, "spike", rec.Emulator.CostModel)
	assert.Equal(t, recorder.Dataset{Builder: "council/1", Seed: "7", SHA256: "abc", Parameters: map[string]string{"rows": "913"}}, rec.Dataset)
	assert.Equal(t, map[string]int64{"node:Memory": 913}, rec.StateBefore.Rows)
	assert.EqualValues(t, 2, *rec.StateAfter.CommitsSinceOptimize)
	assert.Equal(t, "optimize", rec.Events[0].Kind)
	assert.Equal(t, map[string]any{"a": []any{1.0, nil}}, rec.Extra["own"])
	assert.InDelta(t, 0.02, rec.Limits.NoiseFloor, 1e-9)
	assert.Equal(t, "913", rec.Run.Data["rows"], "a number is taken as its text")
	assert.Equal(t, "none", rec.Run.Data["skew"])
	assert.Equal(t, map[string]string{"cache_mb": "64"}, rec.System.Config)
	assert.FileExists(t, filepath.Join(dir, markdownFile))
	assert.FileExists(t, filepath.Join(dir, htmlFile))
	for _, secret := range []string{"Bearer"} {
		data, err := os.ReadFile(filepath.Join(dir, recordFile))
		require.NoError(t, err)
		assert.NotContains(t, string(data), secret)
	}
}

func TestReportTakesWhatHandleSummaryGetsAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.enter()
	for code, want := range map[string]string{
		`report()`: "data", `report({})`: "no metrics", `report({metrics: {}}, 7)`: "options", `report({metrics: {}}, {a: 1})`: "not known", `report({metrics: {}}, {metrics: 1})`: "true or false",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
	assert.NotEmpty(t, r.export(r.js(`report({metrics: {}})`))["stdout"])
}

func TestReportTakesTheMachineReadableSummaryAsWell(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.enter()
	text, _ := r.export(r.js(`report({version: "1.0.0", config: {duration: 2}, metadata: {}, results: {
		checks: {metrics: [{name: "checks_succeeded", type: "rate", contains: "default", values: {matches: 3, rate: 0.75, total: 4}}], results: []},
		metrics: [
			{name: "iteration_duration", type: "trend", contains: "time", values: {avg: 5.5, p90: 8}},
			{name: "http_req_failed", type: "rate", contains: "default", values: {fails: 40, passes: 0, rate: 0}},
			{name: "iterations", type: "counter", contains: "default", values: {count: 41, rate: 20}},
			{name: "iterations{scenario:s}", type: "counter", contains: "default", values: {count: 40, rate: 20}},
			{name: "dropped_iterations{scenario:s}", type: "counter", contains: "default", values: {count: 2, rate: 1}},
		]}})`))["stdout"].(string)
	for _, line := range []string{"checks_succeeded.................: 75.00%  3 out of 4", "avg=5.50ms p90=8.00ms", "0.00%  0 out of 40", "{ scenario:s }.................: 40  20/s"} {
		assert.Contains(t, text, line)
	}
	facts := r.root.recording.summary
	assert.EqualValues(t, 40, facts.iterations["s"])
	assert.EqualValues(t, 2, facts.dropped["s"])
	assert.Contains(t, r.throws(`report({results: {metrics: {}}})`), "no metrics")
}

func TestDataFilesAreThoseOfTheClientsOwnStore(t *testing.T) {
	server := newStub(t, stateServer)
	store := filepath.Join(t.TempDir(), "g.omni")
	require.NoError(t, os.MkdirAll(filepath.Join(store, "nodes/a/data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(store, "nodes/a/data/1.lance"), nil, 0o600))
	for name, tt := range map[string]struct {
		env, option string
		want        any
	}{
		"the store's server is not told":     {"", "", 1.0},
		"the store's server is the client's": {server.URL + "/", "", 1.0},
		"the store's server is another":      {"http://127.0.0.1:1", "", nil},
		"the graph is another":               {server.URL, `, graph: "other"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OMNIGRAPH_STORE", store)
			t.Setenv("OMNIGRAPH_URI", tt.env)
			t.Setenv("OMNIGRAPH_URL", "")
			t.Setenv("OMNIGRAPH_GRAPH", "council")
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"%s}); const rec = record({name: "test", dir: %q})`, server.URL, tt.option, t.TempDir()))
			r.enter()
			assert.Equal(t, tt.want, r.export(r.js(`rec.before(og)`))["dataFiles"])
		})
	}
}
