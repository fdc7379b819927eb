// Package json is the output that writes every sample as one line of JSON.
package json

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/output/destination"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

const flushPeriod = 200 * time.Millisecond

// Output writes lines to a file or to standard output.
type Output struct {
	output.SampleBuffer

	name   string
	fs     fsext.Fs
	stdOut io.Writer
	logger logrus.FieldLogger

	thresholds map[string]metrics.Thresholds
	encoder    *encoder
	out        *destination.Destination
	flusher    *output.PeriodicFlusher
	err        error // the first failed write
}

var _ output.WithThresholds = (*Output)(nil)

// New is the output's constructor; the argument is the file's name.
func New(params output.Params) (output.Output, error) {
	return &Output{
		name:    params.ConfigArgument,
		fs:      params.FS,
		stdOut:  params.StdOut,
		logger:  params.Logger.WithField("output", "json"),
		encoder: newEncoder(),
	}, nil
}

// Description names the destination.
func (o *Output) Description() string {
	if destination.IsStdOut(o.name) {
		return "json(stdout)"
	}
	return fmt.Sprintf("json (%s)", o.name)
}

// SetThresholds implements output.WithThresholds: a metric's line lists its thresholds.
func (o *Output) SetThresholds(thresholds map[string]metrics.Thresholds) { o.thresholds = thresholds }

// Start opens the file and begins to write.
func (o *Output) Start() error {
	out, err := destination.Open(o.fs, o.name, o.stdOut)
	if err != nil {
		return err
	}
	o.out = out
	o.flusher, err = output.NewPeriodicFlusher(flushPeriod, o.flush)
	return err
}

// Stop writes what is left and closes the file. It returns the first error of the whole run.
func (o *Output) Stop() error {
	o.flusher.Stop()
	if err := o.out.Close(); o.err == nil {
		o.err = err
	}
	if o.err != nil {
		return fmt.Errorf("writing %s: %w", o.Description(), o.err)
	}
	return nil
}

func (o *Output) flush() {
	for _, container := range o.GetBufferedSamples() {
		for _, sample := range container.GetSamples() {
			o.write(&sample)
		}
	}
	o.note(o.out.Flush())
}

func (o *Output) write(sample *metrics.Sample) {
	if o.encoder.isNew(sample.Metric) {
		line, err := o.metricLine(sample.Metric)
		if err != nil {
			o.note(err)
			return
		}
		_, err = o.out.Write(append(line, '\n'))
		o.note(err)
	}
	line, ok := o.encoder.point(sample)
	if !ok {
		o.logger.Warnf("JSON can't hold the value %v of metric '%s': the sample is left out", sample.Value, sample.Metric.Name)
		return
	}
	_, err := o.out.Write(line)
	o.note(err)
}

// note remembers the first error and reports it at once: the run may go on for hours.
func (o *Output) note(err error) {
	if err == nil || o.err != nil {
		return
	}
	o.err = err
	o.logger.WithError(err).Error("Couldn't write samples")
}

type metricEnvelope struct {
	Type   string     `json:"type"`
	Data   metricData `json:"data"`
	Metric string     `json:"metric"`
}

type metricData struct {
	Name       string               `json:"name"`
	Type       metrics.MetricType   `json:"type"`
	Contains   metrics.ValueType    `json:"contains"`
	Thresholds metrics.Thresholds   `json:"thresholds"`
	Submetrics []*metrics.Submetric `json:"submetrics"`
}

func (o *Output) metricLine(m *metrics.Metric) ([]byte, error) {
	line, err := marshal(metricEnvelope{
		Type:   "Metric",
		Metric: m.Name,
		Data: metricData{
			Name: m.Name, Type: m.Type, Contains: m.Contains,
			Thresholds: o.thresholds[m.Name], Submetrics: m.Submetrics,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding metric '%s': %w", m.Name, err)
	}
	return line, nil
}
