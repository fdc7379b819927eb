// Package executor holds the configurations of scenarios: what each type of executor can be told, what is wrong
// with a configuration, how it reads in words, and how many VUs it needs when.
package executor

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

// DefaultGracefulStopValue is how long iterations may go on after a scenario's time is up, unless the scenario
// says otherwise.
var DefaultGracefulStopValue = 30 * time.Second //nolint:gochecknoglobals // part of the API

const (
	defaultMaxDuration = 10 * time.Minute
	minDuration        = time.Second
	defaultExec        = "default"
)

// BaseConfig is what all scenarios have in common.
type BaseConfig struct {
	Name         string               `json:"-"`
	Type         string               `json:"executor"`
	StartTime    types.NullDuration   `json:"startTime"`
	GracefulStop types.NullDuration   `json:"gracefulStop"`
	Env          map[string]string    `json:"env"`
	Exec         null.String          `json:"exec"`
	Tags         map[string]string    `json:"tags"`
	Options      *lib.ScenarioOptions `json:"options,omitempty"`
}

// NewBaseConfig returns the defaults for a scenario of this name and type.
func NewBaseConfig(name, typ string) BaseConfig {
	return BaseConfig{
		Name:         name,
		Type:         typ,
		GracefulStop: types.NewNullDuration(DefaultGracefulStopValue, false),
	}
}

var validName = regexp.MustCompile(`^[0-9a-zA-Z_-]+$`)

// Validate returns everything that is wrong with the common part.
func (c BaseConfig) Validate() []error {
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("scenario name can't be empty"))
	} else if !validName.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf(
			"the scenario name '%s' is invalid: a name should contain only latin letters, digits, underscores and dashes",
			c.Name))
	}
	if c.Exec.Valid && c.Exec.String == "" {
		errs = append(errs, errors.New("exec value cannot be empty"))
	}
	if c.StartTime.Duration < 0 {
		errs = append(errs, errors.New("the startTime can't be negative"))
	}
	if c.GracefulStop.Duration < 0 {
		errs = append(errs, errors.New("the gracefulStop timeout can't be negative"))
	}
	return errs
}

// GetName returns the scenario's name.
func (c BaseConfig) GetName() string { return c.Name }

// GetType returns the type of executor.
func (c BaseConfig) GetType() string { return c.Type }

// GetStartTime is when the scenario starts, from the start of the test.
func (c BaseConfig) GetStartTime() time.Duration { return c.StartTime.TimeDuration() }

// GetGracefulStop is how long running iterations may go on at the end.
func (c BaseConfig) GetGracefulStop() time.Duration { return c.GracefulStop.TimeDuration() }

// GetEnv returns the variables that the scenario adds to the script's environment.
func (c BaseConfig) GetEnv() map[string]string { return c.Env }

// GetExec returns the name of the exported function that the scenario runs.
func (c BaseConfig) GetExec() string {
	if c.Exec.ValueOrZero() == "" {
		return defaultExec
	}
	return c.Exec.String
}

// GetTags returns the tags that the scenario's samples get.
func (c BaseConfig) GetTags() map[string]string { return c.Tags }

// GetScenarioOptions returns the options for browser scenarios, or nil.
func (c BaseConfig) GetScenarioOptions() *lib.ScenarioOptions { return c.Options }

// details are the words in parentheses at the end of a description: the given ones, then the common ones.
func (c BaseConfig) details(own ...string) string {
	if c.Exec.ValueOrZero() != "" {
		own = append(own, "exec: "+c.Exec.String)
	}
	if c.StartTime.Duration > 0 {
		own = append(own, fmt.Sprintf("startTime: %s", c.StartTime.Duration))
	}
	if c.GracefulStop.Duration > 0 {
		own = append(own, fmt.Sprintf("gracefulStop: %s", c.GracefulStop.Duration))
	}
	if len(own) == 0 {
		return ""
	}
	return " (" + strings.Join(own, ", ") + ")"
}

// mostVUs is far more than a process can hold; a greater number is a slip.
const mostVUs = 10_000_000

var errTooManyVUs = fmt.Errorf("the number of VUs can't be more than %d", mostVUs)

func validateVUs(vus null.Int) []error {
	switch {
	case vus.Int64 <= 0:
		return []error{errors.New("the number of VUs must be more than 0")}
	case vus.Int64 > mostVUs:
		return []error{errTooManyVUs}
	default:
		return nil
	}
}

func validateDuration(d types.NullDuration) []error {
	switch {
	case !d.Valid:
		return []error{errors.New("the duration is unspecified")}
	case d.TimeDuration() < minDuration:
		return []error{fmt.Errorf("the duration must be at least %s, but is %s", minDuration, d.Duration)}
	default:
		return nil
	}
}

func validateMaxDuration(d types.NullDuration) []error {
	if d.TimeDuration() < minDuration {
		return []error{fmt.Errorf("the maxDuration must be at least %s, but is %s", minDuration, d.Duration)}
	}
	return nil
}
