package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedCatalog is a part of the real server's answer to GET /graphs/council/queries, with one entry added that uses
// the kinds which the rig's queries don't.
const recordedCatalog = `[
	{"name":"get_memory","tool_name":"get_memory","mutation":false,"params":[{"name":"slug","kind":"string","nullable":false}]},
	{"name":"touch","tool_name":"touch","mutation":true,"params":[{"name":"slug","kind":"string","nullable":false},{"name":"n","kind":"int","nullable":true}]},
	{"name":"kinds","tool_name":"kinds","mutation":false,"params":[
		{"name":"b","kind":"bool","nullable":true},{"name":"big","kind":"bigint","nullable":true},{"name":"f","kind":"float","nullable":true},
		{"name":"d","kind":"date","nullable":true},{"name":"t","kind":"datetime","nullable":true},{"name":"o","kind":"blob","nullable":true},
		{"name":"v","kind":"vector","vector_dim":3,"nullable":true},{"name":"l","kind":"list","item_kind":"int","nullable":true},{"name":"x","kind":"of the future","nullable":true}]}]`

func TestACatalogTellsWhatStoredQueriesTakeAndWhetherTheyWrite(t *testing.T) {
	t.Parallel()
	catalog := ParseCatalog(recordedCatalog)
	require.Len(t, catalog, 3)
	assert.Equal(t, StoredQuery{Header: QueryHeader{Name: "get_memory", Params: []Param{{Name: "slug", Type: "string"}}}}, catalog["get_memory"])
	assert.True(t, catalog["touch"].Mutation)
	for _, c := range []struct{ query, params, problem string }{
		{"get_memory", `{"slug":"a"}`, ""},
		{"get_memory", `{}`, "needs slug of type string"},
		{"get_memory", `{"slug":7}`, "slug of query get_memory takes string, got 7"},
		{"get_memory", `{"slug":"a","extra":1}`, "does not declare extra"},
		{"touch", `{"slug":"a"}`, ""},
		{"touch", `{"slug":"a","n":null}`, ""},
		{"touch", `{"slug":"a","n":4294967295}`, ""},
		{"touch", `{"slug":"a","n":-2147483648}`, ""},
		{"touch", `{"slug":"a","n":"12"}`, ""},
		{"touch", `{"slug":"a","n":1.5}`, "n of query touch takes int"},
		{"touch", `{"slug":"a","n":4294967296}`, "takes int"},
		{"kinds", `{"b":true,"big":"9007199254740993","f":1.5,"d":"2026-01-01","t":"2026-01-01T00:00:00Z","o":"s3://a/b","v":[1,2,3],"l":[1,2],"x":{}}`, ""},
		{"kinds", `{"b":1}`, "takes bool"},
		{"kinds", `{"big":"18446744073709551615"}`, ""},
		{"kinds", `{"big":1.5}`, "takes bigint"},
		{"kinds", `{"f":"many"}`, "takes float"},
		{"kinds", `{"d":1}`, "takes date"},
		{"kinds", `{"t":1}`, "takes datetime"},
		{"kinds", `{"o":1}`, "takes blob"},
		{"kinds", `{"l":["a"]}`, "takes [int]"},
		{"kinds", `{"l":1}`, "takes [int]"},
	} {
		q := catalog[c.query]
		problem := CheckParams(&q.Header, []byte(c.params))
		if c.problem == "" {
			assert.Nil(t, problem, c.params)
			continue
		}
		require.NotNil(t, problem, c.params)
		assert.Equal(t, KindBadRequest, problem.Kind)
		assert.Contains(t, problem.Message, c.problem)
	}
}

func FuzzParseCatalog(f *testing.F) {
	for _, seed := range []string{recordedCatalog, ``, `[]`, `[{}]`, `{"a":1}`, `[{"name":"a","mutation":true,"params":[1,{"kind":"list"}]}]`, `[[`} {
		f.Add(seed, `{"slug":"a"}`)
	}
	f.Fuzz(func(t *testing.T, rows, params string) {
		for name, q := range ParseCatalog(rows) {
			if name == "" || name != q.Header.Name {
				t.Fatalf("entry %q is of query %q", name, q.Header.Name)
			}
			if p := CheckParams(&q.Header, []byte(params)); p != nil && p.Kind != KindBadRequest {
				t.Fatalf("kind %s", p.Kind)
			}
		}
	})
}
