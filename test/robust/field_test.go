package robust

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/cli"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// clients makes a VU with a client of each kind for a server, called viaHTTP and viaCLI; more are further options.
func clients(t *testing.T, url, bin, token, more string) *vu {
	t.Helper()
	v := newVU(t)
	v.js(`const viaHTTP = new HTTPClient({ url: %[1]q, graph: "council", token: %[3]q%[4]s });
		const viaCLI = new CLIClient({ server: %[1]q, bin: %[2]q, graph: "council", token: %[3]q, env: { LANG: "C", LC_ALL: "C" }%[4]s });`, url, bin, token, more)
	return v.enter()
}

func TestEveryByteArrivesOverBothTransports(t *testing.T) {
	t.Parallel()
	server := rigtest.Start(t)
	v := clients(t, server.URL, server.Bin, server.Token, "")
	v.js(`
		const texts = { umlauts: "äöüß ÄÖÜ", cjk: "漢字かな 한글", emoji: "🦀👩‍🚀", quotes: "\"double\" 'single' \\back\\ ` + "\\`tick\\`" + `",
			newline: "a\nb\r\nc\td", nul: "a\u0000b", replacement: "\ufffd", separators: "a\u2028b\u2029c", long: "lang 漢字 🦀 ".repeat(16000) };
		const must = (r) => { if (!r.ok) { throw new Error(r.transport + ": " + r.error.message.slice(0, 200)); } return r; };
		for (const [writer, name] of [[viaHTTP, "http"], [viaCLI, "cli"]]) {
			for (const [what, text] of Object.entries(texts)) {
				const slug = name + " " + what + " ü漢🦀";
				must(writer.mutate("query add($s: String, $n: String) { insert Project { slug: $s, name: $n } }", { s: slug, n: text }));
				for (const reader of [viaHTTP, viaCLI]) {
					const r = must(reader.query("query get($s: String) { match { $p: Project { slug: $s } } return { $p.slug, $p.name } }", { s: slug }));
					if (r.rowCount !== 1 || r.rows[0]["p.slug"] !== slug || r.rows[0]["p.name"] !== text) {
						throw new Error(what + " written over " + name + " and read over " + r.transport + " came back as " + JSON.stringify(r.rows).slice(0, 200));
					}
				}
				// A text within the source instead of a parameter.
				const literal = must((name === "cli" ? viaCLI : viaHTTP).query("query get() { match { $p: Project { slug: \"" + slug + "\" } } return { $p.name } }"));
				if (literal.rowCount !== 1) { throw new Error(what + " in a source over " + name); }
			}
		}`)
}

func TestALoneSurrogateIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	v := clients(t, "http://127.0.0.1:1", "/no/such/omnigraph", "some-token", "")
	for _, call := range []string{
		`%s.query("query q($s: String) { match { $p: Project { slug: $s } } return { $p } }", { s: "a\ud83e" })`,
		`%s.query("query q() { match { $p: Project { slug: \"\udd80\" } } return { $p } }")`,
		`%s.mutate("query q($s: String) { insert Project { slug: $s, name: $s } }", { s: "\udd80\ud83e" })`,
		`%s.invoke("get_memory", { slug: "\ud83e" }, { checkParams: false })`,
	} {
		for _, client := range []string{"viaHTTP", "viaCLI"} {
			res := v.object(call, client)
			problem, _ := res["error"].(map[string]any)
			assert.Equal(t, "bad_request", problem["kind"], problem["message"])
			assert.Contains(t, problem["message"], "lone surrogate")
			assert.Equal(t, false, problem["indeterminate"])
			assert.EqualValues(t, 0, res["attempts"])
		}
	}
	assert.Zero(t, sum(v.taken(), "http_reqs"))
}

// TestLongParametersAndManyRowsAreTheSameOverBothTransports goes through a CLI that writes down its longest argument.
func TestLongParametersAndManyRowsAreTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	server := rigtest.Start(t)
	dir := t.TempDir()
	lengths, wrapper := filepath.Join(dir, "lengths"), filepath.Join(dir, "omnigraph")
	executable.Write(t, wrapper, fmt.Sprintf("#!/bin/sh\nfor a; do echo ${#a} >> %q; done\nexec %q \"$@\"\n", lengths, server.Bin))
	v := clients(t, server.URL, wrapper, server.Token, "")
	v.js(`
		const must = (r) => { if (!r.ok) { throw new Error(r.transport + ": " + r.error.message.slice(0, 200)); } return r; };
		const long = "0123456789".repeat(30000);
		const rows = [];
		for (let i = 0; i < 2000; i++) { rows.push({ type: "Project", data: { slug: "bulk-" + String(i).padStart(4, "0"), name: "bulk" } }); }
		if (must(viaCLI.load(rows, { mode: "merge" })).affectedNodes !== 2000) { throw new Error("load"); }
		must(viaCLI.mutate("query add($n: String) { insert Project { slug: \"long-cli\", name: $n } }", { n: long }));
		must(viaHTTP.mutate("query add($n: String) { insert Project { slug: \"long-http\", name: $n } }", { n: long }));
		const same = (gq, params) => {
			const a = must(viaHTTP.query(gq, params)), b = must(viaCLI.query(gq, params));
			if (a.rowCount !== b.rowCount || JSON.stringify(a.columns) !== JSON.stringify(b.columns) || JSON.stringify(a.rows) !== JSON.stringify(b.rows)) {
				throw new Error("the transports disagree: " + a.rowCount + " and " + b.rowCount);
			}
			return a;
		};
		globalThis.bulk = same("query all($n: String) { match { $p: Project { name: $n } } return { $p.slug, $p.name } order { $p.slug asc } }", { n: "bulk" }).rowCount;
		globalThis.longs = same("query all($n: String) { match { $p: Project { name: $n } } return { $p.slug, $p.name } order { $p.slug asc } }", { n: long }).rowCount;`)
	assert.EqualValues(t, 2000, v.js("bulk").ToInteger())
	assert.EqualValues(t, 2, v.js("longs").ToInteger())
	data, err := os.ReadFile(lengths)
	require.NoError(t, err)
	fields := strings.Fields(string(data))
	require.NotEmpty(t, fields)
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		assert.LessOrEqual(t, n, 100_000, "bytes of an argument")
	}
}

func TestManyTextsThatDifferInALiteralShareOneQueryTag(t *testing.T) {
	t.Parallel()
	server := emulate(t, graph.V08)
	v := clients(t, server.URL, emulatedCLI(t), server.Token, "")
	v.js(`for (let i = 0; i < 300; i++) {
		const r = viaHTTP.query("query get() { match { $m: Memory { slug: \"mem-" + i + "\" } } return { $m.slug } }");
		if (!r.ok) { throw new Error(r.error.message); }
	}
	for (let i = 0; i < 10; i++) { viaCLI.query("query get() { match { $m: Memory { slug: \"mem-" + i + "\" } } return { $m.slug } }"); }`)
	queries, names := map[string]bool{}, map[string]bool{}
	for _, s := range v.taken() {
		if value, ok := s.Tags.Get("query"); ok {
			queries[value] = true
		}
		if value, ok := s.Tags.Get("name"); ok {
			names[value] = true
		}
		for _, value := range s.Tags.Map() {
			assert.NotContains(t, value, "mem-", "no tag carries the text")
		}
	}
	assert.Equal(t, map[string]bool{"get": true}, queries)
	assert.Equal(t, map[string]bool{"get": true}, names)
}

func TestMessagesNameTheTimeoutAndTheTimeSpent(t *testing.T) {
	t.Parallel()
	bin := rigtest.Binaries(t).CLI
	if bin == "" {
		bin = emulatedCLI(t)
	}
	// after finds the time that a message tells.
	after := func(message string) time.Duration {
		_, rest, found := strings.Cut(message, "after ")
		require.True(t, found, message)
		spent, err := time.ParseDuration(strings.TrimRight(strings.Fields(rest)[0], "):;,"))
		require.NoError(t, err, message)
		return spent
	}
	t.Run("time-out", func(t *testing.T) {
		t.Parallel()
		server := emulate(t, graph.V08, faults.Rule{Kind: faults.Latency, Delay: faults.Duration(time.Minute)})
		v := clients(t, server.URL, bin, server.Token, ", timeout: 2500")
		for _, client := range []string{"viaHTTP", "viaCLI"} {
			problem, _ := v.object(`%s.query("query q() { match { $m: Memory } return { $m.slug } }")`, client)["error"].(map[string]any)
			require.Equal(t, "timeout", problem["kind"], problem["message"])
			message, _ := problem["message"].(string)
			assert.Contains(t, message, "timeout", client)
			assert.Contains(t, message, "2.5s", client)
			assert.GreaterOrEqual(t, after(message), 2500*time.Millisecond, client)
		}
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		late := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(100 * time.Millisecond)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		})}
		served := make(chan error, 1)
		go func() { served <- late.Serve(listener) }()
		t.Cleanup(func() { _ = late.Close(); <-served })
		v := clients(t, "http://"+listener.Addr().String(), bin, "some-token", "")
		for _, client := range []string{"viaHTTP", "viaCLI"} {
			problem, _ := v.object(`%s.query("query q() { match { $m: Memory } return { $m.slug } }")`, client)["error"].(map[string]any)
			require.Equal(t, "connect", problem["kind"], problem["message"])
			message, _ := problem["message"].(string)
			assert.GreaterOrEqual(t, after(message), 100*time.Millisecond, client)
		}
	})
}

// TestEveryGenerationGivesTheSame asks emulators of three generations and, as 0.8, the real server.
func TestEveryGenerationGivesTheSame(t *testing.T) {
	t.Parallel()
	const operations = 12
	const script = `(() => {
		const must = (r) => { if (!r.ok) { throw new Error(r.op + ": " + r.error.message); } return r; };
		const add = must(og.mutate("query add($s: String) { insert Project { slug: $s, name: \"n\" } }", { s: "generation" }));
		const read = must(og.query("query get() { match { $p: Project { slug: \"generation\" } } return { $p.slug, $p.name as n } }"));
		const nothing = must(og.mutate("query set() { update Project set { name: \"x\" } where slug = \"nobody\" }"));
		const stored = must(og.invoke("get_memory", { slug: "nobody" }));
		const loaded = must(og.load([{ type: "Project", data: { slug: "loaded", name: "n" } }, { type: "Project", data: { slug: "loaded-2", name: "n" } }], { mode: "merge" }));
		const project = must(og.snapshot()).rows.find((t) => t.entity === "node" && t.type === "Project");
		const commits = must(og.commits()).rows;
		must(og.createBranch("side", { from: "main" }));
		const branches = must(og.branches()).rows;
		const gone = og.query("query q() { match { $p: Project } return { $p.slug } }", {}, { branch: "nope" });
		const served = add.transport === "cli" ? {} : { health: must(og.health()).data.status, graphs: must(og.graphs()).rows.map((g) => g.graph) };
		return {
			add: [add.affectedNodes, add.affectedEdges, add.actorId], read: [read.rowCount, read.columns, read.rows],
			nothing: [nothing.affectedNodes, nothing.affectedEdges], stored: [stored.rowCount, stored.columns],
			loaded: [loaded.affectedNodes, loaded.affectedEdges], project: Object.keys(project).sort(),
			commit: [Object.keys(commits[0]).sort(), commits[0].actorId, commits[0].branch, commits[0].version > commits[1].version, commits[0].parentId === commits[1].id, typeof commits[0].createdAt],
			branches: branches.includes("side") && branches.includes("main"), gone: gone.error.kind, ...served,
		};
	})()`
	ask := func(t *testing.T, class, url, token string, options string) (map[string]any, *vu) {
		v := newVU(t)
		v.js(`const og = new %s: %q, graph: "council", token: %q%s });`, class, url, token, options)
		v.enter()
		return v.object("%s", script), v
	}
	real := rigtest.Start(t)
	const viaHTTP, viaCLI = `HTTPClient({ url`, `CLIClient({ server`
	want, _ := ask(t, viaHTTP, real.URL, real.Token, "")
	require.Equal(t, []any{1.0, 0.0, "act-load"}, want["add"])
	wantCLI := maps.Clone(want)
	delete(wantCLI, "health")
	delete(wantCLI, "graphs")
	// Apart from what it lacks the CLI gives the same, on a server of its own.
	another := rigtest.Start(t)
	got, _ := ask(t, viaCLI, another.URL, another.Token, fmt.Sprintf(`, bin: %q`, another.Bin))
	assert.Equal(t, wantCLI, got)
	for _, c := range []struct {
		name       string
		generation graph.Generation
		options    string
		requests   float64 // more than those of 0.8: the handshake
		failed     float64
	}{
		{"0.8", graph.V08, "", 0, 0},
		{"0.10", graph.V010, "", 0, 0},
		{"0.13, found out by itself", graph.V013, "", 1, 1},
		{"0.13, told", graph.V013, `, apiVersion: "0.13"`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := emulate(t, c.generation)
			got, v := ask(t, viaHTTP, server.URL, server.Token, c.options)
			assert.Equal(t, want, got)
			if c.options == "" {
				version := map[graph.Generation]string{graph.V08: "0.8", graph.V010: "0.10", graph.V013: "0.13"}[c.generation]
				another := emulate(t, c.generation)
				got, _ := ask(t, viaCLI, another.URL, another.Token, fmt.Sprintf(`, bin: %q, env: { %q: %q }`, emulatedCLI(t), cli.EnvAPI, version))
				assert.Equal(t, wantCLI, got)
			}
			samples := v.taken()
			assert.EqualValues(t, operations+c.requests, sum(samples, "http_reqs"))
			assert.EqualValues(t, operations, sum(samples, "omnigraph_ops"))
			assert.EqualValues(t, c.failed, sum(samples, "http_reqs", "status", "400"), "only the first request asks for the version")
		})
	}
}

func TestAConditionalMutationNeverTakesTheUnconditionalRoute(t *testing.T) {
	t.Parallel()
	server := rigtest.Start(t, rigtest.Real())
	v := clients(t, server.URL, server.Bin, server.Token, "")
	for _, client := range []string{"viaHTTP", "viaCLI"} {
		res := v.object(`%s.mutate("query add() { insert Project { slug: \"conditional\", name: \"n\" } }", {}, { ifCommit: viaHTTP.commits().rows[0].id, retry: { maxAttempts: 3, indeterminate: true } })`, client)
		problem, _ := res["error"].(map[string]any)
		require.Equal(t, "unsupported", problem["kind"], problem["message"])
		assert.Equal(t, false, problem["indeterminate"])
		assert.EqualValues(t, 1, res["attempts"])
		found := v.object(`viaHTTP.query("query get() { match { $p: Project { slug: \"conditional\" } } return { $p.slug } }")`)
		assert.EqualValues(t, 0, found["rowCount"], "nothing was written")
	}
	newer := emulate(t, graph.V010)
	w := newVU(t)
	w.js(`const og = new HTTPClient({ url: %q, graph: "council", token: %q });`, newer.URL, newer.Token)
	w.enter()
	text, err := json.Marshal(w.object(`(() => {
		const add = (slug, ifCommit) => og.mutate("query add($s: String) { insert Project { slug: $s, name: \"n\" } }", { s: slug }, { ifCommit });
		const head = og.commits().rows[0].id;
		const first = add("first", head), second = add("second", head), third = add("third", first.commit);
		const written = og.query("query get() { match { $p: Project { name: \"n\" } } return { $p.slug } order { $p.slug asc } }").rows.map((r) => r["p.slug"]);
		return { first: first.ok, second: second.error.kind, third: third.ok, written };
	})()`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"first":true,"second":"precondition_failed","third":true,"written":["first","third"]}`, string(text))
}
