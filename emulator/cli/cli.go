// Package cli stands in for the omnigraph command: the same arguments, output, exit codes and error reports,
// against a server over HTTP or against an emulator store on disk.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// Environment variables of the emulator's own.
const (
	// EnvProfile names the cost model of calls on a store. Without it, the model is the one that a server left
	// there; calls of a server are charged by the server.
	EnvProfile = "OMNIGRAPH_EMULATOR_PROFILE"
	// EnvFaults names the fault file.
	EnvFaults = "OMNIGRAPH_EMULATOR_FAULTS"
	// EnvAPI chooses the API generation: 0.8, 0.10 or 0.13.
	EnvAPI = "OMNIGRAPH_EMULATOR_API"
	// EnvToken is the bearer token, as for the real CLI.
	EnvToken = "OMNIGRAPH_BEARER_TOKEN" // #nosec G101 -- a variable's name
)

// Env is what the stand-in takes from its process.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
}

// Generation reads an API generation's name; empty is 0.8.
func Generation(name string) (graph.Generation, error) {
	switch name {
	case "", "0.8":
		return graph.V08, nil
	case "0.10":
		return graph.V010, nil
	case "0.13":
		return graph.V013, nil
	}
	return 0, fmt.Errorf("the API generation is %q, want 0.8, 0.10 or 0.13", name)
}

// report is a failure with its causes, outermost first.
type report struct{ causes []string }

func (r *report) Error() string { return strings.Join(r.causes, ": ") }

func fail(format string, args ...any) error { return &report{[]string{fmt.Sprintf(format, args...)}} }

// document is an error that goes to stdout as JSON, with an exit code of its own.
type document struct {
	body string
	code int
}

func (d *document) Error() string { return d.body }

// invocation is one call on its way.
type invocation struct {
	*call
	env        Env
	generation graph.Generation
	cost       *costmodel.Model
	uri        string // a store's path
	server     string // a server's URL
	graphID    string
}

// checked remembers that a write failed, as it does when nobody reads the output.
type checked struct {
	io.Writer
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// Main runs one call and returns its exit code. The caller sees to it that a write to a pipe that nobody reads
// fails rather than kills: the real CLI reports that and ends with 101.
func Main(ctx context.Context, args []string, env Env) int {
	out := &checked{Writer: env.Stdout}
	env.Stdout = out
	code := run(ctx, args, env)
	if out.err != nil {
		fmt.Fprintf(env.Stderr, "The application panicked (crashed).\nMessage:  failed printing to stdout: %s\nLocation: emulator/cli/cli.go:1\n", fileError(out.err))
		return 101
	}
	return code
}

func run(ctx context.Context, args []string, env Env) int {
	c, err := parse(args)
	var u *usageError
	switch {
	case errors.As(err, &u):
		fmt.Fprint(env.Stderr, u.message)
		return 2
	case c.help:
		fmt.Fprint(env.Stdout, helpText)
		return 0
	}
	if c.alias != "" {
		fmt.Fprintf(env.Stderr, "warning: `omnigraph %s` is deprecated; use `omnigraph %s` instead\n", c.alias, c.command.path)
	}
	inv := &invocation{call: c, env: env}
	code, done, err := inv.faulty()
	if err == nil && done {
		return code
	}
	if err == nil {
		err = inv.run(ctx)
	}
	var d *document
	switch {
	case err == nil:
		return 0
	case errors.As(err, &d):
		fmt.Fprintln(env.Stdout, d.body)
		return d.code
	}
	if errors.As(err, &u) {
		fmt.Fprint(env.Stderr, u.message)
		return 2
	}
	printReport(env.Stderr, err)
	return 1
}

// rule is the line above a report's backtrace.
var rule = strings.Repeat("━", 34)

// printReport writes an error as the real CLI does: numbered causes in red, then a location and a backtrace.
func printReport(w io.Writer, err error) {
	var r *report
	if !errors.As(err, &r) {
		r = &report{[]string{err.Error()}}
	}
	fmt.Fprintf(w, "Error: \n")
	for i, cause := range r.causes {
		fmt.Fprintf(w, "   %d: \x1b[91m%s\x1b[0m\n", i, strings.ReplaceAll(cause, "\n", "\n      "))
	}
	fmt.Fprintf(w, "\nLocation:\n   \x1b[35memulator/cli/cli.go\x1b[0m:\x1b[35m1\x1b[0m\n\n  %s BACKTRACE %s\n   0: \x1b[91memulator\x1b[0m\x1b[90m<unknown>\x1b[0m\n\n", rule, rule)
	fmt.Fprintf(w, "Run with COLORBT_SHOW_HIDDEN=1 environment variable to disable frame filtering.\n")
}

func (inv *invocation) run(ctx context.Context) error {
	var err error
	if inv.generation, err = Generation(inv.env.Getenv(EnvAPI)); err != nil {
		return fail("%s: %v", EnvAPI, err)
	}
	if inv.has("--if-commit") && inv.generation < graph.V010 {
		return usage(inv.command, "unexpected argument '--if-commit' found\n\n  tip: to pass '--if-commit' as a value, use '-- --if-commit'")
	}
	if inv.command.path == "version" {
		fmt.Fprintf(inv.env.Stdout, "omnigraph %s\n", server.Version(inv.generation))
		if !inv.short {
			fmt.Fprintf(inv.env.Stdout, "internal-schema %d\n", graph.InternalSchemaVersion)
		}
		return nil
	}
	if strings.HasPrefix(inv.command.path, "cluster ") {
		return inv.cluster()
	}
	if inv.command.path == "init" {
		return inv.initStore()
	}
	if err := inv.address(ctx); err != nil {
		return err
	}
	if inv.server != "" {
		return inv.served(ctx)
	}
	return inv.direct(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// directOnly are the commands that work on a store only.
var directOnly = map[string]string{"optimize": "", "cleanup": "", "repair": ""}

// writes are the commands that change a graph.
var writes = map[string]bool{"mutate": true, "load": true, "branch create": true, "branch delete": true, "branch merge": true}

// address decides between a server and a store.
func (inv *invocation) address(ctx context.Context) error {
	inv.server, inv.graphID = inv.get("--server"), inv.get("--graph")
	inv.uri = inv.get("--store")
	if positional := inv.positionalURI(); positional != "" {
		if inv.uri != "" {
			return fail("--store and a positional URI are mutually exclusive — pick one way to address the graph")
		}
		inv.uri = positional
	}
	if inv.uri == "" {
		inv.uri = inv.get("--uri")
	}
	path := inv.command.path
	_, storage := directOnly[path]
	switch {
	case inv.has("--cluster") && !storage && path != "queries list":
		word, _, _ := strings.Cut(path, " ")
		return fail("`%s` is a data command; --cluster addresses a cluster-scoped command and does not apply.", word)
	case inv.uri != "" && inv.server != "":
		return fail("--store and --server are mutually exclusive — pick one way to address the graph")
	case inv.server != "" && path == "queries list":
		return fail("`%s` is a cluster control command; --server addresses a served graph and does not apply. It operates on a cluster (pass --cluster <dir|uri>, or select a cluster profile).", path)
	case inv.server != "":
		if storage {
			return fail("`%s` is a direct (storage-native) command; --server addresses a served graph and does not apply. Pass a storage URI, or --cluster <dir> --graph <id>.", path)
		}
		if inv.has("--as") && writes[path] {
			return fail("`--as` is not allowed on a served write — the server resolves the actor from the bearer token. Remove `--as`, or run the write directly against storage with `--store <uri>`.")
		}
		return inv.addressServer(ctx)
	case inv.get("--cluster") != "" && inv.graphID != "":
		inv.uri = clusterGraph(inv.get("--cluster"), inv.graphID)
	case inv.uri == "":
		return fail("no graph addressed — pass a positional URI, --store <uri>, --server <name>, --profile <name>, or set a default scope in ~/.omnigraph/config.yaml")
	}
	inv.uri = strings.TrimPrefix(inv.uri, "file://")
	return nil
}

func (inv *invocation) addressServer(ctx context.Context) error {
	if !strings.HasPrefix(inv.server, "http://") && !strings.HasPrefix(inv.server, "https://") {
		return fail("unknown server '%s' — servers defined in the operator config: [] (add it under servers: in ~/.omnigraph/config.yaml)", inv.server)
	}
	inv.server = strings.TrimRight(inv.server, "/")
	if inv.graphID == "" && (inv.command.path != "graphs list" || inv.generation < graph.V010) {
		return inv.namelessGraph(ctx)
	}
	return nil
}

// positionalURI is the positional argument of commands whose only one is the graph.
func (inv *invocation) positionalURI() string {
	if p := inv.command.positional; len(p) == 1 && p[0] == "[URI]" && len(inv.args) == 1 {
		return inv.args[0]
	}
	return ""
}

// faulty applies the fault file to this call; done means that the call is over.
func (inv *invocation) faulty() (code int, done bool, err error) {
	path := inv.env.Getenv(EnvFaults)
	if path == "" {
		return 0, false, nil
	}
	plan, err := faults.ReadFile(path, server.RouteNames())
	if err != nil {
		return 0, false, fail("%v", err)
	}
	before, err := countCall(path, inv.command.path)
	if err != nil {
		return 0, false, fail("%v", err)
	}
	in := faults.New(plan, inv.env.Now)
	in.Replay(before)
	r := in.Match(faults.Call{Command: inv.command.path})
	if r == nil {
		return 0, false, nil
	}
	return inv.inflict(r), true, nil
}

// garbage is what a broken tool prints.
const garbage = "\x00\x1b[2J{\"rows\": [}\xff\xfe not json\n"

func (inv *invocation) inflict(r *faults.Rule) int {
	switch r.Kind {
	case faults.CLIGarbage:
		fmt.Fprint(inv.env.Stdout, garbage)
	case faults.CLIErrorOK:
		fmt.Fprintln(inv.env.Stdout, `{"error":"injected failure","code":"internal"}`)
	case faults.CLIHuge:
		line := strings.Repeat("x", 4095) + "\n"
		for n := r.Bytes; n > 0; n -= int64(len(line)) {
			if _, err := io.WriteString(inv.env.Stdout, line); err != nil {
				return 1
			}
		}
	case faults.CLIHang:
		for {
			time.Sleep(time.Hour)
		}
	case faults.CLIHoldPipes:
		holdPipes(time.Duration(r.Delay))
	case faults.CLISignal:
		killSelf()
	default:
		message := r.Message
		if message == "" {
			message = "injected failure"
		}
		printReport(inv.env.Stderr, fail("%s", message))
		if r.Code == 0 {
			return 1
		}
		return r.Code
	}
	return 0
}

// holdPipes leaves a child behind that holds this process's output open.
func holdPipes(d time.Duration) {
	// #nosec G204 -- a number is the only argument
	cmd := exec.Command("sleep", fmt.Sprintf("%.3f", d.Seconds())) //nolint:noctx // must outlive this process
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Start() // without a `sleep` there is nothing to hold
}

func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill() // does not return
	}
}
