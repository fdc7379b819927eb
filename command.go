package xk6omnigraph

import (
	"errors"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/mitodl/xk6-omnigraph/report/command"
	"github.com/mitodl/xk6-omnigraph/rig/rigcmd"
	"github.com/spf13/cobra"
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
		Out: gs.Stdout, Err: gs.Stderr, Color: gs.Stdout.IsTTY && !gs.Flags.NoColor,
	})...)
	passExitCodes(cmd)
	return cmd
}

// passExitCodes gives k6 the exit codes of the commands' own errors.
func passExitCodes(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			err := run(c, args)
			var coded interface{ ExitCode() int }
			var failed *command.FailOnError
			if errors.As(err, &failed) {
				return errext.WithExitCodeIfNone(err, exitcodes.ThresholdsHaveFailed)
			}
			if errors.As(err, &coded) {
				return errext.WithExitCodeIfNone(err, exitcodes.ExitCode(coded.ExitCode())) // #nosec G115 -- exit codes are bytes
			}
			return err
		}
	}
	for _, sub := range cmd.Commands() {
		passExitCodes(sub)
	}
}
