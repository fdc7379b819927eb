//go:build unix

package rigcmd_test

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// behaveLikeK6 is a command that knows SIGINT and SIGTERM and no other signal: on the first one it says so and takes a
// moment to write what it has, on a second one it ends at once.
func behaveLikeK6() int {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid(), os.Getenv("OMNIGRAPH_RIG"))

	fmt.Println("first", <-ch)

	select {
	case <-ch:
		fmt.Println("lost")

		return 105
	case <-time.After(400 * time.Millisecond):
	}

	fmt.Println("written")

	return 105
}

func TestALostConnectionEndsK6InOrder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	p := runProgram(t, realEnv(t), "run", "--rows", "5", "--", "env", asProgram+"=k6", self)
	p.line(t)
	p.send(t, syscall.SIGHUP)

	if got := p.line(t); got != "first terminated" {
		t.Errorf("%q", got)
	}

	time.Sleep(150 * time.Millisecond) // later it would not be an echo
	p.send(t, syscall.SIGHUP)

	if out, code := p.end(t); code != 105 || out != "written\n" {
		t.Errorf("code %d, stdout %q, stderr %s", code, out, p.stderr.String())
	}

	p.clean(t)
}
