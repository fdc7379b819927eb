package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/operation"
)

func clusterGraph(dir, id string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return filepath.Join(abs, "graphs", id+".omni")
}

func (inv *invocation) options() graph.Options {
	return graph.Options{URI: inv.uri, Generation: inv.generation, Now: inv.env.Now, Sync: true}
}

func (inv *invocation) initStore() error {
	source, err := os.ReadFile(inv.get("--schema"))
	if err != nil {
		return fileError(err)
	}
	inv.uri = inv.args[0]
	g, err := graph.Create(inv.uri, string(source), inv.has("--force"), inv.options())
	if err != nil {
		return fail("%v", err)
	}
	fmt.Fprintf(inv.env.Stdout, "initialized %s\n", inv.uri)
	return g.Close()
}

// announced are the commands that name their target, also before an error.
var announced = map[string]bool{"load": true, "optimize": true, "repair": true, "branch create": true, "branch delete": true, "branch merge": true}

// direct runs a command on a store.
func (inv *invocation) direct(ctx context.Context) (err error) {
	if announced[inv.command.path] {
		inv.announce()
	}
	if err := inv.beforeOpening(); err != nil {
		return err
	}
	g, err := graph.Open(inv.uri, inv.options())
	if err != nil {
		if errors.Is(err, graph.ErrNoStore) {
			at := inv.uri
			if abs, err := filepath.Abs(at); err == nil {
				at = strings.TrimPrefix(abs, "/")
			}
			return fail("storage: Dataset at path %[1]s/__manifest was not found: Not found: %[1]s/__manifest/_versions", at)
		}
		return fail("%v", err)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if err := inv.payStart(ctx, g); err != nil {
		return err
	}
	v, print, err := inv.directCommand(ctx, g)
	if err != nil {
		var e *graph.Error
		if errors.As(err, &e) {
			return fail("%s", e.Message)
		}
		return err
	}
	if v == nil {
		return nil
	}
	text, ok := v.([]byte)
	if !ok {
		if text, err = json.Marshal(v); err != nil {
			return fail("%v", err)
		}
	}
	return inv.show(text, nil, print)
}

// payStart finds the cost model and waits for the start of the real CLI.
func (inv *invocation) payStart(ctx context.Context, g *graph.Graph) (err error) {
	if name := inv.env.Getenv(EnvProfile); name != "" {
		inv.cost, err = costmodel.Load(name)
	} else {
		inv.cost, err = costmodel.Left(inv.uri)
	}
	if err != nil {
		return fail("%v", err)
	}
	if inv.cost == nil {
		return nil
	}
	return sleep(ctx, inv.cost.Start(g.StateCost(graph.MainBranch).Commits))
}

// beforeOpening refuses what no store can do.
func (inv *invocation) beforeOpening() error {
	path := inv.command.path
	_, adhoc, err := inv.source()
	switch {
	case err != nil:
		return err
	case (path == "query" || path == "mutate") && !adhoc && len(inv.args) == 0:
		return inv.nameless()
	case (path == "query" || path == "mutate") && !adhoc:
		return fail("by-name invocation needs a server (the stored-query catalog is server-owned); use -e '<gq>' or --query <file> for an ad-hoc query against --store, or address a server with --server / --profile")
	case path == "cleanup" && !inv.has("--keep") && !inv.has("--older-than"):
		return fail("cleanup requires at least one of --keep or --older-than")
	case path == "graphs list" || path == "queries list":
		return fail("`%s` needs a server or a cluster", path)
	}
	return nil
}

func (inv *invocation) directCommand(ctx context.Context, g *graph.Graph) (any, printer, error) {
	switch inv.command.path {
	case "query":
		return inv.directQuery(ctx, g)
	case "mutate":
		return inv.directMutate(ctx, g)
	case "load":
		return inv.directLoad(ctx, g)
	case "snapshot":
		v, err := inv.caller(g).Snapshot(inv.branch())
		return v, printSnapshot, err
	case "export":
		return nil, nil, g.Export(inv.env.Stdout, inv.branch(), inv.flags["--type"], inv.flags["--table"])
	case "branch list":
		return inv.caller(g).Branches(), printBranches, nil
	case "branch create", "branch delete", "branch merge":
		return inv.directBranch(ctx, g)
	case "commit list":
		v, err := inv.caller(g).Commits(inv.branch())
		return v, printCommits, err
	case "commit show":
		v, err := inv.caller(g).Commit(inv.args[0])
		return v, printCommit, err
	case "schema show":
		return inv.caller(g).Schema(), printSchema, nil
	case "optimize":
		return inv.optimize(ctx, g)
	case "cleanup":
		return inv.cleanup(ctx, g)
	case "repair":
		return inv.repair(g)
	}
	return nil, nil, fail("the emulator lacks `%s` on a store", inv.command.path)
}

// caller runs this call's operations on a store.
func (inv *invocation) caller(g *graph.Graph) operation.Caller {
	return operation.Caller{Store: g, Generation: inv.generation, Actor: inv.get("--as")}
}

// parsed is the query that a query or a mutate runs, with its parameters.
func (inv *invocation) parsed(g *graph.Graph) (*gq.Query, graph.Params, error) {
	source, _, err := inv.source()
	if err != nil {
		return nil, nil, err
	}
	params, err := inv.params()
	if err != nil {
		return nil, nil, err
	}
	name := ""
	if len(inv.args) > 0 {
		name = inv.args[0]
	}
	q, err := g.Parse(source, name)
	return q, params, err
}

func (inv *invocation) directQuery(ctx context.Context, g *graph.Graph) (any, printer, error) {
	q, params, err := inv.parsed(g)
	if err != nil {
		return nil, nil, err
	}
	t := graph.Target{Branch: inv.branch()}
	if inv.has("--snapshot") {
		t = graph.Target{Snapshot: inv.get("--snapshot")}
	}
	text, err := inv.caller(g).Query(ctx, q, params, t, func(c graph.Cost) error {
		if inv.cost == nil {
			return nil
		}
		return sleep(ctx, inv.cost.Read(operation.Work(c, 0), false))
	})
	if err != nil {
		return nil, nil, err
	}
	return text, printRows, nil
}

// write is a store write by the actor of --as.
func (inv *invocation) write() graph.Write {
	w := graph.Write{Branch: inv.branch(), Actor: inv.get("--as"), IfCommit: inv.get("--if-commit")}
	if inv.cost != nil {
		w.Hold = func(ctx context.Context, c graph.Cost, _ int) error {
			return sleep(ctx, inv.cost.Commit(operation.Work(c, 0)))
		}
	}
	return w
}

func (inv *invocation) directMutate(ctx context.Context, g *graph.Graph) (any, printer, error) {
	q, params, err := inv.parsed(g)
	if err != nil {
		return nil, nil, err
	}
	v, err := inv.caller(g).Mutate(ctx, q, params, inv.write())
	return v, printMutation, err
}

func (inv *invocation) directLoad(ctx context.Context, g *graph.Graph) (any, printer, error) {
	data, err := os.ReadFile(inv.get("--data"))
	if err != nil {
		inner := fileError(err).Error()
		return nil, nil, &report{[]string{"io: " + inner, inner}}
	}
	v, err := inv.caller(g).Load(ctx, string(data), graph.LoadMode(inv.get("--mode")), inv.optional("--from"), inv.write())
	if err != nil {
		return nil, nil, err
	}
	if inv.generation >= graph.V010 {
		return v, printLoad, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, nil, fail("%v", err)
	}
	summary, err := inv.loadSummary(text, inv.uri)
	return summary, printLoad, err
}

func (inv *invocation) directBranch(ctx context.Context, g *graph.Graph) (any, printer, error) {
	name := inv.args[0]
	switch inv.command.path {
	case "branch create":
		from := inv.get("--from")
		if from == "" {
			from = graph.MainBranch
		}
		v, err := inv.caller(g).CreateBranch(ctx, name, from)
		return v, printBranchCreated, err
	case "branch delete":
		v, err := inv.caller(g).DeleteBranch(ctx, name)
		return v, printBranchDeleted, err
	}
	w := inv.write()
	w.Branch = inv.get("--into")
	if w.Branch == "" {
		w.Branch = graph.MainBranch
	}
	v, err := inv.caller(g).MergeBranch(ctx, name, w)
	return v, printMerged, err
}

func (inv *invocation) optimize(ctx context.Context, g *graph.Graph) (any, printer, error) {
	var hold func(context.Context, int) error
	if inv.cost != nil {
		hold = func(ctx context.Context, fragments int) error { return sleep(ctx, inv.cost.Optimize(fragments)) }
	}
	list, err := g.Optimize(ctx, hold)
	if err != nil {
		return nil, nil, err
	}
	type table struct {
		Key       string   `json:"table_key"`
		Removed   int      `json:"fragments_removed"`
		Added     int      `json:"fragments_added"`
		Committed bool     `json:"committed"`
		Skipped   *string  `json:"skipped"`
		Manifest  *int     `json:"manifest_version"`
		Head      *int     `json:"lance_head_version"`
		Pending   []string `json:"pending_indexes"`
	}
	out := struct {
		URI    string  `json:"uri"`
		Tables []table `json:"tables"`
	}{URI: inv.uri, Tables: []table{}}
	for _, c := range list {
		out.Tables = append(out.Tables, table{Key: c.Key, Removed: c.Removed, Added: c.Added, Committed: c.Removed > 0, Pending: []string{}})
	}
	return out, printOptimized, nil
}

// everything keeps all versions: the bound for a cleanup by age alone, which the emulator's versions never reach.
const everything = 1 << 30

// checkAge checks a whole number with a unit, seconds where it has none.
func checkAge(text string) error {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit := text[len(number):]
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		why := "invalid digit found in string"
		if number == "" {
			why = "cannot parse integer from empty string"
		}
		return fail("invalid duration '%s': %s", text, why)
	}
	if unit != "" && (len(unit) > 1 || !strings.Contains("smhdw", unit)) {
		return fail("unknown duration unit '%s'. Supported: s, m, h, d, w", unit)
	}
	return nil
}

func (inv *invocation) cleanup(ctx context.Context, g *graph.Graph) (any, printer, error) {
	keep := everything
	if inv.has("--keep") {
		n, err := strconv.Atoi(inv.get("--keep"))
		if err != nil || n < 0 {
			return nil, nil, fail("invalid value '%s' for '--keep <KEEP>'", inv.get("--keep"))
		}
		keep = n
	} else if err := checkAge(inv.get("--older-than")); err != nil {
		return nil, nil, err
	}
	if !inv.has("--confirm") {
		fmt.Fprintf(inv.env.Stderr, "cleanup is destructive — rerun with --confirm. Policy for %s: keep %d versions\n", inv.uri, keep)
		return nil, nil, nil
	}
	inv.announce()
	list, err := g.Cleanup(ctx, keep)
	if err != nil {
		return nil, nil, err
	}
	type table struct {
		Key      string  `json:"table_key"`
		Bytes    int64   `json:"bytes_removed"`
		Versions int     `json:"old_versions_removed"`
		Error    *string `json:"error"`
	}
	out := struct {
		URI    string  `json:"uri"`
		Keep   int     `json:"keep_versions"`
		Older  *int    `json:"older_than_secs"`
		Tables []table `json:"tables"`
	}{URI: inv.uri, Keep: keep, Tables: []table{}}
	for _, c := range list {
		out.Tables = append(out.Tables, table{Key: c.Key, Bytes: c.Bytes, Versions: c.Versions})
	}
	return out, printCleaned, nil
}

// repair finds nothing: a store's log is its only truth, so nothing can drift from it.
func (inv *invocation) repair(g *graph.Graph) (any, printer, error) {
	s, err := g.Snapshot(graph.MainBranch)
	if err != nil {
		return nil, nil, err
	}
	type table struct {
		Key        string   `json:"table_key"`
		Manifest   uint64   `json:"manifest_version"`
		Head       uint64   `json:"lance_head_version"`
		Class      string   `json:"classification"`
		Action     string   `json:"action"`
		Operations []string `json:"operations"`
		Error      *string  `json:"error"`
	}
	out := struct {
		URI      string  `json:"uri"`
		Confirm  bool    `json:"confirm"`
		Force    bool    `json:"force"`
		Manifest *uint64 `json:"manifest_version"`
		Tables   []table `json:"tables"`
	}{URI: inv.uri, Confirm: inv.has("--confirm"), Force: inv.has("--force"), Tables: []table{}}
	for _, t := range s.Tables {
		out.Tables = append(out.Tables, table{Key: t.Key, Manifest: t.Version, Head: t.Version, Class: "no_drift", Action: "no_op", Operations: []string{}})
	}
	return out, printRepaired, nil
}

// cluster runs the commands on a cluster's configuration. Their answer goes to stdout also when it is not ok.
func (inv *invocation) cluster() error {
	dir := inv.get("--config")
	if dir == "" {
		dir = "."
	}
	var v any
	var ok bool
	var human string
	switch inv.command.path {
	case "cluster validate":
		r := cluster.Validate(dir)
		v, ok = r, r.OK
		human = fmt.Sprintf("cluster config valid: %d resource(s), %d dependency edge(s)", len(r.Resources), len(r.Dependencies))
	case "cluster import":
		r, err := cluster.Bootstrap(dir, inv.env.Now())
		if err != nil {
			return fail("%v", err)
		}
		v, ok = r, r.OK
		human = fmt.Sprintf("cluster import: revision %d, %d resource(s)", r.Observations.StateRevision, r.Observations.ResourceCount)
	default:
		r, err := cluster.Converge(dir, inv.get("--as"))
		if err != nil {
			return fail("%v", err)
		}
		v, ok = r, r.OK
		human = fmt.Sprintf("cluster apply: %d applied, %d deferred/blocked", r.AppliedCount, r.DeferredCount)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fail("%v", err)
	}
	if !inv.has("--json") {
		if !ok {
			return &document{body: string(indent(text)), code: 1}
		}
		fmt.Fprintln(inv.env.Stdout, human)
		return nil
	}
	if !ok {
		return &document{body: string(indent(text)), code: 1}
	}
	fmt.Fprintf(inv.env.Stdout, "%s\n", indent(text))
	return nil
}
