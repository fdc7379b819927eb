package omnigraph

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

var update = flag.Bool("update", false, "write the generated documentation instead of checking it")

const referencePath = "../docs/reference.md"

// reference renders docs/reference.md from the tables that the code itself uses.
func reference() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Reference\n\nMade by `make docs` from the tables that the code uses; a test holds them equal. The types are in [index.d.ts](../index.d.ts).\n")
	p("\n## Options\n\nA client takes those marked HTTP or CLI, a call those marked call. An option that is not known is an error. One that is `undefined`, or a text that is `null` or empty, is as if it were not there: a call then keeps the client's. A commit (`ifCommit`, `snapshot`) is never `null` or empty. A call that names a branch or a commit means that one, whichever of the two the client was told.\n\n")
	p("| option | takes | default | where | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range optionTable {
		var where []string
		if o.HTTP {
			where = append(where, "HTTP")
		}
		if o.CLI {
			where = append(where, "CLI")
		}
		if o.Call {
			call := "call"
			if len(o.Ops) > 0 {
				names := make([]string, len(o.Ops))
				for i, op := range o.Ops {
					names[i] = string(op)
				}
				call += " of " + strings.Join(names, ", ")
			}
			where = append(where, call)
		}
		p("| `%s` | %s | %s | %s | %s |\n", o.Name, o.Takes, o.Default, strings.Join(where, "; "), o.Meaning)
	}
	p("\n## Operations\n\nEach method has a twin that returns a promise: `query` and `asyncQuery`. What a transport lacks fails as `unsupported`, before anything is sent.\n\n| method | op tag | HTTP | CLI | write |\n| --- | --- | --- | --- | --- |\n")
	yes := map[bool]string{true: "yes", false: "-"}
	for _, v := range verbs {
		p("| `%s` | %s | %s | %s | %s |\n", v.name, v.op, yes[v.op.Offered(wire.TransportHTTP)], yes[v.op.Offered(wire.TransportCLI)], yes[v.op.IsWrite()])
	}
	p("\n`mutateMany` repeats a mutation of one row for many rows in few commits; its operations are mutations.\n")
	p("\n`optimize`, `cleanup` and `repair` need the client's `store`. A stored query counts as a write until its answer says otherwise.\n")
	p("\n## Metrics\n\nBeside k6's own `http_req_*`, `data_sent` and `data_received`, which HTTP operations feed as k6/http does.\n\n| metric | type | meaning |\n| --- | --- | --- |\n")
	for _, m := range metricTable {
		kind := m.Type.String()
		if c := m.Contains.String(); c != "default" {
			kind += ", " + c
		}
		p("| `%s` | %s | %s |\n", m.Name, kind, m.Meaning)
	}
	p("\nTags: `transport`, `op`, `query` (the name, never the text), `graph`, `variant` (within compare), `ok` on the two durations, `error_kind` on omnigraph_errors, `entity` on omnigraph_affected, `pair` on omnigraph_pair_overhead, and k6's own.\n")
	p("\n## Error kinds\n\nClassification looks at status and code first, then at the fields of a JSON error document, then at how the message begins; what a message quotes decides nothing.\n\n| kind | retryable | outcome of a write unknown | over HTTP | over the CLI | meaning |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, k := range wire.KindTable() {
		p("| `%s` | %s | %s | %s | %s | %s |\n", k.Kind, yes[k.Retryable], yes[k.Unknown], k.HTTP, k.CLI, k.Meaning)
	}
	p("\nAfter 500, 502 and 504 the outcome of a write is unknown whatever the kind. A request that never left leaves nothing behind.\n")
	return b.String()
}

func TestTheReferenceIsWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.WriteFile(referencePath, []byte(reference()), 0o644)) //nolint:gosec // documentation
		return
	}
	data, err := os.ReadFile(referencePath)
	require.NoError(t, err)
	assert.True(t, reference() == string(data), "docs/reference.md is not what the tables say: run make docs")
}

func declarations(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../index.d.ts")
	require.NoError(t, err)
	return string(data)
}

// union gives the members of a union type of strings.
func union(t *testing.T, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?s)export type ` + name + ` =(.*?);`).FindStringSubmatch(declarations(t))
	require.NotNil(t, m, name)
	var members []string
	for _, q := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(m[1], -1) {
		members = append(members, q[1])
	}
	return members
}

// members gives the names of an interface's members.
func members(t *testing.T, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?s)export interface ` + name + `(?:<[^{]*>)?(?: extends [A-Za-z, ]+)? \{(.*?)\n  \}`).FindStringSubmatch(declarations(t))
	require.NotNil(t, m, name)
	var names []string
	for _, q := range regexp.MustCompile(`(?m)^    (?:readonly )?([a-zA-Z]+)(?:<T>)?\??[:(]`).FindAllStringSubmatch(m[1], -1) {
		names = append(names, q[1])
	}
	return names
}

func TestTheTypesNameEveryKindOperationOptionAndField(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, k := range wire.KindTable() {
		kinds = append(kinds, string(k.Kind))
	}
	assert.Equal(t, kinds, union(t, "ErrorKind"))
	var ops []string
	for _, op := range wire.Ops() {
		ops = append(ops, string(op))
	}
	assert.Equal(t, ops, union(t, "Op"))
	assert.Equal(t, resultFields, members(t, "Result"))
	assert.Equal(t, errorFields, members(t, "OperationError"))

	var methods []string
	for _, v := range verbs {
		methods = append(methods, v.name, asyncName(v.name))
		if v.op == wire.OpMutate {
			methods = append(methods, mutateManyName, asyncName(mutateManyName))
		}
	}
	assert.Equal(t, methods, members(t, "Client"))

	common := members(t, "CommonOptions")
	for _, side := range []struct{ transport, iface string }{{wire.TransportHTTP, "HTTPOptions"}, {wire.TransportCLI, "CLIOptions"}} {
		declared := append(slices.Clone(common), members(t, side.iface)...)
		sort.Strings(declared)
		assert.Equal(t, allowedOptions(scope{transport: side.transport}), declared, side.iface)
	}
	for op, iface := range map[wire.Op]string{
		wire.OpQuery: "ReadOptions", wire.OpMutate: "MutateOptions", wire.OpLoad: "LoadOptions", wire.OpBranchCreate: "BranchOptions",
		wire.OpBranchMerge: "MergeOptions", wire.OpExport: "ExportOptions", scopeMutateMany: "ManyOptions", wire.OpCleanup: "CleanupOptions",
	} {
		declared := append(append(slices.Clone(common), members(t, "CallOptions")...), members(t, iface)...)
		sort.Strings(declared)
		assert.Equal(t, allowedOptions(scope{op: op}), declared, iface)
	}
}

func TestTheTypesNameEveryExport(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	exports := r.js(`Object.keys(require("k6/x/omnigraph")).sort().join(",")`).String()
	var declared []string
	for _, q := range regexp.MustCompile(`(?m)^  export (?:function|class) ([A-Za-z]+)`).FindAllStringSubmatch(declarations(t), -1) {
		declared = append(declared, q[1])
	}
	sort.Strings(declared)
	assert.Equal(t, strings.Join(slices.Compact(declared), ","), exports)
}

func TestTheMetricsTableIsWhatIsRegistered(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, spec := range metricTable {
		m := r.VU.InitEnvField.Registry.Get(spec.Name)
		require.NotNil(t, m, spec.Name)
		assert.Equal(t, spec.Type, m.Type, spec.Name)
		assert.Equal(t, spec.Contains, m.Contains, spec.Name)
	}
}
