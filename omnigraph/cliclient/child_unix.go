//go:build unix && !linux

package cliclient

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// child is one CLI process. These systems have no portable way to wait without reaping; the group's id stays taken as
// long as any process of the group lives, so a kill after the leader's end reaches only what it left behind, and kill
// is not called once nothing shows that something is left.
type child struct {
	process *os.Process
	state   *os.ProcessState
	err     error
	mu      sync.Mutex
	reaped  bool
}

func startChild(l launch) (*child, time.Duration, error) {
	began := time.Now()
	p, err := os.StartProcess(l.path, l.argv, &os.ProcAttr{
		Env:   l.env,
		Files: l.files[:],
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, 0, err
	}
	return &child{process: p}, time.Since(began), nil
}

func (c *child) await(func()) { c.state, c.err = c.process.Wait() }

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.process.Pid, syscall.SIGKILL)
	}
}

func (c *child) id() int { return c.process.Pid }

func (c *child) reap(held bool) ending {
	if held {
		c.kill()
	}
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	if c.err != nil {
		return ending{code: -1, signal: "unknown (" + c.err.Error() + ")"}
	}
	e := ending{code: c.state.ExitCode(), cpu: c.state.UserTime() + c.state.SystemTime()}
	if status, ok := c.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.code, e.signal, e.killed = -1, status.Signal().String(), status.Signal() == syscall.SIGKILL
	}
	return e
}
