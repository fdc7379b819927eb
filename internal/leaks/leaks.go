// Package leaks fails a package's tests over goroutines that outlive them, and gives those that are ending the time that
// a busy machine takes.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end; only a leak ever takes all of it. goleak's own is half a second.
const patience = 30 * time.Second

// Run runs a package's tests and gives the exit code: as goleak.VerifyTestMain, but patient.
func Run(m *testing.M) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
		return 1
	}
	return 0
}

// Find says which goroutines are still there after a while, apart from the caller's and the testing package's.
func Find() error { return findWithin(patience) }

func findWithin(d time.Duration) error {
	for deadline := time.Now().Add(d); ; {
		err := goleak.Find()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
