package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes of a child that gets sig when this process dies. With a group of its own, the terminal's signals
// don't reach it.
func attributes(group bool, sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: sig}
}

// tiedTo tells whether a child with these attributes gets a signal when the thread that started it ends.
func tiedTo(attr *syscall.SysProcAttr) bool { return attr != nil && attr.Pdeathsig != 0 }

// leaderExited waits until the process has ended, without reaping it.
func leaderExited(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// startMark tells a process from any other that had or will have its pid: the boot's id and the process's
// start time in clock ticks after it. It is empty if there is no such process, or only a zombie of it.
func startMark(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}

	if err != nil {
		return "", err
	}

	state, ticks, err := parseStat(stat)
	if err != nil {
		return "", err
	}

	if state == "Z" || state == "X" {
		return "", nil
	}

	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}

	return strings.TrimSpace(string(boot)) + "/" + ticks, nil
}

// parseStat picks state (field 3) and start time (field 22) out of /proc/PID/stat. Field 2 is the program's
// name in brackets, which may itself hold blanks and brackets: the last bracket ends it.
func parseStat(stat []byte) (state, ticks string, err error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", "", fmt.Errorf("process state %q has no name in brackets", stat)
	}

	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 {
		return "", "", fmt.Errorf("process state has %d fields after the name, wanted 20", len(fields))
	}

	return fields[0], fields[19], nil
}
