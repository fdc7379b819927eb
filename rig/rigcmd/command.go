package rigcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/rig"
)

// Config is what the commands use of the outside.
type Config struct {
	// Stdin, Stdout and Stderr are handed to the command that `rig run` runs. For it to keep the terminal they
	// must be *os.File; nil means the process's own.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env is the environment as os.Environ has it; nil means the process's own, read when a command runs.
	Env []string
	// Notify and StopNotify are signal.Notify and signal.Stop unless set.
	Notify     func(chan<- os.Signal, ...os.Signal)
	StopNotify func(chan<- os.Signal)
	// Executable is the path beside which the emulator is looked for; empty means os.Executable.
	Executable string
	// Echo is how soon a signal that comes again is the same one to `rig run`; 0 means 100 ms.
	Echo time.Duration
}

// Command makes the command tree. It does nothing else: k6 makes it at every start.
func Command(c Config) *cobra.Command {
	c = c.withDefaults()

	cmd := &cobra.Command{
		Use:   "rig",
		Short: "Make, boot, seed and stop a scratch omnigraph cluster",
		Long: `A rig is a directory with a scratch omnigraph cluster: schema, stored queries, policies, tokens, a dataset.

The binaries are looked for in --bin and --server-bin, OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN, and PATH. Without
any, an omnigraph-emulator beside this program or in PATH stands in. OMNIGRAPH_REAL=off or --emulator leaves the
real ones out.`,
		Example: `  k6 x omnigraph rig run -- k6 run script.js
  k6 x omnigraph rig make /tmp/rig && k6 x omnigraph rig up /tmp/rig --rows 5000 --fragments 100
  eval "$(k6 x omnigraph rig env /tmp/rig)"; k6 run script.js; k6 x omnigraph rig down /tmp/rig`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("rig: unknown command %q; `%s --help` lists them", args[0], cmd.CommandPath())}
			}

			return cmd.Help()
		},
	}

	cmd.AddCommand(c.makeCommand(), c.upCommand(), c.runCommand(), c.statusCommand(), c.envCommand(),
		c.downCommand(), c.datasetCommand())
	cmd.SetOut(c.Stdout)
	cmd.SetErr(c.Stderr)

	for _, sub := range append(cmd.Commands(), cmd) {
		sub.SilenceUsage = true
		sub.SilenceErrors = true
		sub.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
			return &usageError{fmt.Errorf("rig %s: %w", cmd.Name(), err)}
		})
	}

	return cmd
}

func (c Config) withDefaults() Config {
	if c.Stdin == nil {
		c.Stdin = os.Stdin
	}

	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}

	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}

	if c.Notify == nil {
		c.Notify = signal.Notify
	}

	if c.StopNotify == nil {
		c.StopNotify = signal.Stop
	}

	return c
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// ExitCode is 2.
func (*usageError) ExitCode() int { return rig.ExitUsage }

// oneDir takes exactly one argument, the rig's directory.
func oneDir(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("rig %s takes one directory, got %d arguments", cmd.Name(), len(args))}
	}

	return nil
}

// signals are those that end a command or are passed on.
func signals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// interruptible gives a context that ends with a signal. Later signals change nothing: the teardown goes on.
func (c Config) interruptible(parent context.Context) (context.Context, func()) {
	if parent == nil {
		parent = context.Background()
	}

	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 8)
	quit, done := make(chan struct{}), make(chan struct{})

	c.Notify(ch, signals()...)

	go func() {
		defer close(done)

		for {
			select {
			case sig := <-ch:
				cancel(&rig.SignalError{Signal: sig})
			case <-quit:
				return
			}
		}
	}()

	return ctx, func() {
		c.StopNotify(ch)
		close(quit)
		<-done
		cancel(nil)
	}
}

// explain shows a dead server's last lines and gives the error to return: the signal's, if one was the reason.
func (c Config) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}

	var signaled *rig.SignalError
	if errors.As(context.Cause(ctx), &signaled) {
		return signaled
	}

	var boot *rig.BootError
	if errors.As(err, &boot) && len(boot.Log) > 0 {
		fmt.Fprintln(c.Stderr, "the server's last lines:")

		for _, line := range boot.Log {
			fmt.Fprintln(c.Stderr, "  |", line)
		}
	}

	return err
}
