package graph_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// envWriter turns the test binary into a process that writes to a store until it is killed.
const envWriter = "EMULATOR_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envWriter); dir != "" {
		if err := writeForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const addProject = `query add($s: String, $n: String) { insert Project { slug: $s, name: $n } }`

// writeForever commits one row after the other and prints each key once its commit is acknowledged.
func writeForever(dir string) error {
	g, err := graph.Open(dir, graph.Options{URI: dir})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if err := insertProject(context.Background(), g, key); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

func insertProject(ctx context.Context, g *graph.Graph, key string) error {
	q, err := g.Parse(addProject, "")
	if err != nil {
		return err
	}
	_, err = g.Mutate(ctx, q, params(fmt.Sprintf(`{"s":%q,"n":"name of %s"}`, key, key)), graph.Write{Actor: "act-test"})
	return err
}

func newStore(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "council.omni")
	g, err := graph.Create(dir, councilSchema, false, graph.Options{URI: dir})
	require.NoError(t, err)
	require.NoError(t, g.Close())
	return dir
}

func open(t testing.TB, dir string) *graph.Graph {
	t.Helper()
	g, err := graph.Open(dir, graph.Options{URI: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

func TestAStoreKilledWhileWritingHasEveryAcknowledgedCommit(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	var acknowledged []string
	for round := range 6 {
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
		cmd.Env = append(os.Environ(), envWriter+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		killed := false
		for n := 0; lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
			if !killed && n >= 20+37*round {
				killed = true
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.True(t, killed, "the writer ended by itself")
		require.Error(t, cmd.Wait())
	}
	g := open(t, dir)
	for _, key := range acknowledged {
		require.Len(t, rows(t, g, `$p: Project { slug: "`+key+`" }`, "$p.name"), 1, key)
	}
	// It may hold more, one per kill: written, but not acknowledged.
	n := count(t, g, "Project")
	require.GreaterOrEqual(t, n, len(acknowledged))
	require.LessOrEqual(t, n, len(acknowledged)+6)
	require.NoError(t, insertProject(t.Context(), g, "after"))
	require.Equal(t, n+1, count(t, open(t, dir), "Project"))
	t.Logf("%d acknowledged, %d found", len(acknowledged), n)
}

func TestAnUnfinishedRecordIsCutOffByTheNextWriter(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	g := open(t, dir)
	require.NoError(t, insertProject(t.Context(), g, "one"))
	log := filepath.Join(dir, "emulator.log")
	whole, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, insertProject(t.Context(), g, "two"))
	both, err := os.ReadFile(log)
	require.NoError(t, err)
	for cut := len(whole) + 1; cut < len(both); cut += 5 {
		torn := newStore(t)
		require.NoError(t, os.WriteFile(filepath.Join(torn, "emulator.log"), both[:cut], 0o600))
		h := open(t, torn)
		require.Equal(t, 1, count(t, h, "Project"), "cut at %d of %d", cut, len(both))
		require.NoError(t, insertProject(t.Context(), h, "three"))
		again := open(t, torn)
		require.Len(t, rows(t, again, `$p: Project { slug: "three" }`, "$p.name"), 1)
		require.Equal(t, 2, count(t, again, "Project"))
	}
}

func TestDamageInTheMiddleIsAnErrorAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	g := open(t, dir)
	for i := range 3 {
		require.NoError(t, insertProject(t.Context(), g, fmt.Sprint(i)))
	}
	log := filepath.Join(dir, "emulator.log")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	text[len(text)/2] ^= 0x40
	require.NoError(t, os.WriteFile(log, text, 0o600))
	_, err = graph.Open(dir, graph.Options{})
	require.ErrorContains(t, err, "is damaged at byte")
	after, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, text, after)
}

func TestAnotherProcessSeesOptimizeAndBranches(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	server, cli := open(t, dir), open(t, dir)
	for i := range 20 {
		require.NoError(t, insertProject(t.Context(), server, fmt.Sprint(i)))
	}
	require.NoError(t, cli.Refresh(t.Context()))
	require.Equal(t, 20, fragments(t, cli, "node:Project"))
	list, err := cli.Optimize(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, list, graph.Compacted{Key: "node:Project", Removed: 20, Added: 1})
	require.NoError(t, cli.CreateBranch(t.Context(), "side", graph.MainBranch))

	require.NoError(t, server.Refresh(t.Context()))
	require.Equal(t, 1, fragments(t, server, "node:Project"))
	require.Equal(t, []string{"main", "side"}, server.Branches())
	require.Zero(t, server.StateCost(graph.MainBranch).SinceOptimize)
	commits, err := server.Commits(graph.MainBranch)
	require.NoError(t, err)
	require.Empty(t, commits[len(commits)-1].Actor, "optimize is a system commit")
	require.Equal(t, 20, count(t, server, "Project"))

	// Writers of both processes take turns without losing anything.
	for i := range 10 {
		require.NoError(t, insertProject(t.Context(), server, fmt.Sprintf("s%d", i)))
		require.NoError(t, insertProject(t.Context(), cli, fmt.Sprintf("c%d", i)))
	}
	require.NoError(t, server.Refresh(t.Context()))
	require.Equal(t, 40, count(t, server, "Project"))
}

func TestDataFilesShowTheFragments(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	g := open(t, dir)
	files := func() int {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(dir, "nodes", "*", "data", "*.lance"))
		require.NoError(t, err)
		return len(list)
	}
	require.Zero(t, files())
	for i := range 10 {
		require.NoError(t, insertProject(t.Context(), g, fmt.Sprint(i)))
	}
	require.Equal(t, 10, files())
	mutate(t, g, `delete Project where slug = "none"`, graph.Write{})
	require.Equal(t, 10, files())
	_, err := g.Optimize(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 11, files(), "old files stay until a cleanup")
	require.NoError(t, insertProject(t.Context(), g, "after"))
	_, err = g.Cleanup(t.Context(), 5)
	require.NoError(t, err)
	require.Equal(t, 12, files(), "a version that is kept needs them")
	cleaned, err := open(t, dir).Cleanup(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 2, files())
	require.Positive(t, cleaned[slices.IndexFunc(cleaned, func(c graph.Cleaned) bool { return c.Key == "node:Project" })].Bytes)
	require.Equal(t, 11, count(t, open(t, dir), "Project"))
}

func TestAReopenedStoreIsTheSame(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	g := open(t, dir)
	_, err := g.Load(t.Context(), everyKind, graph.Overwrite, nil, graph.Write{Actor: "act-load"})
	require.NoError(t, err)
	require.NoError(t, g.CreateBranch(t.Context(), "b", "main"))
	mutate(t, g, `update Memory set { importance: 9 } where slug = "m1"`, graph.Write{Branch: "b"})
	mutate(t, g, `delete Memory where slug = "m2"`, graph.Write{})
	_, err = g.MergeBranch(t.Context(), "b", graph.Write{Actor: "act-load"})
	require.NoError(t, err)
	require.NoError(t, g.CreateBranch(t.Context(), "gone", "b"))
	require.NoError(t, g.DeleteBranch(t.Context(), "gone"))
	_, err = g.Optimize(t.Context(), nil)
	require.NoError(t, err)
	h := open(t, dir)
	for _, branch := range g.Branches() {
		var a, b strings.Builder
		require.NoError(t, g.Export(&a, branch, nil, nil))
		require.NoError(t, h.Export(&b, branch, nil, nil))
		require.Equal(t, a.String(), b.String())
		want, err := g.Snapshot(branch)
		require.NoError(t, err)
		got, err := h.Snapshot(branch)
		require.NoError(t, err)
		require.Equal(t, want, got)
		before, err := g.Commits(branch)
		require.NoError(t, err)
		after, err := h.Commits(branch)
		require.NoError(t, err)
		require.Len(t, after, len(before))
		for i := range before {
			require.Equal(t, before[i].ID, after[i].ID)
			require.Equal(t, before[i].Parent, after[i].Parent)
			require.Equal(t, before[i].MergedParent, after[i].MergedParent)
			require.Equal(t, before[i].CreatedAt.UnixMicro(), after[i].CreatedAt.UnixMicro())
		}
	}
	require.Equal(t, g.Branches(), h.Branches())
}

func TestCreateRefusesWhatExists(t *testing.T) {
	t.Parallel()
	dir := newStore(t)
	_, err := graph.Create(dir, councilSchema, false, graph.Options{})
	require.ErrorIs(t, err, graph.ErrExists)
	_, err = graph.Open(t.TempDir(), graph.Options{})
	require.ErrorIs(t, err, graph.ErrNoStore)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAWriterThatWaitsGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	g := council(t, graph.Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	q, err := g.Parse(`query a() { insert Project { slug: "a", name: "a" } }`, "")
	require.NoError(t, err)
	go func() {
		_, err := g.Mutate(context.WithoutCancel(t.Context()), q, nil, graph.Write{Hold: func(context.Context, graph.Cost, int) error {
			close(entered)
			<-leave
			return nil
		}})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, insertProject(ctx, g, "b"), context.DeadlineExceeded)
	require.Zero(t, count(t, g, "Project"), "readers see the snapshot before the commit")
	close(leave)
	require.NoError(t, <-done)
	require.Equal(t, 1, count(t, g, "Project"))
}
