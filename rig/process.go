package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child with an owner: one goroutine starts it, waits for it and closes done.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	// group: cmd leads a process group of its own, so signals go to all of it.
	group bool
	// err is cmd.Wait's, to be read after done.
	err error
}

// start starts cmd, whose attributes say whether it leads a group and whether it is tied: a tied child gets a
// signal when this process dies, however it dies. Where the system has no such signal the ordinary teardown has
// to do.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{}), group: leads(cmd.SysProcAttr)}
	tied := tiedTo(cmd.SysProcAttr)
	started := make(chan error)

	go func() {
		if tied {
			// The system sends the parent-death signal when the thread that started the child ends, so
			// this goroutine keeps its thread for as long as the child lives.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}

		err := cmd.Start()
		started <- err

		if err != nil {
			return
		}

		leaderExited(cmd.Process.Pid)

		if p.group {
			// What the leader left behind in its group ends with it. The leader is not reaped yet, so
			// its number can't belong to another group.
			signalGroup(cmd.Process.Pid, os.Kill)
		}

		p.err = cmd.Wait()
		close(p.done)
	}()

	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}

	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal passes sig on to the process, or to its group if it leads one.
func (p *process) signal(sig os.Signal) {
	switch {
	case p.exited():
	case p.group:
		signalGroup(p.pid(), sig)
	default:
		_ = p.cmd.Process.Signal(sig) // it may have ended meanwhile, which is what is wanted
	}
}

// stop asks the process to end and kills it after the grace. It returns once it is reaped.
func (p *process) stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)

	timer := time.NewTimer(grace)
	defer timer.Stop()

	select {
	case <-p.done:
		return
	case <-timer.C:
	}

	p.signal(os.Kill)
	<-p.done
}

// exitCode is a process's exit code as a shell gives it: 128 plus the number of the signal that ended it.
func exitCode(err error) int {
	if err == nil {
		return 0
	}

	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 1
	}

	if n := endingSignal(exit.ProcessState); n > 0 {
		return 128 + n
	}

	return exit.ExitCode()
}
