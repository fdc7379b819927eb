package cmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib"
)

// The modes of the end-of-test summary.
const (
	summaryCompact  = "compact"
	summaryFull     = "full"
	summaryDisabled = "disabled"
)

// runtimeFlags are the flags about how the script is run; systemEnv is whether it sees the process's
// environment unless told otherwise. What is given on the command line lands in opts and features.
func runtimeFlags(opts *lib.RuntimeOptions, features *[]string, systemEnv bool) *pflag.FlagSet {
	t := flagTable{pflag.NewFlagSet("", pflag.ContinueOnError)}
	t.SortFlags = false
	t.add("env", "e", "NAME=value", "", "a variable for the script's __ENV; may be repeated", func(text string) error {
		name, value, err := parseKeyValue(text)
		if err != nil {
			return err
		}
		if !identifier.MatchString(name) {
			return fmt.Errorf("invalid environment variable name '%s': use letters, digits and underscores only", name)
		}
		if opts.Env == nil {
			opts.Env = make(map[string]string)
		}
		opts.Env[name] = value
		return nil
	})
	t.boolean("include-system-env-vars", "", strconv.FormatBool(systemEnv), "pass the process's environment to the script",
		func(b bool) { opts.IncludeSystemEnvVars = null.BoolFrom(b) })
	t.text("compatibility-mode", "", "the JavaScript `mode`: extended or base (default extended)", func(text string) error {
		if !slices.Contains([]string{"base", "extended"}, text) {
			return fmt.Errorf("invalid compatibility mode %q, use 'extended' or 'base'", text)
		}
		opts.CompatibilityMode = null.StringFrom(text)
		return nil
	})
	t.text("type", "t", "override the `type` of the test: js or archive", func(text string) error {
		if !slices.Contains([]string{"js", "archive"}, text) {
			return fmt.Errorf("invalid test type %q, use 'js' or 'archive'", text)
		}
		opts.TestType = null.StringFrom(text)
		return nil
	})
	t.list("features", "", "feature `names` to turn on", func(names []string) error {
		*features = slices.Clone(names)
		return nil
	})
	t.boolean("no-thresholds", "", "false", "don't evaluate thresholds", func(b bool) { opts.NoThresholds = null.BoolFrom(b) })
	t.text("summary-mode", "", "the `mode` of the summary: compact, full or disabled (default compact)",
		func(text string) error {
			if err := checkSummaryMode(text); err != nil {
				return err
			}
			opts.SummaryMode = null.StringFrom(text)
			return nil
		})
	t.text("summary-export", "", "write the summary as JSON to this `file`", func(text string) error {
		opts.SummaryExport = null.StringFrom(text)
		return nil
	})
	t.boolean("new-machine-readable-summary", "", "false", "use the new form of the summary for programs",
		func(b bool) { opts.NewMachineReadableSummary = null.BoolFrom(b) })
	t.text("traces-output", "", "the `output` of traces (default none)", func(text string) error {
		opts.TracesOutput = null.StringFrom(text)
		return nil
	})
	return t.FlagSet
}

func checkSummaryMode(mode string) error {
	if slices.Contains([]string{summaryCompact, summaryFull, summaryDisabled}, mode) {
		return nil
	}
	return fmt.Errorf("invalid summary mode %q, use %s, %s or %s", mode, summaryCompact, summaryFull, summaryDisabled)
}

// consolidateRuntimeOptions lays the command line over the K6_ variables over the defaults.
func consolidateRuntimeOptions(flags lib.RuntimeOptions, env map[string]string, systemEnv bool) (lib.RuntimeOptions, error) {
	opts := lib.RuntimeOptions{
		IncludeSystemEnvVars: null.NewBool(systemEnv, false),
		CompatibilityMode:    null.NewString("extended", false),
		SummaryMode:          null.NewString(summaryCompact, false),
		TracesOutput:         null.NewString("none", false),
		TestType:             flags.TestType,
		Env:                  make(map[string]string),
	}
	var errs []string
	text := func(name string, flag null.String, to *null.String) {
		if value := env[name]; value != "" {
			*to = null.StringFrom(value)
		}
		if flag.Valid {
			*to = flag
		}
	}
	boolean := func(name string, flag null.Bool, to *null.Bool) {
		if value := env[name]; value != "" {
			b, err := strconv.ParseBool(value)
			if err != nil {
				errs = append(errs, fmt.Sprintf("%s is '%s', it has to be true or false", name, value))
			} else {
				*to = null.BoolFrom(b)
			}
		}
		if flag.Valid {
			*to = flag
		}
	}
	text("K6_TYPE", flags.TestType, &opts.TestType)
	text("K6_COMPATIBILITY_MODE", flags.CompatibilityMode, &opts.CompatibilityMode)
	text("K6_SUMMARY_MODE", flags.SummaryMode, &opts.SummaryMode)
	text("K6_SUMMARY_EXPORT", flags.SummaryExport, &opts.SummaryExport)
	text("K6_TRACES_OUTPUT", flags.TracesOutput, &opts.TracesOutput)
	text("SSLKEYLOGFILE", null.String{}, &opts.KeyWriter)
	boolean("K6_INCLUDE_SYSTEM_ENV_VARS", flags.IncludeSystemEnvVars, &opts.IncludeSystemEnvVars)
	boolean("K6_NO_THRESHOLDS", flags.NoThresholds, &opts.NoThresholds)
	boolean("K6_NEW_MACHINE_READABLE_SUMMARY", flags.NewMachineReadableSummary, &opts.NewMachineReadableSummary)
	if err := checkSummaryMode(opts.SummaryMode.String); err != nil {
		errs = append(errs, "K6_SUMMARY_MODE: "+err.Error())
	}
	if mode := opts.CompatibilityMode.String; mode != "base" && mode != "extended" {
		errs = append(errs, fmt.Sprintf("K6_COMPATIBILITY_MODE is '%s', it has to be extended or base", mode))
	}
	if opts.TracesOutput.String != "none" {
		errs = append(errs, refuse("a traces output").Error())
	}
	if len(errs) > 0 {
		return opts, errext.WithExitCodeIfNone(
			fmt.Errorf("invalid runtime options: %s", strings.Join(errs, "; ")), exitcodes.InvalidConfig)
	}

	if opts.IncludeSystemEnvVars.Bool {
		for name, value := range env {
			opts.Env[name] = value
		}
	}
	for name, value := range flags.Env {
		opts.Env[name] = value
	}
	return opts, nil
}
