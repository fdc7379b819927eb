//go:build unix

package cliclient

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readNow reads what is in a pipe already, past its deadline and without waiting. With nothing there it is
// os.ErrDeadlineExceeded; at the end, io.EOF.
func readNow(pipe *os.File, buf []byte) (int, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var readErr error
	if err := raw.Control(func(fd uintptr) {
		for {
			n, readErr = unix.Read(int(fd), buf)
			if !errors.Is(readErr, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return 0, err
	}
	switch {
	case errors.Is(readErr, unix.EAGAIN):
		return 0, os.ErrDeadlineExceeded
	case readErr != nil:
		return 0, readErr
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
