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

// leader is a started process, the first of its group. Each system has a type child that is one, and a function
// startChild(launch) (*child, time.Duration, error), which starts it in a process group of its own and says how long
// fork and exec took.
type leader interface {
	// id is the process id.
	id() int
	// await waits until the leader has ended, without reaping it, and calls sample now and then.
	await(sample func())
	// kill kills the whole group. It is not to be called after reap.
	kill()
	// reap kills what the leader left in its group, collects it and frees everything; once, after await. held says
	// that something left behind still holds a pipe.
	reap(held bool) ending
}

var _ leader = (*child)(nil)
