package cliclient

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"golang.org/x/sys/unix"
)

// peakMemory follows the peak resident memory of one process: VmHWM in /proc, whose last value before the end counts.
//
// The ru_maxrss of a reaped child won't do: it begins with what its parent used at the fork, so it is at least the
// generator's own size.
type peakMemory struct {
	fd  int
	buf [4096]byte
}

// openPeak opens the process's status once; each reading is then one system call. Without /proc it stays shut.
func openPeak(pid int) *peakMemory {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/status", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return &peakMemory{fd: fd}
}

// read is the peak in bytes, or 0 where the system does not tell (any more).
func (p *peakMemory) read() int64 {
	if p.fd < 0 {
		return 0
	}
	n, err := unix.Pread(p.fd, p.buf[:], 0)
	if err != nil || n <= 0 {
		return 0
	}
	return parseHighWater(p.buf[:n])
}

func (p *peakMemory) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}

// parseHighWater finds `VmHWM:  27648 kB` in a process's status; 0 if it is not there.
func parseHighWater(status []byte) int64 {
	const name = "\nVmHWM:"
	i := bytes.Index(status, []byte(name))
	if i < 0 {
		return 0
	}
	line, _, _ := bytes.Cut(status[i+len(name):], []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) != 2 || string(fields[1]) != "kB" {
		return 0
	}
	kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil || kb < 0 || kb > math.MaxInt64/1024 {
		return 0
	}
	return kb * 1024
}
