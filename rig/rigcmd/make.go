package rigcmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

func (c Config) makeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "make DIR",
		Short: "Write a rig into DIR: schema, stored queries, policies, tokens, dataset",
		Args:  oneDir,
	}
	flags := addDatasetFlags(cmd.Flags())
	writers := cmd.Flags().Int("writers", 8, "writing actors, each with a token and an admission cap of its own")

	cmd.RunE = func(_ *cobra.Command, args []string) error {
		params, err := flags.over(dataset.Default())
		if err != nil {
			return err
		}

		r, err := rig.Make(args[0], rig.MakeOptions{Dataset: params, Writers: *writers})
		if err != nil {
			return err
		}

		fmt.Fprintf(c.Stderr, "made the rig %s: %s\n", r.Dir(), r.Dataset())

		return nil
	}

	return cmd
}

func (c Config) datasetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dataset",
		Short: "Print the dataset as NDJSON, or its identity",
		Args:  cobra.NoArgs,
	}
	flags := addDatasetFlags(cmd.Flags())
	identity := cmd.Flags().Bool("identity", false, "print the identity as JSON instead of the rows")

	cmd.RunE = func(*cobra.Command, []string) error {
		params, err := flags.over(dataset.Default())
		if err != nil {
			return err
		}

		if !*identity {
			_, err := params.Write(c.Stdout)

			return err
		}

		id, err := params.Identity()
		if err != nil {
			return err
		}

		return json.NewEncoder(c.Stdout).Encode(id)
	}

	return cmd
}
