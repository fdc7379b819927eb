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
	// Color and Width describe Out if it is a terminal; see [report.TerminalOptions]. They are asked when a command runs,
	// since no flag has been read before; nil is without color, and of the usual width.
	Color func() bool
	Width func() int
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
	switch ext := strings.ToLower(filepath.Ext(f.out)); ext {
	case ".md", ".markdown":
		return "markdown", nil
	case ".html", ".htm":
		return "html", nil
	case ".json":
		return "json", nil
	case ".txt":
		return "terminal", nil
	default:
		if f.out != "" {
			return "", fmt.Errorf("--output got %q, whose ending names no form; it takes .txt, .md, .html or .json, or any name with --format", f.out)
		}
		return "terminal", nil
	}
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
			opts := report.TerminalOptions{}
			if f.out == "" {
				opts.Color = to.Color != nil && to.Color()
				if to.Width != nil {
					opts.Width = to.Width()
				}
			}
			return d.Terminal(w, opts)
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
func readAll(to IO, paths []string) ([]*recorder.Record, error) {
	records := make([]*recorder.Record, len(paths))
	for i, path := range paths {
		rec, err := read(to, path)
		if err != nil {
			return nil, err
		}
		records[i] = rec
	}
	return records, nil
}

// shownProblems is how many contradictions of a record an error names.
const shownProblems = 3

// read reads one record and refuses it where its parts contradict each other: nothing that is said of it would be true.
// What was recovered from a run that was killed is invalid anyway; its counts may be of slightly different moments.
func read(to IO, path string) (*recorder.Record, error) {
	path, err := recordIn(to, path)
	if err != nil {
		return nil, err
	}
	rec, err := recorder.Read(path)
	if err != nil {
		return nil, err
	}
	problems := rec.Check()
	if len(problems) == 0 || rec.Invocation.Partial {
		return rec, nil
	}
	words := make([]string, 0, shownProblems+1)
	for _, p := range problems[:min(len(problems), shownProblems)] {
		words = append(words, report.Legible(p.Error()))
	}
	if more := len(problems) - shownProblems; more > 0 {
		words = append(words, fmt.Sprintf("and %d more, which record validate lists", more))
	}
	return nil, fmt.Errorf("%s: this record does not hold together: %s; it was edited, damaged, or judged by the rules of another version",
		path, strings.Join(words, "; "))
}

// recordNames are the files that a run may leave in its folder, the first of them first.
func recordNames() []string { return []string{"record.json", "record.json.zst"} }

// partialName is what a run that was killed leaves instead.
const partialName = "record.partial.ndjson"

// recordIn gives the record's file where the path is a run's folder. A later run that left no record there is named.
func recordIn(to IO, path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path, nil //nolint:nilerr // reading it says what is wrong
	}
	isFile := func(name string) bool {
		info, err := os.Stat(filepath.Join(path, name))
		return err == nil && !info.IsDir()
	}
	for _, name := range recordNames() {
		if !isFile(name) {
			continue
		}
		if isFile(partialName) {
			if _, err := fmt.Fprintf(to.Err, "%s is of an earlier run than %s beside it, whose run was killed or is still going on\n",
				filepath.Join(path, name), partialName); err != nil {
				return "", err
			}
		}
		return filepath.Join(path, name), nil
	}
	if isFile(partialName) {
		return "", fmt.Errorf("the folder %s holds no record.json: its run was killed or is still going on; name %s to read what it had counted until then",
			path, filepath.Join(path, partialName))
	}
	return "", fmt.Errorf("the folder %s holds no record.json", path)
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
			records, err := readAll(to, args)
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
