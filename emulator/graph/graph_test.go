package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

const everyKind = `{"type":"Project","data":{"slug":"pa","name":"A"}}
{"type":"Project","data":{"slug":"pb","name":"B"}}
{"type":"Memory","data":{"slug":"m1","title":"one","body":"b","kind":"fact","project":"pa","importance":1,"created_at":"2026-01-01T00:00:00Z"}}
{"type":"Memory","data":{"slug":"m2","title":"two","body":"b","kind":"task","project":"pa","importance":2,"created_at":"2026-01-02T00:00:00Z"}}
{"type":"Memory","data":{"slug":"m3","title":"three \"quoted\" \u00e9\n","body":"b","kind":"note","project":"pb","importance":3,"created_at":"2026-01-03T00:00:00Z"}}
{"edge":"RelatesTo","from":"m1","to":"m2","data":{"weight":0.5}}
{"edge":"RelatesTo","from":"m2","to":"m3","data":{}}
{"edge":"BelongsTo","from":"m1","to":"pa","data":{}}
{"edge":"BelongsTo","from":"m3","to":"pb","data":{}}
`

func params(text string) graph.Params {
	if text == "" {
		return nil
	}
	v, err := jsondoc.Parse(text)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return &v
}

func query(g *graph.Graph, source, p string, t graph.Target) (*graph.Result, error) {
	q, err := g.Parse(source, "")
	if err != nil {
		return nil, err
	}
	return g.Query(context.Background(), q, params(p), t)
}

func rows(t testing.TB, g *graph.Graph, match, ret string) []map[string]any {
	t.Helper()
	return rowsAt(t, g, match, ret, graph.Target{Branch: graph.MainBranch})
}

func rowsAt(t testing.TB, g *graph.Graph, match, ret string, at graph.Target) []map[string]any {
	t.Helper()
	res, err := query(g, "query q() { match { "+match+" } return { "+ret+" } }", "", at)
	require.NoError(t, err)
	var list []map[string]any
	require.NoError(t, json.Unmarshal(res.Rows, &list), string(res.Rows))
	require.Len(t, list, res.RowCount)
	return list
}

func count(t testing.TB, g *graph.Graph, typ string) int {
	t.Helper()
	n, ok := rows(t, g, "$x: "+typ, "count($x) as n")[0]["n"].(float64)
	require.True(t, ok)
	return int(n)
}

func fragments(t testing.TB, g *graph.Graph, key string) int {
	t.Helper()
	s, err := g.Snapshot(graph.MainBranch)
	require.NoError(t, err)
	for _, table := range s.Tables {
		if table.Key == key {
			return table.Fragments
		}
	}
	t.Fatalf("no table %s", key)
	return 0
}

func mutate(t testing.TB, g *graph.Graph, statements string, w graph.Write) *graph.MutationResult {
	t.Helper()
	q, err := g.Parse("query w() { "+statements+" }", "")
	require.NoError(t, err)
	res, err := g.Mutate(t.Context(), q, nil, w)
	require.NoError(t, err)
	return res
}

func seeded(t testing.TB, opts graph.Options) *graph.Graph {
	t.Helper()
	g := council(t, opts)
	_, err := g.Load(t.Context(), everyKind, graph.Overwrite, nil, graph.Write{})
	require.NoError(t, err)
	return g
}

func TestASnapshotReadsThePast(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	commits, err := g.Commits(graph.MainBranch)
	require.NoError(t, err)
	past := commits[len(commits)-1].ID
	mutate(t, g, `update Memory set { title: "changed" } where slug = "m1"`, graph.Write{})
	mutate(t, g, `delete Memory where slug = "m2"`, graph.Write{})
	at := graph.Target{Snapshot: past}
	require.Equal(t, "one", rowsAt(t, g, `$m: Memory { slug: "m1" }`, "$m.title as t", at)[0]["t"])
	require.Len(t, rowsAt(t, g, `$m: Memory $m relatesTo $r`, "$r.slug", at), 2)
	require.Equal(t, "changed", rows(t, g, `$m: Memory { slug: "m1" }`, "$m.title as t")[0]["t"])
	require.Empty(t, rows(t, g, `$m: Memory $m relatesTo $r`, "$r.slug"))

	_, err = g.Cleanup(t.Context(), 1)
	require.NoError(t, err)
	_, err = query(g, "query q() { match { $m: Memory } return { $m.slug } }", "", at)
	require.ErrorContains(t, err, "cleaned up")
	require.Equal(t, 2, count(t, g, "Memory"))
}

func TestEveryWriteAddsAFragmentAndOptimizeFoldsThem(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	require.Equal(t, 1, fragments(t, g, "node:Memory"))
	mutate(t, g, `update Memory set { importance: 5 } where importance > 0`, graph.Write{})
	require.Equal(t, 1, fragments(t, g, "node:Memory"), "all rows moved to a new fragment, the old one is empty")
	mutate(t, g, `update Memory set { importance: 6 } where slug = "m1"`, graph.Write{})
	require.Equal(t, 2, fragments(t, g, "node:Memory"))
	res := mutate(t, g, `insert Project { slug: "x", name: "x" } insert Project { slug: "y", name: "y" }`, graph.Write{})
	require.Equal(t, 2, res.Nodes)
	require.Equal(t, 2, fragments(t, g, "node:Project"), "several rows in one mutation are one fragment")
	mutate(t, g, `delete Project where slug = "x"`, graph.Write{})
	mutate(t, g, `delete Project where slug = "y"`, graph.Write{})
	require.Equal(t, 1, fragments(t, g, "node:Project"))

	_, err := g.Optimize(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, fragments(t, g, "node:Memory"))
	commits, err := g.Commits(graph.MainBranch)
	require.NoError(t, err)
	n := len(commits)
	_, err = g.Optimize(t.Context(), nil)
	require.NoError(t, err)
	commits, err = g.Commits(graph.MainBranch)
	require.NoError(t, err)
	require.Len(t, commits, n, "nothing to fold is no commit")
	mutate(t, g, `update Memory set { importance: 7 } where slug = "m1"`, graph.Write{})
	require.Equal(t, 2, fragments(t, g, "node:Memory"))
	require.Equal(t, 3, count(t, g, "Memory"))
}

// race starts n writers that all prepare on the same head before the first commits.
func race(t *testing.T, g *graph.Graph, n int, statements func(i int) string) []error {
	t.Helper()
	q0, err := g.Parse("query h() { insert Project { slug: \"holder\", name: \"h\" } }", "")
	require.NoError(t, err)
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := g.Mutate(t.Context(), q0, nil, graph.Write{Hold: func(context.Context, graph.Cost, int) error {
			close(entered)
			<-leave
			return nil
		}})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	errs := make([]error, n)
	for i := range n {
		q, err := g.Parse("query w() { "+statements(i)+" }", "")
		require.NoError(t, err)
		wg.Go(func() { _, errs[i] = g.Mutate(t.Context(), q, nil, graph.Write{}) })
	}
	for g.Writers() < n+1 {
		// A writer counts once it has prepared; the holder counts, too.
		runtime.Gosched()
	}
	close(leave)
	wg.Wait()
	return errs
}

func TestConcurrentInsertsOfOneKey(t *testing.T) {
	t.Parallel()
	insert := func(i int) string {
		return fmt.Sprintf(`insert Memory { slug: "new", title: "t%d", body: "b", kind: "fact", project: "pa", importance: 1, created_at: now() }`, i)
	}
	for _, tt := range []struct {
		name       string
		generation graph.Generation
		most       int
	}{
		{"0.8 may leave a row each", graph.V08, 8},
		{"0.10 leaves one", graph.V010, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := seeded(t, graph.Options{Generation: tt.generation})
			for i, err := range race(t, g, 8, insert) {
				require.NoError(t, err, i)
			}
			n := len(rows(t, g, `$m: Memory { slug: "new" }`, "$m.title"))
			require.GreaterOrEqual(t, n, 1)
			require.LessOrEqual(t, n, tt.most)
			if tt.generation == graph.V08 {
				require.Greater(t, n, 1, "writers that prepared on the same head do not see each other")
			}
		})
	}
}

func TestConcurrentUpdatesConflict(t *testing.T) {
	t.Parallel()
	update := func(i int) string { return fmt.Sprintf(`update Memory set { importance: %d } where slug = "m1"`, i) }
	for _, generation := range []graph.Generation{graph.V08, graph.V010} {
		g := seeded(t, graph.Options{Generation: generation})
		won, lost := 0, 0
		for _, err := range race(t, g, 6, update) {
			if err == nil {
				won++
				continue
			}
			lost++
			var e *graph.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, 409, e.Status)
			if generation == graph.V08 {
				require.Contains(t, e.Message, "stale view of 'node:Memory': expected manifest table version")
				require.Equal(t, e.Manifest.Expected+1, e.Manifest.Actual)
			} else {
				require.Contains(t, e.Message, "write authority 'graph_head:main' changed during preparation")
				require.Equal(t, "graph_head:main", e.ReadSet.Member)
			}
		}
		require.GreaterOrEqual(t, won, 1)
		require.GreaterOrEqual(t, lost, 1)
	}
}

func TestNewerGenerations(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{Generation: graph.V010})
	_, err := g.Load(t.Context(), strings.SplitN(everyKind, "\n", 2)[0], graph.Append, nil, graph.Write{})
	var e *graph.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, &graph.KeyConflict{EntityKind: "node", TypeName: "Project", EntityID: "pa"}, e.Key)
	require.Equal(t, "node type 'Project' already has id 'pa'", e.Message)

	_, err = g.Snapshot("nope")
	require.ErrorAs(t, err, &e)
	require.Equal(t, 404, e.Status)

	s, err := g.Snapshot(graph.MainBranch)
	require.NoError(t, err)
	head := s.Head
	res := mutate(t, g, `insert Project { slug: "pc", name: "C" }`, graph.Write{IfCommit: head})
	require.NotNil(t, res.Commit)
	q, err := g.Parse(`query w() { insert Project { slug: "pd", name: "D" } }`, "")
	require.NoError(t, err)
	_, err = g.Mutate(t.Context(), q, nil, graph.Write{IfCommit: head})
	require.ErrorAs(t, err, &e)
	require.Equal(t, 412, e.Status)
	require.Empty(t, e.Code)
	require.Equal(t, &graph.Precondition{Expected: head, Actual: res.Commit.ID}, e.Precondition)
}

func TestMergesFindEveryKindOfConflict(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ source, target, kind string }{
		"update against update":  {`update Memory set { title: "s" } where slug = "m1"`, `update Memory set { title: "t" } where slug = "m1"`, "divergent_update"},
		"insert against insert":  {`insert Project { slug: "new", name: "s" }`, `insert Project { slug: "new", name: "t" }`, "divergent_insert"},
		"delete against update":  {`delete Memory where slug = "m1"`, `update Memory set { title: "t" } where slug = "m1"`, "delete_vs_update"},
		"update against delete":  {`update Memory set { title: "s" } where slug = "m1"`, `delete Memory where slug = "m1"`, "delete_vs_update"},
		"edge to a deleted node": {`insert RelatesTo { from: "m1", to: "m3" }`, `delete Memory where slug = "m3"`, "orphan_edge"},
		"the same on both":       {`update Memory set { title: "s" } where slug = "m1"`, `update Memory set { title: "s" } where slug = "m1"`, ""},
		"different rows":         {`update Memory set { title: "s" } where slug = "m1"`, `update Memory set { title: "t" } where slug = "m2"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := seeded(t, graph.Options{})
			require.NoError(t, g.CreateBranch(t.Context(), "side", graph.MainBranch))
			mutate(t, g, tt.source, graph.Write{Branch: "side"})
			mutate(t, g, tt.target, graph.Write{})
			outcome, err := g.MergeBranch(t.Context(), "side", graph.Write{})
			if tt.kind == "" {
				require.NoError(t, err)
				require.Equal(t, graph.Merged, outcome)
				return
			}
			var e *graph.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, 409, e.Status)
			require.Equal(t, tt.kind, e.Merge[0].Kind)
		})
	}
}

func TestAMergeThatWasMergedIsUpToDate(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	require.NoError(t, g.CreateBranch(t.Context(), "side", graph.MainBranch))
	mutate(t, g, `update Memory set { title: "s" } where slug = "m1"`, graph.Write{Branch: "side"})
	mutate(t, g, `update Memory set { title: "t" } where slug = "m2"`, graph.Write{})
	for _, want := range []graph.MergeOutcome{graph.Merged, graph.UpToDate} {
		outcome, err := g.MergeBranch(t.Context(), "side", graph.Write{})
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
	mutate(t, g, `update Memory set { title: "s2" } where slug = "m1"`, graph.Write{Branch: "side"})
	outcome, err := g.MergeBranch(t.Context(), "side", graph.Write{})
	require.NoError(t, err)
	require.Equal(t, graph.Merged, outcome)
	require.Equal(t, "s2", rows(t, g, `$m: Memory { slug: "m1" }`, "$m.title as t")[0]["t"])
	require.Equal(t, "t", rows(t, g, `$m: Memory { slug: "m2" }`, "$m.title as t")[0]["t"])
}

func TestReadersAndWritersTogether(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := insertProject(t.Context(), g, fmt.Sprintf("w%d-%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			last := 0
			for range 50 {
				n := count(t, g, "Project")
				if n < last {
					t.Errorf("%d projects after %d", n, last)
				}
				last = n
			}
		})
	}
	wg.Wait()
	require.Equal(t, 202, count(t, g, "Project"))
}

func TestAMatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	q, err := g.Parse(`query q() { match { $a: Memory $b: Memory $c: Memory $d: Memory $e: Memory $f: Memory $g: Memory $h: Memory $i: Memory } return { count($a) as n } }`, "")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Query(ctx, q, nil, graph.Target{Branch: graph.MainBranch})
	require.ErrorIs(t, err, context.Canceled)
}
