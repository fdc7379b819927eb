package executor

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
)

// DeriveScenariosFromShortcuts turns the shortcuts vus, iterations, duration and stages into a scenario called
// default. Shortcuts of different kinds, or a shortcut beside scenarios, are an error; vus alone replaces
// scenarios.
func DeriveScenariosFromShortcuts(opts lib.Options, logger logrus.FieldLogger) (lib.Options, error) {
	if err := checkConflicts(opts); err != nil {
		return opts, err
	}
	var config lib.ExecutorConfig
	switch {
	case opts.Iterations.Valid:
		config = sharedFromShortcuts(opts, opts.Iterations)
	case opts.Duration.Valid:
		c := NewConstantVUsConfig(lib.DefaultScenarioName)
		c.Duration = opts.Duration
		if opts.VUs.Valid {
			c.VUs = opts.VUs
		}
		config = c
	case len(opts.Stages) > 0:
		c := NewRampingVUsConfig(lib.DefaultScenarioName)
		for _, s := range opts.Stages {
			c.Stages = append(c.Stages, Stage{Duration: s.Duration, Target: s.Target})
		}
		if opts.VUs.Valid {
			c.StartVUs = opts.VUs
		}
		config = c
	case opts.VUs.Valid:
		if len(opts.Scenarios) > 0 && logger != nil {
			logger.Warnf("the option vus=%d without iterations, duration or stages replaces the scenarios:"+
				" each VU runs one iteration of the default function", opts.VUs.Int64)
		}
		config = sharedFromShortcuts(opts, opts.VUs)
	case len(opts.Scenarios) > 0:
		return opts, nil
	default:
		if opts.Scenarios != nil && logger != nil {
			logger.Warn("the option scenarios is empty: one VU runs one iteration of the default function")
		}
		config = NewPerVUIterationsConfig(lib.DefaultScenarioName)
	}
	opts.Scenarios = lib.ScenarioConfigs{lib.DefaultScenarioName: config}
	return opts, nil
}

func sharedFromShortcuts(opts lib.Options, iterations null.Int) *SharedIterationsConfig {
	c := NewSharedIterationsConfig(lib.DefaultScenarioName)
	c.Iterations = iterations
	if opts.VUs.Valid {
		c.VUs = opts.VUs
	}
	if opts.Duration.Valid {
		c.MaxDuration = opts.Duration
	}
	return c
}

func checkConflicts(opts lib.Options) error {
	var kinds []string
	switch {
	case opts.Iterations.Valid:
		kinds = append(kinds, "iterations")
	case opts.Duration.Valid:
		kinds = append(kinds, "duration")
	}
	if len(opts.Stages) > 0 {
		kinds = append(kinds, "stages")
	}
	if len(opts.Scenarios) > 0 {
		kinds = append(kinds, "scenarios")
	}
	if len(kinds) > 1 {
		return fmt.Errorf("using `%s` and `%s` options simultaneously is not allowed", kinds[0], kinds[1])
	}
	return nil
}
