package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/features"
)

func newFeaturesCommand(gs *state.GlobalState) *cobra.Command {
	return &cobra.Command{
		Use:   "features",
		Short: "List the features that can be turned on",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, f := range features.All() {
				if _, err := fmt.Fprintf(gs.Stdout, "%-20s %s\n", f.Name, f.Description); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
