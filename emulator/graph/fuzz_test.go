package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// FuzzQuery runs whatever parses, against rows: nothing may crash, and what comes out is JSON.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		`query q($s: String?) { match { $m: Memory { slug: $s } $m relatesTo {1,3} $r not { $r belongsTo $_ } } return { $m.slug as a, count($r) as n } order { n desc, a } limit 3 }`,
		`query q() { match { $m: Memory $m.importance > 1 $m.created_at < datetime("2026-01-03T00:00:00Z") } return { $m, $m.title, 1.5, [1, 2], date("2026-01-01") } order { $m.slug } }`,
		`query q() { insert Memory { slug: "n", title: "t", body: "b", kind: "fact", project: "p", importance: 1, created_at: now() } insert RelatesTo { from: "n", to: "m1" } }`,
		`query q() { update Memory set { importance: 2 } where slug != "m1" update Project set { name: "x" } where slug = "pa" }`,
		`query q() { delete Memory where kind = "fact" delete BelongsTo where to = "pb" }`,
		`query a() { match { $x relatesTo $y $y: Memory } return { max($x.importance), min($y.slug) } } query b() { delete Memory where importance >= 0 }`,
		`query q($m: String, $l: [I32]) { match { $m: Memory $m: Memory } return { $m.slug, $l } }`,
	} {
		f.Add(s, `{"s":"m1","l":[1]}`)
	}
	f.Fuzz(func(t *testing.T, source, p string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		g := seeded(t, graph.Options{})
		v, err := jsondoc.Parse(p)
		if err != nil {
			v = jsondoc.Value{Kind: jsondoc.Object}
		}
		for _, name := range []string{"", "q"} {
			q, err := g.Parse(source, name)
			if err != nil {
				needWords(t, err)
				continue
			}
			if q.Mutation() {
				_, err = g.Mutate(ctx, q, &v, graph.Write{})
			} else {
				var res *graph.Result
				if res, err = g.Query(ctx, q, &v, graph.Target{Branch: graph.MainBranch}); err == nil && !json.Valid(res.Rows) {
					t.Fatalf("rows are no JSON: %s", res.Rows)
				}
			}
			if err != nil {
				needWords(t, err)
			}
		}
		var b strings.Builder
		if err := g.Export(&b, graph.MainBranch, nil, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func needWords(t *testing.T, err error) {
	t.Helper()
	var e *graph.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
	case !errors.As(err, &e):
		t.Fatalf("an error without an answer: %v", err)
	case e.Status < 400 || e.Message == "":
		t.Fatalf("an answer without words: %+v", e)
	}
}

// FuzzLoad loads whatever comes; what it took must come out again and load anew.
func FuzzLoad(f *testing.F) {
	f.Add(everyKind)
	f.Add(`{"type":"Project","data":{"slug":"\u0000","name":""}}`)
	f.Add(`{"edge":"RelatesTo","from":"m1","to":"m2","data":{"weight":1e300}}`)
	f.Fuzz(func(t *testing.T, data string) {
		g := seeded(t, graph.Options{})
		for _, mode := range graph.LoadModes {
			if _, err := g.Load(t.Context(), data, mode, nil, graph.Write{}); err != nil {
				needWords(t, err)
			}
		}
		var b strings.Builder
		if err := g.Export(&b, graph.MainBranch, []string{"Memory", "Project"}, nil); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("exported what is no JSON: %q", line)
			}
		}
	})
}

// FuzzLog opens whatever stands in a log: an error or a graph, but no crash and no endless memory.
func FuzzLog(f *testing.F) {
	dir := newStore(f)
	g, err := graph.Open(dir, graph.Options{})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := g.Load(f.Context(), everyKind, graph.Merge, nil, graph.Write{}); err != nil {
		f.Fatal(err)
	}
	if err := g.Close(); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "emulator.log"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-3])
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{"_schema.pg": []byte(councilSchema), "emulator.log": text} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g, err := graph.Open(dir, graph.Options{})
		if err != nil {
			return
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
