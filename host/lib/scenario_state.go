package lib

import (
	"context"
	"time"
)

// ScenarioState is a scenario as an iteration sees it.
type ScenarioState struct {
	Name, Executor string
	StartTime      time.Time
	// ProgressFn returns the share done, from 0 to 1, and texts for display. It is safe for concurrent use.
	ProgressFn func() (float64, []string)
}

type (
	scenarioStateKey  struct{}
	executionStateKey struct{}
)

// WithScenarioState returns a context that carries the scenario.
func WithScenarioState(ctx context.Context, s *ScenarioState) context.Context {
	return context.WithValue(ctx, scenarioStateKey{}, s)
}

// GetScenarioState returns the context's scenario, or nil.
func GetScenarioState(ctx context.Context) *ScenarioState {
	s, _ := ctx.Value(scenarioStateKey{}).(*ScenarioState)
	return s
}

// WithExecutionState returns a context that carries the state of the run.
func WithExecutionState(ctx context.Context, s *ExecutionState) context.Context {
	return context.WithValue(ctx, executionStateKey{}, s)
}

// GetExecutionState returns the context's state of the run, or nil.
func GetExecutionState(ctx context.Context) *ExecutionState {
	s, _ := ctx.Value(executionStateKey{}).(*ExecutionState)
	return s
}

// ContextErr returns the reason why the context ended, or nil while it hasn't.
func ContextErr(ctx context.Context) error {
	return context.Cause(ctx)
}
