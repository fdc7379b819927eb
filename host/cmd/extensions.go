package cmd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/subcommand"
)

// newXCommand makes `k6 x` with the commands of extensions below it.
func newXCommand(gs *state.GlobalState) *cobra.Command {
	x := &cobra.Command{
		Use:   "x",
		Short: "Run a command of an extension",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			if gs.Flags.AutoExtensionResolution {
				return fmt.Errorf("%w: no extension with this command is linked in; %w", err,
					refuse("fetching one over the network"))
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	extensions := ext.Get(ext.SubcommandExtension)
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		constructor, ok := extensions[name].Module.(subcommand.Constructor)
		if !ok {
			panic(fmt.Sprintf("subcommand extension %q is registered with a %T, not with a constructor",
				name, extensions[name].Module))
		}
		cmd := constructor(gs)
		if cmd.Name() != name {
			panic(fmt.Sprintf("subcommand extension %q makes a command called %q, the names have to be the same",
				name, cmd.Name()))
		}
		x.AddCommand(cmd)
	}
	return x
}
