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
	chunkBytes     = 32 << 10
)

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// stopCause is why this client killed a process.
type stopCause int

const (
	notStopped stopCause = iota
	stoppedByTimeout
	stoppedByContext
	stoppedByOutput
)

// bounds are the limits of one process.
type bounds struct {
	deadline  time.Time // zero is none
	maxOutput int64
}

// finished is everything that one process left.
type finished struct {
	ending
	cause          stopCause
	stdout, stderr string
	// held says that a pipe was still open pipeGrace after the process's end.
	held   bool
	spawn  time.Duration
	maxRSS int64
}

// run is one process from its start to its end.
type run struct {
	child     *child
	maxOutput int64
	printed   atomic.Int64
	held      atomic.Bool

	mu    sync.Mutex
	cause stopCause
	over  bool

	peakMu sync.Mutex
	peak   *peakMemory
	maxRSS int64
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

	r := &run{child: child, maxOutput: b.maxOutput, peak: openPeak(child.id())}
	defer context.AfterFunc(ctx, func() { r.stop(stoppedByContext) })()
	if !b.deadline.IsZero() {
		timer := time.AfterFunc(time.Until(b.deadline), func() { r.stop(stoppedByTimeout) })
		defer timer.Stop()
	}

	done := finished{spawn: spawned}
	var others sync.WaitGroup
	others.Go(func() {
		child.await(r.sample)
		limit := time.Now().Add(pipeGrace)
		_ = stdout.SetReadDeadline(limit)
		_ = stderr.SetReadDeadline(limit)
	})
	others.Go(func() { done.stderr = r.drain(stderr, min(maxStderrBytes, b.maxOutput)) })
	done.stdout = r.drain(stdout, b.maxOutput)
	others.Wait()

	// From here on nobody kills any more: once reaped, the ids may be somebody else's.
	r.mu.Lock()
	r.over = true
	done.cause = r.cause
	done.held = r.held.Load()
	done.ending = child.reap(done.held)
	r.mu.Unlock()
	done.maxRSS = r.closePeak()
	return done, nil
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
	}
	r.child.kill()
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
			}
			return kept.String()
		}
	}
}
