package rigcmd

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

func (c Config) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [DIR] -- COMMAND [ARG]…",
		Short: "Run a command against a rig that lives as long as the command",
		Long: `Boot the rig in DIR, or a temporary one, run COMMAND with its address in the environment, and tear it down.

The command gets OMNIGRAPH_URI and OMNIGRAPH_URL, OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN, OMNIGRAPH_TOKENS_FILE,
OMNIGRAPH_BIN, OMNIGRAPH_SERVER_BIN, OMNIGRAPH_STORE, OMNIGRAPH_DATASET, OMNIGRAPH_RIG and
OMNIGRAPH_EMULATED. Signals and the exit code are passed through; nothing is printed into its stdout.`,
	}
	flags := addBootFlags(cmd.Flags())
	writers := cmd.Flags().Int("writers", 8, "writing actors of a temporary rig")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, command, err := splitArgs(cmd.ArgsLenAtDash(), args)
		if err != nil {
			return err
		}

		up, err := c.upOptions(flags)
		if err != nil {
			return err
		}

		base := dataset.Default()

		if dir != "" {
			r, err := rig.Open(dir)
			if err != nil {
				return err
			}

			base = r.Dataset().Params
		}

		params, err := flags.dataset.over(base)
		if err != nil {
			return err
		}

		up.Dataset = &params

		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}

		ch := make(chan os.Signal, 8)
		c.Notify(ch, signals()...)

		defer c.StopNotify(ch)

		return c.explain(ctx, rig.Run(ctx, rig.RunOptions{
			UpOptions: up, Dir: dir, Make: rig.MakeOptions{Writers: *writers}, Command: command,
			Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Signals: ch, Echo: c.Echo,
		}))
	}

	return cmd
}

// splitArgs tells the directory, if there is one, from the command. dash is the number of arguments before "--",
// -1 without one.
func splitArgs(dash int, args []string) (dir string, command []string, err error) {
	if dash < 0 {
		return "", nil, &usageError{errors.New("rig run: name the command after --, as in `k6 x omnigraph rig run -- k6 run script.js`")}
	}

	if dash > 1 {
		return "", nil, &usageError{errors.New("rig run: at most one directory stands before --")}
	}

	if dash == len(args) {
		return "", nil, &usageError{errors.New("rig run: no command after --")}
	}

	if dash == 1 {
		dir = args[0]
	}

	return dir, args[dash:], nil
}
