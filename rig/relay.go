package rig

import (
	"cmp"
	"os"
	"sync"
	"syscall"
	"time"
)

// defaultEcho is how soon a signal that comes again is the same one: who ends a process and then its whole group, as
// timeout(1) does, means one signal, and to k6 a second one means to stop at once. Nobody types as fast.
const defaultEcho = 100 * time.Millisecond

// relay hands signals to whoever has to deal with them at the moment: the boot, the command, nobody (then the
// next one gets them).
type relay struct {
	echo time.Duration

	mu   sync.Mutex
	sink func(os.Signal)
	held []os.Signal
	// last is the signal that was passed on last, and at what time.
	last   os.Signal
	lastAt time.Time
	// endedAt is when the context's end was passed on.
	endedAt time.Time

	quit, done chan struct{}
}

func newRelay(signals <-chan os.Signal, echo time.Duration) *relay {
	r := &relay{echo: cmp.Or(echo, defaultEcho), quit: make(chan struct{}), done: make(chan struct{})}

	go func() {
		defer close(r.done)

		for {
			select {
			case sig, ok := <-signals:
				if !ok {
					signals = nil

					continue
				}

				r.pass(sig, time.Now())
			case <-r.quit:
				return
			}
		}
	}()

	return r
}

// asOrder is the signal that tells a command what sig tells this process: k6 knows no SIGHUP and would die of it, with
// its record, when a terminal is closed or a connection to it lost.
func asOrder(sig os.Signal) os.Signal {
	if sig == syscall.SIGHUP {
		return syscall.SIGTERM
	}

	return sig
}

func (r *relay) pass(sig os.Signal, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if asOrder(sig) == r.last && at.Sub(r.lastAt) < r.echo || at.Sub(r.endedAt) < r.echo {
		return
	}

	// A terminal that goes away tells so more than once, through the shell and through the system, and after other
	// signals too: it is never an order to hurry.
	if sig == syscall.SIGHUP && r.last != nil {
		return
	}

	r.last, r.lastAt = asOrder(sig), at

	r.deliver(sig)
}

// end passes a context's end on, as SIGTERM, unless a signal came before: whoever caught it may have ended the context,
// and one order is enough. It says whether it did.
func (r *relay) end(at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.last != nil {
		return false
	}

	r.last, r.lastAt, r.endedAt = syscall.SIGTERM, at, at

	r.deliver(syscall.SIGTERM)

	return true
}

// deliver hands a signal to the sink or keeps it. The lock is held.
func (r *relay) deliver(sig os.Signal) {
	if r.sink == nil {
		r.held = append(r.held, sig)

		return
	}

	r.sink(sig)
}

// to hands this and every later signal to sink, those held back first.
func (r *relay) to(sink func(os.Signal)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.sink = sink

	for _, sig := range r.held {
		sink(sig)
	}

	r.held = nil
}

// hold keeps signals for the next sink.
func (r *relay) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.sink = nil
}

func (r *relay) close() {
	close(r.quit)
	<-r.done
}
