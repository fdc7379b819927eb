//go:build unix

package cliclient

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

func isTextBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

func isFolder(err error) bool { return errors.Is(err, syscall.EISDIR) }

func isNotProgram(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

func isTooLong(err error) bool { return errors.Is(err, syscall.E2BIG) }

// explainLimit names the limit of the system that an error is about, or is empty.
func explainLimit(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.EBADF):
		// Between fork and exec a descriptor may have to move to a number above all others. One at or beyond the limit is
		// a bad one to the system; all that this process hands over are good.
		return fmt.Sprintf("too many open files: this process has reached its limit of open files (ulimit -n%s); raise it, or start fewer processes at once (option maxProcesses)", limitValue(unix.RLIMIT_NOFILE))
	case errors.Is(err, syscall.ENFILE):
		return "too many open files in the whole system (fs.file-max); raise that limit, or start fewer processes at once (option maxProcesses)"
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Sprintf("too many processes: the limit of processes and threads is reached (ulimit -u%s, or the container's pids limit); raise it, or start fewer processes at once (option maxProcesses)", limitValue(unix.RLIMIT_NPROC))
	case errors.Is(err, syscall.ENOMEM):
		return "out of memory: the system has none left for another process (or ulimit -v is reached); start fewer processes at once (option maxProcesses)"
	}
	return ""
}

// limitValue is the present value of a limit, as ", now N".
func limitValue(resource int) string {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return ""
	}
	// RLIM_INFINITY is the largest number of a type that is not the same everywhere.
	if limit.Cur > 1<<62 {
		return ", now unlimited"
	}
	return fmt.Sprintf(", now %d", limit.Cur)
}
