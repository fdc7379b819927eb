package omnigraph

import (
	"context"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// execute carries an invocation out: attempts, the waits between them, samples and recording. It touches no JS value
// and may run on any goroutine.
func (inv *invocation) execute() {
	inv.consultCatalog()
	inv.begin = time.Now()
	if inv.variant != nil {
		inv.variant.begin(inv.begin)
	}
	inv.samples = make([]metrics.Sample, 0, samplesPerOperation)
	if inv.problem != nil {
		inv.attempts = 0
		inv.out = &wire.Outcome{ExitCode: -1, Err: inv.problem}
	} else if carrier, problem := inv.c.open(); problem != nil {
		inv.out = &wire.Outcome{ExitCode: -1, Err: problem}
	} else {
		unknown := inv.run(carrier)
		inv.out.Err = inv.out.Err.After(unknown)
	}
	if inv.c.transport == wire.TransportCLI && inv.out.Err != nil && inv.out.ExitCode < 0 {
		inv.out.Err.ExitCode = -1 // no process exited by itself
	}
	inv.took = time.Since(inv.begin)
	inv.finishSamples()
}

// run makes attempts until one succeeds or the policy gives up. It gives the kind of the first one whose outcome is unknown,
// if there was any.
func (inv *invocation) run(carrier transport) (unknown wire.ErrorKind) {
	p := inv.retry
	if p.budget > 0 {
		inv.c.mi.root.depositBudgets(p.budget)
	}
	for {
		inv.out = carrier.do(inv.operationContext(), &inv.session, &inv.op)
		if inv.out.Refused {
			return unknown
		}
		inv.attempts++
		if inv.out.Err != nil && inv.operationContext().Err() != nil && inv.ctx.Err() == nil {
			// Not the answer's fault, whatever the transport makes of it.
			inv.out.Err = wire.ClassifyFailure(wire.Failure{Kind: wire.KindCanceled, Message: "the callback threw", Sent: true}, inv.op.MayWrite())
		}
		inv.addAttempt()
		if e := inv.out.Err; e != nil && e.Indeterminate && unknown == "" {
			unknown = e.Kind
		}
		// Rows that the callback has got can't be taken back, and another attempt would bring them again.
		if inv.out.Err == nil || inv.ctx.Err() != nil || inv.handedOn {
			return unknown
		}
		delay, again := p.next(inv.attempts, time.Since(inv.begin), inv.out.Err, inv.c.mi.random)
		if !again {
			return unknown
		}
		if p.budget > 0 && !inv.c.mi.root.budget(inv.out.Err.Kind, p.budget).withdraw() {
			inv.out.Err.Message += " (not repeated: option retry's budget is spent)"
			return unknown
		}
		if !wait(inv.ctx, delay) {
			return unknown
		}
	}
}

func (inv *invocation) operationContext() context.Context {
	if inv.opCtx != nil {
		return inv.opCtx
	}
	return inv.ctx
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
