package cliclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// A program file that is open for writing can't be started ("text file busy"). That passes: a build or an installer
// finishes, or a descriptor that another thread's fork carried along is closed by that fork's exec.
const (
	// busyPatience is how long is paused for that, all in all. The attempts don't count, which may take long themselves
	// where the machine is busy.
	busyPatience   = 500 * time.Millisecond
	firstBusyPause = 2 * time.Millisecond
	lastBusyPause  = 40 * time.Millisecond
)

// launch starts the process and sees it to its end. An error says that it never ran.
func (c *Client) launch(ctx context.Context, op *wire.Operation, args *arguments, files *callScratch, lines *wire.Lines, began time.Time) (finished, error) {
	program, err := c.find()
	if err != nil {
		return finished{}, err
	}
	l := launch{path: program, argv: append([]string{program}, args.list...), env: c.env}
	if files.home != "" {
		// The slice is clipped, so that calls at the same time don't share what is appended.
		l.env = append(l.env, envHome+"="+files.home)
	}
	b := bounds{maxOutput: c.maxOutput(op)}
	if lines != nil {
		b.lines = lines
	}
	if op.Timeout > 0 {
		b.deadline = began.Add(op.Timeout)
	}
	var paused time.Duration
	for pause := firstBusyPause; ; pause = min(2*pause, lastBusyPause) {
		done, err := execute(ctx, l, b)
		if !isTextBusy(err) || paused+pause > busyPatience {
			if errors.Is(err, fs.ErrNotExist) {
				c.program.Store(nil) // It was there; look for it again next time.
			}
			return done, err
		}
		if err := wait(ctx, pause, b.deadline); err != nil {
			return finished{}, err
		}
		paused += pause
	}
}

// errOutOfTime is the operation's timeout before anything was started.
var errOutOfTime = errors.New("out of time")

// wait pauses, and ends early with an error when the context or the operation's time does.
func wait(ctx context.Context, pause time.Duration, deadline time.Time) error {
	if !deadline.IsZero() && time.Now().Add(pause).After(deadline) {
		return errOutOfTime
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// find resolves the program once and remembers it.
func (c *Client) find() (string, error) {
	if p := c.program.Load(); p != nil {
		return *p, nil
	}
	path, err := exec.LookPath(c.config.Bin)
	if err != nil {
		return "", err
	}
	c.program.Store(&path)
	return path, nil
}

// startFailure makes the error for a process that never ran.
func (c *Client) startFailure(ctx context.Context, op *wire.Operation, err error, began time.Time) *wire.Error {
	spent := round(time.Since(began))
	switch {
	case errors.Is(err, errOutOfTime):
		return c.failure(op, wire.KindTimeout, false, "not started within %v (option timeout): %s was still being written after %v (text file busy)", op.Timeout, c.config.Bin, spent)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return c.failure(op, wire.KindCanceled, false, "canceled after %v, before the CLI was started", spent)
	}
	return c.failure(op, wire.KindSpawnFailed, false, "%s", c.explain(err))
}

// explain says what kept the CLI from starting, and what to do.
func (c *Client) explain(err error) string {
	bin := c.config.Bin
	if limit := explainLimit(err); limit != "" {
		return fmt.Sprintf("can't start %s: %s", bin, limit)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Sprintf("can't start %s: it is not in PATH; install the omnigraph CLI, or give its path in the option bin (or in OMNIGRAPH_BIN, where the script reads it)", bin)
	case errors.Is(err, exec.ErrDot):
		return fmt.Sprintf("can't start %s: it is only in the current folder, which is not searched; give the option bin a path (./%s)", bin, bin)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("can't start %s: there is no such file (or the interpreter that it names is missing); give the path of the omnigraph CLI in the option bin", bin)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("can't start %s: it is not executable, or not for this user; make it executable (chmod +x) or give another path in the option bin", bin)
	case isFolder(err):
		return fmt.Sprintf("can't start %s: it is a folder; give the path of the omnigraph CLI in the option bin", bin)
	case isNotProgram(err):
		return fmt.Sprintf("can't start %s: it is not a program for this system (empty, cut off, or built for another one); install the omnigraph CLI again or give another path in the option bin", bin)
	case isTextBusy(err):
		return fmt.Sprintf("can't start %s: it is being written (text file busy, tried for %v); wait until its installation is done", bin, busyPatience)
	case isTooLong(err):
		return fmt.Sprintf("can't start %s: its arguments and environment are longer than the system takes; give fewer args, types or env", bin)
	}
	return fmt.Sprintf("can't start %s: %v", bin, err)
}
