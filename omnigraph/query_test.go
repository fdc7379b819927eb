package omnigraph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueryReturnsRowsAndEmitsEverySampleOnce(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(`const og = connect("` + server.URL + `", {graph: "council", token: "secret-token"})`)
	r.enter()
	v := r.js(`og.query("query q($s: String) { match { $m: Memory { slug: $s } } return { $m.slug, $m.importance } }", {s: "mem-0001"})`)
	res := r.export(v)
	assert.Equal(t, true, res["ok"])
	assert.Equal(t, "http", res["transport"])
	assert.Equal(t, "query", res["op"])
	assert.EqualValues(t, 3, res["rowCount"])
	assert.Equal(t, []any{"m.slug", "m.importance"}, res["columns"])
	assert.Equal(t, map[string]any{"m.slug": "mem-0001", "m.importance": 1.0}, res["rows"].([]any)[0])
	assert.Nil(t, res["error"])
	assert.EqualValues(t, 200, res["status"])
	assert.Nil(t, res["exitCode"])

	asked := server.asked()
	require.Len(t, asked, 1)
	assert.Equal(t, "POST", asked[0].Method)
	assert.Equal(t, "/graphs/council/query", asked[0].Path)
	assert.Equal(t, "Bearer secret-token", asked[0].Header.Get("Authorization"))
	assert.Equal(t, "application/json", asked[0].Header.Get("Content-Type"))
	assert.Equal(t, "k6-test", asked[0].Header.Get("User-Agent"))
	assert.JSONEq(t, `{"query":"query q($s: String) { match { $m: Memory { slug: $s } } return { $m.slug, $m.importance } }","params":{"s":"mem-0001"}}`, asked[0].Body)

	samples := r.taken()
	for metric, n := range map[string]int{
		"http_reqs": 1, "http_req_duration": 1, "http_req_failed": 1, "omnigraph_op_duration": 1,
		"omnigraph_attempt_duration": 1, "omnigraph_ops": 1, "omnigraph_op_failed": 1, "omnigraph_rows": 1,
		"omnigraph_conn_reused": 1, "omnigraph_errors": 0, "omnigraph_retries": 0, "omnigraph_queued": 0,
	} {
		assert.Len(t, of(samples, metric), n, metric)
	}
	assert.Len(t, of(samples, "omnigraph_op_duration", "transport", "http", "op", "query", "query", "q", "graph", "council", "ok", "true", "scenario", "default"), 1)
	assert.Equal(t, 3.0, of(samples, "omnigraph_rows")[0].Value)
	assert.Len(t, of(samples, "http_reqs", "name", "q", "status", "200", "method", "POST"), 1)
}
