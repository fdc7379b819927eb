package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report"
)

func recordCommand(to IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Check run records",
	}
	cmd.AddCommand(validateCommand(to))
	return prepared(cmd, to)
}

// validated is what record validate --json says of one file.
type validated struct {
	File    string            `json:"file"`
	OK      bool              `json:"ok"`
	Error   string            `json:"error,omitempty"`
	Verdict recorder.Verdict  `json:"verdict,omitempty"`
	Reasons []recorder.Reason `json:"reasons,omitempty"`
}

func validateCommand(to IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate RECORD...",
		Short: "Check that files are run records that this version understands",
		Long: "Checks that files are run records that this version understands: form, histograms, counts, and that the verdict\n" +
			"is the one that the figures lead to. docs/record.schema.json describes the form for other programs.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			results := make([]validated, len(args))
			bad := 0
			for i, path := range args {
				results[i] = validate(to, path)
				if !results[i].OK {
					bad++
				}
			}
			if err := writeValidated(to, results, asJSON); err != nil {
				return err
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d files are no valid run records", bad, len(args))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return prepared(cmd, to)
}

func validate(to IO, path string) validated {
	v := validated{File: path}
	file, err := recordIn(to, path)
	var rec *recorder.Record
	if err == nil {
		v.File = file
		rec, err = recorder.Read(file)
	}
	if err == nil {
		v.Verdict, v.Reasons = rec.Verdict, rec.Reasons
		for _, problem := range rec.Check() {
			err = errors.Join(err, errors.New(report.Legible(problem.Error())))
		}
	}
	v.OK = err == nil
	if err != nil {
		v.Error = err.Error()
	}
	return v
}

func writeValidated(to IO, results []validated, asJSON bool) error {
	if asJSON {
		return writeJSON(to.Out, results)
	}
	for _, v := range results {
		text := fmt.Sprintf("%s: a run record, verdict %s", v.File, v.Verdict)
		if !v.OK {
			text = fmt.Sprintf("%s: %s", v.File, v.Error)
		}
		if _, err := fmt.Fprintln(to.Out, text); err != nil {
			return err
		}
	}
	return nil
}
