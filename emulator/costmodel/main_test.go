package costmodel_test

import (
	"os"
	"runtime"
	"testing"
)

// On one processor goroutines that fake time wakes at the same instant run in the same order every time.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
