package rigcmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The temporary folder stays until the next rig, since nobody is left to remove it; processes do not.
func TestKillingTheProgramEndsServerAndCommand(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c", facts+"exec sleep 60")
	f := readFacts(t, p)
	p.send(t, syscall.SIGKILL)

	if _, code := p.end(t); code != 128+9 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	ended(t, f.Server.PID)
	ended(t, f.Command)
}

// To k6 a second SIGTERM means to end at once. The system tells of a parent's death once per thread of it, so that is
// tried more than once.
func TestKillingTheProgramEndsK6InOrderAndTheNextRigTidiesUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	var left []string

	for range 3 {
		p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "env", asProgram+"=k6", self)

		var (
			pid int
			dir string
		)

		if _, err := fmt.Sscanf(p.line(t), "ready %d %s", &pid, &dir); err != nil {
			t.Fatal(err)
		}

		var server struct{ PID int }
		if data, err := os.ReadFile(filepath.Join(dir, "server.json")); err != nil || json.Unmarshal(data, &server) != nil {
			t.Fatalf("%s, %v", data, err)
		}

		p.send(t, syscall.SIGKILL)

		if out, _ := p.end(t); out != "first terminated\nwritten\n" {
			t.Errorf("stdout %q, stderr %s", out, p.stderr.String())
		}

		ended(t, pid)
		ended(t, server.PID) // a rig whose server runs is somebody's

		left = append(left, dir)
	}

	for _, dir := range left {
		if _, err := os.Stat(filepath.Join(dir, "tokens.json")); err != nil {
			t.Fatal(err)
		}

		next := exec.CommandContext(t.Context(), self, "run", "--rows", "5", "--", "true")
		next.Env = append(realEnv(t), asProgram+"=1", "TMPDIR="+filepath.Dir(dir))

		if out, err := next.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}

		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
}
