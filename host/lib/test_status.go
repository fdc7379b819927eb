package lib

import "sync/atomic"

// TestStatus remembers whether the script marked the test as failed. It is safe for concurrent use.
type TestStatus struct {
	failed atomic.Bool
}

// NewTestStatus returns the status of a test that hasn't failed.
func NewTestStatus() *TestStatus { return &TestStatus{} }

// MarkFailed marks the test as failed; it goes on.
func (ts *TestStatus) MarkFailed() { ts.failed.Store(true) }

// Failed says whether the test was marked as failed.
func (ts *TestStatus) Failed() bool { return ts.failed.Load() }
