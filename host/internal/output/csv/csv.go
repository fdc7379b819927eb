// Package csv is the output that writes every sample as one line of comma-separated values.
package csv

import (
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/output/destination"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

// Output writes rows to a file.
type Output struct {
	output.SampleBuffer

	name     string
	interval time.Duration
	time     func(time.Time) string
	columns  []string // the system tags that have a column, sorted
	fs       fsext.Fs
	stdOut   io.Writer
	logger   logrus.FieldLogger

	row     []string
	tags    map[*metrics.TagSet]tagCells
	out     *destination.Destination
	csv     *stdcsv.Writer
	flusher *output.PeriodicFlusher
	err     error // the first failed write
}

// tagCells are a tag set's cells: one per column, and the rest together.
type tagCells struct {
	columns []string
	extra   string
}

// maxCachedTagSets bounds the memory for tag sets that were taken apart already.
const maxCachedTagSets = 10_000

// New is the output's constructor; the argument is the file's name or a list of settings.
func New(params output.Params) (output.Output, error) {
	c, err := consolidate(params)
	if err != nil {
		return nil, err
	}
	format, err := timeFormatter(c.TimeFormat.String)
	if err != nil {
		return nil, err
	}
	systemTags := params.ScriptOptions.SystemTags
	if systemTags == nil {
		systemTags = &metrics.DefaultSystemTagSet
	}
	indexable := *systemTags &^ metrics.NonIndexableSystemTags
	columns := slices.Sorted(maps.Keys(indexable.Map()))
	return &Output{
		name:     c.FileName.String,
		interval: c.SaveInterval.TimeDuration(),
		time:     format,
		columns:  columns,
		fs:       params.FS,
		stdOut:   params.StdOut,
		logger:   params.Logger.WithField("output", "csv"),
		row:      make([]string, 0, len(columns)+5),
		tags:     make(map[*metrics.TagSet]tagCells),
	}, nil
}

// Description names the destination.
func (o *Output) Description() string {
	if destination.IsStdOut(o.name) {
		return "csv (stdout)"
	}
	return fmt.Sprintf("csv (%s)", o.name)
}

// Start opens the file, writes the header and begins to write.
func (o *Output) Start() error {
	out, err := destination.Open(o.fs, o.name, o.stdOut)
	if err != nil {
		return err
	}
	o.out, o.csv = out, stdcsv.NewWriter(out)
	header := append([]string{"metric_name", "timestamp", "metric_value"}, o.columns...)
	o.note(o.csv.Write(append(header, "extra_tags", "metadata")))
	o.flusher, err = output.NewPeriodicFlusher(o.interval, o.flush)
	return err
}

// Stop writes what is left and closes the file. It returns the first error of the whole run.
func (o *Output) Stop() error {
	o.flusher.Stop()
	o.note(o.out.Close())
	if o.err != nil {
		return fmt.Errorf("writing %s: %w", o.Description(), o.err)
	}
	return nil
}

func (o *Output) flush() {
	for _, container := range o.GetBufferedSamples() {
		for _, sample := range container.GetSamples() {
			o.note(o.csv.Write(o.cells(&sample)))
		}
	}
	o.csv.Flush()
	o.note(o.csv.Error())
	o.note(o.out.Flush())
}

// cells returns the sample's row, valid until the next call.
func (o *Output) cells(s *metrics.Sample) []string {
	cells, ok := o.tags[s.Tags]
	if !ok {
		cells = o.split(s.Tags)
		if len(o.tags) >= maxCachedTagSets {
			clear(o.tags)
		}
		o.tags[s.Tags] = cells
	}
	row := append(o.row[:0], s.Metric.Name, o.time(s.Time), strconv.FormatFloat(s.Value, 'f', 6, 64))
	row = append(row, cells.columns...)
	o.row = append(row, cells.extra, pairs(s.Metadata))
	return o.row
}

func (o *Output) split(tags *metrics.TagSet) tagCells {
	rest := tags.Map()
	columns := make([]string, len(o.columns))
	for i, name := range o.columns {
		columns[i] = rest[name]
		delete(rest, name)
	}
	return tagCells{columns: columns, extra: pairs(rest)}
}

// pairs writes k=v&k2=v2, sorted and without any escaping.
func pairs(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	list := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, key+"="+m[key])
	}
	return strings.Join(list, "&")
}

// note remembers the first error and reports it at once: the run may go on for hours.
func (o *Output) note(err error) {
	if err == nil || o.err != nil {
		return
	}
	o.err = err
	o.logger.WithError(err).Error("Couldn't write samples")
}
