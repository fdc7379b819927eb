package gq_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

func TestParseRead(t *testing.T) {
	t.Parallel()
	f, err := gq.Parse(`
		// what it is for
		query find_it($s: String, $n: [I32]?) @description("d") {
			match {
				$m: Memory { slug: $s, importance: 3 }
				$m relatesTo {1,3} $r
				not { $r.title = "x" }
				$m.created_at >= datetime("2026-01-01T00:00:00Z")
			}
			return { $m.slug as s, count($r) as n }
			order { n desc, s }
			limit 5
		}`)
	require.NoError(t, err)
	require.Len(t, f.Queries, 1)
	q := f.Queries[0]
	require.Equal(t, "find_it", q.Name)
	require.Equal(t, "d", q.Description)
	require.False(t, q.Mutation())
	require.Equal(t, []gq.Param{
		{Name: "s", Type: schema.Type{Kind: schema.String}},
		{Name: "n", Type: schema.Type{Kind: schema.I32, List: true, Optional: true}},
	}, q.Params)
	require.Equal(t, &gq.Read{
		Match: []gq.Clause{
			&gq.Binding{Var: "m", Type: "Memory", Props: []gq.PropMatch{{Name: "slug", Value: gq.Var{Name: "s"}}, {Name: "importance", Value: gq.Literal{Value: int64(3)}}}},
			&gq.Traversal{Source: "m", Edge: "relatesTo", Min: 1, Max: 3, Target: "r"},
			&gq.Not{Clauses: []gq.Clause{&gq.Filter{Left: gq.Prop{Var: "r", Name: "title"}, Op: "=", Right: gq.Literal{Value: "x"}}}},
			&gq.Filter{Left: gq.Prop{Var: "m", Name: "created_at"}, Op: ">=", Right: gq.Temporal{Kind: schema.DateTime, Text: "2026-01-01T00:00:00Z"}},
		},
		Return: []gq.Projection{{Expr: gq.Prop{Var: "m", Name: "slug"}, Alias: "s"}, {Expr: gq.Aggregate{Func: "count", Arg: gq.Var{Name: "r"}}, Alias: "n"}},
		Order:  []gq.Ordering{{Expr: gq.Alias{Name: "n"}, Desc: true}, {Expr: gq.Alias{Name: "s"}}},
		Limit:  5,
	}, q.Read)
}

func TestParseMutation(t *testing.T) {
	t.Parallel()
	f, err := gq.Parse(`query w() { insert T { a: "x" b: now(), } update T set { a: [1, 2] } where b != 1.5 delete T where c = true }`)
	require.NoError(t, err)
	require.True(t, f.Queries[0].Mutation())
	require.Equal(t, []gq.Statement{
		&gq.Insert{Type: "T", Props: []gq.PropMatch{{Name: "a", Value: gq.Literal{Value: "x"}}, {Name: "b", Value: gq.Now{}}}},
		&gq.Update{Type: "T", Set: []gq.PropMatch{{Name: "a", Value: gq.List{Items: []gq.Expr{gq.Literal{Value: int64(1)}, gq.Literal{Value: int64(2)}}}}}, Where: gq.Where{Prop: "b", Op: "!=", Value: gq.Literal{Value: 1.5}}},
		&gq.Delete{Type: "T", Where: gq.Where{Prop: "c", Op: "=", Value: gq.Literal{Value: true}}},
	}, f.Queries[0].Statements)
}

func TestMistakesPointAtTheirPlace(t *testing.T) {
	t.Parallel()
	_, err := gq.Parse("query q() {\n  match { $é }\n}")
	require.EqualError(t, err, "parse error:  --> 2:11\n  |\n2 |   match { $é }\n  |           ^---\n  |\n  = expected clause")
	_, err = gq.Parse(strings.Repeat("\n", 11) + "query")
	require.EqualError(t, err, "parse error:   --> 12:6\n   |\n12 | query\n   |      ^---\n   |\n   = expected ident")
}

func TestWhatTheEmulatorLacksIsNamed(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`query q() { match { $m: M } return { bm25($m.a, "x") } }`:                                                         "the emulator lacks bm25()",
		`query q() { match { $m: M nearest($m.v, $p) > 1 } return { $m.a } }`:                                              "the emulator lacks nearest()",
		`query q() { match { ` + strings.Repeat("not { ", 100) + `$m: M` + strings.Repeat("}", 101) + ` return { 1 } }`:    "the emulator lacks negations nested this deeply",
		`query q() { insert M { a: ` + strings.Repeat("[", 100) + `1` + strings.Repeat("]", 100) + ` } }`:                  "the emulator lacks lists nested this deeply",
		`query q() { match { $m: M } return { ` + strings.Repeat("count(", 100) + `$m` + strings.Repeat(")", 100) + ` } }`: "the emulator lacks expressions nested this deeply",
	} {
		_, err := gq.Parse(source)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "parse error: ")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`query q($s: String?) @description("d") { match { $m: M { a: $s } $m e {1,2} $n not { $n.x contains 1 } } return { $m.a as b, max($n.c) } order { b desc } limit 1 }`)
	f.Add(`query w() { insert T { a: date("2026-01-01"), b: [true] } update T set { c: -1 } where d >= 1 delete T where e = $x }`)
	f.Add("query q() { match { /* open")
	f.Fuzz(func(t *testing.T, source string) {
		file, err := gq.Parse(source)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "parse error: ") {
				t.Fatalf("a mistake in other words: %v", err)
			}
			return
		}
		for _, q := range file.Queries {
			if (q.Read == nil) != (len(q.Statements) > 0) {
				t.Fatalf("%s is neither a read nor a mutation", q.Name)
			}
		}
	})
}
