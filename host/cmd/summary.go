package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"go.k6.io/k6/v2/internal/build"
	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/internal/summary"
	"go.k6.io/k6/v2/lib/fsext"
)

// summarize lets the script, or the built-in summary, show the results and writes --summary-export. What goes
// wrong here is logged and changes nothing about the outcome of the run.
func (r *run) summarize(ctx context.Context, e *engine.Engine) {
	if r.mode == summary.ModeDisabled {
		return
	}
	s := &summary.Summary{
		Mode:        r.mode,
		Metrics:     r.test.pre.Registry.All(),
		Root:        r.state.GroupSummary.Root(),
		Checks:      r.state.GroupSummary.Checks(),
		Scopes:      r.scopes,
		Duration:    e.ExecutionState().GetCurrentTestRunDuration(),
		TrendStats:  r.config.SummaryTrendStats,
		TimeUnit:    r.config.SummaryTimeUnit.String,
		SetupData:   r.runner.SetupData(),
		NoColor:     r.gs.Flags.NoColor,
		IsStdOutTTY: r.gs.Stdout.IsTTY,
		IsStdErrTTY: r.gs.Stderr.IsTTY,
		Execution:   "local",
		Script:      string(r.test.source.Data),
		K6Version:   build.Version,
		FinishedAt:  time.Now(),
	}
	machine := r.test.pre.RuntimeOptions.NewMachineReadableSummary.Bool
	data, err := s.Data()
	if machine && err == nil {
		data, err = s.MachineReadable()
	}
	if err != nil {
		r.gs.Logger.WithError(err).Error("could not make the summary's data")
		return
	}
	results, err := r.runner.HandleSummary(ctx, data)
	if err != nil {
		logError(r.gs, err)
	}
	if results == nil {
		r.printSummary(s)
	} else {
		r.writeResults(results)
	}
	if path := r.test.pre.RuntimeOptions.SummaryExport.String; path != "" {
		export := s.Export
		if machine {
			export = s.MachineReadable
		}
		if err := r.exportSummary(path, export); err != nil {
			r.gs.Logger.WithError(err).Error("could not write the summary export")
		}
	}
}

func (r *run) printSummary(s *summary.Summary) {
	text, err := s.Text()
	if err != nil {
		r.gs.Logger.WithError(err).Error("could not make the summary's text")
		return
	}
	// Nowhere to report a failure of standard output.
	_, _ = io.WriteString(r.gs.Stdout, text)
}

// writeResults writes what handleSummary returned, to the streams and files that it names.
func (r *run) writeResults(results map[string]io.Reader) {
	for _, destination := range slices.Sorted(maps.Keys(results)) {
		if err := r.writeResult(destination, results[destination]); err != nil {
			r.gs.Logger.WithError(err).Error("could not save some of the summary's output")
		}
	}
}

func (r *run) writeResult(destination string, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("summary for '%s': %w", destination, err)
	}
	switch destination {
	case "stdout":
		_, err = r.gs.Stdout.Write(data)
	case "stderr":
		_, err = r.gs.Stderr.Write(data)
	default:
		err = fsext.WriteFile(r.gs.FS, destination, data, 0o644) // a result for anyone to read
	}
	if err != nil {
		return fmt.Errorf("could not write the summary to '%s': %w", destination, err)
	}
	return nil
}

func (r *run) exportSummary(path string, export func() ([]byte, error)) error {
	data, err := export()
	if err != nil {
		return err
	}
	return fsext.WriteFile(r.gs.FS, path, data, 0o644) // a result for anyone to read
}
