package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/output/csv"
	"go.k6.io/k6/v2/internal/output/json"
	"go.k6.io/k6/v2/internal/output/remotewrite"
	"go.k6.io/k6/v2/output"
)

// outputConstructors are the outputs of this host and of the extensions that are linked in.
func outputConstructors() map[string]output.Constructor {
	constructors := map[string]output.Constructor{
		"json":                       json.New,
		"csv":                        csv.New,
		"experimental-prometheus-rw": remotewrite.New,
	}
	for name, extension := range ext.Get(ext.OutputExtension) {
		if constructor, ok := extension.Module.(output.Constructor); ok {
			constructors[name] = constructor
		}
	}
	return constructors
}

// foreignOutputs are types of outputs that only the real k6 has.
func foreignOutputs() []string {
	return []string{"cloud", "experimental-opentelemetry", "influxdb", "opentelemetry", "web-dashboard"}
}

// createOutputs makes the outputs that --out and its like ask for.
func createOutputs(gs *state.GlobalState, test *test, plan output.Params, c config) ([]output.Output, error) {
	if gs.Env["K6_WEB_DASHBOARD"] == "true" {
		gs.Logger.Warn(refuse("the web dashboard, which K6_WEB_DASHBOARD asks for,"))
	}
	constructors := outputConstructors()
	var outputs []output.Output
	for _, out := range c.Out {
		typ, argument, _ := strings.Cut(out, "=")
		constructor, ok := constructors[typ]
		if !ok {
			if slices.Contains(foreignOutputs(), typ) {
				return nil, refuse("the output " + typ)
			}
			return nil, fmt.Errorf("invalid output type '%s', available types are: %s", typ,
				strings.Join(slices.Sorted(maps.Keys(constructors)), ", "))
		}
		params := plan
		params.OutputType, params.ConfigArgument = typ, argument
		params.JSONConfig = c.Collectors[typ]
		params.Logger = gs.Logger.WithField("component", "output-"+typ)
		params.Environment = gs.Env
		params.StdOut, params.StdErr = gs.Stdout, gs.Stderr
		params.FS = gs.FS
		params.ScriptPath = test.source.URL
		params.ScriptOptions = c.Options
		params.RuntimeOptions = test.pre.RuntimeOptions
		params.Usage = gs.Usage
		params.Features = test.pre.FeatureFlags
		o, err := constructor(params)
		if err != nil {
			return nil, fmt.Errorf("could not create the '%s' output: %w", typ, err)
		}
		outputs = append(outputs, o)
	}
	return outputs, nil
}
