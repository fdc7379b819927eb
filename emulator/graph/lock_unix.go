//go:build unix

package graph

import (
	"os"
	"syscall"
)

func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // #nosec G115 -- a descriptor fits
		if err != syscall.EINTR {                          //nolint:errorlint // a bare errno
			return err
		}
	}
}

func unlockFile(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // #nosec G115 -- a descriptor fits; closing unlocks, too
}
