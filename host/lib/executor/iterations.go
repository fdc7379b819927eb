package executor

import (
	"errors"
	"fmt"
	"time"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/internal/schedule"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

// The types of the executors that run a number of iterations.
const (
	SharedIterationsType = "shared-iterations"
	PerVUIterationsType  = "per-vu-iterations"
)

// SharedIterationsConfig is a scenario whose VUs take iterations from one pot.
type SharedIterationsConfig struct {
	BaseConfig
	VUs         null.Int           `json:"vus"`
	Iterations  null.Int           `json:"iterations"`
	MaxDuration types.NullDuration `json:"maxDuration"`
}

// NewSharedIterationsConfig returns the defaults.
func NewSharedIterationsConfig(name string) *SharedIterationsConfig {
	return &SharedIterationsConfig{
		BaseConfig:  NewBaseConfig(name, SharedIterationsType),
		VUs:         null.NewInt(1, false),
		Iterations:  null.NewInt(1, false),
		MaxDuration: types.NewNullDuration(defaultMaxDuration, false),
	}
}

// Validate returns everything that is wrong with the configuration.
func (c *SharedIterationsConfig) Validate() []error {
	errs := append(c.BaseConfig.Validate(), validateVUs(c.VUs)...)
	if c.Iterations.Int64 < c.VUs.Int64 {
		errs = append(errs, fmt.Errorf("the number of iterations (%d) can't be less than the number of VUs (%d)",
			c.Iterations.Int64, c.VUs.Int64))
	}
	return append(errs, validateMaxDuration(c.MaxDuration)...)
}

// GetVUs is this process's share of the VUs. Where it has a share of the iterations, it has one VU at least: there
// may be more processes than VUs, and yet every iteration has to run.
func (c *SharedIterationsConfig) GetVUs(et *lib.ExecutionTuple) int64 {
	if vus := et.Share(c.VUs.Int64); vus > 0 || c.GetIterations(et) == 0 {
		return vus
	}
	return 1
}

// GetIterations is this process's share of the iterations.
func (c *SharedIterationsConfig) GetIterations(et *lib.ExecutionTuple) int64 {
	return et.Share(c.Iterations.Int64)
}

// GetDescription says in words what the scenario does in this process.
func (c *SharedIterationsConfig) GetDescription(et *lib.ExecutionTuple) string {
	return fmt.Sprintf("%d iterations shared among %d VUs%s", c.GetIterations(et), c.GetVUs(et),
		c.details(fmt.Sprintf("maxDuration: %s", c.MaxDuration.Duration)))
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *SharedIterationsConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	return steady(c.GetVUs(et), 0, schedule.After(c.MaxDuration.TimeDuration(), c.GetGracefulStop()))
}

// HasWork says whether there is anything to do for this process.
func (c *SharedIterationsConfig) HasWork(et *lib.ExecutionTuple) bool {
	return c.GetVUs(et) > 0 && c.GetIterations(et) > 0
}

// PerVUIterationsConfig is a scenario in which each VU runs the same number of iterations.
type PerVUIterationsConfig struct {
	BaseConfig
	VUs         null.Int           `json:"vus"`
	Iterations  null.Int           `json:"iterations"`
	MaxDuration types.NullDuration `json:"maxDuration"`
}

// NewPerVUIterationsConfig returns the defaults.
func NewPerVUIterationsConfig(name string) *PerVUIterationsConfig {
	return &PerVUIterationsConfig{
		BaseConfig:  NewBaseConfig(name, PerVUIterationsType),
		VUs:         null.NewInt(1, false),
		Iterations:  null.NewInt(1, false),
		MaxDuration: types.NewNullDuration(defaultMaxDuration, false),
	}
}

// Validate returns everything that is wrong with the configuration.
func (c *PerVUIterationsConfig) Validate() []error {
	errs := append(c.BaseConfig.Validate(), validateVUs(c.VUs)...)
	if c.Iterations.Int64 <= 0 {
		errs = append(errs, errors.New("the number of iterations must be more than 0"))
	}
	return append(errs, validateMaxDuration(c.MaxDuration)...)
}

// GetVUs is this process's share of the VUs.
func (c *PerVUIterationsConfig) GetVUs(et *lib.ExecutionTuple) int64 { return et.Share(c.VUs.Int64) }

// GetDescription says in words what the scenario does in this process.
func (c *PerVUIterationsConfig) GetDescription(et *lib.ExecutionTuple) string {
	return fmt.Sprintf("%d iterations for each of %d VUs%s", c.Iterations.Int64, c.GetVUs(et),
		c.details(fmt.Sprintf("maxDuration: %s", c.MaxDuration.Duration)))
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *PerVUIterationsConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	return steady(c.GetVUs(et), 0, schedule.After(c.MaxDuration.TimeDuration(), c.GetGracefulStop()))
}

// HasWork says whether there is anything to do for this process.
func (c *PerVUIterationsConfig) HasWork(et *lib.ExecutionTuple) bool { return c.GetVUs(et) > 0 }

// steady is the need of a scenario that holds its VUs from start to end.
func steady(planned, unplanned int64, end time.Duration) []lib.ExecutionStep {
	return steps([]schedule.Need{{Planned: planned, Unplanned: unplanned}, {At: end}})
}
