package rig

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	rest := " S 1 2 2 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2"

	for name, c := range map[string]struct{ stat, state, ticks string }{
		"plain":                        {"12 (sh)" + rest, "S", "98765"},
		"a name with blanks, brackets": {"12 (a) R (b c)" + rest, "S", "98765"},
		"no name":                      {"12 sh S 1", "", ""},
		"too short":                    {"12 (sh) S 1", "", ""},
		"nothing":                      {"", "", ""},
	} {
		state, ticks, err := parseStat([]byte(c.stat))
		if state != c.state || ticks != c.ticks || (err != nil) != (c.ticks == "") {
			t.Errorf("%s: %q %q %v", name, state, ticks, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) R (b c) S 1 2 2 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2"))
	f.Add([]byte(")"))

	f.Fuzz(func(t *testing.T, stat []byte) {
		state, ticks, err := parseStat(stat)
		if err == nil && (state == "" || ticks == "") {
			t.Error("neither an answer nor an error")
		}
	})
}

func TestAProcessIsKnownByItsStart(t *testing.T) {
	mine, err := startMark(os.Getpid())
	if err != nil || !strings.Contains(mine, "/") {
		t.Fatalf("%q, %v", mine, err)
	}

	if again, _ := startMark(os.Getpid()); again != mine {
		t.Errorf("%q, then %q", mine, again)
	}

	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if other, err := startMark(cmd.Process.Pid); err != nil || other == "" || other == mine {
		t.Errorf("%q, %v", other, err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	leaderExited(cmd.Process.Pid)

	// It is a zombie now, and no process that could be stopped.
	if mark, err := startMark(cmd.Process.Pid); err != nil || mark != "" {
		t.Errorf("a zombie has the mark %q, %v", mark, err)
	}

	if err := cmd.Wait(); err == nil {
		t.Error("killed without an error")
	}

	if mark, err := startMark(cmd.Process.Pid); err != nil || mark != "" {
		t.Errorf("nobody has the mark %q, %v", mark, err)
	}
}

// gone waits until no process has this pid, or it is a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()

	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if mark, err := startMark(pid); err == nil && mark == "" {
			return
		}

		time.Sleep(10 * time.Millisecond)
	}

	t.Errorf("process %d is still there", pid)
}

func TestWhatTheLeaderLeavesInItsGroupEndsWithIt(t *testing.T) {
	var out strings.Builder

	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	cmd.Stdout = &out
	cmd.SysProcAttr = attributes(true, syscall.SIGKILL)

	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}

	<-p.done

	if p.err != nil {
		t.Fatal(p.err)
	}

	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}

	gone(t, pid)
}

func TestStopKillsWhatIgnoresTheRequest(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" TERM; echo ready; while :; do sleep 1; done`)
	cmd.Stdout = w
	cmd.SysProcAttr = attributes(true, syscall.SIGKILL)

	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := r.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}

	p.stop(50 * time.Millisecond)

	if got := exitCode(p.err); got != 128+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", got)
	}

	// A second stop has nothing to do.
	p.stop(time.Minute)
}
