package cliclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

// alive reports whether a process runs; one that has ended and waits to be reaped by its parent does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return len(state) > 0 && state[0] != 'Z' && state[0] != 'X'
}

func requireGone(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !alive(pid) }, patience, time.Millisecond, "process %d", pid)
	}
}

// tree is a CLI that starts two children, one of which starts a grandchild.
func tree(t testing.TB, pids string) *Client {
	t.Helper()
	bin := script(t, 0o700, `#!/bin/sh
sleep 600 & echo $! >> "$FAKE_CLI_PIDS"
sh -c 'sleep 600 & echo $! >> "$FAKE_CLI_PIDS"; echo $$ >> "$FAKE_CLI_PIDS"; wait' &
echo $$ >> "$FAKE_CLI_PIDS"
wait
`)
	return fake(t, "", func(c *Config) { c.Bin = bin }, withEnv(fakePIDs, pids))
}

func TestWholeGroupEndsWithTheCall(t *testing.T) {
	t.Parallel()
	t.Run("after a time-out", func(t *testing.T) {
		t.Parallel()
		// On a busy machine a family takes its time to grow; each is gone at its time-out, whatever has become of it.
		var family []int
		for op := pointRead(); len(family) < 4; op.Timeout *= 4 {
			if op.Timeout == time.Minute {
				op.Timeout = time.Second
			}
			require.Less(t, op.Timeout, 5*time.Minute, "the CLI, two children, one grandchild; not only %v", family)
			pids := filepath.Join(t.TempDir(), "pids")
			out := tree(t, pids).Do(t.Context(), op)
			require.Equal(t, wire.KindTimeout, out.Err.Kind)
			family = notedPIDs(pids)
			requireGone(t, family)
		}
	})
	t.Run("after a cancellation", func(t *testing.T) {
		t.Parallel()
		pids := filepath.Join(t.TempDir(), "pids")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		family := make(chan []int, 1)
		go func() {
			family <- awaitPIDs(pids, 4)
			cancel()
		}()
		out := tree(t, pids).Do(ctx, pointRead())
		require.Equal(t, wire.KindCanceled, out.Err.Kind)
		requireGone(t, <-family)
	})
	t.Run("after success, with a child that holds the pipes", func(t *testing.T) {
		t.Parallel()
		pids := filepath.Join(t.TempDir(), "pids")
		out := fake(t, "hold", withEnv(fakePIDs, pids)).Do(t.Context(), pointRead())
		require.Nil(t, out.Err)
		require.GreaterOrEqual(t, out.Timings.Total, pipeGrace)
		requireGone(t, awaitPIDs(pids, 2))
	})
	t.Run("after success, with a child that holds nothing", func(t *testing.T) {
		t.Parallel()
		pids := filepath.Join(t.TempDir(), "pids")
		out := fake(t, "orphan", withEnv(fakePIDs, pids)).Do(t.Context(), pointRead())
		require.Nil(t, out.Err)
		requireGone(t, awaitPIDs(pids, 2))
	})
}

func TestChildThatLeavesTheGroupCannotHoldTheCall(t *testing.T) {
	t.Parallel()
	// It gets away with a session of its own, and with the pipes; the call ends all the same.
	pids := filepath.Join(t.TempDir(), "pids")
	bin := script(t, 0o700, `#!/bin/sh
setsid sh -c 'echo $$ >> "$FAKE_CLI_PIDS"; exec sleep 600' &
until test -s "$FAKE_CLI_PIDS"; do sleep 0.01; done
echo omnigraph 9.9.9
`)
	t.Cleanup(func() {
		for _, pid := range notedPIDs(pids) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	out := fake(t, "", func(c *Config) { c.Bin = bin }, withEnv(fakePIDs, pids)).Do(t.Context(), &wire.Operation{Op: wire.OpVersion})
	require.Nil(t, out.Err)
	runaway := notedPIDs(pids)
	require.Len(t, runaway, 1)
	require.True(t, alive(runaway[0]), "the call lasted as long as the runaway lived")
	require.GreaterOrEqual(t, out.Timings.Total, pipeGrace)
}

// startDriver runs a load generator in a process of its own.
func startDriver(t *testing.T, mode, arg string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fakeMode+"="+mode, fakeArg+"="+arg)
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	return cmd, &out
}

func TestGeneratorThatIsKilledLeavesNoChild(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			cmd, out := startDriver(t, "driver-hang", pids)
			children := awaitPIDs(pids, 4)
			require.Len(t, children, 4)
			for _, pid := range children {
				require.True(t, alive(pid), "a process must not end with a thread of its generator")
			}
			require.NoError(t, cmd.Process.Signal(sig))
			require.Error(t, cmd.Wait(), out.String())
			requireGone(t, children)
			// What it could not remove any more, the next generator does.
			require.NoError(t, clearStaleIn(homeParent))
			folders, err := filepath.Glob(fmt.Sprintf("%s/omnigraph-home-%d-*", homeParent, cmd.Process.Pid))
			require.NoError(t, err)
			require.Empty(t, folders)
		})
	}
}

func TestFewDescriptorsGiveNamedFailuresAndNoLeak(t *testing.T) {
	t.Parallel()
	cmd, out := startDriver(t, "driver-few-files", "60", fakeTold+"="+filepath.Join(t.TempDir(), "told"))
	require.NoError(t, cmd.Wait(), out.String())
	var result driven
	require.NoError(t, json.Unmarshal(out.Bytes(), &result), out.String())
	total := 0
	for kind, n := range result.Kinds {
		total += n
		require.Contains(t, []wire.ErrorKind{"", wire.KindSpawnFailed}, kind, result.Messages[kind])
	}
	require.Equal(t, 300, total)
	require.Positive(t, result.Kinds[wire.KindSpawnFailed], "100 at once can't all have their pipes")
	require.Contains(t, result.Messages[wire.KindSpawnFailed], "limit of open files (ulimit -n, now 60)")
	require.Zero(t, result.FilesMore)
	require.Empty(t, result.AfterAll, "works again once the rush is over")
}

func TestFiveHundredCallsLeakNothing(t *testing.T) {
	// Not parallel: it counts what the whole process has.
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	pids := filepath.Join(t.TempDir(), "pids")
	bin := script(t, 0o700, `#!/bin/sh
echo $$ >> "$FAKE_CLI_PIDS"
case "$FAKE_CLI_ARG" in
answer) echo omnigraph 9.9.9 ;;
garbage) printf '{{{' ;;
fail) echo oops >&2; exit 1 ;;
die) kill -9 $$ ;;
hang) sleep 600 & echo $! >> "$FAKE_CLI_PIDS"; wait ;;
hold) sleep 600 & echo $! >> "$FAKE_CLI_PIDS"; echo omnigraph 9.9.9 ;;
flood) while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done ;;
esac
`)
	slots := NewSlots(4)
	kinds := map[string]wire.ErrorKind{
		"answer": "", "garbage": wire.KindProtocol, "fail": wire.KindCLIExit, "die": wire.KindCLISignal,
		"hang": wire.KindTimeout, "hold": "", "flood": wire.KindOutputLimit, "missing": wire.KindSpawnFailed,
		"canceled": wire.KindCanceled,
	}
	order := []string{"answer", "garbage", "answer", "fail", "die", "answer", "flood", "answer", "missing", "canceled"}
	clients := map[string]*Client{}
	for mode := range kinds {
		c := fake(t, "", func(c *Config) {
			c.Bin, c.Slots, c.MaxOutputBytes = bin, slots, 4096
			if mode == "missing" {
				c.Bin = filepath.Join(dir, "missing")
			}
		}, withArg(mode), withEnv(fakePIDs, pids))
		clients[mode] = c
	}
	long := strings.Repeat("x", inlineBytes+1)
	call := func(i int) {
		mode := order[i%len(order)]
		if i%50 == 17 {
			mode = "hang"
		}
		if i%50 == 33 {
			mode = "hold"
		}
		op := &wire.Operation{Op: wire.OpVersion, Timeout: time.Minute}
		if mode == "hang" {
			op.Timeout = 50 * time.Millisecond
		}
		if mode == "garbage" {
			op = &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: long, Timeout: time.Minute}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if mode == "canceled" {
			cancel()
		}
		out := clients[mode].Do(ctx, op)
		kind := wire.ErrorKind("")
		if out.Err != nil {
			kind = out.Err.Kind
		}
		if kind != kinds[mode] {
			t.Errorf("%s: got %q (%v), want %q", mode, kind, out.Err, kinds[mode])
		}
	}

	call(0)
	require.NoError(t, leaks.Find())
	before := openFiles()
	var wg sync.WaitGroup
	for vu := range 4 {
		wg.Go(func() {
			for i := vu; i < 500; i += 4 {
				call(i)
			}
		})
	}
	wg.Wait()
	require.NoError(t, leaks.Find(), "goroutines")
	require.Equal(t, before, openFiles(), "descriptors")
	require.Empty(t, leftovers(t, dir), "temporary files")
	family := awaitPIDs(pids, 400)
	require.NotEmpty(t, family)
	requireGone(t, family)
	require.ErrorIs(t, noChild(), syscall.ECHILD, "children that nobody reaped")
}

// noChild is ECHILD if this process has no child at all, dead or alive.
func noChild() error {
	_, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	return err
}

func TestSpawnerKeepsItsThreadWhileAProcessLives(t *testing.T) {
	// Not parallel: there is one spawner.
	require.Eventually(t, spawn.idle, patience, time.Millisecond, "ends when there is nothing to do")
	op := &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "t", Timeout: 4 * spawnerIdle}
	out := fake(t, "hang").Do(t.Context(), op)
	require.Equal(t, wire.KindTimeout, out.Err.Kind, "a process must live as long as its timeout lets it")
	require.Eventually(t, spawn.idle, patience, time.Millisecond)
	require.NoError(t, leaks.Find())
}

func (s *spawner) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests == nil && s.alive == 0
}

func TestPeakMemoryIsTheProcess(t *testing.T) {
	t.Parallel()
	// This process is made larger than the CLI: its own peak must not show.
	ballast := bytes.Repeat([]byte{1}, 300<<20)
	out := fake(t, "memory", withArg("32")).Do(t.Context(), pointRead())
	runtime.KeepAlive(ballast)
	require.Nil(t, out.Err)
	require.Greater(t, out.Process.MaxRSS, int64(32<<20))
	require.Less(t, out.Process.MaxRSS, int64(250<<20))
}

func TestWaitWithoutPidfd(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = null.Close() }()
	files := [3]*os.File{null, null, null}
	c, _, err := startChild(launch{path: "/bin/sh", argv: []string{"sh", "-c", "exit 7"}, files: files})
	require.NoError(t, err)
	require.NotNil(t, c.pidfd)
	require.NoError(t, c.pidfd.Close())
	c.pidfd = nil // As on a kernel before 5.3.
	c.await(func() {})
	require.Equal(t, 7, c.reap(false).code)
}
