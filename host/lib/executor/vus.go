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

// The types of the executors that keep a number of VUs looping.
const (
	ConstantVUsType = "constant-vus"
	RampingVUsType  = "ramping-vus"
)

// ConstantVUsConfig is a scenario whose VUs loop for a time.
type ConstantVUsConfig struct {
	BaseConfig
	VUs      null.Int           `json:"vus"`
	Duration types.NullDuration `json:"duration"`
}

// NewConstantVUsConfig returns the defaults.
func NewConstantVUsConfig(name string) *ConstantVUsConfig {
	return &ConstantVUsConfig{BaseConfig: NewBaseConfig(name, ConstantVUsType), VUs: null.NewInt(1, false)}
}

// Validate returns everything that is wrong with the configuration.
func (c *ConstantVUsConfig) Validate() []error {
	errs := append(c.BaseConfig.Validate(), validateVUs(c.VUs)...)
	return append(errs, validateDuration(c.Duration)...)
}

// GetVUs is this process's share of the VUs.
func (c *ConstantVUsConfig) GetVUs(et *lib.ExecutionTuple) int64 { return et.Share(c.VUs.Int64) }

// GetDescription says in words what the scenario does in this process.
func (c *ConstantVUsConfig) GetDescription(et *lib.ExecutionTuple) string {
	return fmt.Sprintf("%d looping VUs for %s%s", c.GetVUs(et), c.Duration.Duration, c.details())
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *ConstantVUsConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	return steady(c.GetVUs(et), 0, schedule.After(c.Duration.TimeDuration(), c.GetGracefulStop()))
}

// HasWork says whether there is anything to do for this process.
func (c *ConstantVUsConfig) HasWork(et *lib.ExecutionTuple) bool { return c.GetVUs(et) > 0 }

// Stage is a part of a ramp: the level goes linearly to Target within Duration.
type Stage struct {
	Duration types.NullDuration `json:"duration"`
	Target   null.Int           `json:"target"`
}

// RampingVUsConfig is a scenario whose number of looping VUs follows stages.
type RampingVUsConfig struct {
	BaseConfig
	StartVUs         null.Int           `json:"startVUs"`
	Stages           []Stage            `json:"stages"`
	GracefulRampDown types.NullDuration `json:"gracefulRampDown"`
}

// NewRampingVUsConfig returns the defaults.
func NewRampingVUsConfig(name string) *RampingVUsConfig {
	return &RampingVUsConfig{
		BaseConfig:       NewBaseConfig(name, RampingVUsType),
		StartVUs:         null.NewInt(1, false),
		GracefulRampDown: types.NewNullDuration(DefaultGracefulStopValue, false),
	}
}

// Validate returns everything that is wrong with the configuration.
func (c *RampingVUsConfig) Validate() []error {
	errs := c.BaseConfig.Validate()
	if c.StartVUs.Int64 < 0 {
		errs = append(errs, errors.New("the number of start VUs can't be negative"))
	}
	if c.GracefulRampDown.Duration < 0 {
		errs = append(errs, errors.New("the gracefulRampDown timeout can't be negative"))
	}
	if wrong := validateStages(c.Stages); len(wrong) > 0 {
		return append(errs, wrong...)
	}
	switch peak := schedule.Peak(c.StartVUs.Int64, c.Plan()); {
	case peak == 0:
		errs = append(errs, errors.New("either startVUs or one of the stages' target values must be greater than 0"))
	case peak > mostVUs:
		errs = append(errs, errTooManyVUs)
	}
	return errs
}

func validateStages(stages []Stage) []error {
	if len(stages) == 0 {
		return []error{errors.New("at least one stage has to be specified")}
	}
	var errs []error
	for i, s := range stages {
		switch {
		case !s.Duration.Valid:
			errs = append(errs, fmt.Errorf("stage %d doesn't have a duration", i+1))
		case s.Duration.Duration < 0:
			errs = append(errs, fmt.Errorf("the duration for stage %d can't be negative", i+1))
		}
		switch {
		case !s.Target.Valid:
			errs = append(errs, fmt.Errorf("stage %d doesn't have a target", i+1))
		case s.Target.Int64 < 0:
			errs = append(errs, fmt.Errorf("the target for stage %d can't be negative", i+1))
		}
	}
	return errs
}

// Plan returns the stages as the schedule package takes them.
func (c *RampingVUsConfig) Plan() []schedule.Stage { return plan(c.Stages) }

func plan(stages []Stage) []schedule.Stage {
	out := make([]schedule.Stage, len(stages))
	for i, s := range stages {
		out[i] = schedule.Stage{Duration: s.Duration.TimeDuration(), Target: s.Target.Int64}
	}
	return out
}

// GetMaxVUs is this process's share of the VUs at the peak.
func (c *RampingVUsConfig) GetMaxVUs(et *lib.ExecutionTuple) int64 {
	return et.Share(schedule.Peak(c.StartVUs.Int64, c.Plan()))
}

// GetDescription says in words what the scenario does in this process.
func (c *RampingVUsConfig) GetDescription(et *lib.ExecutionTuple) string {
	var own []string
	if c.GracefulRampDown.Duration >= 0 {
		own = append(own, fmt.Sprintf("gracefulRampDown: %s", c.GracefulRampDown.Duration))
	}
	return fmt.Sprintf("Up to %d looping VUs for %s over %d stages%s", c.GetMaxVUs(et),
		types.Duration(schedule.Total(c.Plan())), len(c.Stages), c.details(own...))
}

// A RampSlot is a place for a VU: the intervals in which it starts iterations, and, for each, the time at which
// an iteration that is still running then is cut off. A following interval that begins before that time takes
// the VU over, so its own cut-off counts.
type RampSlot struct {
	Intervals []schedule.Interval
	CutOff    []time.Duration
}

// GetSlots are this process's slots, the first one first.
func (c *RampingVUsConfig) GetSlots(et *lib.ExecutionTuple) []RampSlot {
	stages := c.Plan()
	end := schedule.Total(stages)
	last := schedule.After(end, c.GetGracefulStop())
	slots := make([]RampSlot, c.GetMaxVUs(et))
	for i := range slots {
		number := int64(et.Global(uint64(i))) + 1 // #nosec G115 -- validation keeps the number of VUs small
		intervals := schedule.SlotIntervals(c.StartVUs.Int64, stages, number)
		cutOff := make([]time.Duration, len(intervals))
		for k := len(intervals) - 1; k >= 0; k-- {
			to := intervals[k].To
			cutOff[k] = min(schedule.After(to, c.GracefulRampDown.TimeDuration()), last)
			if to == end {
				cutOff[k] = last
			}
			if k+1 < len(intervals) && intervals[k+1].From < cutOff[k] {
				cutOff[k] = cutOff[k+1]
			}
		}
		slots[i] = RampSlot{Intervals: intervals, CutOff: cutOff}
	}
	return slots
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *RampingVUsConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	var busy []schedule.Interval
	for _, slot := range c.GetSlots(et) {
		for k, interval := range slot.Intervals {
			if n := len(busy); k > 0 && busy[n-1].To >= interval.From {
				busy[n-1].To = max(busy[n-1].To, slot.CutOff[k])
				continue
			}
			busy = append(busy, schedule.Interval{From: interval.From, To: slot.CutOff[k]})
		}
	}
	needs := schedule.RampNeeds(busy)
	// The scenario lasts to the end of its stages even if no VU runs then.
	end := schedule.After(schedule.Total(c.Plan()), c.GetGracefulStop())
	if n := len(needs); n == 0 || needs[n-1].At < end {
		needs = append(needs, schedule.Need{At: end})
	}
	return steps(needs)
}

// HasWork says whether there is anything to do for this process.
func (c *RampingVUsConfig) HasWork(et *lib.ExecutionTuple) bool { return c.GetMaxVUs(et) > 0 }
