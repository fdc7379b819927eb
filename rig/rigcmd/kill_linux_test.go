package rigcmd_test

import (
	"syscall"
	"testing"
)

// The temporary folder stays, since nobody is left to remove it; processes do not.
func TestKillingTheProgramEndsServerAndCommand(t *testing.T) {
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "sh", "-c", facts+"exec sleep 60")
	f := readFacts(t, p)
	p.send(t, syscall.SIGKILL)

	if _, code := p.end(t); code != -1 {
		t.Errorf("code %d, stderr %s", code, p.stderr.String())
	}

	ended(t, f.Server.PID)
	ended(t, f.Command)
}
