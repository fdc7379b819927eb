//go:build unix && !linux

package rig

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes of a child. With a group of its own, the terminal's signals don't reach it. There is no
// parent-death signal here.
func attributes(group bool, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group}
}

func tiedTo(*syscall.SysProcAttr) bool { return false }

// leaderExited returns at once: waiting without reaping is Linux's here.
func leaderExited(int) {}

// startMark tells a process from any other that had or will have its pid: by its start time, as ps has it. It is
// empty if there is no such process, or only a zombie of it.
func startMark(pid int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()

	var exit *exec.ExitError
	if errors.As(err, &exit) && len(bytes.TrimSpace(out)) == 0 {
		return "", nil
	}

	if err != nil {
		return "", err
	}

	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", nil
	}

	return strings.TrimSpace(started), nil
}
