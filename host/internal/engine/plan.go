package engine

import (
	"fmt"
	"strings"
	"time"

	"go.k6.io/k6/v2/internal/schedule"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

// Plan is what a test does in this process, as far as it is known before it starts.
type Plan struct {
	Tuple *lib.ExecutionTuple
	// Scenarios that have work here, by start time and name.
	Scenarios []lib.ExecutorConfig
	// Steps are the VUs that all of them together need over time.
	Steps []lib.ExecutionStep
	// PlannedVUs are initialised before the start; MaxVUs is the most that there may be.
	PlannedVUs, MaxVUs int64
	// Duration is the longest that the scenarios can take.
	Duration time.Duration
}

// NewPlan adds up the scenarios of the options.
func NewPlan(opts lib.Options, tuple *lib.ExecutionTuple) Plan {
	plan := Plan{Tuple: tuple}
	var needs [][]schedule.Need
	for _, config := range opts.Scenarios.Sorted() {
		if !config.HasWork(tuple) {
			continue
		}
		plan.Scenarios = append(plan.Scenarios, config)
		var own []schedule.Need
		for _, step := range config.GetExecutionRequirements(tuple) {
			own = append(own, schedule.Need{
				At:        schedule.After(config.GetStartTime(), step.TimeOffset),
				Planned:   int64(step.PlannedVUs),      // #nosec G115 -- numbers of VUs are small
				Unplanned: int64(step.MaxUnplannedVUs), // #nosec G115 -- numbers of VUs are small
			})
		}
		needs = append(needs, own)
	}
	sum := schedule.Sum(needs...)
	plan.PlannedVUs, plan.MaxVUs, plan.Duration = schedule.Maxima(sum)
	for _, n := range sum {
		plan.Steps = append(plan.Steps, lib.ExecutionStep{
			TimeOffset:      n.At,
			PlannedVUs:      uint64(max(n.Planned, 0)),   // #nosec G115 -- not negative
			MaxUnplannedVUs: uint64(max(n.Unplanned, 0)), // #nosec G115 -- not negative
		})
	}
	return plan
}

// Describe says in words what the plan is, as the lines under "scenarios:".
func (p Plan) Describe() string {
	noun := "scenarios"
	if len(p.Scenarios) == 1 {
		noun = "scenario"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "(%.2f%%) %d %s, %d max VUs, %s max duration (incl. graceful stop):\n",
		p.Tuple.Fraction()*100, len(p.Scenarios), noun, p.MaxVUs, types.Duration(p.Duration))
	for _, config := range p.Scenarios {
		fmt.Fprintf(&b, "* %s: %s\n", config.GetName(), config.GetDescription(p.Tuple))
	}
	return b.String()
}
