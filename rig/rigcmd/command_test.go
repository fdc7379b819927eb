package rigcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
	"github.com/mitodl/xk6-omnigraph/rig/rigcmd"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// asProgram makes the test binary be the command line, as k6 would be, for tests of signals and exit codes.
const asProgram = "RIGCMD_TEST_PROGRAM"

// programsEcho is the program's Config.Echo.
const programsEcho = "RIGCMD_TEST_ECHO"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(leaks.Run(m))
	case "k6":
		os.Exit(behaveLikeK6())
	case "counter":
		os.Exit(countInterrupts())
	}

	echo, _ := time.ParseDuration(os.Getenv(programsEcho))

	cmd := rigcmd.Command(rigcmd.Config{Echo: echo})
	cmd.SetArgs(os.Args[1:])
	os.Exit(exitCode(cmd.ExecuteContext(context.Background())))
}

// countInterrupts is the command that a terminal's test runs: it tells each SIGINT, and with SIGTERM exits with 40
// plus their number. (A shell's trap may take two signals for one.)
func countInterrupts() int {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)

	state, err := os.ReadFile(filepath.Join(os.Getenv("OMNIGRAPH_RIG"), "server.json"))
	if err != nil {
		return 1
	}

	var server struct{ PID int }
	if err := json.Unmarshal(state, &server); err != nil {
		return 1
	}

	fmt.Println("ready", server.PID)

	for n := 0; ; n++ {
		if sig := <-ch; sig == syscall.SIGTERM {
			return 40 + n
		}

		fmt.Println("interrupted")
	}
}

// exitCode is what k6 makes of a command's error, which it also prints.
func exitCode(err error) int {
	if err == nil {
		return 0
	}

	fmt.Fprintln(os.Stderr, "error:", err)

	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}

	return 255
}

type result struct {
	out, log string
	err      error
}

// execute runs one command line within the test.
func execute(t *testing.T, env []string, args ...string) result {
	t.Helper()

	var out, log bytes.Buffer

	cmd := rigcmd.Command(rigcmd.Config{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log, Env: env, Executable: "/nonexistent/k6",
	})
	cmd.SetArgs(append([]string{}, args...)) // not nil, which would be the test's own

	err := cmd.ExecuteContext(t.Context())

	return result{out.String(), log.String(), err}
}

// realEnv is the test's environment with the binaries, wherever they were found.
func realEnv(t *testing.T) []string {
	t.Helper()

	b := rigtest.Binaries(t)
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "OMNIGRAPH_") })

	if b.Emulator != "" {
		return append(env, "OMNIGRAPH_REAL=off", "PATH="+filepath.Dir(b.Emulator)+":"+os.Getenv("PATH"))
	}

	return append(env, "OMNIGRAPH_BIN="+b.CLI, "OMNIGRAPH_SERVER_BIN="+b.Server)
}

func TestTheLifeOfARig(t *testing.T) {
	env := realEnv(t)
	dir := filepath.Join(t.TempDir(), "rig")

	if r := execute(t, env, "make", dir, "--rows", "12", "--writers", "2"); r.err != nil || r.out != "" ||
		!strings.Contains(r.log, "rows=12") {
		t.Fatalf("make: %+v", r)
	}

	if r := execute(t, env, "status", dir); exitCodeOf(r.err) != 3 || !strings.Contains(r.out, "not running") {
		t.Errorf("status before: %+v", r)
	}

	if r := execute(t, env, "env", dir); !errors.Is(r.err, rig.ErrNotRunning) {
		t.Errorf("env before: %+v", r)
	}

	up := execute(t, env, "up", dir, "--fragments", "2", "--optimize")
	if up.err != nil {
		t.Fatalf("up: %+v", up)
	}

	t.Cleanup(func() { execute(t, env, "down", dir) })

	url := strings.TrimSpace(up.out)
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.Contains(up.log, "loaded 12 memories") {
		t.Errorf("up: %+v", up)
	}

	if r := execute(t, env, "status", dir); r.err != nil || !strings.Contains(r.out, url) ||
		!strings.Contains(r.out, "2 single-row commits") {
		t.Errorf("status: %+v", r)
	}

	var st rig.Status
	if r := execute(t, env, "status", dir, "--json"); r.err != nil || json.Unmarshal([]byte(r.out), &st) != nil ||
		!st.Running || st.URL != url || st.Fragments != 2 {
		t.Errorf("status --json: %+v", r)
	}

	r := execute(t, env, "env", dir)
	if r.err != nil || !strings.Contains(r.out, "export OMNIGRAPH_URI='"+url+"'\n") {
		t.Errorf("env: %+v", r)
	}

	// No token but in the output that is made for it.
	opened, err := rig.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	tokens, err := opened.Tokens()
	if err != nil || len(tokens) != 4 {
		t.Fatal(tokens, err)
	}

	for _, text := range []string{up.out, up.log} {
		if strings.Contains(text, tokens[rig.ActorWriter]) {
			t.Errorf("a token is in %q", text)
		}
	}

	if r := execute(t, env, "run", dir, "--", "true"); !errors.Is(r.err, rig.ErrRunning) {
		t.Errorf("run on a rig that is up: %+v", r)
	}

	if r := execute(t, env, "down", dir); r.err != nil || !strings.Contains(r.log, "stopped") {
		t.Errorf("down: %+v", r)
	}

	if r := execute(t, env, "down", dir); !errors.Is(r.err, rig.ErrNotRunning) {
		t.Errorf("down again: %+v", r)
	}
}

func exitCodeOf(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}

	return -1
}

func TestTheDatasetIsPrinted(t *testing.T) {
	p := dataset.Default()
	p.Rows, p.Seed, p.PayloadBytes, p.Projects, p.RelationsPerRow, p.Exponent = 7, 3, 10, 2, 1, 0
	p.Mix = dataset.Mix{Note: 1}

	args := strings.Fields("dataset --rows 7 --seed 3 --payload 10 --projects 2 --relations 1 --exponent 0 --mix note:1")

	var want bytes.Buffer

	id, err := p.Write(&want)
	if err != nil {
		t.Fatal(err)
	}

	if r := execute(t, nil, args...); r.err != nil || r.out != want.String() {
		t.Errorf("%+v", r)
	}

	var got dataset.Identity
	if r := execute(t, nil, append(args, "--identity")...); json.Unmarshal([]byte(r.out), &got) != nil || got != id {
		t.Errorf("identity %+v, wanted %+v", r, id)
	}
}

func TestWrongCommandLinesAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rig")
	if _, err := rig.Make(dir, rig.MakeOptions{}); err != nil {
		t.Fatal(err)
	}

	notRig := t.TempDir()
	none := []string{"PATH=/nonexistent"}

	for line, c := range map[string]struct {
		code int
		want string
	}{
		"frobnicate":                     {2, `unknown command "frobnicate"`},
		"make":                           {2, "one directory"},
		"make --rows x " + dir:           {2, "rows"},
		"make --rows -1 " + dir + "2":    {2, "rows must be between"},
		"make --mix tea:1 " + dir + "2":  {2, "tea"},
		"make " + dir:                    {-1, "is one already"},
		"up":                             {2, "one directory"},
		"up " + notRig:                   {2, "not a rig"},
		"up " + dir:                      {2, "OMNIGRAPH_SERVER_BIN"},
		"up --nope " + dir:               {2, "--nope"},
		"up --bin /nonexistent/o " + dir: {2, "/nonexistent/o"},
		"down " + notRig:                 {2, "not a rig"},
		"status " + notRig:               {2, "not a rig"},
		"env " + notRig:                  {2, "not a rig"},
		"run":                            {2, "after --"},
		"run true":                       {2, "after --"},
		"run --":                         {2, "after --"},
		"run a b -- true":                {2, "at most one directory"},
		"run -- true":                    {2, "OMNIGRAPH_BIN"},
		"dataset --mix x":                {2, "mix"},
		"dataset --exponent NaN":         {2, "exponent"},
		"make --writers -1 " + dir + "2": {2, "writers must be between"},
		"up --fragments -1 " + dir:       {2, "fragments must be between"},
		"up --port 99999 " + dir:         {2, "port must be between"},
		"up --boot-timeout 0s " + dir:    {2, "boot-timeout must be above 0"},
		"up --boot-timeout -1s " + dir:   {2, "boot-timeout must be above 0"},
		"run --fragments -1 -- true":     {2, "fragments must be between"},
		"run --writers -1 -- true":       {2, "OMNIGRAPH_BIN"},
	} {
		r := execute(t, none, strings.Fields(line)...)
		if r.err == nil || exitCodeOf(r.err) != c.code || !strings.Contains(r.err.Error(), c.want) ||
			strings.Contains(r.err.Error(), "\n") {
			t.Errorf("rig %s: %v (exit code %d), wanted %q (%d)", line, r.err, exitCodeOf(r.err), c.want, c.code)
		}

		if r.out != "" {
			t.Errorf("rig %s printed %q", line, r.out)
		}
	}

	if r := execute(t, none); r.err != nil || !strings.Contains(r.out, "Available Commands") {
		t.Errorf("rig alone: %+v", r)
	}
}

func TestADeadServersLinesAreShown(t *testing.T) {
	dir := t.TempDir()
	server := filepath.Join(dir, "server")
	cli := filepath.Join(dir, "cli")

	for path, body := range map[string]string{
		server: "echo first; echo last; exit 1",
		cli:    `case $1 in cluster) echo '{"ok":true,"converged":true}' ;; *) echo '{}' ;; esac`,
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	r := execute(t, nil, "run", "--bin", cli, "--server-bin", server, "--", "true")
	if r.err == nil || !strings.Contains(r.log, "  | first\n  | last\n") || r.out != "" {
		t.Errorf("%+v", r)
	}
}
