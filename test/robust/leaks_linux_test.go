package robust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/internal/leaks"
	"github.com/mitodl/xk6-omnigraph/omnigraph"
)

// moodyCLI is a fake CLI that behaves as its variable MOOD says, and writes down its process id and its children's.
const moodyCLI = `#!/bin/sh
echo $$ >> "$PIDS"
case "$MOOD" in
answer) echo '{"branch":"main","query_name":"add","affected_nodes":1,"affected_edges":0,"actor_id":"a"}' ;;
garbage) printf '{{{' ;;
fail) printf 'Error:\n   0: stale view of '"'node:Memory'"'\n' >&2; exit 1 ;;
die) kill -9 $$ ;;
hang) sleep 600 & echo $! >> "$PIDS"; wait ;;
hold) sleep 600 & echo $! >> "$PIDS"; echo '{"branch":"main","query_name":"add","affected_nodes":1,"affected_edges":0,"actor_id":"a"}' ;;
flood) while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done ;;
esac
`

// leaking is what every VU runs: as many operations over each transport, in turn synchronous and not.
const leaking = `
	const add = "query add($slug: String) { insert Project { slug: $slug, name: \"n\" } }";
	const moods = ["answer", "garbage", "answer", "fail", "die", "answer", "flood", "answer", "missing", "answer"];
	async function work(n, name) {
		for (let i = 0; i < n; i++) {
			const http = i % 3 === 0 ? shared : own;
			const mood = i % 100 === 17 ? "hang" : i % 100 === 43 ? "hold" : moods[i % moods.length];
			const params = { slug: name + i + (i % 50 === 9 ? "x".repeat(150000) : "") };
			const timeout = mood === "hang" ? 40 : "30s";
			if (i % 4 === 0) {
				await Promise.all([http.asyncMutate(add, params), cli[mood].asyncMutate(add, params, { timeout })]);
			} else {
				http.mutate(add, params);
				cli[mood].mutate(add, params, { timeout });
			}
			done(2);
		}
	}`

// collectAbove is the memory, in bytes, from which on the collector runs all the same.
const collectAbove = 2 << 30

// openFiles lists what this process's descriptors are.
func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var targets []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the one for the list is gone
			targets = append(targets, target)
		}
	}
	return targets
}

// temporary lists the files that clients of this process make for a call.
func temporary(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, folder := range []string{dir, "/dev/shm"} {
		found, err := filepath.Glob(fmt.Sprintf("%s/omnigraph-*-%d-*", folder, os.Getpid()))
		require.NoError(t, err)
		all = append(all, found...)
	}
	return all
}

func TestFiveThousandOperationsLeakNothing(t *testing.T) {
	// Not parallel: it counts what the whole process has. The collector would close a socket that was only forgotten.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(collectAbove))
	const vus, each = 4, 620 // and 40 that their iteration's end cuts off
	bin, pids, dir := filepath.Join(t.TempDir(), "omnigraph"), filepath.Join(t.TempDir(), "pids"), t.TempDir()
	executable.Write(t, bin, moodyCLI)
	t.Setenv("TMPDIR", dir)
	started, failed := 0, map[string]int{}
	round := func(n int) {
		var rules []faults.Rule
		for kind, probability := range map[faults.Kind]float64{
			faults.ManifestConflict: 0.05, faults.BadGateway: 0.03, faults.ResetBefore: 0.05, faults.ResetAfter: 0.05, faults.Truncated: 0.05,
			faults.Malformed: 0.03, faults.WrongType: 0.03, faults.RecoveryRequired: 0.03, faults.Internal: 0.03,
		} {
			rules = append(rules, faults.Rule{Kind: kind, Probability: probability})
		}
		rules = append(rules,
			faults.Rule{Kind: faults.SlowBody, Probability: 0.01, Delay: faults.Duration(2 * time.Millisecond)},
			faults.Rule{Kind: faults.Restart, Skip: n, Count: 1, Closed: faults.Duration(50 * time.Millisecond), Missing: faults.Duration(20 * time.Millisecond)})
		server := emulate(t, graph.V08, rules...)
		var mu sync.Mutex
		var wg sync.WaitGroup
		module := omnigraph.New()
		var users []*vu
		for i := range vus + 1 {
			user := newVUOf(t, module, uint64(i)+1) //nolint:gosec // small
			require.NoError(t, user.VU.Runtime().Set("done", func(n int) { mu.Lock(); started += n; mu.Unlock() }))
			user.js(`
				const retry = { maxAttempts: 2, baseDelay: 1, maxDelay: 5 };
				const own = new HTTPClient({ url: %[1]q, graph: "council", token: %[2]q, retry });
				const shared = new HTTPClient({ url: %[1]q, graph: "council", token: %[2]q, pool: "shared", maxConnections: 3 });
				const cli = {};
				for (const MOOD of ["answer", "garbage", "fail", "die", "hang", "hold", "flood"]) {
					cli[MOOD] = new CLIClient({ server: "http://127.0.0.1:1", graph: "council", token: "t", bin: %[3]q, env: { MOOD, PIDS: %[4]q }, maxOutputBytes: 4096, retry: { ...retry, kinds: ["conflict_stale"] } });
				}
				cli.missing = new CLIClient({ server: "http://127.0.0.1:1", graph: "council", bin: "/no/such/omnigraph" });`,
				server.URL, server.Token, bin, pids)
			user.js(leaking)
			users = append(users, user.enter())
		}
		for i, user := range users[:vus] {
			wg.Go(func() {
				_, err := user.run(`work(%d, "u%d-")`, n, i)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		// The end of an iteration cuts off what runs over both transports. The restart may only just have begun.
		server.Faults.Set(faults.Plan{})
		users[vus].js(`while (!own.snapshot().ok) { }`)
		server.Faults.Set(faults.Plan{Rules: []faults.Rule{{Kind: faults.Latency, Delay: faults.Duration(time.Minute)}}})
		for len(server.Arrived) > 0 {
			<-server.Arrived
		}
		const calls = 20
		processes := len(lines(t, pids))
		require.NoError(t, users[vus].VU.Runtime().Set("cutOff", func() {
			wg.Go(func() {
				late, stop := context.WithTimeout(context.Background(), 30*time.Second)
				defer stop()
				for range calls {
					select {
					case <-server.Arrived:
					case <-late.Done():
					}
				}
				// Each process has one of its own.
				for deadline := time.Now().Add(30 * time.Second); len(lines(t, pids)) < processes+2*calls && time.Now().Before(deadline); {
					time.Sleep(5 * time.Millisecond)
				}
				users[vus].CancelContext()
			})
		}))
		users[vus].js(`for (let i = 0; i < %d; i++) { own.asyncMutate(add, { slug: "c" + i }); cli.hang.asyncMutate(add, { slug: "c" + i }); done(2); } cutOff();`, calls)
		wg.Wait()
		for _, user := range users {
			user.transport.CloseIdleConnections()
			for _, sample := range user.taken() {
				if kind, ok := sample.Tags.Get("error_kind"); ok {
					transport, _ := sample.Tags.Get("transport")
					failed[transport+" "+kind]++
				}
			}
		}
		server.end(t)
	}

	round(5) // what is made once for a process is there after this
	require.NoError(t, leaks.Find())
	before := openFiles(t)
	started = 0
	round(each)
	require.EqualValues(t, 5000, started)
	require.NoError(t, leaks.Find(), "goroutines")
	// The system takes a moment to be done with a connection that both ends have closed.
	after := openFiles(t)
	for deadline := time.Now().Add(30 * time.Second); len(after) > len(before) && time.Now().Before(deadline); after = openFiles(t) {
		time.Sleep(5 * time.Millisecond)
	}
	assert.LessOrEqual(t, len(after), len(before), "descriptors and connections: %v, were %v", after, before)
	assert.Empty(t, temporary(t, dir), "temporary files")
	for _, kind := range []string{
		"http connect", "http protocol", "http unavailable", "http internal", "http conflict_stale", "http recovery_required",
		"cli protocol", "cli conflict_stale", "cli cli_signal", "cli output_limit", "cli spawn_failed", "cli timeout",
	} {
		assert.Positive(t, failed[kind], "%s is among the failures", kind)
	}
	_, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	assert.ErrorIs(t, err, syscall.ECHILD, "no child is left, dead or alive")
	written := lines(t, pids)
	assert.Greater(t, len(written), 2000, "processes were started")
	// One that was killed takes a moment to be gone.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var left []string
		for _, id := range written {
			cmdline, err := os.ReadFile("/proc/" + id + "/cmdline")
			if err == nil && (strings.Contains(string(cmdline), bin) || strings.HasPrefix(string(cmdline), "sleep\x00600")) {
				left = append(left, fmt.Sprintf("%s: %q", id, cmdline))
			}
		}
		if len(left) == 0 {
			break
		}
		require.True(t, time.Now().Before(deadline), "processes are left: %v", left)
	}
}

// lines are those of a file that may not be there yet.
func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		assert.NoError(t, err)
	}
	return strings.Fields(string(data))
}
