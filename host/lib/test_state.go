package lib

import (
	"context"
	"io"

	"github.com/sirupsen/logrus"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/trace"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/secretsource"
)

// TestPreInitState is what exists before the script's init code runs.
type TestPreInitState struct {
	RuntimeOptions RuntimeOptions
	Registry       *metrics.Registry
	BuiltinMetrics *metrics.BuiltinMetrics
	Events         *event.System
	KeyLogger      io.Writer // gets the TLS session keys, nil for none
	LookupEnv      func(key string) (val string, ok bool)
	Logger         logrus.FieldLogger
	TracerProvider *trace.TracerProvider
	Usage          *usage.Usage
	SecretsManager *secretsource.Manager
	FeatureFlags   *features.Flags
	TestStatus     *TestStatus
}

// TestRunState is what exists once the options are known.
type TestRunState struct {
	*TestPreInitState

	Options      Options
	Runner       Runner
	RunTags      *metrics.TagSet
	GroupSummary *GroupSummary
}

// Runner is a script that is ready to run.
type Runner interface {
	// GetOptions returns the script's own options, or the consolidated ones after SetOptions.
	GetOptions() Options
	SetOptions(opts Options) error
	// IsExecutable says whether the script exports a function of this name.
	IsExecutable(name string) bool
	// Setup and Teardown run the script's functions of that name, if any.
	Setup(ctx context.Context, out chan<- metrics.SampleContainer) error
	Teardown(ctx context.Context, out chan<- metrics.SampleContainer) error
	// SetupData returns the JSON of what setup() returned, nil for undefined.
	SetupData() []byte
}

// RuntimeOptions are the options about how the script is run, which it can't set itself.
type RuntimeOptions struct {
	TestType                  null.String       `json:"-"`
	IncludeSystemEnvVars      null.Bool         `json:"includeSystemEnvVars"`
	CompatibilityMode         null.String       `json:"compatibilityMode"`
	Env                       map[string]string `json:"env"`
	NoThresholds              null.Bool         `json:"noThresholds"`
	SummaryMode               null.String       `json:"summaryMode"`
	SummaryExport             null.String       `json:"summaryExport"`
	KeyWriter                 null.String       `json:"-"`
	TracesOutput              null.String       `json:"tracesOutput"`
	NewMachineReadableSummary null.Bool         `json:"newMachineReadableSummary"`
}
