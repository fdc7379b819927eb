package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/demo"
)

const programName = "omnigraph-emulator"

// TestMain lets the test binary be the program and its two stand-ins.
func TestMain(m *testing.M) {
	if command.StandsFor(os.Args[0]) || filepath.Base(os.Args[0]) == programName {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := command.Run(ctx, os.Args)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// program links the test binary under the program's name and those of the stand-ins.
func program(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, programName)))
	require.NoError(t, exec.CommandContext(t.Context(), filepath.Join(dir, programName), "link", dir).Run()) //nolint:gosec // this test
	return dir
}

type result struct {
	stdout, stderr string
	err            error
	code           int
}

// patience bounds every wait for something that has to happen.
const patience = time.Minute

func call(ctx context.Context, t *testing.T, path string, env []string, args ...string) result {
	t.Helper()
	return callFor(ctx, t, patience, path, env, args...)
}

// callFor gives up on the output of a program that has ended after a while.
func callFor(ctx context.Context, t *testing.T, outputs time.Duration, path string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = outputs
	// What the program leaves behind ends with the call.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, err)
	return result{stdout.String(), stderr.String(), err, cmd.ProcessState.ExitCode()}
}

func TestTheProgramExplainsItself(t *testing.T) {
	t.Parallel()
	path := filepath.Join(program(t), programName)
	for _, tt := range []struct {
		args   []string
		code   int
		output string
	}{
		{nil, 2, "serve --demo"},
		{[]string{"help"}, 0, "serve --demo"},
		{[]string{"nope"}, 2, `unknown command "nope"`},
		{[]string{"version"}, 0, "omnigraph-emulator 0.8.0-emulator"},
		{[]string{"cli", "--version"}, 0, "omnigraph 0.8.0-emulator"},
		{[]string{"serve"}, 1, "either --rig DIR or --demo"},
		{[]string{"serve", "--demo", "--api", "9"}, 1, "want 0.8, 0.10 or 0.13"},
		{[]string{"serve", "--demo", "--profile", "nope"}, 1, "want none, spike or a file"},
		{[]string{"serve", "--rig", "nope"}, 1, "failed to read bearer tokens file"},
		{[]string{"link"}, 1, "link takes the directory"},
	} {
		got := call(t.Context(), t, path, nil, tt.args...)
		require.Equal(t, tt.code, got.code, tt.args)
		require.Contains(t, got.stdout+got.stderr, tt.output, tt.args)
	}
}

func TestLinkReplacesLinksButNoFiles(t *testing.T) {
	t.Parallel()
	dir := program(t)
	again := call(t.Context(), t, filepath.Join(dir, programName), nil, "link", dir)
	require.Zero(t, again.code, again.stderr)
	require.NoError(t, os.Remove(filepath.Join(dir, "omnigraph")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "omnigraph"), nil, 0o600))
	refused := call(t.Context(), t, filepath.Join(dir, programName), nil, "link", dir)
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.stderr, "is no symbolic link")
}

// started is a server that runs until the test ends.
type started struct {
	url  string
	stop func()
}

func serve(t *testing.T, path string, args ...string) started {
	t.Helper()
	cmd := exec.Command(path, append([]string{"serve"}, args...)...) //nolint:gosec,noctx // ends with the test
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "OMNIGRAPH_LISTEN_ADDR=")
	require.True(t, ok, line)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "SIGTERM ends it with exit code 0")
	}
	t.Cleanup(stop)
	return started{"http://" + addr, stop}
}

func TestServeDemoAnswersTheStandIn(t *testing.T) {
	t.Parallel()
	dir := program(t)
	for _, api := range []string{"0.8", "0.10", "0.13"} {
		s := serve(t, filepath.Join(dir, programName), "--demo", "--api", api)
		env := []string{"OMNIGRAPH_BEARER_TOKEN=" + demo.Tokens["act-load"], "OMNIGRAPH_EMULATOR_API=" + api}
		got := call(t.Context(), t, filepath.Join(dir, "omnigraph"), env, "query", "count_memories", "--server", s.url, "--graph", demo.GraphID, "--json")
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, fmt.Sprintf(`"n": %d`, demo.Rows))
		list := call(t.Context(), t, filepath.Join(dir, "omnigraph"), env, "graphs", "list", "--server", s.url, "--json")
		if api == "0.8" {
			require.Equal(t, 1, list.code)
		} else {
			require.Zero(t, list.code, list.stderr)
			require.Contains(t, list.stdout, `"graph_id": "council"`)
		}
		s.stop()
	}
}

func TestConditionalMutationsEndWithFour(t *testing.T) {
	t.Parallel()
	dir := program(t)
	s := serve(t, filepath.Join(dir, programName), "--demo", "--api", "0.10")
	env := []string{"OMNIGRAPH_BEARER_TOKEN=" + demo.Tokens["act-load"], "OMNIGRAPH_EMULATOR_API=0.10"}
	got := call(t.Context(), t, filepath.Join(dir, "omnigraph"), env, "mutate", "-e", `query w() { insert Project { slug: "x", name: "x" } }`, "--if-commit", "01J", "--server", s.url, "--graph", demo.GraphID, "--json")
	require.Equal(t, 4, got.code)
	require.Empty(t, got.stderr)
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &doc))
	require.Contains(t, doc, "precondition_failure")
}

// rig writes a small cluster.
func rig(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cluster.yaml": "version: 1\nmetadata:\n  name: c\ngraphs:\n  g:\n    schema: g.pg\n    queries: g.gq\npolicies:\n  p:\n    file: p.yaml\n    applies_to: [g, cluster]\n",
		"g.pg":         "node A {\n  k: String @key\n}\n",
		"g.gq":         "query all() { match { $a: A } return { $a.k } order { $a.k } }\nquery add($k: String) { insert A { k: $k } }\n",
		"p.yaml":       "version: 1\ngroups: {w: [me]}\nrules:\n  - id: all\n    allow: {actors: {group: w}, actions: [read, change, invoke_query, graph_list], branch_scope: any}\n",
		"tokens.json":  `{"me":"secret"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestServeRigMakesTheClusterAndKeepsItsRows(t *testing.T) {
	t.Parallel()
	bin, dir := program(t), rig(t)
	env := []string{"OMNIGRAPH_BEARER_TOKEN=secret"}
	cli := filepath.Join(bin, "omnigraph")
	for i := range 2 {
		s := serve(t, filepath.Join(bin, programName), "--rig", dir)
		got := call(t.Context(), t, cli, env, "mutate", "add", "--params", fmt.Sprintf(`{"k":"k%d"}`, i), "--server", s.url, "--graph", "g", "--json")
		require.Zero(t, got.code, got.stderr)
		optimized := call(t.Context(), t, cli, env, "optimize", filepath.Join(dir, "graphs", "g.omni"), "--json", "--quiet")
		require.Zero(t, optimized.code, optimized.stderr)
		all := call(t.Context(), t, cli, env, "query", "all", "--server", s.url, "--graph", "g", "--format", "csv")
		require.Equal(t, "a.k\nk0\nk1\n"[:4+3*(i+1)], all.stdout)
		s.stop()
	}
}

func TestACostedServerLeavesItsModelForTheCLI(t *testing.T) {
	t.Parallel()
	bin, dir := program(t), rig(t)
	profile := filepath.Join(t.TempDir(), "slow.json")
	require.NoError(t, os.WriteFile(profile, []byte(`{"name":"slow","optimize_ms":300,"cli_start_ms":150}`), 0o600))
	s := serve(t, filepath.Join(bin, programName), "--rig", dir, "--profile", profile)
	env := []string{"OMNIGRAPH_BEARER_TOKEN=secret"}
	cli, store := filepath.Join(bin, "omnigraph"), filepath.Join(dir, "graphs", "g.omni")
	for i := range 3 {
		start := time.Now()
		got := call(t.Context(), t, cli, env, "mutate", "add", "--params", fmt.Sprintf(`{"k":"k%d"}`, i), "--server", s.url, "--graph", "g", "--json")
		require.Zero(t, got.code, got.stderr)
		require.GreaterOrEqual(t, time.Since(start), 150*time.Millisecond)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/healthz", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "slow", res.Header.Get(costmodel.Header))
	start := time.Now()
	got := call(t.Context(), t, cli, env, "optimize", store, "--json")
	require.Zero(t, got.code, got.stderr)
	require.GreaterOrEqual(t, time.Since(start), 450*time.Millisecond)
	s.stop()
	serve(t, filepath.Join(bin, programName), "--rig", dir).stop()
	m, err := costmodel.Left(store)
	require.NoError(t, err)
	require.Nil(t, m, "a server without a model takes the old one away")
}

func TestCLIFaults(t *testing.T) {
	t.Parallel()
	bin := program(t)
	cli := filepath.Join(bin, "omnigraph")
	file := func(t *testing.T, rule string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "faults.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"seed":1,"rules":[`+rule+`]}`), 0o600))
		return path
	}
	with := func(t *testing.T, rule string) []string {
		t.Helper()
		return []string{"OMNIGRAPH_EMULATOR_FAULTS=" + file(t, rule)}
	}
	t.Run("exit code and words", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"*","kind":"cli_exit","code":75,"message":"actor in-flight count cap 16 exceeded"}`), "version")
		require.Equal(t, 75, got.code)
		require.Contains(t, got.stderr, "actor in-flight count cap 16 exceeded")
		require.Empty(t, got.stdout)
	})
	t.Run("only the third call", func(t *testing.T) {
		t.Parallel()
		env := with(t, `{"command":"version","kind":"cli_exit","skip":2,"count":1}`)
		var codes []int
		for range 5 {
			codes = append(codes, call(t.Context(), t, cli, env, "version").code)
		}
		require.Equal(t, []int{0, 0, 1, 0, 0}, codes)
	})
	t.Run("garbage", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"version","kind":"cli_garbage"}`), "version")
		require.Zero(t, got.code)
		require.False(t, json.Valid([]byte(got.stdout)))
		require.NotContains(t, got.stdout, "0.8.0")
	})
	t.Run("error document with exit 0", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"version","kind":"cli_error_ok"}`), "version")
		require.Zero(t, got.code)
		require.JSONEq(t, `{"error":"injected failure","code":"internal"}`, got.stdout)
	})
	t.Run("hang", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		path := file(t, `{"command":"version","kind":"cli_hang"}`)
		begun := make(chan bool, 1)
		go func() {
			defer cancel()
			// It counts the call before it fails: half a second later it would have printed its version.
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				if calls, err := os.ReadFile(path + ".calls"); err == nil && len(calls) > 0 {
					time.Sleep(500 * time.Millisecond)
					begun <- true
					return
				}
			}
			begun <- false
		}()
		got := call(ctx, t, cli, []string{"OMNIGRAPH_EMULATOR_FAULTS=" + path}, "version")
		require.Equal(t, -1, got.code, "it did not end by itself: %v", got.err)
		require.Empty(t, got.stdout)
		require.True(t, <-begun, "the call was not counted")
	})
	t.Run("held pipes", func(t *testing.T) {
		t.Parallel()
		got := callFor(t.Context(), t, 200*time.Millisecond, cli, with(t, `{"command":"version","kind":"cli_hold_pipes","delay":"600s"}`), "version")
		require.ErrorIs(t, got.err, exec.ErrWaitDelay, "the process ended, its pipes did not")
	})
	t.Run("huge output", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"version","kind":"cli_huge","bytes":5000000}`), "version")
		require.Zero(t, got.code)
		require.GreaterOrEqual(t, len(got.stdout), 5_000_000)
	})
	t.Run("death by signal", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"version","kind":"cli_signal"}`), "version")
		var exit *exec.ExitError
		require.True(t, errors.As(got.err, &exit))
		status, ok := exit.Sys().(syscall.WaitStatus)
		require.True(t, ok)
		require.Equal(t, syscall.SIGKILL, status.Signal())
	})
	t.Run("a bad file", func(t *testing.T) {
		t.Parallel()
		got := call(t.Context(), t, cli, with(t, `{"command":"version","kind":"nope"}`), "version")
		require.Equal(t, 1, got.code)
		require.Contains(t, got.stderr, `kind is "nope"`)
	})
}

func TestOutputThatNobodyReadsEndsTheCallWith101(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := exec.CommandContext(t.Context(), filepath.Join(program(t), "omnigraph"), "version") //nolint:gosec // this test
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	require.Error(t, cmd.Run())
	require.NoError(t, w.Close())
	require.Equal(t, 101, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "The application panicked")
	require.Contains(t, stderr.String(), "failed printing to stdout: Broken pipe (os error 32)")
}

func TestTheServerStandInRefusesWhatTheRealOneRefuses(t *testing.T) {
	t.Parallel()
	bin := program(t)
	path := filepath.Join(bin, "omnigraph-server")
	dir := rig(t)
	for _, tt := range []struct {
		env   []string
		args  []string
		words string
	}{
		{nil, nil, "boots from a cluster"},
		{nil, []string{"--cluster", dir}, "no bearer tokens"},
		{[]string{"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE=nope.json"}, []string{"--cluster", dir}, "failed to read bearer tokens file"},
		{[]string{"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE=" + filepath.Join(dir, "tokens.json")}, []string{"--cluster", dir}, "cluster_state_missing"},
		{[]string{"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=x"}, []string{"--cluster", dir, "--unauthenticated"}, "cluster_state_missing"},
	} {
		got := call(t.Context(), t, path, tt.env, tt.args...)
		require.Equal(t, 1, got.code, tt.args)
		require.Contains(t, got.stderr, tt.words)
	}
	version := call(t.Context(), t, path, nil, "--version")
	require.Equal(t, "omnigraph-server 0.8.0-emulator\n", version.stdout)
}
