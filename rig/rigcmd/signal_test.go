//go:build unix

package rigcmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig"
)

// program is the command line as a process of its own.
type program struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	tmp    string
}

// runProgram starts it with its own folder for temporary files, so that what it leaves behind is seen.
func runProgram(t *testing.T, env []string, args ...string) *program {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	p := &program{Cmd: exec.CommandContext(t.Context(), self, args...), tmp: t.TempDir()}
	p.Env = append(env, asProgram+"=1", "TMPDIR="+p.tmp)
	p.Stderr = &p.stderr

	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	p.stdout = bufio.NewReader(out)

	if err := p.Start(); err != nil {
		t.Fatal(err)
	}

	return p
}

// line reads one line of the program's stdout.
func (p *program) line(t *testing.T) string {
	t.Helper()

	text, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v; stderr: %s", err, p.stderr.String())
	}

	return strings.TrimSpace(text)
}

// end waits for the program and gives the rest of its stdout and its exit code as a shell has it.
func (p *program) end(t *testing.T) (string, int) {
	t.Helper()

	rest, err := io.ReadAll(p.stdout)
	if err != nil {
		t.Fatal(err)
	}

	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return string(rest), 128 + int(status.Signal())
	}

	return string(rest), p.ProcessState.ExitCode()
}

func (p *program) send(t *testing.T, sig syscall.Signal) {
	t.Helper()

	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// clean checks that the temporary rig is gone.
func (p *program) clean(t *testing.T) {
	t.Helper()

	left, err := os.ReadDir(p.tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// ended waits until there is no process with this pid.
func ended(t *testing.T, pid int) {
	t.Helper()

	if pid <= 0 {
		t.Fatalf("pid %d", pid)
	}

	eventually(t, fmt.Sprintf("process %d ends", pid), func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
	})
}

// eventually waits until something holds, for a time that only a failure takes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// zombie: nobody reaps orphans in some containers.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", itoa(pid)).Output()

	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func itoa(n int) string {
	b, _ := json.Marshal(n)

	return string(b)
}

// facts makes a shell print, in one line, its pid and the server's state.
const facts = `echo "{\"command\":$$,\"server\":$(cat "$OMNIGRAPH_RIG/server.json" | tr -d '\n')}"; `

type pids struct {
	Command int
	Server  struct {
		PID int
		URL string
	}
}

func readFacts(t *testing.T, p *program) pids {
	t.Helper()

	var f pids

	text := p.line(t)
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	return f
}

func TestRunPassesExitCodeAndOutputThrough(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c", facts+"echo hi; exit 7")
	f := readFacts(t, p)

	if out, code := p.end(t); out != "hi\n" || code != 7 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, p.stderr.String())
	}

	ended(t, f.Server.PID)
	p.clean(t)
}

func TestRunGivesTheCommandItsEnvironment(t *testing.T) {
	p := runProgram(t, append(realEnv(t), "OMNIGRAPH_URI=stale", "KEPT=yes"),
		"run", "--rows", "5", "--", "sh", "-c",
		`"$OMNIGRAPH_BIN" --version; for v in URI URL GRAPH TOKEN TOKENS_FILE BIN SERVER_BIN STORE DATASET RIG; do
eval "echo $v=\$OMNIGRAPH_$v"; done; echo KEPT=$KEPT; test -d "$OMNIGRAPH_STORE" && test -f "$OMNIGRAPH_TOKENS_FILE"`)

	version := p.line(t)
	out, code := p.end(t)

	if code != 0 || !strings.HasPrefix(version, "omnigraph ") {
		t.Fatalf("code %d, version %q, stderr %s", code, version, p.stderr.String())
	}

	got := map[string]string{}

	for line := range strings.SplitSeq(out, "\n") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}

	for name, prefix := range map[string]string{
		"URI": "http://127.0.0.1:", "URL": "http://127.0.0.1:", "GRAPH": "council", "TOKENS_FILE": p.tmp,
		"STORE": p.tmp, "RIG": p.tmp, "BIN": "/", "SERVER_BIN": "/", "DATASET": `{"builder":"council/1","seed":1,"rows":5,`,
		"KEPT": "yes",
	} {
		if !strings.HasPrefix(got[name], prefix) {
			t.Errorf("%s is %q, wanted %q…", name, got[name], prefix)
		}
	}

	if len(got["TOKEN"]) < 32 {
		t.Error("no token")
	}

	p.clean(t)
}

func TestASignalReachesTheCommandAndNothingStays(t *testing.T) {
	env := realEnv(t)

	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := runProgram(t, env, "run", "--rows", "5", "--", "sh", "-c",
			`trap "exit 5" INT TERM HUP; `+facts+"while :; do sleep 0.05; done")
		f := readFacts(t, p)
		p.send(t, sig)

		if _, code := p.end(t); code != 5 {
			t.Errorf("%v: code %d, stderr %s", sig, code, p.stderr.String())
		}

		ended(t, f.Server.PID)
		ended(t, f.Command)
		p.clean(t)
	}
}

func TestTwoInterruptsReachTheCommandAndNothingStays(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c",
		`n=0; trap 'n=$((n+1)); echo got $n; if [ $n = 2 ]; then exit 6; fi' INT; `+facts+"while :; do sleep 0.05; done")
	f := readFacts(t, p)

	for _, want := range []string{"got 1", "got 2"} {
		p.send(t, syscall.SIGINT)

		if got := p.line(t); got != want {
			t.Errorf("%q, wanted %q", got, want)
		}

		time.Sleep(150 * time.Millisecond) // sooner it would be the same signal
	}

	if _, code := p.end(t); code != 6 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	ended(t, f.Server.PID)
	ended(t, f.Command)
	p.clean(t)
}

// Who ends a process and then its whole group, as timeout(1) does, means one signal.
func TestASignalThatComesTwiceAtOnceReachesTheCommandOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	// Between two signals a busy machine may hold anybody up for longer than a user would.
	p := runProgram(t, append(realEnv(t), programsEcho+"=1h"), "run", "--rows", "5", "--", "env", asProgram+"=counter", self)

	var server int
	if _, err := fmt.Sscanf(p.line(t), "ready %d", &server); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		p.send(t, syscall.SIGINT)
	}

	if got := p.line(t); got != "interrupted" {
		t.Errorf("%q", got)
	}

	p.send(t, syscall.SIGTERM)

	if out, code := p.end(t); code != 41 || out != "" {
		t.Errorf("code %d, stdout %q, stderr %s", code, out, p.stderr.String())
	}

	ended(t, server)
	p.clean(t)
}

func TestACommandEndedByASignalGivesItsNumber(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c", facts+"kill -KILL $$")
	f := readFacts(t, p)

	if _, code := p.end(t); code != 128+9 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	ended(t, f.Server.PID)
	p.clean(t)
}

func TestWhatTheCommandLeavesBehindEndsWithIt(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c", "sleep 60 & echo $!")
	pid := p.line(t)

	if _, code := p.end(t); code != 0 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	var n int
	if err := json.Unmarshal([]byte(pid), &n); err != nil {
		t.Fatal(err)
	}

	ended(t, n)
	p.clean(t)
}

func TestACommandThatIsNotThereGives127(t *testing.T) {
	for command, want := range map[string]int{"/nonexistent/command": 127, os.TempDir(): 126} {
		p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", command)

		if out, code := p.end(t); code != want || out != "" {
			t.Errorf("%s: code %d, stdout %q, stderr %s", command, code, out, p.stderr.String())
		}

		p.clean(t)
	}
}

// slowServer never answers, and says that it runs in a file.
func slowBinaries(t *testing.T) (cli, server, running string) {
	t.Helper()

	dir := t.TempDir()
	cli, server, running = filepath.Join(dir, "cli"), filepath.Join(dir, "server"), filepath.Join(dir, "running")

	for path, body := range map[string]string{
		server: `echo $$ > "` + running + `.new"; mv "` + running + `.new" "` + running + `"; exec sleep 60`,
		cli:    `case $1 in cluster) echo '{"ok":true,"converged":true}' ;; *) echo '{}' ;; esac`,
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	return cli, server, running
}

func TestSignalsDuringTheBootLeaveNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rig")
	if _, err := rig.Make(dir, rig.MakeOptions{}); err != nil {
		t.Fatal(err)
	}

	for name, args := range map[string][]string{
		"run": {"run", "--", "true"},
		"up":  {"up", dir},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			cli, server, running := slowBinaries(t)
			line := append([]string{args[0], "--bin", cli, "--server-bin", server}, args[1:]...)
			p := runProgram(t, os.Environ(), line...)

			var pid int

			eventually(t, "the server runs", func() bool {
				data, err := os.ReadFile(running)

				return err == nil && json.Unmarshal(bytes.TrimSpace(data), &pid) == nil
			})

			p.send(t, sig)
			_ = p.Process.Signal(sig)

			if out, code := p.end(t); code != 128+int(sig) || out != "" {
				t.Errorf("%s, %v: code %d, stdout %q, stderr %s", name, sig, code, out, p.stderr.String())
			}

			ended(t, pid)
			p.clean(t)
		}
	}
}

func TestAnInterruptWhileFragmentingStopsTheServer(t *testing.T) {
	env := realEnv(t)
	dir := filepath.Join(t.TempDir(), "rig")

	if r := execute(t, env, "make", dir, "--rows", "5"); r.err != nil {
		t.Fatal(r.err)
	}

	p := runProgram(t, env, "up", dir, "--fragments", "100000")
	state := filepath.Join(dir, "server.json")

	var server struct {
		PID     int    `json:"pid"`
		Version string `json:"version"`
	}

	eventually(t, "the server answers", func() bool {
		data, err := os.ReadFile(state)

		return err == nil && json.Unmarshal(data, &server) == nil && server.Version != ""
	})

	p.send(t, syscall.SIGINT)

	if _, code := p.end(t); code != 130 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	ended(t, server.PID)

	if _, err := os.Stat(state); err == nil {
		t.Error("server.json is left")
	}
}

func TestAnUpSurvivesTheProgramAndItsGroup(t *testing.T) {
	env := realEnv(t)
	dir := filepath.Join(t.TempDir(), "rig")

	if r := execute(t, env, "make", dir, "--rows", "5"); r.err != nil {
		t.Fatal(r.err)
	}

	p := runProgram(t, env, "up", dir)
	url := p.line(t)

	if _, code := p.end(t); code != 0 {
		t.Fatalf("code %d, stderr %s", code, p.stderr.String())
	}

	r, err := rig.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	st, err := r.Status()
	if err != nil || !st.Running || st.URL != url {
		t.Errorf("%+v, %v", st, err)
	}

	if err := r.Down(); err != nil {
		t.Error(err)
	}

	ended(t, st.PID)
}
