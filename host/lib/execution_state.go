package lib

import (
	"sync/atomic"
	"time"
)

// ExecutionStatus is how far a run has come.
type ExecutionStatus uint32

// The stages of a run, in order.
const (
	ExecutionStatusCreated ExecutionStatus = iota
	ExecutionStatusInitVUs
	ExecutionStatusInitDone
	ExecutionStatusStarted
	ExecutionStatusSetup
	ExecutionStatusRunning
	ExecutionStatusTeardown
	ExecutionStatusEnded
	ExecutionStatusInterrupted
)

// String returns the status in words.
func (s ExecutionStatus) String() string {
	names := [...]string{
		"created", "initializing VUs", "initialized", "started", "setup", "running", "teardown", "ended", "interrupted",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// ExecutionState is the live state of a run: its counters, clock and status. All methods are safe for concurrent
// use.
type ExecutionState struct {
	Test           *TestRunState
	ExecutionTuple *ExecutionTuple

	status      atomic.Uint32
	initialized atomic.Int64
	active      atomic.Int64
	full        atomic.Uint64
	partial     atomic.Uint64
	lastVUID    atomic.Uint64
	start, end  atomic.Pointer[time.Time]
}

// NewExecutionState returns the state of a run that hasn't started.
func NewExecutionState(test *TestRunState, et *ExecutionTuple) *ExecutionState {
	return &ExecutionState{Test: test, ExecutionTuple: et}
}

// GetInitializedVUsCount returns how many VUs ran the init code for the run.
func (es *ExecutionState) GetInitializedVUsCount() int64 { return es.initialized.Load() }

// ModInitializedVUsCount adds to the number of initialized VUs and returns the sum.
func (es *ExecutionState) ModInitializedVUsCount(delta int64) int64 { return es.initialized.Add(delta) }

// GetCurrentlyActiveVUsCount returns how many VUs a scenario uses at the moment.
func (es *ExecutionState) GetCurrentlyActiveVUsCount() int64 { return es.active.Load() }

// ModCurrentlyActiveVUsCount adds to the number of active VUs and returns the sum.
func (es *ExecutionState) ModCurrentlyActiveVUsCount(delta int64) int64 { return es.active.Add(delta) }

// GetFullIterationCount returns how many iterations ran to their end.
func (es *ExecutionState) GetFullIterationCount() uint64 { return es.full.Load() }

// AddFullIterations counts completed iterations and returns the sum.
func (es *ExecutionState) AddFullIterations(n uint64) uint64 { return es.full.Add(n) }

// GetPartialIterationCount returns how many iterations were interrupted.
func (es *ExecutionState) GetPartialIterationCount() uint64 { return es.partial.Load() }

// AddInterruptedIterations counts interrupted iterations and returns the sum.
func (es *ExecutionState) AddInterruptedIterations(n uint64) uint64 { return es.partial.Add(n) }

// NextVUIDs numbers a new VU: in this process from 1, and in the whole test.
func (es *ExecutionState) NextVUIDs() (local, global uint64) {
	local = es.lastVUID.Add(1)
	return local, es.ExecutionTuple.Global(local-1) + 1
}

// MarkStarted starts the clock; only the first call counts.
func (es *ExecutionState) MarkStarted() {
	now := time.Now()
	es.start.CompareAndSwap(nil, &now)
}

// MarkEnded stops the clock; only the first call counts.
func (es *ExecutionState) MarkEnded() {
	now := time.Now()
	es.end.CompareAndSwap(nil, &now)
}

// HasStarted says whether the clock was started.
func (es *ExecutionState) HasStarted() bool { return es.start.Load() != nil }

// HasEnded says whether the clock was stopped.
func (es *ExecutionState) HasEnded() bool { return es.end.Load() != nil }

// GetCurrentTestRunDuration returns how long the test has run: 0 before its start, the total after its end.
func (es *ExecutionState) GetCurrentTestRunDuration() time.Duration {
	start := es.start.Load()
	if start == nil {
		return 0
	}
	if end := es.end.Load(); end != nil {
		return end.Sub(*start)
	}
	return time.Since(*start)
}

// GetCurrentExecutionStatus returns the stage of the run.
func (es *ExecutionState) GetCurrentExecutionStatus() ExecutionStatus {
	return ExecutionStatus(es.status.Load())
}

// SetExecutionStatus sets the stage of the run and returns the one before.
func (es *ExecutionState) SetExecutionStatus(s ExecutionStatus) ExecutionStatus {
	return ExecutionStatus(es.status.Swap(uint32(s)))
}
