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
}

func TestABadProfileIsRefusedByFieldAndValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                     "the profile is nothing, want a JSON object",
		`[1]`:                                  "the profile is [1], want a JSON object",
		`{`:                                    "the profile is no JSON",
		`{"name":"x"`:                          "the profile is no JSON",
		`{"name":"x"} {}`:                      "{} follows the profile's end",
		`{}`:                                   "name is missing",
		`{"name":""}`:                          `name is "", want letters`,
		`{"name":3}`:                           "name is 3, want letters",
		`{"name":"a b"}`:                       `name is "a b", want letters`,
		`{"name":"a\nb"}`:                      `name is "a\nb", want letters`,
		`{"name":"x","nope":1}`:                "nope (1) is no field of a profile; there are name, read_ms,",
		`{"name":"x","Read_MS":1}`:             "Read_MS (1) is no field",
		`{"name":"x","read_ms":1,"read_ms":2}`: "read_ms stands twice, the second time as 2",
		`{"name":"x","read_ms":-1}`:            "read_ms is -1, want a number of at least 0",
		`{"name":"x","cli_slowdown":-0.5}`:     "cli_slowdown is -0.5, want a number of at least 0",
		`{"name":"x","read_ms":NaN,"commit_ms":1}`:                            "read_ms is NaN: invalid character 'N'",
		`{"name":"x","commit_ms":-Infinity}`:                                  "commit_ms is -Infinity",
		`{"name":"x","commit_ms":1e999}`:                                      "commit_ms is 1e999, want a number",
		`{"name":"x","commit_ms":null}`:                                       "commit_ms is null, want a number",
		`{"name":"x","commit_ms":"5"}`:                                        `commit_ms is "5", want a number`,
		`{"name":"x","commit_spread":2}`:                                      "commit_spread is 2, want a number from 0 to 1",
		`{"name":"x","commit_contention_ms":3}`:                               "commit_contention_ms is 3, want a list of points",
		`{"name":"x","commit_contention_ms":[3]}`:                             "commit_contention_ms[0] is 3, want a JSON object",
		`{"name":"x","commit_contention_ms":[{"n":4,"ms":1},{"n":1,"ms":0}]}`: "commit_contention_ms[1].n is 1, want more than the 4 of the point before: the points must ascend",
		`{"name":"x","commit_contention_ms":[{"n":4,"ms":1},{"n":4,"ms":2}]}`: "commit_contention_ms[1].n is 4, want more than the 4",
		`{"name":"x","commit_contention_ms":[{"n":0,"ms":1}]}`:                "commit_contention_ms[0].n is 0, want a whole number of at least 1",
		`{"name":"x","commit_contention_ms":[{"n":1.5,"ms":1}]}`:              "commit_contention_ms[0].n is 1.5, want a whole number",
		`{"name":"x","commit_contention_ms":[{"ms":1}]}`:                      "commit_contention_ms[0] has no n",
		`{"name":"x","commit_contention_ms":[{"n":1,"ms":-2}]}`:               "commit_contention_ms[0].ms is -2, want a number of at least 0",
		`{"name":"x","commit_contention_ms":[{"n":1,"m":-2}]}`:                "commit_contention_ms[0].m (-2) is no field of a profile; there are n, ms",
	} {
		path := filepath.Join(t.TempDir(), "p.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := costmodel.Load(path)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, path, text)
	}
}

func TestAProfileThatAServerLeftIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, m := range []*costmodel.Model{
		{Name: "bare"},
		{Name: "full", ReadMS: 1.5, CommitSpread: 1, CommitContentionMS: []costmodel.Point{{N: 1}, {N: 3, MS: 4}}, OptimizePerFragmentMS: 2},
	} {
		dir := t.TempDir()
		require.NoError(t, costmodel.Leave(dir, m), m.Name)
		got, err := costmodel.Left(dir)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

func FuzzProfile(f *testing.F) {
	spike, err := os.ReadFile("spike.json")
	require.NoError(f, err)
	f.Add(spike)
	f.Add([]byte(`{"name":"x","commit_contention_ms":[{"n":1,"ms":0},{"n":2,"ms":1e308}],"read_ms":NaN}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "p.json")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		m, err := costmodel.Load(path)
		if err != nil {
			return
		}
		// What is taken costs no less than nothing, however much there is of it.
		w := costmodel.Work{Fragments: 1 << 40, Rows: 1 << 40, Commits: 1 << 40, SinceOptimize: 1 << 40, Others: 1 << 20, Draw: 1}
		for _, d := range []time.Duration{m.Read(w, true), m.Commit(w), m.BeforeCommit(w), m.Start(w.Commits), m.Optimize(w.Fragments)} {
			require.GreaterOrEqual(t, d, time.Duration(0))
		}
	})
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
