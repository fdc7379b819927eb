package costmodel_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", costmodel.None} {
		m, err := costmodel.Load(name)
		require.NoError(t, err)
		require.Nil(t, m)
	}
	m, err := costmodel.Load("spike")
	require.NoError(t, err)
	require.Equal(t, "spike", m.Name)
	require.Equal(t, "emulator, cost model spike: a model's figures, not a measurement", costmodel.Label(m.Name))

	_, err = costmodel.Load("nowhere.json")
	require.ErrorContains(t, err, "want none, spike or a file")
	for text, want := range map[string]string{
		`{`:                              "unexpected EOF",
		`{}`:                             "give it a name",
		`{"name":"x","nope":1}`:          "unknown field",
		`{"name":"x","read_ms":-1}`:      "a cost is negative",
		`{"name":"x","commit_spread":2}`: "want at most 1",
		`{"name":"x","commit_contention_ms":[{"n":4,"ms":1},{"n":1,"ms":0}]}`: "must ascend",
	} {
		path := filepath.Join(t.TempDir(), "p.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := costmodel.Load(path)
		require.ErrorContains(t, err, want, text)
	}
}

func TestCosts(t *testing.T) {
	t.Parallel()
	m := &costmodel.Model{
		ReadMS: 10, ReadPerFragmentMS: 2, ReadPerRowMS: 0.5, ReadPerCommitMS: 0.1, ReadContention: 0.5,
		CommitMS: 100, CommitPerCommitMS: 1, CommitContentionMS: []costmodel.Point{{N: 1, MS: 0}, {N: 3, MS: 40}, {N: 5, MS: 60}}, CommitSpread: 0.5,
		CLIStartMS: 7, CLIPerCommitMS: 0.5, CLISlowdown: 2, OptimizeMS: 50, OptimizePerFragmentMS: 3,
	}
	const ms = time.Millisecond
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"read of one fragment":    {m.Read(costmodel.Work{Fragments: 1}, false), 10 * ms},
		"read of a view":          {m.Read(costmodel.Work{Fragments: 3, Rows: 4, Commits: 10}, false), 17 * ms},
		"read among others":       {m.Read(costmodel.Work{Fragments: 1, Others: 2}, false), 20 * ms},
		"CLI's read among others": {m.Read(costmodel.Work{Fragments: 1, Others: 2}, true), 40 * ms},
		"commit alone":            {m.Commit(costmodel.Work{Draw: 0.5}), 100 * ms},
		"commit after commits":    {m.Commit(costmodel.Work{Draw: 0.5, SinceOptimize: 5}), 105 * ms},
		"commit of three":         {m.Commit(costmodel.Work{Draw: 0.5, Others: 2}), 140 * ms},
		"between two points":      {m.Commit(costmodel.Work{Draw: 0.5, Others: 1}), 120 * ms},
		"beyond the last point":   {m.Commit(costmodel.Work{Draw: 0.5, Others: 6}), 180 * ms},
		"the least of the spread": {m.Commit(costmodel.Work{Draw: 0}), 50 * ms},
		"the most of the spread":  {m.Commit(costmodel.Work{Draw: 1}), 150 * ms},
		"CLI before a commit":     {m.BeforeCommit(costmodel.Work{Others: 2}), 80 * ms},
		"start of the CLI":        {m.Start(10), 12 * ms},
		"optimize":                {m.Optimize(10), 80 * ms},
	} {
		require.Equal(t, tt.want, tt.got, name)
	}
}

func TestDrawsFillTheirIntervalEvenly(t *testing.T) {
	t.Parallel()
	var buckets [10]int
	for n := range uint64(1000) {
		d := costmodel.Draw(n)
		require.GreaterOrEqual(t, d, 0.0)
		require.Less(t, d, 1.0)
		buckets[int(d*10)]++
	}
	for _, n := range buckets {
		require.InDelta(t, 100, n, 3)
	}
}
