package engine

import (
	"fmt"

	"go.k6.io/k6/v2/internal/schedule"
	"go.k6.io/k6/v2/lib/executor"
)

// newDriver makes the driver for the scenario's type of executor.
func newDriver(s *scenario) (driver, error) {
	tuple := s.engine.exec.ExecutionTuple
	switch c := s.config.(type) {
	case *executor.SharedIterationsConfig:
		return &sharedIterations{
			scenario: s, vus: c.GetVUs(tuple), total: c.GetIterations(tuple), maxDuration: c.MaxDuration.TimeDuration(),
		}, nil
	case *executor.PerVUIterationsConfig:
		return &perVUIterations{
			scenario: s, vus: c.GetVUs(tuple), each: c.Iterations.Int64, maxDuration: c.MaxDuration.TimeDuration(),
		}, nil
	case *executor.ConstantVUsConfig:
		return &constantVUs{scenario: s, vus: c.GetVUs(tuple), d: c.Duration.TimeDuration()}, nil
	case *executor.RampingVUsConfig:
		return &rampingVUs{scenario: s, slots: c.GetSlots(tuple), d: schedule.Total(c.Plan())}, nil
	case *executor.ConstantArrivalRateConfig:
		return &arrivals{
			scenario: s, schedule: c.GetArrivals(), d: c.Duration.TimeDuration(),
			preAllocated: c.GetPreAllocatedVUs(tuple), max: c.GetMaxVUs(tuple), freed: make(chan struct{}, 1),
		}, nil
	case *executor.RampingArrivalRateConfig:
		return &arrivals{
			scenario: s, schedule: c.GetArrivals(), d: c.GetDuration(),
			preAllocated: c.GetPreAllocatedVUs(tuple), max: c.GetMaxVUs(tuple), freed: make(chan struct{}, 1),
		}, nil
	default:
		return nil, fmt.Errorf("scenario %s: there is no way to run a %s executor", s.config.GetName(), s.config.GetType())
	}
}
