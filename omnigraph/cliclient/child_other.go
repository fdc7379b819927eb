//go:build !unix

package cliclient

import (
	"os"
	"sync/atomic"
	"time"
)

// child is one CLI process. This system has no process groups, so only the process itself is killed.
type child struct {
	process *os.Process
	state   *os.ProcessState
	err     error
	killed  atomic.Bool
}

func startChild(l launch) (*child, time.Duration, error) {
	began := time.Now()
	p, err := os.StartProcess(l.path, l.argv, &os.ProcAttr{Env: l.env, Files: l.files[:]})
	if err != nil {
		return nil, 0, err
	}
	return &child{process: p}, time.Since(began), nil
}

func (c *child) await(func()) { c.state, c.err = c.process.Wait() }

func (c *child) kill() {
	if c.process.Kill() == nil {
		c.killed.Store(true)
	}
}

func (c *child) id() int { return c.process.Pid }

func (c *child) reap(bool) ending {
	if c.err != nil {
		return ending{code: -1, signal: "unknown (" + c.err.Error() + ")"}
	}
	e := ending{code: c.state.ExitCode(), cpu: c.state.UserTime() + c.state.SystemTime()}
	if c.killed.Load() && e.code != 0 {
		e.code, e.signal, e.killed = -1, "SIGKILL", true
	}
	return e
}
