package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/archive"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/internal/runner"
	"go.k6.io/k6/v2/internal/trace"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
)

// testFlags is what a command that loads a test is told on the command line.
type testFlags struct {
	config    config
	runtime   lib.RuntimeOptions
	features  []string
	systemEnv bool // whether scripts see the process's environment by default
}

// addTo adds the flags to the command.
func (f *testFlags) addTo(cmd *cobra.Command, sets ...*pflag.FlagSet) {
	cmd.Flags().SortFlags = false
	for _, set := range sets {
		cmd.Flags().AddFlagSet(set)
	}
}

// test is a script whose init code has run once.
type test struct {
	pre    *lib.TestPreInitState
	source *loader.Source
	files  map[string]fsext.Fs
	bundle *runner.Bundle
	// featuresGiven says that the command line or the environment named the features to turn on.
	featuresGiven bool
	// archived is what an archive brought along, nil for a script.
	archived *lib.Archive
	close    func() error
}

// loadTest reads the script or archive, runs its init code and returns what it exports.
func loadTest(ctx context.Context, gs *state.GlobalState, path string, flags *testFlags) (*test, error) {
	runtimeOptions, err := consolidateRuntimeOptions(flags.runtime, gs.Env, flags.systemEnv)
	if err != nil {
		return nil, err
	}
	source, files, err := readSource(ctx, gs, path)
	if err != nil {
		return nil, err
	}
	t := &test{source: source, files: files, close: func() error { return nil }}
	if isArchive(runtimeOptions, source.Data) {
		if err := t.unpack(&runtimeOptions); err != nil {
			return nil, err
		}
	}

	featureNames := flags.features
	if text := gs.Env["K6_FEATURES"]; text != "" && len(featureNames) == 0 {
		featureNames = strings.Split(text, ",")
	}
	t.featuresGiven = len(featureNames) > 0
	flagSet, err := features.Parse(featureNames)
	if err != nil {
		return nil, err
	}
	if err := setUpSecrets(gs); err != nil {
		return nil, err
	}
	registry := metrics.NewRegistry()
	t.pre = &lib.TestPreInitState{
		RuntimeOptions: runtimeOptions,
		Registry:       registry,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
		Events:         gs.Events,
		LookupEnv: func(key string) (string, bool) {
			value, ok := gs.Env[key]
			return value, ok
		},
		Logger:         gs.Logger,
		TracerProvider: trace.NewNoopTracerProvider(),
		Usage:          gs.Usage,
		SecretsManager: gs.SecretsManager,
		FeatureFlags:   flagSet,
		TestStatus:     gs.TestStatus,
	}
	if err := t.logKeys(gs); err != nil {
		return nil, err
	}

	t.bundle, err = runner.NewBundle(ctx, t.pre, t.source, t.files)
	if err != nil {
		closeErr := t.close()
		err = fmt.Errorf("could not initialize '%s': could not load JS test '%s': %w", path, t.source.URL, err)
		return nil, errors.Join(err, closeErr)
	}
	return t, nil
}

func isArchive(opts lib.RuntimeOptions, data []byte) bool {
	if opts.TestType.Valid && opts.TestType.String != "" {
		return opts.TestType.String == "archive"
	}
	return archive.Looks(data)
}

// unpack replaces the source by what the archive holds.
func (t *test) unpack(opts *lib.RuntimeOptions) error {
	archived, err := archive.Read(strings.NewReader(string(t.source.Data)))
	if err != nil {
		return err
	}
	t.archived = archived
	t.files = archived.Filesystems
	t.source = &loader.Source{URL: archived.FilenameURL, PWD: archived.PwdURL, Data: archived.Data}
	// The variables stored in the archive come first, so that those of the command line win.
	env := maps.Clone(archived.Env)
	if env == nil {
		env = make(map[string]string)
	}
	maps.Copy(env, opts.Env)
	opts.Env = env
	return nil
}

// options are those of the script, or of the archive, which has the script's and those given when it was made.
func (t *test) options() lib.Options {
	if t.archived != nil {
		return t.archived.Options
	}
	return t.bundle.Options()
}

// turnOn turns on the features that options name, unless the command line or the environment has named some. The
// init code has run once by then, without them.
func (t *test) turnOn(names []string) error {
	if t.featuresGiven || len(names) == 0 {
		return nil
	}
	flags, err := features.Parse(names)
	if err != nil {
		return invalidConfig(err)
	}
	*t.pre.FeatureFlags = *flags
	return nil
}

// logKeys opens the file for TLS keys that SSLKEYLOGFILE names.
func (t *test) logKeys(gs *state.GlobalState) error {
	path := t.pre.RuntimeOptions.KeyWriter.ValueOrZero()
	if path == "" {
		return nil
	}
	file, err := gs.FS.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("could not open the file for TLS keys: %w", err)
	}
	t.pre.KeyLogger = file
	t.close = file.Close
	return nil
}
