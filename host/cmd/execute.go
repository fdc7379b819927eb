// Package cmd is the command line of the embedded host.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/internal/event"
)

// failure is the exit code of errors that have none of their own.
const failure = 255

// exitEventTimeout is how long subscribers of the Exit event may take.
const exitEventTimeout = 30 * time.Minute

// Execute runs the command that the process's arguments ask for and ends the process.
func Execute() {
	floor := newHeapFloor()
	defer runtime.KeepAlive(floor)
	gs := state.NewGlobalState(context.Background())
	gs.OSExit(execute(gs))
}

// execute runs a command and returns the process's exit code.
func execute(gs *state.GlobalState) (code int) {
	defer func() {
		if value := recover(); value != nil {
			gs.Logger.Errorf("unexpected panic: %v\n%s", value, debug.Stack())
			code = int(exitcodes.GoPanic)
		}
	}()
	closeLog := func() error { return nil }
	interrupts := newInterrupts(gs)
	root := newRootCommand(gs, &closeLog, interrupts)
	root.SetArgs(gs.CmdArgs[1:])
	err := root.ExecuteContext(gs.Ctx)
	if err != nil {
		logError(gs, err)
	}
	announceExit(gs, err)
	interrupts.close()
	if closeErr := closeLog(); closeErr != nil {
		gs.FallbackLogger.WithError(closeErr).Error("closing the log failed")
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var has errext.HasExitCode
	if errors.As(err, &has) {
		return int(has.ExitCode())
	}
	return failure
}

func logError(gs *state.GlobalState, err error) {
	var quiet alreadyLoggedError
	if errors.As(err, &quiet) {
		return
	}
	message, fields := errext.Format(err)
	entry := gs.Logger.WithFields(fields)
	var exception errext.Exception
	if errors.As(err, &exception) {
		entry = entry.WithField("source", "stacktrace")
	}
	var panicked *engine.PanicError
	if errors.As(err, &panicked) {
		message = fmt.Sprintf("%s\n%s", message, panicked.Stack)
	}
	entry.Error(message)
}

// alreadyLoggedError is an error whose text the user has seen.
type alreadyLoggedError struct{ error }

func (e alreadyLoggedError) Unwrap() error { return e.error }

// announceExit emits the last event and ends all subscriptions.
func announceExit(gs *state.GlobalState, err error) {
	wait := gs.Events.Emit(&event.Event{Type: event.Exit, Data: &event.ExitData{Error: err}})
	ctx, cancel := context.WithTimeout(gs.Ctx, exitEventTimeout)
	defer cancel()
	if waitErr := wait(ctx); waitErr != nil {
		gs.Logger.WithError(waitErr).Warn("not everybody was done with the event Exit in time")
	}
	gs.Events.UnsubscribeAll()
}

// newRootCommand makes the command tree. closeLog is set once logging has been set up.
func newRootCommand(gs *state.GlobalState, closeLog *func() error, interrupts *interrupts) *cobra.Command {
	root := &cobra.Command{
		Use:           "k6",
		Short:         "an embedded stand-in for k6, a load generator scripted in JavaScript",
		Long:          "\n" + banner() + "\nAn embedded stand-in for k6: it runs ordinary k6 scripts. What it lacks, the real k6 has.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       "-", // makes the flag; the template has the text
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			*closeLog, err = setUpLogging(gs)
			return err
		},
	}
	root.SetVersionTemplate(versionText())
	root.SetOut(gs.Stdout)
	root.SetErr(gs.Stderr)
	root.PersistentFlags().AddFlagSet(globalFlags(gs))
	root.AddCommand(
		newRunCommand(gs, interrupts), newInspectCommand(gs), newArchiveCommand(gs), newVersionCommand(gs), newFeaturesCommand(gs),
		newNewCommand(gs), newXCommand(gs),
		newRefusedCommand("deps", "List the dependencies of a script (in the real k6)"),
		newRefusedCommand("cloud", "Run a test in Grafana Cloud k6 (in the real k6)"),
	)
	return root
}

func newRefusedCommand(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return refuse("the command `k6 " + name + "`") },
	}
}

// globalFlags are the flags that all commands know.
func globalFlags(gs *state.GlobalState) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f, defaults := &gs.Flags, gs.DefaultFlags
	flags.BoolVarP(&f.Quiet, "quiet", "q", f.Quiet, "show no banner and no progress")
	flags.BoolVarP(&f.Verbose, "verbose", "v", f.Verbose, "log debug messages too")
	flags.BoolVar(&f.NoColor, "no-color", f.NoColor, "use no colours")
	flags.StringVar(&f.LogOutput, "log-output", f.LogOutput, "where logs go: stderr, stdout, none, file=PATH")
	flags.StringVar(&f.LogFormat, "log-format", f.LogFormat, "how logs look: raw or json (default text)")
	flags.StringVarP(&f.ConfigFilePath, "config", "c", f.ConfigFilePath, "the JSON file with settings")
	flags.StringVarP(&f.Address, "address", "a", f.Address, "the address of the REST API server, off by default")
	flags.StringArrayVar(&f.SecretSource, "secret-source", f.SecretSource, "a `source` of secrets, as type=argument; may be repeated")
	flags.BoolVar(&f.ProfilingEnabled, "profiling-enabled", f.ProfilingEnabled, "serve profiles at the address")
	for name, value := range map[string]string{
		"log-output": defaults.LogOutput, "log-format": "", "config": defaults.ConfigFilePath, "address": "", "secret-source": "[]",
	} {
		flags.Lookup(name).DefValue = value
	}
	return flags
}

// banner is the name in large letters.
func banner() string {
	return `    _       __
   | | __  / /_
   | |/ / | '_ \
   |   <  | (_) |
   |_|\_\  \___/
`
}
