package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report"
)

// IO is where commands write.
type IO struct {
	Out, Err io.Writer
	// Color and Width describe Out if it is a terminal; see [report.TerminalOptions]. Color is asked when a command runs,
	// since no flag has been read before; nil is without.
	Color func() bool
	Width int
}

// Commands makes the commands report, compare, plan and record. They share nothing: a caller may add them to any
// parent.
func Commands(to IO) []*cobra.Command {
	return []*cobra.Command{reportCommand(to), compareCommand(to), planCommand(to), recordCommand(to)}
}

// FailOnError is returned by compare when a condition named with --fail-on is met. The comparison has been written.
type FailOnError struct{ Conditions []string }

// Error says which conditions were met.
func (e *FailOnError) Error() string {
	return "the comparison fails on: " + strings.Join(e.Conditions, ", ")
}

// form is how a document is written.
type form struct {
	format string
	json   bool
	out    string
}

func (f *form) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.format, "format", "f", "", "terminal, markdown, html or json (default: by --output's name, else terminal)")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, same as --format json")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "file to write to instead of standard output")
}

// name resolves the format.
func (f *form) name() (string, error) {
	if f.json {
		if f.format != "" && f.format != "json" {
			return "", fmt.Errorf("--json and --format %s contradict each other", f.format)
		}
		return "json", nil
	}
	switch f.format {
	case "terminal", "markdown", "html", "json":
		return f.format, nil
	case "md":
		return "markdown", nil
	case "":
	default:
		return "", fmt.Errorf("--format got %q; it takes terminal, markdown, html or json", f.format)
	}
	switch strings.ToLower(filepath.Ext(f.out)) {
	case ".md":
		return "markdown", nil
	case ".html", ".htm":
		return "html", nil
	case ".json":
		return "json", nil
	}
	return "terminal", nil
}

// write writes a document; asJSON writes what stands for it in JSON.
func (f *form) write(to IO, d *report.Document, asJSON func(io.Writer) error) error {
	name, err := f.name()
	if err != nil {
		return err
	}
	render := func(w io.Writer) error {
		switch name {
		case "markdown":
			return d.Markdown(w)
		case "html":
			return d.HTML(w)
		case "json":
			return asJSON(w)
		default:
			return d.Terminal(w, report.TerminalOptions{Color: to.Color != nil && to.Color() && f.out == "", Width: to.Width})
		}
	}
	if f.out == "" {
		return render(to.Out)
	}
	file, err := os.Create(f.out)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := errors.Join(render(file), file.Close()); err != nil {
		return fmt.Errorf("write report %s: %w", f.out, err)
	}
	return nil
}

// readAll reads the records that the arguments name.
func readAll(paths []string) ([]*recorder.Record, error) {
	records := make([]*recorder.Record, len(paths))
	for i, path := range paths {
		rec, err := recorder.Read(path)
		if err != nil {
			return nil, err
		}
		records[i] = rec
	}
	return records, nil
}

func reportCommand(to IO) *cobra.Command {
	var f form
	cmd := &cobra.Command{
		Use:   "report RECORD...",
		Short: "Say what a run record means; several records are merged",
		Long: "Says what a run record means: verdict, findings with their next action, tables and figures.\n" +
			"Several records (of several generators, or of repetitions) are merged first. The partial file of a run that\n" +
			"was killed can be read, too.",
		Example: "  k6 x omnigraph report results/spike/record.json\n" +
			"  k6 x omnigraph report -o report.html generator-*.json.zst",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			records, err := readAll(args)
			if err != nil {
				return err
			}
			rec, err := recorder.Merge(records...)
			if err != nil {
				return err
			}
			d := report.Build(rec)
			return f.write(to, d, d.JSON)
		},
	}
	f.flags(cmd)
	return prepared(cmd, to)
}

// prepared sets what all commands have in common.
func prepared(cmd *cobra.Command, to IO) *cobra.Command {
	cmd.SetOut(to.Out)
	cmd.SetErr(to.Err)
	cmd.SilenceUsage = true
	return cmd
}
