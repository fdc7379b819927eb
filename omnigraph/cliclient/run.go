package cliclient

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pipeGrace is how long the output may stay open after the process has ended: what the process itself wrote is
	// there already, and a child that it left behind may hold the pipe for ever.
	pipeGrace = 200 * time.Millisecond
	// maxStderrBytes is how much of standard error is kept; an error report stands at its beginning.
	maxStderrBytes = 1 << 20
	// killPatience is how long a killed process is waited for: it ends at once, unless the kernel holds it.
	killPatience = 5 * time.Second
	chunkBytes   = 32 << 10
)

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// stopCause is why this client killed a process.
type stopCause int

const (
	notStopped stopCause = iota
	stoppedByTimeout
	stoppedByContext
	stoppedByOutput
	// stoppedByReader: what read the output had enough, as it says itself.
	stoppedByReader
)

// bounds are the limits of one process.
type bounds struct {
	deadline  time.Time // zero is none
	maxOutput int64
	// lines takes standard output as it comes, in place of memory; maxOutput does not apply to it then. Nil keeps it.
	lines io.Writer
}

// finished is everything that one process left.
type finished struct {
	ending
	cause          stopCause
	stdout, stderr string
	// held says that a pipe was still open pipeGrace after the process's end.
	held bool
	// endless says the same of standard output alone: what it is the beginning of did not come to its end.
	endless bool
	spawn   time.Duration
	maxRSS  int64
	// lingers is the id of a killed process that has not ended yet, or 0.
	lingers int
}

// run is one process from its start to its end.
type run struct {
	leader         leader
	stdout, stderr *os.File
	maxOutput      int64
	lines          io.Writer
	patience       time.Duration
	printed        atomic.Int64
	held, endless  atomic.Bool

	mu    sync.Mutex
	cause stopCause
	// stopped is closed with the first cause.
	stopped chan struct{}
	// ended says that the leader has ended, over that it may be reaped.
	ended, over bool

	peakMu sync.Mutex
	peak   *peakMemory
	maxRSS int64
}

func newRun(l leader, stdout, stderr *os.File, maxOutput int64) *run {
	return &run{
		leader: l, stdout: stdout, stderr: stderr, maxOutput: maxOutput, patience: killPatience,
		stopped: make(chan struct{}), peak: openPeak(l.id()),
	}
}

// execute starts a process and returns once it has ended, its group is gone and everything is freed. An error says
// that nothing was started.
func execute(ctx context.Context, l launch, b bounds) (finished, error) {
	stdout, stderr, err := openPipes(&l)
	if err != nil {
		return finished{}, err
	}
	defer closeAll(stdout, stderr)
	child, spawned, err := startChild(l)
	closeAll(l.files[:]...)
	if err != nil {
		return finished{}, err
	}
	r := newRun(child, stdout, stderr, b.maxOutput)
	r.lines = b.lines
	done := r.supervise(ctx, b.deadline)
	done.spawn = spawned
	return done, nil
}

// supervise sees a process to its end, or to its bounds and then to its end.
func (r *run) supervise(ctx context.Context, deadline time.Time) finished {
	defer context.AfterFunc(ctx, func() { r.stop(stoppedByContext) })()
	if !deadline.IsZero() {
		timer := time.AfterFunc(time.Until(deadline), func() { r.stop(stoppedByTimeout) })
		defer timer.Stop()
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.leader.await(r.sample)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = true
		r.limitReading(pipeGrace)
	}()
	errOutput := make(chan string, 1)
	go func() { errOutput <- r.drain(r.stderr, min(maxStderrBytes, r.maxOutput)) }()
	var done finished
	done.stdout = r.drain(r.stdout, r.maxOutput)
	done.stderr = <-errOutput
	r.waitFor(ended)

	// From here on nobody kills any more: once reaped, the ids may be somebody else's.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	done.cause = r.cause
	done.held, done.endless = r.held.Load(), r.endless.Load()
	done.maxRSS = r.closePeak()
	select {
	case <-ended:
		done.ending = r.leader.reap(done.held)
	default:
		// Killed, and yet not dead: the kernel waits for something, such as a file system that does not answer.
		done.ending = ending{code: -1, killed: true}
		done.lingers = r.leader.id()
		go func() {
			<-ended
			r.leader.reap(done.held)
		}()
	}
	return done
}

// waitFor waits for the end of the process: as long as it takes, but not if it was killed and stays.
func (r *run) waitFor(ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-r.stopped:
	}
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// openPipes gives the launch its three files and returns the ends that stay here.
func openPipes(l *launch) (stdout, stderr *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		closeAll(null)
		return nil, nil, err
	}
	stderr, errOut, err := os.Pipe()
	if err != nil {
		closeAll(null, stdout, out)
		return nil, nil, err
	}
	l.files = [3]*os.File{null, out, errOut}
	return stdout, stderr, nil
}

// closeAll closes files whose close can't fail in a way that matters: pipes and the null device.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// stop kills the process group, for the first cause given.
func (r *run) stop(cause stopCause) {
	r.sample()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.cause == notStopped {
		r.cause = cause
		close(r.stopped)
		if !r.ended {
			r.limitReading(r.patience)
		}
	}
	r.leader.kill()
}

// limitReading bounds how long the pipes are read from now on.
func (r *run) limitReading(d time.Duration) {
	limit := time.Now().Add(d)
	// Only a closed file refuses a deadline, and that is read no more.
	_ = r.stdout.SetReadDeadline(limit)
	_ = r.stderr.SetReadDeadline(limit)
}

// sample notes the peak memory so far. It may be called from several goroutines.
func (r *run) sample() {
	r.peakMu.Lock()
	defer r.peakMu.Unlock()
	r.maxRSS = max(r.maxRSS, r.peak.read())
}

// closePeak ends the sampling and gives its result.
func (r *run) closePeak() int64 {
	r.peakMu.Lock()
	defer r.peakMu.Unlock()
	r.peak.close()
	return r.maxRSS
}

// drain reads a pipe to its end and keeps the beginning. It ends early if the process has printed too much, and
// shortly after the process's end if something else holds the pipe open.
func (r *run) drain(pipe *os.File, keep int64) string {
	chunk, _ := chunks.Get().(*[chunkBytes]byte)
	defer chunks.Put(chunk)
	var kept strings.Builder
	for first := true; ; first = false {
		n, err := pipe.Read(chunk[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// On a busy machine the deadline may pass before this goroutine got its turn: what the process wrote is
			// still there.
			n, err = readNow(pipe, chunk[:])
		}
		if n > 0 {
			if first {
				// An answer is printed at the very end: the last good moment to look at the memory.
				r.sample()
			}
			if r.lines != nil && pipe == r.stdout {
				if _, failed := r.lines.Write(chunk[:n]); failed != nil {
					r.stop(stoppedByReader)
					return ""
				}
				n = 0
			}
			room := keep - int64(kept.Len())
			kept.Write(chunk[:min(int64(n), room)])
			if r.printed.Add(int64(n)) > r.maxOutput {
				r.stop(stoppedByOutput)
				return kept.String()
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.held.Store(true)
				if pipe == r.stdout {
					r.endless.Store(true)
				}
			}
			return kept.String()
		}
	}
}
