//go:build unix

package cliclient

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplanationNamesTheLimit(t *testing.T) {
	t.Parallel()
	c := clientFor(t, Config{Bin: "/opt/omnigraph"})
	for errno, want := range map[syscall.Errno]string{
		syscall.EMFILE:  "limit of open files (ulimit -n, now ",
		syscall.EBADF:   "limit of open files (ulimit -n, now ",
		syscall.ENFILE:  "in the whole system (fs.file-max)",
		syscall.EAGAIN:  "limit of processes and threads is reached (ulimit -u, now ",
		syscall.ENOMEM:  "out of memory",
		syscall.ENOEXEC: "not a program for this system",
		syscall.ETXTBSY: "text file busy",
		syscall.E2BIG:   "longer than the system takes",
		syscall.EISDIR:  "it is a folder",
		syscall.ENOENT:  "there is no such file",
		syscall.EACCES:  "not executable",
		syscall.EIO:     "input/output error",
	} {
		for _, err := range []error{errno, os.NewSyscallError("pipe2", errno), &fs.PathError{Op: "fork/exec", Path: "/opt/omnigraph", Err: errno}, fmt.Errorf("wrapped: %w", errno)} {
			message := c.explain(err)
			require.Contains(t, message, want)
			require.Contains(t, message, "can't start /opt/omnigraph: ")
		}
	}
}
