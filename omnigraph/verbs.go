package omnigraph

import (
	"cmp"
	"fmt"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// verb is one method of a client: how its arguments become an operation.
type verb struct {
	name string
	op   wire.Op
	// scope is the scope of the call's options where that is not op.
	scope wire.Op
	// options is the position of the options argument.
	options int
	// read takes the arguments before the options.
	read func(a *arguments, inv *invocation) error
}

// arguments are a call's arguments with the verb's name for errors.
type arguments struct {
	mi   *instance
	verb string
	call sobek.FunctionCall
	// async says that the script goes on before the operation is done.
	async bool
}

var verbs = []*verb{
	{name: "query", op: wire.OpQuery, options: 2, read: readText},
	{name: "mutate", op: wire.OpMutate, options: 2, read: readText},
	{name: "invoke", op: wire.OpInvoke, options: 2, read: readStored},
	{name: "load", op: wire.OpLoad, options: 1, read: readRows},
	{name: "snapshot", op: wire.OpSnapshot},
	{name: "schema", op: wire.OpSchema},
	{name: "branches", op: wire.OpBranches},
	{name: "createBranch", op: wire.OpBranchCreate, options: 1, read: readBranch},
	{name: "deleteBranch", op: wire.OpBranchDelete, options: 1, read: readBranch},
	{name: "mergeBranch", op: wire.OpBranchMerge, options: 1, read: readSource},
	{name: "commits", op: wire.OpCommits},
	{name: "queries", op: wire.OpQueries},
	{name: "graphs", op: wire.OpGraphs},
	{name: "export", op: wire.OpExport, read: readCallback},
	{name: "health", op: wire.OpHealth},
	{name: "version", op: wire.OpVersion},
	{name: "optimize", op: wire.OpOptimize},
	{name: "cleanup", op: wire.OpCleanup},
	{name: "repair", op: wire.OpRepair},
}

func (a *arguments) text(i int, name string) (string, error) {
	v := a.call.Argument(i)
	s, ok := v.Export().(string)
	if !ok || s == "" {
		return "", fmt.Errorf("%s: argument %s got %s; it takes a string that is not empty", a.verb, name, describe(v))
	}
	if at, bad := loneSurrogateIn(s, v); bad {
		return "", fmt.Errorf("%s: argument %s: %w", a.verb, name, loneSurrogateError("it", at))
	}
	return s, nil
}

func readText(a *arguments, inv *invocation) error {
	v := a.call.Argument(0)
	text, ok := v.Export().(string)
	if !ok || text == "" {
		return fmt.Errorf("%s: argument gq got %s; it takes the .gq source of a query", a.verb, describe(v))
	}
	p := inv.c.prepareText(text, v)
	inv.problem = p.problem
	inv.op.Text, inv.op.TextJSON, inv.label = text, p.encoded, p.label
	inv.header = p.single
	return a.params(1, inv)
}

func readStored(a *arguments, inv *invocation) error {
	name, err := a.text(0, "name")
	if err != nil {
		return err
	}
	inv.op.Name, inv.label = name, name
	return a.params(1, inv)
}

func readBranch(a *arguments, inv *invocation) (err error) {
	inv.op.Branch, err = a.text(0, "branch")
	return err
}

func readSource(a *arguments, inv *invocation) (err error) {
	inv.op.Source, err = a.text(0, "source")
	return err
}

// params encodes the parameters as JSON, once, for both transports.
func (a *arguments) params(i int, inv *invocation) error {
	v := a.call.Argument(i)
	if common.IsNullish(v) {
		return nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return fmt.Errorf("%s: argument params got %s; it takes an object of the query's parameters", a.verb, describe(v))
	}
	encoded, err := encodeJSON(o)
	if err != nil {
		return fmt.Errorf("%s: argument params can't be encoded: %w", a.verb, err)
	}
	// A problem of the operation and not of the call: the script gets a failed result.
	if inv.problem = cmp.Or(inv.problem, unsendable(o, encoded, "params")); inv.problem == nil {
		inv.op.Params = encoded
	}
	return nil
}

func readRows(a *arguments, inv *invocation) error {
	data, problem, err := a.rows(0)
	if err != nil {
		return err
	}
	inv.op.Data, inv.problem = data, problem
	inv.op.Mode = "append"
	return nil
}
