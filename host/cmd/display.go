package cmd

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/internal/progress"
)

const (
	terminalRefresh = 100 * time.Millisecond
	plainRefresh    = time.Second
)

// display shows the progress of a run: on a terminal as bars below everything else, else as lines now and then.
type display struct {
	gs     *state.GlobalState
	engine *engine.Engine
	done   chan struct{}
	drawer sync.WaitGroup
}

// startDisplay shows the progress until finish is called.
func startDisplay(gs *state.GlobalState, e *engine.Engine) *display {
	d := &display{gs: gs, engine: e, done: make(chan struct{})}
	if gs.Flags.Quiet {
		return d
	}
	period := plainRefresh
	if gs.Stdout.IsTTY {
		period = terminalRefresh
		d.hold(d.draw)
	}
	d.drawer.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				d.refresh()
			case <-d.done:
				return
			}
		}
	})
	return d
}

// hold makes both streams keep the drawing below their text; nil ends that.
func (d *display) hold(draw func()) {
	d.gs.OutMutex.Lock()
	defer d.gs.OutMutex.Unlock()
	d.gs.Stdout.PersistentText = draw
	if d.gs.Stderr.IsTTY {
		d.gs.Stderr.PersistentText = draw
	}
}

func (d *display) refresh() {
	if !d.gs.Stdout.IsTTY {
		d.print(d.text(false, 0))
		return
	}
	d.gs.OutMutex.Lock()
	defer d.gs.OutMutex.Unlock()
	d.draw()
}

// draw puts the bars below the cursor and goes back to where it was. The caller holds the mutex.
func (d *display) draw() {
	width, _, err := term.GetSize(d.gs.Stdout.RawOutFd)
	if err != nil {
		width = 80
	}
	text := "\n" + d.text(true, width)
	up := strings.Count(text, "\n")
	text = strings.ReplaceAll(text, "\n", "\x1b[K\n") // clears what a longer line before left behind
	// A terminal that can't be written to takes nothing else either.
	_, _ = fmt.Fprintf(d.gs.Stdout.Writer, "%s\x1b[J\x1b[%dA\r", text, up)
}

func (d *display) text(bars bool, width int) string {
	return d.engine.StatusLine() + "\n" + progress.Render(d.engine.Lines(), bars, width)
}

func (d *display) print(text string) {
	// Nowhere to report a failure of standard output.
	_, _ = fmt.Fprint(d.gs.Stdout, text)
}

// pause takes the bars off the screen, so that text can follow.
func (d *display) pause() {
	if d.gs.Flags.Quiet {
		return
	}
	close(d.done)
	d.drawer.Wait()
	if d.gs.Stdout.IsTTY {
		d.hold(nil)
		d.print("\x1b[J")
	}
}

// finish prints the state at the end. pause has been called before.
func (d *display) finish() {
	if d.gs.Flags.Quiet {
		return
	}
	d.print("\n" + d.text(false, 0))
}
