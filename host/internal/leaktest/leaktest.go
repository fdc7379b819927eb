// Package leaktest finds goroutines that outlive the tests that started them.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end. goleak gives up after half a second, in which a busy machine need not
// have given a processor to one that has nothing left to do but return.
const patience = 30 * time.Second

// VerifyTestMain runs a package's tests and fails when they left goroutines behind. It ends the process.
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(); err != nil {
			fmt.Fprintf(os.Stderr, "the tests passed and left goroutines behind: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// VerifyNone fails the test when goroutines are left that the options don't allow for.
func VerifyNone(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := find(options...); err != nil {
		t.Error(err)
	}
}

func find(options ...goleak.Option) error {
	for deadline := time.Now().Add(patience); ; {
		// It waits a little itself, so this is no busy loop.
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
