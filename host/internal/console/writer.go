// Package console writes to the terminal so that log lines, results and progress bars do not garble each other.
package console

import (
	"bytes"
	"io"
	"sync"
)

// Writer is standard output or standard error. All writers of a process share one mutex.
type Writer struct {
	// RawOutFd is the file descriptor, for asking about the terminal's size.
	RawOutFd int
	// IsTTY says whether the descriptor is a terminal.
	IsTTY bool
	// Mutex serialises everything that is printed; it may be nil.
	Mutex *sync.Mutex
	// Writer is where the bytes go.
	Writer io.Writer
	// PersistentText, if set, draws the progress bars below what has been written and leaves the cursor at
	// their first line. It is called with the mutex held and writes to Writer itself.
	PersistentText func()
}

// clearBelow is the ANSI sequence that clears from the cursor to the end of the screen.
var clearBelow = []byte("\x1b[J") //nolint:gochecknoglobals // a constant

// Write implements io.Writer. While there is persistent text, it is taken off the screen and drawn anew below
// what is written.
func (w *Writer) Write(p []byte) (int, error) {
	if w.Mutex != nil {
		w.Mutex.Lock()
		defer w.Mutex.Unlock()
	}
	if w.PersistentText == nil {
		return w.Writer.Write(p)
	}
	if _, err := w.Writer.Write(append(bytes.Clone(clearBelow), p...)); err != nil {
		return 0, err
	}
	w.PersistentText()
	return len(p), nil
}
