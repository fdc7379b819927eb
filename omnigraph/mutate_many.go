package omnigraph

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.k6.io/k6/v2/metrics"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

const mutateManyName = "mutateMany"

// scopeMutateMany is the scope of mutateMany's options: its operations are ordinary mutations.
const scopeMutateMany wire.Op = "mutate_many"

// The limits of one batch unless the script says otherwise: a server of 0.8 takes bodies of 1 MB, and its time for a
// mutation grows faster than the number of its statements.
const (
	defaultMaxRows  = 500
	defaultMaxBytes = 900_000
)

// mutateMany puts many rows into few commits: mutateMany(gq, rows, options) repeats the statements of a mutation of one
// row, each with parameters of its own, and splits where the server's limits ask for it.
func (mi *instance) mutateMany(call sobek.FunctionCall) sobek.Value {
	batches, err := mi.prepareMany(call, mutateManyName)
	if err != nil {
		mi.throw(err)
	}
	value, err := mi.finishMany(executeMany(batches))
	if err != nil {
		mi.throw(err)
	}
	return value
}

func (mi *instance) asyncMutateMany(call sobek.FunctionCall) sobek.Value {
	batches, err := mi.prepareMany(call, asyncName(mutateManyName))
	if err != nil {
		mi.throw(err)
	}
	return mi.promise(func() { batches = executeMany(batches) }, func() (sobek.Value, error) { return mi.finishMany(batches) })
}

// batch is one commit of mutateMany.
type batch struct {
	*invocation
	source *wire.Batch
	rows   [][]byte // each row's parameters
	// skipped says that an earlier batch failed, so this one was not sent; split, that the server refused it as too large
	// and its halves took its place.
	skipped, split bool
}

// halves are a batch's rows in two.
func (b *batch) halves() []*batch {
	middle := (len(b.rows) + 1) / 2
	return []*batch{b.like(b.rows[:middle]), b.like(b.rows[middle:])}
}

// like is a batch of other rows that was called for as this one was. It touches no JS value.
func (b *batch) like(rows [][]byte) *batch {
	inv := *b.invocation
	inv.attempts, inv.samples, inv.out, inv.took = 0, nil, nil, 0
	inv.op.Text, inv.op.TextJSON, inv.op.Params = b.source.Text(len(rows)), nil, manyParams(b.source, rows)
	return &batch{invocation: &inv, source: b.source, rows: rows}
}

// prepareMany reads the arguments and makes one invocation for each batch.
func (mi *instance) prepareMany(call sobek.FunctionCall, method string) ([]*batch, error) {
	text, ok := call.Argument(0).Export().(string)
	if !ok || text == "" {
		return nil, fmt.Errorf("%s: argument gq got %s; it takes the .gq source of a mutation of one row", method, describe(call.Argument(0)))
	}
	list, ok := call.Argument(1).(*sobek.Object)
	if !ok || !isArray(list) {
		return nil, fmt.Errorf("%s: argument rows got %s; it takes a list of parameter objects", method, describe(call.Argument(1)))
	}
	c := mi.clientOf(call.This, method)
	own := c.settings
	if err := own.apply(mi.vu.Runtime(), scope{where: method, transport: c.transport, op: scopeMutateMany}, call.Argument(2)); err != nil {
		return nil, err
	}
	source, problem := wire.NewBatch(text)
	if problem != nil {
		return nil, fmt.Errorf("%s: %s", method, problem.Message)
	}
	rows, problem, err := encodeRows(list, source, own.checkParams, method)
	if err != nil {
		return nil, err
	}
	if problem != nil {
		inv, err := mi.prepareBatch(call, method, source, nil)
		if err != nil {
			return nil, err
		}
		inv.problem = problem
		return []*batch{{invocation: inv, source: source}}, nil
	}
	var batches []*batch
	for len(rows) > 0 {
		n := nextBatch(source, rows, own.maxRows, own.maxBytes)
		inv, err := mi.prepareBatch(call, method, source, rows[:n])
		if err != nil {
			return nil, err
		}
		batches = append(batches, &batch{invocation: inv, source: source, rows: rows[:n]})
		rows = rows[n:]
	}
	return batches, nil
}

// encodeRows encodes each row's parameters and holds them against the mutation's header. What one of them lacks is a
// problem of the operation, as it is for a single mutation, and nothing is sent of any.
func encodeRows(list *sobek.Object, source *wire.Batch, check bool, method string) ([][]byte, *wire.Error, error) {
	n := int(list.Get("length").ToInteger())
	rows := make([][]byte, n)
	for i := range n {
		value := list.Get(strconv.Itoa(i))
		row, ok := value.(*sobek.Object)
		if !ok || isArray(row) || isFunction(value) {
			return nil, nil, fmt.Errorf("%s: row %d got %s; it takes an object of the mutation's parameters", method, i, describe(value))
		}
		encoded, err := encodeJSON(row)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: row %d is %w", method, i, err)
		}
		if problem := unsendable(row, encoded, fmt.Sprintf("row %d", i)); problem != nil {
			return nil, problem, nil
		}
		if check {
			if problem := wire.CheckParams(source.Header(), encoded); problem != nil {
				problem.Message = fmt.Sprintf("row %d: %s", i, problem.Message)
				return nil, problem, nil
			}
		}
		rows[i] = encoded
	}
	return rows, nil, nil
}

// nextBatch tells how many rows fit into one request, at least one.
func nextBatch(source *wire.Batch, rows [][]byte, maxRows, maxBytes int) int {
	perRow := len(source.Text(2)) - len(source.Text(1))
	params := []byte{}
	n := 0
	for n < len(rows) && n < maxRows {
		longer := source.RowParams(params, rows[n], n)
		if n > 0 && len(longer)+(n+1)*perRow > maxBytes {
			break
		}
		params = longer
		n++
	}
	return n
}

// manyParams are the parameters of a batch, those of each row under names of their own.
func manyParams(source *wire.Batch, rows [][]byte) []byte {
	members := []byte{}
	for i, row := range rows {
		members = source.RowParams(members, row, i)
	}
	return append(append([]byte{'{'}, members...), '}')
}

func (mi *instance) prepareBatch(call sobek.FunctionCall, method string, source *wire.Batch, rows [][]byte) (*invocation, error) {
	v := &verb{name: mutateManyName, op: wire.OpMutate, scope: scopeMutateMany, options: 2, read: func(_ *arguments, inv *invocation) error {
		inv.op.Text, inv.op.Params = source.Text(len(rows)), manyParams(source, rows)
		inv.label = inv.c.labelFor(source.Header().Name)
		return nil
	}}
	return mi.prepare(v, call, method)
}

// executeMany sends one batch after the other and stops at the first that fails: what follows could not be told from
// what was written. A batch that the server refuses as too large, of which it wrote nothing then, goes in two halves, and
// those after it are no larger. It gives the batches that came of those given, in their order.
func executeMany(batches []*batch) []*batch {
	var done []*batch
	failed, most := false, math.MaxInt
	for waiting := slices.Clone(batches); len(waiting) > 0; {
		b := waiting[0]
		waiting = waiting[1:]
		if failed {
			b.skipped = true
			done = append(done, b)
			continue
		}
		if len(b.rows) > most {
			waiting = append(b.halves(), waiting...)
			continue
		}
		b.execute()
		done = append(done, b)
		if err := b.out.Err; err != nil {
			if err.Kind == wire.KindResourceLimit && !err.Indeterminate && len(b.rows) > 1 {
				b.split = true
				most = (len(b.rows) + 1) / 2
				waiting = append(b.halves(), waiting...)
				continue
			}
			failed = true
		}
	}
	return done
}

// finishMany adds up what the batches came to.
func (mi *instance) finishMany(batches []*batch) (sobek.Value, error) {
	rt := mi.vu.Runtime()
	var commits, acknowledged, nodes, edges int
	var took float64
	results := []any{}
	problem := sobek.Null()
	var failed *invocation
	for _, b := range batches {
		if b.split {
			took += metrics.D(b.took)
		}
		if b.skipped || b.split {
			continue
		}
		value := mi.newResult(b.invocation)
		results = append(results, value)
		took += metrics.D(b.took)
		if b.out.Err != nil {
			problem = value.ToObject(rt).Get("error")
			failed = b.invocation
			continue
		}
		commits++
		acknowledged += len(b.rows)
		nodes += b.out.Success.AffectedNodes
		edges += b.out.Success.AffectedEdges
	}
	o := rt.NewObject()
	set := func(name string, v any) { _ = o.Set(name, v) }
	set("ok", sobek.IsNull(problem))
	set("commits", commits)
	set("acknowledged", acknowledged)
	set("affectedNodes", nodes)
	set("affectedEdges", edges)
	set("duration", took)
	set("error", problem)
	set("results", rt.NewArray(results...))
	if failed != nil && failed.throws {
		thrown := mi.exception(failed)
		_ = thrown.value.Set("result", o) // what was written before is written
		return nil, thrown
	}
	return o, nil
}
