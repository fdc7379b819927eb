// Package executable writes the programs that tests start.
package executable

import (
	"os"
	"syscall"
	"testing"
)

// Write writes an executable file. No process that a parallel test forks meanwhile carries the open file along: a program
// that is open for writing can't be started.
func Write(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o700) // #nosec G306 -- has to be executable
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
