package xk6omnigraph

import (
	"errors"
	"fmt"
	"strings"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/mitodl/xk6-omnigraph/report"
	"github.com/mitodl/xk6-omnigraph/report/command"
	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/rigcmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandName = "omnigraph"

// newCommand makes `k6 x omnigraph`. k6 calls it at every start, so it does nothing but build the tree.
func newCommand(gs *state.GlobalState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   commandName,
		Short: "Scratch clusters for load tests of omnigraph, and reports of what they measured",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(rigcmd.Command(rigcmd.Config{
		// Its streams stay the process's own, so that a command run in a rig keeps the terminal.
		Notify: gs.SignalNotify, StopNotify: gs.SignalStop,
	}))
	cmd.AddCommand(command.Commands(command.IO{
		Out: gs.Stdout, Err: gs.Stderr, Color: func() bool { return gs.Stdout.IsTTY && !gs.Flags.NoColor },
		Width: func() int { return report.TerminalWidth(gs.Env["COLUMNS"], gs.Stdout.RawOutFd) },
	})...)
	nameUsage(cmd)
	passExitCodes(cmd)
	return cmd
}

// nameUsage lets every command say how it is used when its command line is wrong: k6 logs an error's text and nothing
// else.
func nameUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		nameUsage(sub) // first, since a command without a function for bad flags has its parent's
	}
	if cmd.Run == nil && cmd.RunE == nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return withUsage(c, fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()))
			}
			return c.Help()
		}
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error { return withUsage(c, check(c, args)) }
	}
	flagError := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return withUsage(c, flagError(c, err)) })
}

func withUsage(cmd *cobra.Command, err error) error {
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return err
	}
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		names := make([]string, 0, len(cmd.Commands()))
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		usage = cmd.CommandPath() + " " + strings.Join(names, "|")
	}
	return errext.WithExitCodeIfNone(withExitCode(fmt.Errorf("%w; usage: %s (--help tells more)", err, usage)), rig.ExitUsage)
}

// passExitCodes gives k6 the exit codes of the commands' own errors.
func passExitCodes(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error { return withExitCode(run(c, args)) }
	}
	for _, sub := range cmd.Commands() {
		passExitCodes(sub)
	}
}

func withExitCode(err error) error {
	var failed *command.FailOnError
	if errors.As(err, &failed) {
		return errext.WithExitCodeIfNone(err, exitcodes.ThresholdsHaveFailed)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return errext.WithExitCodeIfNone(err, exitcodes.ExitCode(coded.ExitCode())) // #nosec G115 -- exit codes are bytes
	}
	return err
}
