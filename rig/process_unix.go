//go:build unix

package rig

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalGroup sends sig to every process of the group that pid leads. An absent group is fine.
func signalGroup(pid int, sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok && pid > 0 {
		_ = syscall.Kill(-pid, s) // it may have ended meanwhile, which is what is wanted
	}
}

// leads tells whether a child with these attributes leads a process group of its own.
func leads(attr *syscall.SysProcAttr) bool { return attr != nil && (attr.Setpgid || attr.Setsid) }

// detached takes a child out of the terminal's session, so that a closing terminal doesn't end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// onTerminal tells whether this process's group is the one that the terminal's Ctrl-C goes to.
func onTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()

	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)

	return err == nil && group == unix.Getpgrp()
}

// endingSignal is the number of the signal that ended the process, 0 if it exited.
func endingSignal(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}

	return 0
}

// lock takes the lock file for this process or says ErrBusy at once. The returned function gives it back.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- a file of the rig
	if err != nil {
		return nil, err
	}

	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}

		return nil, errors.Join(err, f.Close())
	}

	return func() { _ = f.Close() }, nil
}
