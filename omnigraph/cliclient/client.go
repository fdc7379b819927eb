package cliclient

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// Client carries operations over the CLI, one process per call. It is safe for concurrent use, keeps nothing between
// calls but the CLI's path and what its catalog learned, and needs no closing.
type Client struct {
	config  Config
	env     []string
	secrets []string
	// program is the resolved path of the CLI, nil until it was found.
	program atomic.Pointer[string]
}

// New makes a client. It touches neither files nor network: a CLI that is not there is found out by the first
// operation. An error names the field, what it got and what it takes. The environment is read here.
func New(config Config) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Catalog == nil {
		config.Catalog = NewCatalog()
	}
	config.Bin = cmp.Or(config.Bin, DefaultBin)
	config.Server = normalServer(config.Server)
	config.MaxOutputBytes = cmp.Or(config.MaxOutputBytes, DefaultMaxOutputBytes)
	return &Client{config: config, env: config.environment(os.Environ()), secrets: config.secrets()}, nil
}

// Do runs one operation in one process and never returns nil. The operation's timeout bounds the attempt from having a
// process slot to the last byte of output; ctx bounds the wait for the slot as well, and its end is an error of kind
// canceled.
//
// When Do returns, the process and everything in its group are gone and its files are removed.
//
// A stored query of which neither the operation nor an earlier call tells whether it writes is first tried as a read;
// if the CLI refuses that, which it does before anything is executed, a second process follows and both are counted in
// the timings.
func (c *Client) Do(ctx context.Context, op *wire.Operation) *wire.Outcome {
	out := c.attempt(ctx, op)
	if op.Op == wire.OpInvoke && op.Mutation == nil && c.learn(op, out.Err) {
		again := c.attempt(ctx, op)
		again.add(out)
		out = again
	}
	return &out.Outcome
}

// outcome is a wire.Outcome in the making.
type outcome struct{ wire.Outcome }

// add counts the cost of an earlier process of the same operation.
func (o *outcome) add(earlier *outcome) {
	o.Timings.Queued += earlier.Timings.Queued
	o.Timings.Total += earlier.Timings.Total
	o.Timings.Spawn += earlier.Timings.Spawn
	o.Timings.Decode += earlier.Timings.Decode
	switch {
	case earlier.Process == nil:
	case o.Process == nil:
		o.Process = earlier.Process
	default:
		o.Process.CPU += earlier.Process.CPU
		o.Process.MaxRSS = max(o.Process.MaxRSS, earlier.Process.MaxRSS)
	}
}

func (c *Client) attempt(ctx context.Context, op *wire.Operation) *outcome {
	out := &outcome{wire.Outcome{ExitCode: -1}}
	args, problem := c.argv(op)
	if problem != nil {
		problem.ExitCode = -1
		out.Err, out.Refused = problem, true
		return out
	}
	waiting, cancel := op.WaitInQueue(ctx)
	queued, err := c.config.Slots.acquire(waiting)
	cancel()
	out.Timings.Queued = queued
	if err != nil && ctx.Err() == nil {
		out.fail(c.failure(op, wire.KindTimeout, false, "no process slot became free within %v: an export's callback holds one itself; raise maxProcesses, or ask after the export", op.Timeout))
		return out
	}
	if err != nil {
		out.fail(c.failure(op, wire.KindCanceled, false, "canceled before the CLI was started, after %v in the queue for a process slot", round(queued)))
		return out
	}
	defer c.config.Slots.release()
	clearStale()
	began := time.Now()
	c.process(ctx, op, args, began, out)
	out.Timings.Total = time.Since(began)
	return out
}

// process does everything that needs a slot.
func (c *Client) process(ctx context.Context, op *wire.Operation, args *arguments, began time.Time, out *outcome) {
	files, err := makeScratch(args, c.config.Home == "")
	if err != nil {
		out.fail(c.failure(op, wire.KindSpawnFailed, false, "can't start %s: %s", c.config.Bin, cmp.Or(explainLimit(err), err.Error())))
		return
	}
	var lines *wire.Lines
	if op.Op == wire.OpExport {
		lines = &wire.Lines{Each: op.Each}
	}
	done, err := c.launch(ctx, op, args, files, lines, began)
	ended := time.Now()
	// A file that can't be removed says nothing about the operation, whose outcome stands.
	_ = files.remove()
	if err != nil {
		out.fail(c.startFailure(ctx, op, err, began))
		return
	}
	out.Timings.Spawn = done.spawn
	out.Process = &wire.Process{CPU: done.cpu, MaxRSS: done.maxRSS}
	out.ExitCode = done.code
	out.settle(c, op, &done, lines, ended.Sub(began))
	out.Timings.Decode = time.Since(ended)
}

func (o *outcome) fail(e *wire.Error) { o.Err = e }

// settle decides what the process's end and output mean.
func (o *outcome) settle(c *Client, op *wire.Operation, done *finished, lines *wire.Lines, spent time.Duration) {
	killed := done.killed
	defer func() {
		if done.lingers != 0 && o.Err != nil {
			o.Err.Message += fmt.Sprintf("; process %d has not ended yet, the system holds it", done.lingers)
		}
	}()
	switch {
	case done.cause == stoppedByOutput:
		o.fail(c.failure(op, wire.KindOutputLimit, true, "the CLI printed more than %d bytes (option maxOutputBytes) within %v and was killed", c.maxOutput(op), round(spent)))
		o.Err.Truncated = true
	case killed && done.cause == stoppedByTimeout:
		o.fail(c.failure(op, wire.KindTimeout, true, "no answer within %v (option timeout): the CLI was killed after %v", op.Timeout, round(spent)))
	case killed && done.cause == stoppedByContext:
		o.fail(c.failure(op, wire.KindCanceled, true, "canceled: the CLI was killed after %v", round(spent)))
	case done.cause == stoppedByReader, done.code == 0 && done.signal == "":
		success, problem := parse(op, done, lines)
		if problem != nil {
			if done.held {
				problem.Message += fmt.Sprintf("; a process that the CLI left behind held its output open and was killed %v after the CLI's end", pipeGrace)
			}
			problem.Message = wire.CleanMessage(problem.Message, c.secrets...)
			o.fail(problem)
			return
		}
		o.Success = success
	default:
		o.fail(wire.ClassifyExit(wire.Exit{Code: done.code, Signal: done.signal, Stdout: done.stdout, Stderr: done.stderr}, op.MayWrite(), c.secrets...))
		if o.Err.Kind == wire.KindConnect {
			o.Err.Message += fmt.Sprintf(" (after %v)", round(spent))
		}
	}
}

// parse makes an answer of what a process printed: of the whole, or of an export that was read on its way.
func parse(op *wire.Operation, done *finished, lines *wire.Lines) (wire.Success, *wire.Error) {
	if lines == nil {
		return wire.ParseSuccess(op, done.stdout)
	}
	success, problem := lines.Finish(op)
	if problem == nil && done.endless {
		// A document tells by itself that it is whole, rows only by the output's end, and this one did not come.
		return wire.Success{}, wire.NewError(wire.KindProtocol, "the answer to %s has no end: it stopped after %d rows", op.Op, success.RowCount)
	}
	return success, problem
}

func (c *Client) maxOutput(op *wire.Operation) int64 {
	return cmp.Or(op.MaxOutputBytes, c.config.MaxOutputBytes)
}

// failure makes an error of a process that gave no answer; sent says that it ran.
func (c *Client) failure(op *wire.Operation, kind wire.ErrorKind, sent bool, format string, args ...any) *wire.Error {
	e := wire.ClassifyFailure(wire.Failure{Kind: kind, Message: fmt.Sprintf(format, args...), Sent: sent}, op.MayWrite(), c.secrets...)
	e.ExitCode = -1
	return e
}

// round leaves of a duration what a person reads.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
