package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report"
)

// failConditions are what --fail-on takes.
func failConditions() []string {
	return []string{"slower", "faster", "effect", "few", "missing", "invalid"}
}

func compareCommand(to IO) *cobra.Command {
	var f form
	var failOn []string
	opts := report.CompareOptions{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two run records cell by cell; A is the reference",
		Long: "Compares two run records cell by cell. Effects below the noise floor and the margin are no effects. It never\n" +
			"fails a build by itself: --fail-on says what should.",
		Example: "  k6 x omnigraph compare before.json after.json --varies server\n" +
			"  k6 x omnigraph compare main.json branch.json --fail-on slower,invalid",
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, c := range failOn {
				if !slices.Contains(failConditions(), c) {
					return fmt.Errorf("--fail-on got %q; it takes %s", c, strings.Join(failConditions(), ", "))
				}
			}
			records, err := readAll(to, args)
			if err != nil {
				return err
			}
			c, err := report.Compare(records[0], records[1], opts)
			if err != nil {
				return err
			}
			if err := f.write(to, c.Document(), func(w io.Writer) error { return writeJSON(w, c) }); err != nil {
				return err
			}
			if met := metConditions(c, failOn); len(met) > 0 {
				return &FailOnError{Conditions: met}
			}
			return nil
		},
	}
	f.flags(cmd)
	cmd.Flags().StringSliceVar(&failOn, "fail-on", nil, "end with an error if a cell is slower, faster, either (effect), has too few samples (few) or is missing, or if the comparison is invalid")
	cmd.Flags().StringSliceVar(&opts.Varies, "varies", nil, "identity fields that the comparison is about: "+strings.Join(recorder.IdentityFields(), ", "))
	cmd.Flags().Float64Var(&opts.Floor, "floor", -1, "relative A/A noise floor, such as 0.02 (default: as recorded)")
	cmd.Flags().Float64Var(&opts.Margin, "margin", -1, "relative margin above the floor (default: as recorded)")
	return prepared(cmd, to)
}

// metConditions are those of the wanted conditions that the comparison meets.
func metConditions(c *report.Comparison, wanted []string) []string {
	var met []string
	for _, w := range wanted {
		var is bool
		switch w {
		case "slower":
			is = c.Count(report.CellSlower) > 0
		case "faster":
			is = c.Count(report.CellFaster) > 0
		case "effect":
			is = c.Count(report.CellSlower)+c.Count(report.CellFaster) > 0
		case "few":
			is = c.Count(report.CellFew) > 0
		case "missing":
			is = len(c.OnlyA)+len(c.OnlyB) > 0 || len(c.Cells) == 0
		case "invalid":
			is = c.Verdict == recorder.Invalid
		}
		if is {
			met = append(met, w)
		}
	}
	return met
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
