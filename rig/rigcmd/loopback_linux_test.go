package rigcmd_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A new network namespace has a loopback interface that is down.
func TestALoopbackThatIsDownIsNamedBeforeAnythingIsBooted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	cli, server, running := slowBinaries(t)
	cmd := exec.CommandContext(t.Context(), self, "run", "--bin", cli, "--server-bin", server, "--", "true")
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this system makes no network namespace for us: %v", err)
	}

	if err == nil || !strings.Contains(string(out), "the loopback interface is down") {
		t.Errorf("%v: %s", err, out)
	}

	if _, err := os.Stat(running); err == nil {
		t.Error("the server was started all the same")
	}
}
