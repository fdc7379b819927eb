package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"

	"github.com/mstoykov/envconfig"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/build"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// config is a layer of settings for a run: the options and what concerns only the command.
type config struct {
	lib.Options

	Out           []string  `json:"out"`
	Linger        null.Bool `json:"linger"`
	NoUsageReport null.Bool `json:"noUsageReport"`
	// Collectors are the JSON settings of outputs by type.
	Collectors map[string]json.RawMessage `json:"collectors"`
}

// apply lays another layer over this one.
func (c config) apply(over config) config {
	c.Options = c.Apply(over.Options)
	if len(over.Out) > 0 {
		c.Out = over.Out
	}
	if over.Linger.Valid {
		c.Linger = over.Linger
	}
	if over.NoUsageReport.Valid {
		c.NoUsageReport = over.NoUsageReport
	}
	if over.Collectors != nil {
		c.Collectors = over.Collectors
	}
	return c
}

// configFlags are the flags of a run beyond its options.
func configFlags(c *config) *pflag.FlagSet {
	t := flagTable{pflag.NewFlagSet("", pflag.ContinueOnError)}
	t.SortFlags = false
	t.add("out", "o", "type=argument", "", "an output for samples; may be repeated", func(text string) error {
		c.Out = append(c.Out, text)
		return nil
	})
	t.boolean("linger", "l", "false", "stay after the end of the test, until interrupted", func(b bool) {
		c.Linger = null.BoolFrom(b)
	})
	t.boolean("no-usage-report", "", "false", "send no usage report (this host never does)", func(b bool) {
		c.NoUsageReport = null.BoolFrom(b)
	})
	return t.FlagSet
}

// readConfigFile reads the layer of the config file. It may be missing at its default place only.
func readConfigFile(gs *state.GlobalState) (config, error) {
	path := gs.Flags.ConfigFilePath
	data, err := fsext.ReadFile(gs.FS, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == gs.DefaultFlags.ConfigFilePath:
		return config{}, nil
	case err != nil:
		return config{}, invalidConfig(fmt.Errorf("couldn't read the config file %q: %w", path, err))
	}
	var extra struct {
		Out           []string                   `json:"out"`
		Linger        null.Bool                  `json:"linger"`
		NoUsageReport null.Bool                  `json:"noUsageReport"`
		Collectors    map[string]json.RawMessage `json:"collectors"`
	}
	if err := json.Unmarshal(data, &extra); err != nil {
		return config{}, invalidConfig(fmt.Errorf("couldn't parse the config file %q: %w", path, err))
	}
	options, _, err := lib.ParseOptions(data)
	if err != nil {
		return config{}, invalidConfig(fmt.Errorf("couldn't parse the config file %q: %w", path, err))
	}
	return config{
		Options: options, Out: extra.Out, Linger: extra.Linger,
		NoUsageReport: extra.NoUsageReport, Collectors: extra.Collectors,
	}, nil
}

// readConfigEnv reads the layer of the K6_ variables.
func readConfigEnv(env map[string]string) (config, error) {
	lookup := func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok && value != ""
	}
	options, err := lib.OptionsFromEnv(lookup)
	if err != nil {
		return config{}, invalidConfig(err)
	}
	c := config{Options: options}
	if out := env["K6_OUT"]; out != "" {
		for part := range strings.SplitSeq(out, ",") {
			c.Out = append(c.Out, strings.TrimSpace(part))
		}
	}
	for name, to := range map[string]*null.Bool{"K6_LINGER": &c.Linger, "K6_NO_USAGE_REPORT": &c.NoUsageReport} {
		if text := env[name]; text != "" {
			value, err := strconv.ParseBool(text)
			if err != nil {
				return config{}, invalidConfig(&envconfig.ParseError{
					KeyName: name, FieldName: strings.TrimPrefix(name, "K6_"), TypeName: "null.Bool", Value: text, Err: err,
				})
			}
			*to = null.BoolFrom(value)
		}
	}
	return c, nil
}

func invalidConfig(err error) error {
	return errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
}

// consolidate lays the command line over the environment over the script's options over the config file, and
// warns of a layer that drops scenarios. It turns on the features that the options name, one of which makes the tags
// of all layers add up.
func consolidate(gs *state.GlobalState, t *test, flags config) (config, error) {
	script := t.options()
	file, err := readConfigFile(gs)
	if err != nil {
		return config{}, err
	}
	env, err := readConfigEnv(gs.Env)
	if err != nil {
		return config{}, err
	}
	if err := t.turnOn(file.Options.Apply(script).Features); err != nil {
		return config{}, err
	}
	c := file
	for _, layer := range []struct {
		name   string
		config config
	}{{"script", config{Options: script}}, {"env", env}, {"cli", flags}} {
		over := c.apply(layer.config)
		if t.pre.FeatureFlags.MergeRunTags && c.RunTags != nil {
			over.RunTags = maps.Clone(c.RunTags)
			maps.Copy(over.RunTags, layer.config.RunTags)
		}
		if len(c.Scenarios) > 0 && len(over.Scenarios) == 0 {
			gs.Logger.Warnf("%q level configuration overrode scenarios configuration entirely", layer.name)
		}
		c = over
	}
	return c, nil
}

// deriveConfig fills in what can be left out: the scenario that the shortcuts stand for and the defaults.
func deriveConfig(c config, logger logrus.FieldLogger) (config, error) {
	options, err := executor.DeriveScenariosFromShortcuts(c.Options, logger)
	if err != nil {
		return c, invalidConfig(err)
	}
	c.Options = options
	c.DNS = types.DefaultDNSConfig().Apply(c.DNS)
	fill(&c.Options)
	return c, nil
}

// fill sets defaults without marking them as given.
func fill(o *lib.Options) {
	integer := func(to *null.Int, n int64) {
		if !to.Valid {
			*to = null.NewInt(n, false)
		}
	}
	integer(&o.Batch, 20)
	integer(&o.BatchPerHost, 6)
	integer(&o.MaxRedirects, 10)
	integer(&o.MetricSamplesBufferSize, 1000)
	if !o.UserAgent.Valid {
		o.UserAgent = null.NewString("Grafana k6/"+build.Version, false)
	}
	if o.SystemTags == nil {
		tags := metrics.DefaultSystemTagSet
		o.SystemTags = &tags
	}
	if o.SummaryTrendStats == nil {
		o.SummaryTrendStats = lib.DefaultSummaryTrendStats
	}
	for d, value := range map[*types.NullDuration]string{
		&o.SetupTimeout: "60s", &o.TeardownTimeout: "60s", &o.HandleSummaryTimeout: "120s",
	} {
		if !d.Valid {
			parsed, _ := types.ParseExtendedDuration(value) // a constant
			*d = types.NewNullDuration(parsed, false)
		}
	}
}

// validateConfig checks the derived options as a whole. isExecutable tells the functions that the script exports.
func validateConfig(c config, isExecutable func(string) bool) error {
	errs := c.Validate()
	for _, scenario := range c.Scenarios.Sorted() {
		if exec := scenario.GetExec(); !isExecutable(exec) {
			errs = append(errs, fmt.Errorf("executor %s: function '%s' not found in exports", scenario.GetName(), exec))
		}
	}
	if c.SummaryTimeUnit.Valid {
		switch c.SummaryTimeUnit.String {
		case "", "s", "ms", "us":
		default:
			errs = append(errs, fmt.Errorf("invalid summary time unit '%s', use 's', 'ms' or 'us'", c.SummaryTimeUnit.String))
		}
	}
	if _, err := metrics.GetResolversForTrendColumns(c.SummaryTrendStats); err != nil {
		errs = append(errs, err)
	}
	if c.Paused.Bool {
		errs = append(errs, refuse("starting a test paused"))
	}
	if len(errs) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("There were problems with the specified script configuration:")
	for _, err := range errs {
		b.WriteString("\n\t- " + err.Error())
	}
	return invalidConfig(errors.New(b.String()))
}
