package cmd

import (
	"context"

	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/internal/runner"
	"go.k6.io/k6/v2/metrics"
)

// scriptRunner lets the engine run a script.
type scriptRunner struct{ *runner.Runner }

func adaptRunner(r *runner.Runner) engine.Runner { return scriptRunner{r} }

func (s scriptRunner) NewVU(
	ctx context.Context, local, global uint64, out chan<- metrics.SampleContainer,
) (engine.VU, error) {
	vu, err := s.Runner.NewVU(ctx, local, global, out)
	if err != nil {
		return nil, err
	}
	return scriptVU{vu}, nil
}

// scriptVU is a VU of a script.
type scriptVU struct{ vu *runner.VU }

func (s scriptVU) Activate(a *engine.Activation) engine.ActiveVU {
	ctx, cancel := context.WithCancel(a.Context)
	inactive := make(chan struct{})
	active := s.vu.Activate(&runner.Activation{
		RunContext:               ctx,
		Scenario:                 a.Scenario,
		Exec:                     a.Exec,
		Env:                      a.Env,
		Tags:                     a.Tags,
		GetNextIterationCounters: a.NextIteration,
		OnDeactivate:             func(*runner.VU) { close(inactive) },
	})
	return &activeScriptVU{ActiveVU: active, cancel: cancel, inactive: inactive}
}

// activeScriptVU ends its activation by ending the context and waiting for the VU to notice.
type activeScriptVU struct {
	*runner.ActiveVU

	cancel   context.CancelFunc
	inactive <-chan struct{}
}

func (a *activeScriptVU) Deactivate() {
	a.cancel()
	<-a.inactive
}
