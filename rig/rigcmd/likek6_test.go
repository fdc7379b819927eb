//go:build unix

package rigcmd_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// behaveLikeK6 is a command that knows SIGINT and SIGTERM and no other signal: on the first one it says so and takes a
// moment to write what it has, on a second one it ends at once. The moment lasts until there is the file that k6sMoment
// names, if it names one.
func behaveLikeK6() int {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid(), os.Getenv("OMNIGRAPH_RIG"))

	fmt.Println("first", <-ch)

	for end := time.Now().Add(400 * time.Millisecond); !momentIsOver(end); {
		select {
		case <-ch:
			fmt.Println("lost")

			return 105
		case <-time.After(10 * time.Millisecond):
		}
	}

	fmt.Println("written")

	return 105
}

const k6sMoment = "RIGCMD_TEST_K6S_MOMENT"

func momentIsOver(end time.Time) bool {
	path := os.Getenv(k6sMoment)
	if path == "" {
		return time.Now().After(end)
	}

	_, err := os.Stat(path)

	return err == nil
}

// endMoment ends the moment, with some time for a signal to arrive that must not.
func endMoment(t *testing.T, path string) {
	t.Helper()
	time.Sleep(200 * time.Millisecond)

	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestALostConnectionEndsK6InOrder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	moment := filepath.Join(t.TempDir(), "over")
	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "env", asProgram+"=k6", k6sMoment+"="+moment, self)
	p.line(t)
	p.send(t, syscall.SIGHUP)

	if got := p.line(t); got != "first terminated" {
		t.Errorf("%q", got)
	}

	time.Sleep(150 * time.Millisecond) // later it would not be an echo
	p.send(t, syscall.SIGHUP)
	endMoment(t, moment)

	if out, code := p.end(t); code != 105 || out != "written\n" {
		t.Errorf("code %d, stdout %q, stderr %s", code, out, p.stderr.String())
	}

	p.clean(t)
}
