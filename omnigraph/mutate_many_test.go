package omnigraph

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

const insertProject = `query add($slug: String, $name: String) { insert Project { slug: $slug, name: $name } }`

// counting answers each mutation with the number of rows in it, and fails from the request given on.
func counting(failFrom int) func(http.ResponseWriter, *http.Request, string) {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request, body string) {
		n++
		if n >= failFrom {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":"stale view of 'node:Project'","code":"conflict","manifest_conflict":{}}`)
			return
		}
		rows := len(gjson.Get(body, "params").Map()) / 2
		_, _ = fmt.Fprintf(w, `{"branch":"main","query_name":"add","affected_nodes":%d,"affected_edges":0,"actor_id":"a"}`, rows)
	}
}

func TestMutateManySplitsAndCountsItsCommits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, options       string
		failFrom            int
		commits, acked, ops int
	}{
		{"ok/one commit", `{}`, 100, 1, 10, 1},
		{"ok/by rows", `{maxRows: 4}`, 100, 3, 10, 3},
		{"ok/by bytes", `{maxBytes: 1024}`, 100, 2, 10, 2},
		{"err/stops at the first failure", `{maxRows: 4}`, 2, 1, 4, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, counting(c.failFrom))
			r := newRuntime(t)
			r.js(fmt.Sprintf("const og = connect(%q, {graph: \"council\"}); const rows = []; for (let i = 0; i < 10; i++) { rows.push({slug: \"k\" + i, name: \"n\"}) }", server.URL))
			r.enter()
			for _, call := range []string{"og.mutateMany", "await og.asyncMutateMany"} {
				r.js(fmt.Sprintf("var res; (async () => { res = %s(`%s`, rows, %s) })()", call, insertProject, c.options))
				res := r.export(r.js(`res`))
				assert.EqualValues(t, c.commits, res["commits"], call)
				assert.EqualValues(t, c.acked, res["acknowledged"])
				assert.EqualValues(t, c.acked, res["affectedNodes"])
				assert.Equal(t, c.failFrom == 100, res["ok"])
				assert.Len(t, res["results"], c.ops)
				if c.failFrom != 100 {
					assert.Equal(t, "conflict_stale", res["error"].(map[string]any)["kind"])
				}
				assert.Len(t, of(r.taken(), "omnigraph_ops", "op", "mutate", "query", "add"), c.ops)
				if c.failFrom != 100 {
					break // the stub fails from here on
				}
			}
		})
	}
}

func TestMutateManyRefusesWhatItCantSplit(t *testing.T) {
	t.Parallel()
	server := newStub(t, counting(100))
	r := newRuntime(t)
	r.js(fmt.Sprintf("const og = connect(%q, {graph: \"council\"}); const add = `%s`", server.URL, insertProject))
	r.enter()
	for code, want := range map[string]string{
		`og.mutateMany()`:                                        "gq",
		`og.mutateMany(add)`:                                     "rows",
		`og.mutateMany(add, [1])`:                                "row 0",
		`og.mutateMany(add, [{slug: "a"}])`:                      "name",
		`og.mutateMany(add, [{slug: "a", name: "b", x: 1}])`:     "x",
		`og.mutateMany("query a() { insert T { a: 1 } }", [{}])`: "no parameters",
		`og.mutateMany(add, [], {maxRows: 0})`:                   "maxRows",
		`og.mutateMany(add, [], {ifCommit: "a"})`:                "ifCommit",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
	assert.Empty(t, server.asked())
	res := r.export(r.js(`og.mutateMany(add, [])`))
	assert.Equal(t, true, res["ok"])
	require.EqualValues(t, 0, res["commits"])
}
