package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mitodl/xk6-omnigraph/internal/scratch"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

// temporaryKind is what temporary rigs are called among the folders for temporary files.
const temporaryKind = "rig"

// defaultKillAfter leaves k6 the time to write its summary after a second signal.
const defaultKillAfter = 15 * time.Second

// RunOptions are Run's.
type RunOptions struct {
	UpOptions
	// Dir is the rig; empty means a temporary one, removed at the end.
	Dir string
	// Make is for a temporary rig. Its dataset gives way to UpOptions.Dataset.
	Make MakeOptions
	// Command and its arguments.
	Command []string
	// Stdin, Stdout and Stderr are the command's. A terminal stays one for it only as an *os.File.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals, if not nil, are passed on to the command; before it has started they end the boot.
	Signals <-chan os.Signal
	// KillAfter is how long the command may take to end after the second signal, or after the context's end,
	// before it is killed; 0 means 15 s.
	KillAfter time.Duration
	// Echo is how soon a signal that comes again is the same one, and so passed on once; 0 means 100 ms.
	Echo time.Duration
}

// Run boots a rig, runs one command against it and tears it down. Its error is the command's end, other than
// success, as a CommandError; or what went wrong before or after.
func Run(ctx context.Context, o RunOptions) (err error) {
	if len(o.Command) == 0 {
		return errors.New("run: no command given; name it after --")
	}

	r, remove, err := o.rig()
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, remove()) }()

	relay := newRelay(o.Signals, o.Echo)
	defer relay.close()

	bootCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	relay.to(func(sig os.Signal) { cancel(&SignalError{Signal: sig}) })

	o.Detach = false

	s, err := r.Up(bootCtx, o.UpOptions)

	// A signal from here to the command's start is kept for the command.
	relay.hold()

	if cause := context.Cause(bootCtx); cause != nil {
		if err == nil {
			err = s.Stop()
		}

		var signaled *SignalError
		if errors.As(cause, &signaled) {
			return signaled
		}

		return errors.Join(cause, err)
	}

	if err != nil {
		return err
	}

	defer func() {
		err = errors.Join(err, s.Stop())

		// The command may have restarted the server by itself.
		if downErr := r.Down(); !errors.Is(downErr, ErrNotRunning) {
			err = errors.Join(err, downErr)
		}
	}()

	return o.command(ctx, s, relay)
}

// rig opens the directory or makes a temporary one, which remove removes.
func (o RunOptions) rig() (r *Rig, remove func() error, err error) {
	if o.Dir != "" {
		r, err := Open(o.Dir)

		return r, func() error { return nil }, err
	}

	dir, err := os.MkdirTemp("", scratch.Pattern(temporaryKind))
	if err != nil {
		return nil, nil, fmt.Errorf("make a temporary rig: %w", err)
	}

	if o.Dataset != nil {
		o.Make.Dataset = *o.Dataset
	} else if o.Make.Dataset == (dataset.Params{}) {
		o.Make.Dataset = dataset.Default()
	}

	r, err = Make(dir, o.Make)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}

	return r, r.Remove, nil
}

// clearTemporary removes the temporary rigs of processes that were killed and so couldn't: they hold tokens. It is no
// failure of a rig if that doesn't work.
func clearTemporary() {
	_ = scratch.Clear(os.TempDir(), func(dir string) bool {
		r, err := Open(dir)
		if err != nil {
			return false
		}

		// Somebody works on it at this moment, this process perhaps.
		unlock, err := lock(r.path(lockFile))
		if err != nil {
			return true
		}
		defer unlock()

		// A server that a command booted there by itself outlives it.
		_, up, err := r.running()

		return up || err != nil
	}, temporaryKind)
}

// command runs the command to its end.
func (o RunOptions) command(ctx context.Context, s *Server, relay *relay) error {
	env, err := s.Environment()
	if err != nil {
		return err
	}

	name := o.Command[0]

	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, o.Command[1:]...) // #nosec G204 -- the user's own
	cmd.Env = orProcess(o.Env).merge(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	cmd.WaitDelay = pipeDelay

	// In a terminal's foreground the command stays in this group: Ctrl-C and Ctrl-Z reach it from there, and
	// passing them on too would double them. Elsewhere it leads a group, so that nothing of it stays behind.
	shared := onTerminal()

	var last *will

	// What can't be run is told by start.
	if _, err := exec.LookPath(cmd.Path); err == nil && cmd.Err == nil {
		if sh := orProcess(o.Env).lookPath("sh"); sh != "" {
			if last, err = makeWill(ctx, sh); err != nil {
				return err
			}

			defer last.revoke()

			last.cover(cmd, sh, shared)
		}
	}

	cmd.SysProcAttr = attributes(!shared, last.deathSignal())

	p, err := start(cmd)
	if err != nil {
		code := 126
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			code = 127
		}

		return &CommandError{Command: name, Code: code, Err: err}
	}

	kill := make(chan struct{}, 1)
	count := 0

	relay.to(func(sig os.Signal) {
		sig = asOrder(sig)
		if !shared || sig == syscall.SIGTERM {
			p.signal(sig)
		}

		if count++; count == 2 {
			kill <- struct{}{}
		}
	})

	o.attend(ctx, s, p, relay, kill)
	relay.hold()

	if p.err != nil {
		return &CommandError{Command: name, Code: exitCode(p.err), Err: p.err}
	}

	return nil
}

// attend waits for the command's end, and hastens it after a second signal or the context's end.
func (o RunOptions) attend(ctx context.Context, s *Server, p *process, relay *relay, kill <-chan struct{}) {
	var deadline <-chan time.Time

	if o.KillAfter == 0 {
		o.KillAfter = defaultKillAfter
	}

	ended, canceled := s.Done(), ctx.Done()

	for {
		select {
		case <-p.done:
			return
		case <-ended:
			ended = nil

			o.logf("omnigraph-server (process %d) ended while the command runs", s.PID)
		case <-canceled:
			canceled = nil

			if relay.end(time.Now()) {
				deadline = time.After(o.KillAfter)
			}
		case <-kill:
			deadline = time.After(o.KillAfter)
		case <-deadline:
			o.logf("the command does not end: killing it")
			p.signal(os.Kill)
		}
	}
}
