package cliclient

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

func pointRead() *wire.Operation {
	return &wire.Operation{Op: wire.OpQuery, Graph: "council", Text: "query q() { }", Timeout: time.Minute}
}

func singleWrite() *wire.Operation {
	return &wire.Operation{Op: wire.OpMutate, Graph: "council", Text: "query q() { }", Timeout: time.Minute}
}

func TestWhateverTheCLIDoesHasAnErrorKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mode, arg string
		timeout         time.Duration
		kind            wire.ErrorKind
		exitCode        int
		message         string
		retryable       bool
		writeUnknown    bool
	}{
		{name: "answers", mode: "answer"},
		{name: "answers and holds its pipes through a child", mode: "hold"},
		{name: "says much on stderr", mode: "chatty"},
		{name: "prints garbage", mode: "garbage", kind: wire.KindProtocol, message: "not one JSON document", writeUnknown: true},
		{name: "prints half an answer", mode: "truncated", kind: wire.KindProtocol, message: "not one JSON document", writeUnknown: true},
		{name: "prints nothing with exit 0", mode: "silent", kind: wire.KindProtocol, message: "is empty", writeUnknown: true},
		{name: "prints nothing and holds its pipes", mode: "hold-silent", kind: wire.KindProtocol, message: "held its output open and was killed 200ms after", writeUnknown: true},
		{name: "says success with an error document", mode: "half-error", kind: wire.KindProtocol, message: "all is lost", writeUnknown: true},
		{name: "hangs", mode: "hang", timeout: 300 * time.Millisecond, kind: wire.KindTimeout, exitCode: -1, message: "no answer within 300ms (option timeout): the CLI was killed after ", retryable: true, writeUnknown: true},
		{name: "hangs after its answer", mode: "hang-after-answer", timeout: 300 * time.Millisecond, kind: wire.KindTimeout, exitCode: -1, message: "option timeout", retryable: true, writeUnknown: true},
		{name: "ignores SIGTERM", mode: "ignore-term", timeout: 300 * time.Millisecond, kind: wire.KindTimeout, exitCode: -1, message: "option timeout", retryable: true, writeUnknown: true},
		{name: "prints 1 GB", mode: "flood", kind: wire.KindOutputLimit, exitCode: -1, message: "more than 67108864 bytes (option maxOutputBytes)", writeUnknown: true},
		{name: "prints 1 GB on stderr", mode: "flood-stderr", kind: wire.KindOutputLimit, exitCode: -1, message: "option maxOutputBytes", writeUnknown: true},
		{name: "is killed", mode: "kill-self", arg: "9", kind: wire.KindCLISignal, exitCode: -1, message: "SIGKILL", writeUnknown: true},
		{name: "is terminated", mode: "kill-self", arg: "15", kind: wire.KindCLISignal, exitCode: -1, message: "SIGTERM", writeUnknown: true},
		{name: "fails without known words", mode: "report", arg: "1 all is lost", kind: wire.KindCLIExit, exitCode: 1, message: "all is lost", writeUnknown: true},
		{name: "fails without a word", mode: "document", arg: "3 ", kind: wire.KindCLIExit, exitCode: 3, message: "exit code 3 and said nothing", writeUnknown: true},
		{name: "refuses its arguments", mode: "report", arg: "2 unexpected", kind: wire.KindCLIExit, exitCode: 2, message: "unexpected"},
		{name: "is denied", mode: "report", arg: "1 policy denied action 'change' on branch 'main' for actor 'act-reader'", kind: wire.KindForbidden, exitCode: 1, message: "policy denied"},
		{name: "quotes the words of another kind", mode: "report", arg: "1 my title: policy denied action 'x'", kind: wire.KindCLIExit, exitCode: 1, writeUnknown: true},
		{name: "exits 4", mode: "document", arg: `4 {"error":"precondition failed on branch 'main': expected head 'a' but current is b","precondition_failure":{"expected":"a","actual":"b"}}`, kind: wire.KindPreconditionFailed, exitCode: 4, message: "expected head 'a'"},
		{name: "exits 75", mode: "report", arg: "75 actor in-flight count cap 16 exceeded", kind: wire.KindAdmissionCapped, exitCode: 75, message: "cap 16", retryable: true},
		{name: "prints an error document on stdout", mode: "document", arg: `1 {"error":"stale view of 'node:Memory': expected 545","code":"conflict","manifest_conflict":{"table_key":"node:Memory"}}`, kind: wire.KindConflictStale, exitCode: 1, message: "stale view", retryable: true},
		{name: "reports at length", mode: "long-report", arg: "policy denied action 'change'", kind: wire.KindForbidden, exitCode: 1, message: "policy denied"},
		{name: "quotes the token", mode: "report", arg: "1 invalid header Bearer token-of-the-test", kind: wire.KindCLIExit, exitCode: 1, message: "[redacted]", writeUnknown: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := fake(t, test.mode, withArg(test.arg), withEnv(fakePIDs, filepath.Join(t.TempDir(), "pids")))
			op := pointRead()
			if test.timeout > 0 {
				op.Timeout = test.timeout
			}
			out := c.Do(t.Context(), op)
			require.Equal(t, test.exitCode, out.ExitCode)
			require.NotNil(t, out.Process)
			require.Positive(t, out.Timings.Spawn)
			require.Greater(t, out.Timings.Total, out.Timings.Spawn)
			if test.kind == "" {
				require.Nil(t, out.Err)
				require.Equal(t, 1, out.Success.RowCount)
				require.JSONEq(t, `[{"m.slug":"mem-0001"}]`, out.Success.Rows)
				return
			}
			require.NotNil(t, out.Err)
			require.Equal(t, test.kind, out.Err.Kind, out.Err.Message)
			require.Contains(t, out.Err.Message, test.message)
			require.Equal(t, test.exitCode, out.Err.ExitCode)
			require.Equal(t, test.retryable, out.Err.Retryable)
			require.False(t, out.Err.Indeterminate, "a read")
			require.Equal(t, test.kind == wire.KindOutputLimit, out.Err.Truncated)
			require.NotContains(t, out.Err.Error(), "token-of-the-test")
			require.Zero(t, out.Success)

			if strings.HasPrefix(test.mode, "flood") {
				return // Once is enough of it.
			}
			write := singleWrite()
			write.Timeout = op.Timeout
			out = c.Do(t.Context(), write)
			require.NotNil(t, out.Err)
			require.Equal(t, test.kind, out.Err.Kind)
			require.Equal(t, test.writeUnknown, out.Err.Indeterminate, out.Err.Message)
		})
	}
}

// Rows have no end but the output's.
func TestAnExportWhoseOutputDidNotEndIsNoSuccess(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"hold-silent": "the answer to export has no end: it stopped after 0 rows; a process that the CLI left behind held its output open and was killed 200ms after the CLI's end",
		"hold":        "the answer to export has no end: it stopped after 1 rows; a process that the CLI left behind held its output open",
	} {
		c := fake(t, mode, withEnv(fakePIDs, filepath.Join(t.TempDir(), "pids")))
		out := c.Do(t.Context(), &wire.Operation{Op: wire.OpExport, Graph: "g", Timeout: time.Minute})
		require.NotNil(t, out.Err, mode)
		require.Equal(t, wire.KindProtocol, out.Err.Kind)
		require.Contains(t, out.Err.Message, want)
		require.False(t, out.Err.Retryable)
		require.Zero(t, out.Success)
	}
	for mode, want := range map[string]int{"silent": 0, "answer": 1, "hold-stderr": 1} {
		out := fake(t, mode, withEnv(fakePIDs, filepath.Join(t.TempDir(), "pids"))).Do(t.Context(), &wire.Operation{Op: wire.OpExport, Graph: "g", Timeout: time.Minute})
		require.Nil(t, out.Err, mode)
		require.Equal(t, want, out.Success.RowCount, mode)
	}
}

func TestOutputLimitOfClientAndOperation(t *testing.T) {
	t.Parallel()
	c := fake(t, "answer", func(c *Config) { c.MaxOutputBytes = 16 })
	out := c.Do(t.Context(), pointRead())
	require.Equal(t, wire.KindOutputLimit, out.Err.Kind)
	require.Contains(t, out.Err.Message, "more than 16 bytes")

	op := pointRead()
	op.MaxOutputBytes = 4096
	require.Nil(t, c.Do(t.Context(), op).Err)
}

func TestCanceledWhileRunning(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	c := fake(t, "hang", withEnv(fakePIDs, pids))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		awaitPIDs(pids, 1)
		cancel()
	}()
	out := c.Do(ctx, singleWrite())
	require.Equal(t, wire.KindCanceled, out.Err.Kind)
	require.True(t, out.Err.Indeterminate)
	require.Contains(t, out.Err.Message, "the CLI was killed after")
	require.Equal(t, -1, out.ExitCode)
}

func TestCanceledBeforeTheStart(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := fake(t, "answer", withEnv(fakePIDs, pids)).Do(ctx, singleWrite())
	require.Equal(t, wire.KindCanceled, out.Err.Kind)
	require.False(t, out.Err.Indeterminate, "nothing was started")
	require.Nil(t, out.Process)
	require.NoFileExists(t, pids)
}

func TestCPUTimeIsTheProcess(t *testing.T) {
	t.Parallel()
	out := fake(t, "burn").Do(t.Context(), pointRead())
	require.Nil(t, out.Err)
	require.GreaterOrEqual(t, out.Process.CPU, burnt)
	require.Less(t, out.Process.CPU, 5*time.Second)
}

func TestNothingOfACallStaysOnDisk(t *testing.T) {
	// Not parallel: the folder for temporary files is the process's.
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	long := pointRead()
	long.Text = "query q() { } // " + strings.Repeat("x", 200_000)
	for _, mode := range []string{"answer", "garbage", "kill-self", "hang"} {
		c := fake(t, mode, withArg("9"))
		long.Timeout = 200 * time.Millisecond
		_ = c.Do(t.Context(), long)
	}
	missing := fake(t, "answer", func(c *Config) { c.Bin = filepath.Join(dir, "missing") })
	require.Equal(t, wire.KindSpawnFailed, missing.Do(t.Context(), long).Err.Kind)
	require.Empty(t, leftovers(t, dir))
}

// leftovers are the files of calls of this process that are still there.
func leftovers(t testing.TB, tempDir string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{filepath.Join(homeParent, homePattern), filepath.Join(tempDir, "*")} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		found = append(found, names...)
	}
	return found
}

func TestTempFolderThatCannotBeWritten(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	op := singleWrite()
	op.Text += strings.Repeat(" ", inlineBytes)
	out := fake(t, "answer").Do(t.Context(), op)
	require.Equal(t, wire.KindSpawnFailed, out.Err.Kind)
	require.Contains(t, out.Err.Message, "making a folder for long arguments")
	require.False(t, out.Err.Indeterminate)
	require.Empty(t, leftovers(t, os.TempDir()))
}
