package cliclient

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is one CLI process. Until it is reaped, the kernel gives neither its process id nor its group id to others.
type child struct {
	pid int
	// pidfd is nil on kernels that have none; then await blocks a thread.
	pidfd *os.File
}

func startChild(l launch) (*child, time.Duration, error) {
	return spawn.start(l)
}

// forkExec starts the process. It must run on a thread that outlives it: see spawner.
func forkExec(l *launch) (*child, error) {
	pidfd := -1
	attr := &syscall.ProcAttr{
		Env:   l.env,
		Files: []uintptr{l.files[0].Fd(), l.files[1].Fd(), l.files[2].Fd()},
		Sys: &syscall.SysProcAttr{
			Setpgid:   true,
			Pdeathsig: syscall.SIGKILL,
			PidFD:     &pidfd,
		},
	}
	// To run the program that the script names is what this package is for; no shell sees the arguments.
	pid, _, err := syscall.StartProcess(l.path, l.argv, attr) // #nosec G204
	if err != nil {
		return nil, err
	}
	c := &child{pid: pid}
	if pidfd >= 0 {
		// Non-blocking, so that the runtime's poller waits for it and no thread has to.
		if err := unix.SetNonblock(pidfd, true); err == nil {
			c.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
		} else {
			_ = unix.Close(pidfd)
		}
	}
	runtime.KeepAlive(l)
	return c, nil
}

// The first sample comes early, the further ones ever more rarely.
const (
	firstSample = 5 * time.Millisecond
	lastSample  = 80 * time.Millisecond
)

func (c *child) await(sample func()) {
	if c.pidfd != nil && c.poll(sample) == nil {
		return
	}
	for {
		ended, err := c.ended(unix.P_PID, c.pid, 0)
		if ended || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// poll waits for the pidfd to become readable, which it is once the leader and all its threads have ended.
func (c *child) poll(sample func()) error {
	raw, err := c.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	for pause := firstSample; ; pause = min(2*pause, lastSample) {
		if err := c.pidfd.SetReadDeadline(time.Now().Add(pause)); err != nil {
			return err
		}
		var waitErr error
		err := raw.Read(func(fd uintptr) bool {
			var ended bool
			ended, waitErr = c.ended(unix.P_PIDFD, int(fd), unix.WNOHANG)
			return ended || waitErr != nil
		})
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			sample()
		case err != nil:
			return err
		default:
			return waitErr
		}
	}
}

// ended asks whether the leader has ended, and leaves it unreaped.
func (c *child) ended(idType, id, flags int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
	return err == nil && info.Signo != 0, err
}

func (c *child) kill() {
	_ = unix.Kill(-c.pid, unix.SIGKILL)
}

func (c *child) id() int { return c.pid }

func (c *child) reap(bool) ending {
	defer spawn.release()
	// Whatever the leader left behind in its group ends here, while the group's id is still taken by the leader.
	c.kill()
	if c.pidfd != nil {
		_ = c.pidfd.Close()
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		_, err := unix.Wait4(c.pid, &status, 0, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return ending{code: -1, signal: "unknown (" + err.Error() + ")"}
		}
		break
	}
	e := ending{code: -1, cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	if status.Signaled() {
		e.signal = unix.SignalName(status.Signal())
		e.killed = status.Signal() == unix.SIGKILL
	} else {
		e.code = status.ExitStatus()
	}
	return e
}
