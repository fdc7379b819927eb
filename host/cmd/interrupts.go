package cmd

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// interrupts answers SIGINT and SIGTERM from a test's start until the process has nothing left to write: what a signal
// means depends on how far the process has come.
type interrupts struct {
	gs      *state.GlobalState
	signals chan os.Signal
	quit    chan struct{}
	done    chan struct{}

	mu     sync.Mutex
	answer func(os.Signal)
}

// newInterrupts watches nothing yet.
func newInterrupts(gs *state.GlobalState) *interrupts { return &interrupts{gs: gs} }

// watch hands signals to abort: the first one as the error that ends the test. The second one ends the process.
func (i *interrupts) watch(abort func(error)) {
	i.firstThenExit(func(sig os.Signal) {
		i.gs.Logger.WithField("sig", sig).Debug("stopping k6 in response to a signal")
		abort(errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(
			fmt.Errorf("test run was aborted because k6 received a '%s' signal", sig), exitcodes.ExternalAbort),
			errext.AbortedByUser))
	})
	i.signals, i.quit, i.done = make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	i.gs.SignalNotify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(i.done)
		for {
			select {
			case sig := <-i.signals:
				i.handle(sig)
			case <-i.quit:
				return
			}
		}
	}()
}

// finish says that the test is over: outputs, event subscribers and logs still write what they have, which takes a moment
// and is lost if the process ends. So the next signal is only answered, and the one after that ends the process.
func (i *interrupts) finish() {
	i.firstThenExit(func(sig os.Signal) {
		i.gs.Logger.WithField("sig", sig).Warn("the test is over and its last results are being written: another signal ends k6 without them")
	})
}

// linger returns a channel that the next signal closes.
func (i *interrupts) linger() <-chan struct{} {
	ended := make(chan struct{})
	i.firstThenExit(func(os.Signal) { close(ended) })
	return ended
}

// firstThenExit gives the next signal to first; later ones end the process.
func (i *interrupts) firstThenExit(first func(os.Signal)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = func(sig os.Signal) {
		i.answer = i.exit
		first(sig)
	}
}

func (i *interrupts) handle(sig os.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer(sig)
}

func (i *interrupts) exit(sig os.Signal) {
	i.gs.Logger.WithField("sig", sig).Errorf("aborting k6 at once, since it received a second signal '%s'", sig)
	i.gs.OSExit(int(exitcodes.ExternalAbort))
}

// close ends the watching. Signals are still caught, and mean nothing any more: the process is about to end by itself, with
// the exit code that it has.
func (i *interrupts) close() {
	if i.quit == nil {
		return
	}
	close(i.quit)
	<-i.done
}
