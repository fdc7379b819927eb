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

// The types of the executors that start iterations at a rate.
const (
	ConstantArrivalRateType = "constant-arrival-rate"
	RampingArrivalRateType  = "ramping-arrival-rate"
)

// ConstantArrivalRateConfig is a scenario that starts iterations at a fixed rate.
type ConstantArrivalRateConfig struct {
	BaseConfig
	Rate            null.Int           `json:"rate"`
	TimeUnit        types.NullDuration `json:"timeUnit"`
	Duration        types.NullDuration `json:"duration"`
	PreAllocatedVUs null.Int           `json:"preAllocatedVUs"`
	MaxVUs          null.Int           `json:"maxVUs"`
}

// NewConstantArrivalRateConfig returns the defaults.
func NewConstantArrivalRateConfig(name string) *ConstantArrivalRateConfig {
	return &ConstantArrivalRateConfig{
		BaseConfig: NewBaseConfig(name, ConstantArrivalRateType),
		TimeUnit:   types.NewNullDuration(time.Second, false),
	}
}

// Validate returns everything that is wrong with the configuration.
func (c *ConstantArrivalRateConfig) Validate() []error {
	errs := c.BaseConfig.Validate()
	switch {
	case !c.Rate.Valid:
		errs = append(errs, errors.New("the iteration rate isn't specified"))
	case c.Rate.Int64 <= 0:
		errs = append(errs, errors.New("the iteration rate must be more than 0"))
	}
	errs = append(errs, validateTimeUnit(c.TimeUnit)...)
	errs = append(errs, validateDuration(c.Duration)...)
	return append(errs, validateVUPool(c.PreAllocatedVUs, c.MaxVUs)...)
}

func validateTimeUnit(unit types.NullDuration) []error {
	if unit.Duration <= 0 {
		return []error{errors.New("the timeUnit must be more than 0")}
	}
	return nil
}

func validateVUPool(preAllocated, limit null.Int) []error {
	var errs []error
	switch {
	case !preAllocated.Valid:
		errs = append(errs, errors.New("the number of preAllocatedVUs isn't specified"))
	case preAllocated.Int64 < 0:
		errs = append(errs, errors.New("the number of preAllocatedVUs can't be negative"))
	}
	if limit.Valid && limit.Int64 < preAllocated.Int64 {
		errs = append(errs, errors.New("maxVUs can't be less than preAllocatedVUs"))
	}
	if poolLimit(preAllocated, limit) > mostVUs {
		errs = append(errs, errTooManyVUs)
	}
	return errs
}

// poolLimit is maxVUs, or preAllocatedVUs where that isn't given.
func poolLimit(preAllocated, limit null.Int) int64 {
	if limit.Valid {
		return limit.Int64
	}
	return preAllocated.Int64
}

// GetPreAllocatedVUs is this process's share of the VUs that are ready when the test starts.
func (c *ConstantArrivalRateConfig) GetPreAllocatedVUs(et *lib.ExecutionTuple) int64 {
	return et.Share(c.PreAllocatedVUs.Int64)
}

// GetMaxVUs is this process's share of the VUs that there may be.
func (c *ConstantArrivalRateConfig) GetMaxVUs(et *lib.ExecutionTuple) int64 {
	return et.Share(poolLimit(c.PreAllocatedVUs, c.MaxVUs))
}

// GetArrivals is when all processes together start iterations.
func (c *ConstantArrivalRateConfig) GetArrivals() schedule.Arrivals {
	return schedule.ConstantArrivals(c.Rate.Int64, c.TimeUnit.TimeDuration(), c.Duration.TimeDuration())
}

// GetDescription says in words what the scenario does in this process.
func (c *ConstantArrivalRateConfig) GetDescription(et *lib.ExecutionTuple) string {
	rate := float64(c.Rate.Int64) / c.TimeUnit.TimeDuration().Seconds() * et.Fraction()
	return fmt.Sprintf("%.2f iterations/s for %s%s", rate, c.Duration.Duration,
		c.details(poolText(c.GetPreAllocatedVUs(et), c.GetMaxVUs(et))))
}

func poolText(preAllocated, limit int64) string {
	if limit > preAllocated {
		return fmt.Sprintf("maxVUs: %d-%d", preAllocated, limit)
	}
	return fmt.Sprintf("maxVUs: %d", limit)
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *ConstantArrivalRateConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	planned := c.GetPreAllocatedVUs(et)
	return steady(planned, c.GetMaxVUs(et)-planned, schedule.After(c.Duration.TimeDuration(), c.GetGracefulStop()))
}

// HasWork says whether there is anything to do for this process.
func (c *ConstantArrivalRateConfig) HasWork(et *lib.ExecutionTuple) bool { return c.GetMaxVUs(et) > 0 }

// RampingArrivalRateConfig is a scenario that starts iterations at a rate that follows stages.
type RampingArrivalRateConfig struct {
	BaseConfig
	StartRate       null.Int           `json:"startRate"`
	TimeUnit        types.NullDuration `json:"timeUnit"`
	Stages          []Stage            `json:"stages"`
	PreAllocatedVUs null.Int           `json:"preAllocatedVUs"`
	MaxVUs          null.Int           `json:"maxVUs"`
}

// NewRampingArrivalRateConfig returns the defaults.
func NewRampingArrivalRateConfig(name string) *RampingArrivalRateConfig {
	return &RampingArrivalRateConfig{
		BaseConfig: NewBaseConfig(name, RampingArrivalRateType),
		TimeUnit:   types.NewNullDuration(time.Second, false),
	}
}

// Validate returns everything that is wrong with the configuration.
func (c *RampingArrivalRateConfig) Validate() []error {
	errs := c.BaseConfig.Validate()
	if c.StartRate.Int64 < 0 {
		errs = append(errs, errors.New("the startRate value can't be negative"))
	}
	errs = append(errs, validateTimeUnit(c.TimeUnit)...)
	errs = append(errs, validateStages(c.Stages)...)
	return append(errs, validateVUPool(c.PreAllocatedVUs, c.MaxVUs)...)
}

// GetPreAllocatedVUs is this process's share of the VUs that are ready when the test starts.
func (c *RampingArrivalRateConfig) GetPreAllocatedVUs(et *lib.ExecutionTuple) int64 {
	return et.Share(c.PreAllocatedVUs.Int64)
}

// GetMaxVUs is this process's share of the VUs that there may be.
func (c *RampingArrivalRateConfig) GetMaxVUs(et *lib.ExecutionTuple) int64 {
	return et.Share(poolLimit(c.PreAllocatedVUs, c.MaxVUs))
}

// GetDuration is how long iterations are started.
func (c *RampingArrivalRateConfig) GetDuration() time.Duration { return schedule.Total(plan(c.Stages)) }

// GetArrivals is when all processes together start iterations.
func (c *RampingArrivalRateConfig) GetArrivals() schedule.Arrivals {
	return schedule.RampingArrivals(c.StartRate.Int64, c.TimeUnit.TimeDuration(), plan(c.Stages))
}

// GetDescription says in words what the scenario does in this process.
func (c *RampingArrivalRateConfig) GetDescription(et *lib.ExecutionTuple) string {
	peak := float64(schedule.Peak(c.StartRate.Int64, plan(c.Stages))) / c.TimeUnit.TimeDuration().Seconds() * et.Fraction()
	return fmt.Sprintf("Up to %.2f iterations/s for %s over %d stages%s", peak, types.Duration(c.GetDuration()),
		len(c.Stages), c.details(poolText(c.GetPreAllocatedVUs(et), c.GetMaxVUs(et))))
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *RampingArrivalRateConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	planned := c.GetPreAllocatedVUs(et)
	return steady(planned, c.GetMaxVUs(et)-planned, schedule.After(c.GetDuration(), c.GetGracefulStop()))
}

// HasWork says whether there is anything to do for this process.
func (c *RampingArrivalRateConfig) HasWork(et *lib.ExecutionTuple) bool { return c.GetMaxVUs(et) > 0 }
