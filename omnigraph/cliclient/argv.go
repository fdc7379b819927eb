package cliclient

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// inlineBytes is the longest query text or parameter object that goes on the command line; what is longer goes
// through a file.
const inlineBytes = 32 << 10

// The commands of the CLI.
const (
	commandQuery  = "query"
	commandMutate = "mutate"
)

// modeOverwrite is the load that needs the CLI's consent.
const modeOverwrite = "overwrite"

// arguments builds the argument list of one operation and collects what is wrong with it. Long values become files.
type arguments struct {
	list  []string
	files []inputFile
	err   *wire.Error
}

// inputFile is a value that the CLI reads from a file: the argument at index gets the file's path.
type inputFile struct {
	index int
	name  string
	data  []byte
}

// argv is the argument list of the operation without the program's own name. An error means that nothing is to be
// started.
func (c *Client) argv(op *wire.Operation) (*arguments, *wire.Error) {
	a := &arguments{list: make([]string, 0, 16)}
	if op.Op == wire.OpVersion {
		a.add("--version")
		return a, nil
	}
	if !op.Op.Offered(wire.TransportCLI) {
		return nil, wire.Unsupported(op.Op, wire.TransportCLI)
	}
	if problem := op.Check(); problem != nil {
		return nil, problem
	}
	a.operation(c, op)
	if a.err != nil {
		return nil, a.err
	}
	return a, nil
}

func (a *arguments) operation(c *Client, op *wire.Operation) {
	switch op.Op {
	case wire.OpQuery, wire.OpMutate:
		a.source(c, op)
	case wire.OpInvoke:
		a.stored(c, op)
	case wire.OpLoad:
		a.load(c, op)
	case wire.OpSnapshot:
		a.add("snapshot")
		a.target(c, op)
		a.option("--branch", "branch", op.Branch)
		a.finish(c, "--json")
	case wire.OpSchema:
		a.add("schema", "show")
		a.target(c, op)
		a.finish(c, "--json")
	case wire.OpBranches, wire.OpBranchCreate, wire.OpBranchDelete, wire.OpBranchMerge:
		a.branch(c, op)
	case wire.OpCommits:
		a.add("commit", "list")
		a.target(c, op)
		a.option("--branch", "branch", op.Branch)
		a.finish(c, "--json")
	case wire.OpExport:
		a.add("export")
		a.target(c, op)
		a.option("--branch", "branch", op.Branch)
		for _, name := range op.TypeNames {
			a.option("--type", "types", name)
		}
		a.finish(c) // JSONL is all that it prints, and --json is refused.
	case wire.OpOptimize:
		a.add("optimize")
		a.maintenance(c, op)
		a.finish(c, "--json", "--quiet")
	case wire.OpCleanup:
		a.add("cleanup")
		if op.Keep < 1 {
			a.bad("keep: cleanup takes the number of versions to keep, at least 1, got %d", op.Keep)
		}
		a.maintenance(c, op)
		a.add("--keep", strconv.Itoa(op.Keep), "--confirm", "--yes")
		a.finish(c, "--json", "--quiet")
	case wire.OpRepair: // Without --confirm it only tells what it would do.
		a.add("repair")
		a.maintenance(c, op)
		a.finish(c, "--json", "--quiet")
	default:
		a.fail(wire.Unsupported(op.Op, wire.TransportCLI))
	}
}

// source is a query or mutation whose text comes with the call.
func (a *arguments) source(c *Client, op *wire.Operation) {
	command := commandQuery
	if op.Op == wire.OpMutate {
		command = commandMutate
	}
	if strings.TrimSpace(op.Text) == "" {
		a.bad("query: %s needs the text of a query", op.Op)
		return
	}
	a.add(command)
	if len(op.Text) > inlineBytes || hasNUL(op.Text) {
		a.file("--query", "query.gq", []byte(op.Text))
	} else {
		a.value("-e", "--query-string", op.Text)
	}
	a.selection(c, op)
	a.positional(c, op.Name, "--json")
}

// stored is a query of the catalog, by name. The CLI wants to know whether it reads or writes.
func (a *arguments) stored(c *Client, op *wire.Operation) {
	if op.Name == "" {
		a.bad("name: invoke needs the name of a stored query")
		return
	}
	if c.config.Server == "" && c.config.Store != "" {
		a.fail(wire.NewError(wire.KindUnsupported, "invoke needs a server: stored queries are not available on a store; give the client `server`, or use query or mutate with the text"))
		return
	}
	a.segment("name", op.Name)
	a.add(c.storedCommand(op))
	a.selection(c, op)
	a.positional(c, op.Name, "--json")
}

func (a *arguments) selection(c *Client, op *wire.Operation) {
	switch {
	case len(op.Params) == 0:
	case !gjson.ValidBytes(op.Params):
		// The CLI's own words for this are those that it also has for a broken answer.
		a.bad("params: not valid JSON")
	case deeperThan(op.Params, maxParamsDepth):
		// As above, and the server would refuse it as well.
		a.bad("params: nested deeper than %d levels, which the CLI does not read", maxParamsDepth)
	case len(op.Params) > inlineBytes:
		a.file("--params-file", "params.json", op.Params)
	default:
		a.value("--params", "--params", string(op.Params))
	}
	a.target(c, op)
	a.option("--branch", "branch", op.Branch)
	if op.Snapshot != "" && a.list[0] == commandMutate {
		a.bad("snapshot: a mutation works on a branch, not on a snapshot")
	}
	a.option("--snapshot", "snapshot", op.Snapshot)
	if op.IfCommit != "" && a.list[0] != commandMutate {
		a.bad("ifCommit: only a mutation can be conditional")
	}
	a.option("--if-commit", "ifCommit", op.IfCommit)
}

// maxParamsDepth is how deep an object is nested that the CLI still reads, itself included.
const maxParamsDepth = 127

// deeperThan reports whether valid JSON is nested deeper than a limit.
func deeperThan(doc []byte, limit int) bool {
	depth, inText := 0, false
	for i := 0; i < len(doc) && len(doc) > 2*limit; i++ {
		switch c := doc[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

func (a *arguments) load(c *Client, op *wire.Operation) {
	a.add("load")
	switch {
	case op.DataFile != "":
		a.option("--data", "data", op.DataFile)
	default:
		a.file("--data", "data.jsonl", op.Data)
	}
	switch op.Mode {
	case "append", "merge", modeOverwrite:
		a.add("--mode", op.Mode)
	default:
		a.bad("mode: got %q, takes append, merge or overwrite", op.Mode)
	}
	a.target(c, op)
	a.option("--branch", "branch", op.Branch)
	a.option("--from", "from", op.From)
	if op.Mode == modeOverwrite {
		a.add("--yes") // Nobody is there to be asked.
	}
	a.finish(c, "--json", "--quiet")
}

func (a *arguments) branch(c *Client, op *wire.Operation) {
	a.add("branch")
	switch op.Op {
	case wire.OpBranches:
		a.add("list")
		a.target(c, op)
		a.finish(c, "--json")
	case wire.OpBranchCreate:
		a.add("create")
		a.target(c, op)
		a.option("--from", "from", op.From)
		a.positional(c, a.needed("branch", op.Branch), "--json", "--quiet")
	case wire.OpBranchDelete:
		a.add("delete")
		a.target(c, op)
		if c.config.Server != "" {
			a.segment("branch", op.Branch)
		}
		a.add("--yes")
		a.positional(c, a.needed("branch", op.Branch), "--json", "--quiet")
	case wire.OpBranchMerge:
		a.add("merge")
		a.target(c, op)
		a.option("--into", "target", op.Target)
		a.positional(c, a.needed("source", op.Source), "--json", "--quiet")
	}
}

// target names the server and graph, or else the store.
func (a *arguments) target(c *Client, op *wire.Operation) {
	switch {
	case c.config.Server != "":
		if op.Graph == "" {
			a.bad("graph: %s needs a graph: give it to the client or to the call", op.Op)
		}
		a.graph(op.Graph)
		a.option("--server", "server", c.config.Server)
		a.option("--graph", "graph", op.Graph)
	case c.config.Store != "":
		a.option("--store", "store", c.config.Store)
	default:
		a.bad("server: %s has nobody to talk to: give the client `server` or `store`", op.Op)
	}
}

// graph refuses a graph's id that the CLI, which puts it into the address as it is, would send to another route. Over HTTP
// it is the server that refuses such an id.
func (a *arguments) graph(id string) {
	a.segment("graph", id)
	if strings.ContainsAny(id, `/\?#%`) || strings.ContainsFunc(id, unicode.IsControl) || strings.TrimSpace(id) != id {
		a.bad("graph: got %q, which the CLI would put into an address as it is; it takes the id of a graph", id)
	}
}

// segment checks a name that the CLI puts into an address's path.
func (a *arguments) segment(field, value string) {
	if problem := wire.CheckSegment(field, value); problem != nil {
		a.fail(problem)
	}
}

// maintenance names the store, which optimize, cleanup and repair open by themselves.
func (a *arguments) maintenance(c *Client, op *wire.Operation) {
	if c.config.Store == "" {
		a.fail(wire.NewError(wire.KindUnsupported, "%s needs the graph's own storage, a server can't do it: give the CLI client `store`", op.Op))
		return
	}
	a.option("--store", "store", c.config.Store)
}

// finish adds the flags that say how to answer, and the user's own arguments.
func (a *arguments) finish(c *Client, flags ...string) {
	a.add(flags...)
	a.add(c.config.Args...)
}

// positional finishes with one value by position, or none if it is empty.
func (a *arguments) positional(c *Client, value string, flags ...string) {
	a.finish(c, flags...)
	if value == "" {
		return
	}
	if strings.HasPrefix(value, "-") {
		a.add("--")
	}
	a.check("name", value)
	a.add(value)
}

func (a *arguments) needed(field, value string) string {
	if value == "" {
		a.bad("%s: must not be empty", field)
	}
	return value
}

func (a *arguments) add(list ...string) { a.list = append(a.list, list...) }

// option adds a flag with a value, or nothing for an empty one.
func (a *arguments) option(flag, field, value string) {
	if value == "" {
		return
	}
	a.check(field, value)
	a.value(flag, flag, value)
}

// value adds flag and value as two arguments, or as one with the long flag where the value would be taken for a flag.
func (a *arguments) value(flag, long, value string) {
	if strings.HasPrefix(value, "-") {
		a.add(long + "=" + value)
		return
	}
	a.add(flag, value)
}

func (a *arguments) file(flag, name string, data []byte) {
	a.add(flag, "")
	a.files = append(a.files, inputFile{index: len(a.list) - 1, name: name, data: data})
}

func (a *arguments) check(field, value string) {
	switch {
	case hasNUL(value):
		a.bad("%s: must not contain NUL", field)
	case len(value) > maxArgBytes:
		a.bad("%s: got %d bytes, takes at most %d", field, len(value), maxArgBytes)
	}
}

func (a *arguments) bad(format string, args ...any) {
	a.fail(wire.NewError(wire.KindBadRequest, format, args...))
}

// fail keeps the first problem.
func (a *arguments) fail(e *wire.Error) {
	if a.err == nil {
		a.err = e
	}
}
