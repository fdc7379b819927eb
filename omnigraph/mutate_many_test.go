package omnigraph

import (
	"fmt"
	"io"
	"net/http"
	"strings"
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
		`og.mutateMany()`:         "gq",
		`og.mutateMany(add)`:      "rows",
		`og.mutateMany(add, [1])`: "row 0",
		`og.mutateMany("query a() { insert T { a: 1 } }", [{}])`: "no parameters",
		`og.mutateMany(add, [], {maxRows: 0})`:                   "maxRows",
		`og.mutateMany(add, [], {ifCommit: "a"})`:                "ifCommit",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
	for code, want := range map[string]string{
		`og.mutateMany(add, [{slug: "a", name: "a"}, {slug: "a"}])`: "row 1: ",
		`og.mutateMany(add, [{slug: "a", name: "b", x: 1}])`:        "does not declare x",
		`og.mutateMany(add, [{slug: "a", name: 1}])`:                "name of query add takes String",
		`og.mutateMany(add, [{slug: "a", name: "\ud800"}])`:         "row 0 holds a lone surrogate",
	} {
		res := r.export(r.js(code))
		require.Equal(t, false, res["ok"], code)
		problem := res["error"].(map[string]any)
		assert.Equal(t, "bad_request", problem["kind"], code)
		assert.Contains(t, problem["message"], want, code)
		assert.EqualValues(t, 0, res["commits"], code)
	}
	assert.Contains(t, r.throws(`og.mutateMany(add, [{slug: "a"}], {throw: true})`), "row 0: ")
	assert.Empty(t, server.asked())
	r.taken()
	res := r.export(r.js(`og.mutateMany(add, [])`))
	assert.Equal(t, true, res["ok"])
	require.EqualValues(t, 0, res["commits"])
}

// limited refuses mutations of more than most rows, as servers from 0.9 refuse more than 8,192.
func limited(most int) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, body string) {
		rows := len(gjson.Get(body, "params").Map()) / 2
		if rows > most {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = fmt.Fprintf(w, `{"error":"keyed write exceeds the limit of %d rows","resource_limit":{"resource":"rows","limit":%d,"actual":%d}}`, most, most, rows)
			return
		}
		_, _ = fmt.Fprintf(w, `{"branch":"main","query_name":"add","affected_nodes":%d,"affected_edges":0,"actor_id":"a"}`, rows)
	}
}

func TestMutateManySplitsWhereTheServerSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, options              string
		most, rows                 int
		commits, refused, requests int
		ok                         bool
	}{
		{"one batch in quarters", `{}`, 3, 10, 4, 2, 6, true}, // 10 → 5+5 → (3+2)+(3+2), the second five split unasked
		{"later batches learn", `{maxRows: 4}`, 2, 12, 6, 1, 7, true},
		{"fits", `{maxRows: 4}`, 4, 12, 3, 0, 3, true},
		{"not even one row", `{}`, 0, 4, 0, 3, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, limited(c.most))
			r := newRuntime(t)
			r.js(fmt.Sprintf("const og = connect(%q, {graph: \"council\"}); const rows = []; for (let i = 0; i < %d; i++) { rows.push({slug: \"k\" + i, name: \"n\"}) }", server.URL, c.rows))
			r.enter()
			res := r.export(r.js(fmt.Sprintf("og.mutateMany(`%s`, rows, %s)", insertProject, c.options)))
			samples := r.taken()
			assert.Equal(t, c.ok, res["ok"], res["error"])
			assert.EqualValues(t, c.commits, res["commits"])
			assert.Len(t, of(samples, "omnigraph_errors", "error_kind", "resource_limit"), c.refused)
			assert.Len(t, server.asked(), c.requests)
			if !c.ok {
				assert.Equal(t, "resource_limit", res["error"].(map[string]any)["kind"])
				assert.EqualValues(t, 0, res["acknowledged"])
				return
			}
			assert.EqualValues(t, c.rows, res["acknowledged"])
			assert.EqualValues(t, c.rows, res["affectedNodes"])
			assert.Len(t, res["results"], c.commits)
			slugs := map[string]int{}
			for _, a := range server.asked() {
				params := gjson.Get(a.Body, "params").Map()
				if len(params)/2 > c.most {
					continue
				}
				for name, value := range params {
					if strings.HasPrefix(name, "slug_") {
						slugs[value.String()]++
					}
				}
			}
			assert.Len(t, slugs, c.rows)
			for slug, n := range slugs {
				assert.Equal(t, 1, n, slug)
			}
		})
	}
}

func TestMutateManyThatThrowsSaysWhatWasWritten(t *testing.T) {
	t.Parallel()
	server := newStub(t, counting(2))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", throw: true});
		const add = "query add($slug: String) { insert Project { slug: $slug } }"; let caught`, server.URL))
	r.enter()
	for _, c := range []struct{ call, want string }{
		{`try { og.mutateMany(add, [{slug: "a"}, {slug: "b"}, {slug: "c"}, {slug: "d"}], {maxRows: 1}) } catch (e) { caught = e }`, "OmnigraphError conflict_stale: false 1 1 2"},
		{`og.asyncMutateMany(add, [{slug: "a"}, {slug: "b"}], {maxRows: 1}).catch((e) => { caught = e })`, "OmnigraphError conflict_stale: false 0 0 1"}, // the server writes no more
	} {
		r.js(`caught = undefined`)
		r.js(c.call)
		assert.Equal(t, c.want, r.js(`((r) => caught.name + " " + caught.kind + ": " + [r.ok, r.commits, r.acknowledged, r.results.length].join(" "))(caught.result)`).String())
	}
}
