//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recorder

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file for this descriptor alone, without waiting. A file system without locks is no reason to fail.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // #nosec G115 -- a descriptor
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOLCK):
		return nil
	}
	return err
}
