package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

func newInspectCommand(gs *state.GlobalState) *cobra.Command {
	flags := &testFlags{}
	requirements := false
	cmd := &cobra.Command{
		Use:   "inspect SCRIPT",
		Short: "Show the options of a script or archive",
		Args:  exactlyOneScript,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTest(cmd.Context(), gs, args[0], flags)
			if err != nil {
				return err
			}
			document, err := inspect(gs, t, flags, requirements)
			if err == nil {
				_, err = fmt.Fprintf(gs.Stdout, "%s\n", document)
			}
			return errors.Join(err, t.close())
		},
	}
	flags.addTo(cmd, runtimeFlags(&flags.runtime, &flags.features, false))
	cmd.Flags().BoolVar(&requirements, "execution-requirements", false, "add the number of VUs and the time that the test needs")
	return cmd
}

// inspect returns the options as indented JSON: those of the script, or, with requirements, the derived ones.
func inspect(gs *state.GlobalState, t *test, flags *testFlags, requirements bool) ([]byte, error) {
	if !requirements {
		return indentJSON(t.options())
	}
	c, err := settleConfig(gs, t, flags)
	if err != nil {
		return nil, err
	}
	tuple, err := lib.NewExecutionTuple(c.ExecutionSegment, c.ExecutionSegmentSequence)
	if err != nil {
		return nil, invalidConfig(err)
	}
	plan := engine.NewPlan(c.Options, tuple)
	return indentJSON(struct {
		lib.Options

		TotalDuration types.NullDuration `json:"totalDuration"`
		MaxVUs        int64              `json:"maxVUs"`
	}{c.Options, types.NullDurationFrom(plan.Duration), plan.MaxVUs})
}

func indentJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("options as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
