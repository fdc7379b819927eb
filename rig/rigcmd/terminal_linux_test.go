package rigcmd_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what a user types is written to user, what the program sees is in program.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()

	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = user.Close() })

	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}

	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}

	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}

	return user, program
}

// On a terminal the command gets Ctrl-C from the terminal, once; SIGTERM, which no terminal sends, is passed on.
func TestCtrlCOnATerminalReachesTheCommandOnce(t *testing.T) {
	user, tty := terminal(t)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	// The command is in the terminal's foreground: it may read from it, and Ctrl-Z stops it.
	foreground := "read -r _ _ _ _ group _ _ foreground _ < /proc/$$/stat; test $group = $foreground"

	cmd := exec.CommandContext(t.Context(), self, "run", "--rows", "5", "--",
		"sh", "-c", foreground+" && test -t 0 && test -t 1 && exec env "+asProgram+`=counter "$0"`, self)
	cmd.Env = append(realEnv(t), asProgram+"=1", "TMPDIR="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}

	out := bufio.NewReader(user)
	until := func(part string) string {
		for {
			line, err := out.ReadString('\n')
			if strings.Contains(line, part) {
				return strings.TrimSpace(line)
			}

			if err != nil {
				t.Fatalf("%v before %q; last line %q", err, part, line)
			}
		}
	}

	var server int
	if _, err := fmt.Sscanf(until("ready"), "ready %d", &server); err != nil {
		t.Fatal(err)
	}

	if _, err := user.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}

	until("interrupted")

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 41 {
		t.Errorf("code %d", cmd.ProcessState.ExitCode())
	}

	ended(t, server)
}

// A terminal that goes away, as with a connection that is lost, tells everybody in its foreground. The command must end in
// order all the same.
func TestATerminalThatGoesAwayEndsK6InOrder(t *testing.T) {
	user, tty := terminal(t)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	said, moment := filepath.Join(t.TempDir(), "said"), filepath.Join(t.TempDir(), "over")
	cmd := exec.CommandContext(t.Context(), self, "run", "--rows", "5", "--",
		"sh", "-c", `exec env `+asProgram+`=k6 `+k6sMoment+`="$2" "$0" > "$1"`, self, said, moment)
	cmd.Env = append(realEnv(t), asProgram+"=1", "TMPDIR="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}

	var pid int

	eventually(t, "k6 runs", func() bool {
		data, err := os.ReadFile(said)
		_, scanErr := fmt.Sscanf(string(data), "ready %d", &pid)

		return err == nil && scanErr == nil
	})

	if err := user.Close(); err != nil {
		t.Fatal(err)
	}

	// The system tells the session's leader; a shell that leads one tells its jobs.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}

	endMoment(t, moment)

	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 105 {
		t.Errorf("code %d", cmd.ProcessState.ExitCode())
	}

	data, err := os.ReadFile(said)
	if err != nil || !strings.HasSuffix(string(data), "\nfirst terminated\nwritten\n") {
		t.Errorf("%q, %v", data, err)
	}

	ended(t, pid)
}
