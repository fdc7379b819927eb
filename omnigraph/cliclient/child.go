package cliclient

import (
	"os"
	"time"
)

// launch is what a process is started with.
type launch struct {
	path string
	argv []string
	env  []string
	// files are the child's standard input, output and error.
	files [3]*os.File
}

// ending is how a process ended. Signal is empty if it exited by itself.
type ending struct {
	code   int
	signal string
	// killed says that the signal was the one this package sends.
	killed bool
	cpu    time.Duration
}

// Each system has a type child with these methods:
//
//	startChild(launch) (*child, time.Duration, error)  starts it in a process group of its own and says how long fork
//	                                                   and exec took
//	id() int                                           is its process id
//	await(sample func())  waits until the leader has ended, without reaping it, and calls sample now and then
//	kill()                kills the whole group; only before reap
//	reap(held bool) ending  kills what the leader left in its group, collects the leader and frees everything; once,
//	                        after await. held says that something left behind still holds a pipe.
