package wire

import "time"

// Outcome is what one attempt of an operation came to, on either transport. Err is nil exactly if it succeeded, and
// Success is meaningful only then.
type Outcome struct {
	Success Success
	Err     *Error
	// Refused says that the client itself refused the operation, with Err, before there was a request or a process: no
	// attempt was made.
	Refused bool
	// Status is the HTTP status, 0 where none came or over the CLI. ExitCode is the CLI's, -1 where the process did
	// not exit by itself or there was none.
	Status   int
	ExitCode int
	Timings  Timings
	// ConnReused says that the attempt went over a kept connection; it is meaningful if Connected is set.
	ConnReused, Connected bool
	// CostModel is the cost model that an emulator's answer names, empty for any other server and over the CLI.
	CostModel string
	// Process is what the CLI's process cost, nil over HTTP and where no process was started.
	Process *Process
}

// Timings are the parts of one attempt. What does not apply is 0. Queued is not part of Total.
type Timings struct {
	// Queued is the wait on the generator's side: a process slot, a connection of the shared pool, k6's rps limit.
	Queued time.Duration
	// Total is the attempt from the end of that wait to the decoded answer.
	Total time.Duration

	// The parts of an HTTP attempt, as k6 measures them.
	Blocked, Connecting, TLSHandshaking, Sending, Waiting, Receiving time.Duration
	// Spawn is fork and exec of a CLI attempt, until the process runs.
	Spawn time.Duration
	// Decode is the time from the last byte to the decoded answer.
	Decode time.Duration
}

// Process is what one CLI process used.
type Process struct {
	// CPU is user plus system time of the process and of those children that it waited for.
	CPU time.Duration
	// MaxRSS is the peak resident memory in bytes, 0 where the system does not tell.
	MaxRSS int64
}
