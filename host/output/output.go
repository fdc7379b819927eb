// Package output is what receives the samples of a test run while it goes on.
package output

import (
	"encoding/json"
	"io"
	"net/url"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
)

// Output receives samples.
type Output interface {
	// Description is shown to the user at start, such as "json (out.json)".
	Description() string
	// Start is called before the first sample.
	Start() error
	// AddMetricSamples is never called concurrently and must not block.
	AddMetricSamples(samples []metrics.SampleContainer)
	// Stop is called after the last sample and flushes.
	Stop() error
}

// WithThresholds is an output that wants to know the thresholds, before Start.
type WithThresholds interface {
	Output
	SetThresholds(thresholds map[string]metrics.Thresholds)
}

// WithTestRunStop is an output that may abort the test; it gets the function for that before Start.
type WithTestRunStop interface {
	Output
	SetTestRunStopCallback(stop func(error))
}

// WithStopWithTestError is an output that wants to know how the test ended: StopWithTestError is called instead of
// Stop.
type WithStopWithTestError interface {
	Output
	StopWithTestError(testRunErr error) error
}

// WithBuiltinMetrics is an output that wants the built-in metrics, before Start.
type WithBuiltinMetrics interface {
	Output
	SetBuiltinMetrics(builtinMetrics *metrics.BuiltinMetrics)
}

// WithArchive is an output that wants the test's archive, before Start.
type WithArchive interface {
	Output
	SetArchive(archive *lib.Archive)
}

// Params is what an output's constructor gets.
type Params struct {
	OutputType     string
	ConfigArgument string // what follows "type=" on the command line
	JSONConfig     json.RawMessage

	Logger         logrus.FieldLogger
	Environment    map[string]string
	StdOut         io.Writer
	StdErr         io.Writer
	FS             fsext.Fs
	ScriptPath     *url.URL
	ScriptOptions  lib.Options
	RuntimeOptions lib.RuntimeOptions
	ExecutionPlan  []lib.ExecutionStep
	Usage          *usage.Usage
	Features       *features.Flags
}

// Constructor makes an output.
type Constructor func(Params) (Output, error)

// RegisterExtension makes an output available as `--out name=…`. It panics if the name is taken.
func RegisterExtension(name string, c Constructor) {
	ext.Register(name, ext.OutputExtension, c)
}
