package robust

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/cli"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// origin is who produces a failure.
type origin int

const (
	// onReal: the real server and CLI do it by themselves.
	onReal origin = iota
	// onEmulator: the emulator fails by a rule; the CLI that talks to it is the real one, where there is one.
	onEmulator
	// onEmulatedCLI: the emulator stands in for the CLI, too.
	onEmulatedCLI
	// onStub: nobody does it yet; a server answers what the kind is for.
	onStub
)

// kindCase is one way to one error kind over one transport.
type kindCase struct {
	kind      wire.ErrorKind
	transport string
	from      origin
	// rule is the emulator's, api its generation.
	rule faults.Rule
	api  graph.Generation
	// options are further ones of the client; they may name the rig's reader as %[1]s and a graph that is not there.
	options string
	// setup runs before code, which gives a result. og is the client.
	setup, code string
	// indeterminate is what the failure says about the write's outcome.
	indeterminate bool
	// canceled ends the iteration while the operation runs.
	canceled bool
	// arrived tells of each mutation that has come to the emulator.
	arrived <-chan struct{}
	// frozen stops the rig's server while the operation runs: it takes requests and answers none.
	frozen bool
}

const (
	readOp  = `og.query("query q() { match { $p: Project } return { $p.slug } }")`
	writeOp = `og.mutate("query add() { insert Project { slug: \"k\", name: \"k\" } }")`
	largeOp = `og.mutate("query add($n: String) { insert Project { slug: \"k\", name: $n } }", { n: "x".repeat(%[1]s) })`
	// crowd updates one row six times at once until one of the updates fails in the way that is wanted.
	crowd = `(async () => {
		for (let i = 0; i < 60 && !(globalThis.found); i++) {
			const all = await Promise.all([1, 2, 3, 4, 5, 6].map((n) =>
				og.asyncMutate("query set($n: String) { update Project set { name: $n } where slug = \"crowd\" }", { n: String(n) })));
			globalThis.found = all.find((r) => !r.ok && r.error.kind === "%s");
		}
	})();`
	crowdSetup = `{ const r = og.mutate("query add() { insert Project { slug: \"crowd\", name: \"c\" } }"); if (!r.ok) { throw new Error(r.error.message); } }`
	mergeSetup = `
		const must = (r) => { if (!r.ok) { throw new Error(r.op + ": " + r.error.message); } };
		const name = "query set($n: String) { update Project set { name: $n } where slug = \"merged\" }";
		must(og.mutate("query add() { insert Project { slug: \"merged\", name: \"c\" } }"));
		must(og.createBranch("side-%[1]s", { from: "main" }));
		must(og.mutate(name, { n: "on main" }));
		must(og.mutate(name, { n: "on the branch" }, { branch: "side-%[1]s" }));`
)

// over makes the same case for both transports.
func over(c kindCase) []kindCase {
	viaHTTP, viaCLI := c, c
	viaHTTP.transport, viaCLI.transport = wire.TransportHTTP, wire.TransportCLI
	return []kindCase{viaHTTP, viaCLI}
}

// ruled is a write that the emulator lets fail by a kind of fault, over both transports.
func ruled(kind wire.ErrorKind, fault faults.Kind, indeterminate bool) []kindCase {
	return over(kindCase{kind: kind, from: onEmulator, rule: faults.Rule{Kind: fault}, code: writeOp, indeterminate: indeterminate})
}

// kindCases lists at least one case for every kind and every transport on which it occurs.
func kindCases() []kindCase {
	var all []kindCase
	add := func(cases ...kindCase) { all = append(all, cases...) }
	real := func(c kindCase) { add(over(c)...) }
	one := func(transport string, c kindCase) {
		c.transport = transport
		add(c)
	}

	real(kindCase{kind: wire.KindUnauthorized, options: `, token: "nobody's"`, code: writeOp})
	real(kindCase{kind: wire.KindForbidden, options: `, token: "%[1]s"`, code: writeOp})
	real(kindCase{kind: wire.KindNotFound, options: `, graph: "nope"`, code: writeOp})
	real(kindCase{kind: wire.KindBadRequest, code: `og.mutate("query add() { insert Nothing { a: 1 } }")`})
	real(kindCase{kind: wire.KindConflictStale, setup: crowdSetup + fmt.Sprintf(crowd, wire.KindConflictStale), code: `found`})
	real(kindCase{kind: wire.KindAdmissionCapped, setup: crowdSetup + fmt.Sprintf(crowd, wire.KindAdmissionCapped), code: `found`})
	real(kindCase{kind: wire.KindMergeConflict, setup: mergeSetup, code: `og.mergeBranch("side-%[1]s")`})
	real(kindCase{kind: wire.KindResourceLimit, code: largeOp})
	real(kindCase{kind: wire.KindTimeout, options: `, timeout: "4s"`, code: writeOp, indeterminate: true, frozen: true})
	real(kindCase{kind: wire.KindInternal, setup: `og.createBranch("twice")`, code: `og.createBranch("twice")`, indeterminate: true})
	one(wire.TransportHTTP, kindCase{kind: wire.KindConnect, options: `, url: "http://127.0.0.1:1"`, code: writeOp})
	one(wire.TransportCLI, kindCase{kind: wire.KindConnect, options: `, server: "http://127.0.0.1:1"`, code: writeOp})
	one(wire.TransportHTTP, kindCase{kind: wire.KindUnsupported, code: `og.version()`})
	one(wire.TransportCLI, kindCase{kind: wire.KindUnsupported, code: `og.graphs()`})
	one(wire.TransportCLI, kindCase{kind: wire.KindOutputLimit, options: `, maxOutputBytes: 1024`, code: `og.query("query q() { match { $m: Memory } return { $m.slug, $m.body } }")`})
	one(wire.TransportCLI, kindCase{kind: wire.KindSpawnFailed, options: `, bin: "/no/such/omnigraph"`, code: writeOp})

	add(ruled(wire.KindConflictStale, faults.ReadSetConflict, false)...)
	add(ruled(wire.KindConflictStale, faults.DatasetConflict, false)...)
	add(ruled(wire.KindConflictKey, faults.KeyConflict, false)...)
	add(ruled(wire.KindIndexRebuildRequired, faults.IndexRebuild, false)...)
	add(ruled(wire.KindGraphUnavailable, faults.Unavailable, false)...)
	add(ruled(wire.KindRecoveryRequired, faults.RecoveryRequired, true)...)
	add(ruled(wire.KindNeedsRepair, faults.AheadOfManifest, true)...)
	add(ruled(wire.KindStoreQuarantined, faults.SidecarDiffers, true)...)
	add(ruled(wire.KindUnavailable, faults.BadGateway, true)...)
	add(ruled(wire.KindUnavailable, faults.GatewayTimeout, true)...)
	add(ruled(wire.KindProtocol, faults.Malformed, true)...)
	add(ruled(wire.KindConnect, faults.ResetBefore, true)...)
	add(ruled(wire.KindConnect, faults.ResetAfter, true)...)
	add(over(kindCase{kind: wire.KindCanceled, from: onEmulator, rule: faults.Rule{Kind: faults.Latency, Delay: faults.Duration(time.Minute)}, code: writeOp, indeterminate: true, canceled: true})...)
	one(wire.TransportHTTP, kindCase{kind: wire.KindConnect, from: onEmulator, rule: faults.Rule{Kind: faults.Truncated}, code: writeOp, indeterminate: true})
	one(wire.TransportCLI, kindCase{kind: wire.KindProtocol, from: onEmulator, rule: faults.Rule{Kind: faults.Truncated}, code: writeOp, indeterminate: true})
	one(wire.TransportHTTP, kindCase{kind: wire.KindVersionMismatch, from: onEmulator, api: graph.V013, options: `, apiVersion: "0.1"`, code: writeOp})
	one(wire.TransportCLI, kindCase{kind: wire.KindVersionMismatch, from: onEmulator, api: graph.V013, code: writeOp})
	const conditional = `og.mutate("query add() { insert Project { slug: \"k\", name: \"k\" } }", {}, { ifCommit: "01M8PAREQMG3R0MFM1HTK7M3V1" })`
	one(wire.TransportHTTP, kindCase{kind: wire.KindPreconditionFailed, from: onEmulator, api: graph.V010, code: conditional})
	one(wire.TransportCLI, kindCase{kind: wire.KindPreconditionFailed, from: onEmulatedCLI, api: graph.V010, code: conditional})
	one(wire.TransportCLI, kindCase{kind: wire.KindCLIExit, from: onEmulatedCLI, rule: faults.Rule{Command: "*", Kind: faults.CLIExit, Code: 3, Message: "oops"}, code: writeOp, indeterminate: true})
	one(wire.TransportCLI, kindCase{kind: wire.KindCLISignal, from: onEmulatedCLI, rule: faults.Rule{Command: "*", Kind: faults.CLISignal}, code: writeOp, indeterminate: true})
	one(wire.TransportCLI, kindCase{kind: wire.KindProtocol, from: onEmulatedCLI, rule: faults.Rule{Command: "*", Kind: faults.CLIGarbage}, code: writeOp, indeterminate: true})
	one(wire.TransportCLI, kindCase{kind: wire.KindProtocol, from: onEmulatedCLI, rule: faults.Rule{Command: "*", Kind: faults.CLIErrorOK}, code: writeOp, indeterminate: true})
	one(wire.TransportHTTP, kindCase{kind: wire.KindConflict, from: onStub, code: writeOp})
	return all
}

func TestTheCasesCoverEveryKindAndTransport(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range kindCases() {
		covered[string(c.kind)+" over "+c.transport] = true
	}
	for _, k := range wire.KindTable() {
		for transport, how := range map[string]string{wire.TransportHTTP: k.HTTP, wire.TransportCLI: k.CLI} {
			name := string(k.Kind) + " over " + transport
			assert.Equal(t, how != "-", covered[name], "%s: the table says %q", name, how)
		}
	}
}

func TestEveryErrorKindOverEachTransport(t *testing.T) {
	t.Parallel()
	// A cap of two lets six updates at once meet both the cap and each other.
	server := rigtest.Start(t, rigtest.ServerEnv("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=2"))
	for i, c := range kindCases() {
		name := fmt.Sprintf("%s over %s/%d", c.kind, c.transport, i)
		if c.from == onReal {
			// One after the other: they share an actor, whose cap is small.
			t.Run(name, func(t *testing.T) {
				if server.Emulated && (c.kind == wire.KindConflictStale || c.kind == wire.KindAdmissionCapped) {
					t.Skip("the emulator is too quick for this; its faults have the kind, too")
				}
				c.check(t, server, server.URL, server.Bin, server.Token, "")
			})
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if server.Emulated && c.kind == wire.KindVersionMismatch && c.transport == wire.TransportCLI {
				t.Skip("the emulator's CLI leaves out the code by which the real one tells this")
			}
			c.emulated(t, server)
		})
	}
}

// emulated runs a case whose failure the emulator or a stub makes.
func (c kindCase) emulated(t *testing.T, server *rigtest.Rig) {
	t.Helper()
	if c.from == onStub {
		stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":"something new is in the way","code":"conflict"}`)
		}))
		t.Cleanup(stub.Close)
		c.check(t, server, stub.URL, "", "stub-token", "")
		return
	}
	api := c.api
	if api == 0 {
		api = graph.V08
	}
	var rules []faults.Rule
	if c.rule.Kind != "" && c.rule.Command == "" {
		rules = []faults.Rule{c.rule}
	}
	e := emulate(t, api, rules...)
	c.arrived = e.Arrived
	bin, env := server.Bin, ""
	if c.from == onEmulatedCLI {
		bin = emulatedCLI(t)
		vars := map[string]string{cli.EnvAPI: "0.8"}
		if api == graph.V010 {
			vars[cli.EnvAPI] = "0.10"
		}
		if c.rule.Command != "" {
			plan, err := json.Marshal(faults.Plan{Rules: []faults.Rule{c.rule}})
			require.NoError(t, err)
			vars[cli.EnvFaults] = filepath.Join(t.TempDir(), "faults.json")
			require.NoError(t, os.WriteFile(vars[cli.EnvFaults], plan, 0o600))
		}
		text, err := json.Marshal(vars)
		require.NoError(t, err)
		env = `, env: ` + string(text)
	}
	c.check(t, server, e.URL, bin, e.Token, env)
}

// check runs the case's code against a server and looks at what it says.
func (c kindCase) check(t *testing.T, server *rigtest.Rig, url, bin, token, env string) {
	t.Helper()
	v := newVU(t)
	fill := func(code string) string {
		switch c.kind {
		case wire.KindMergeConflict:
			return fmt.Sprintf(code, c.transport)
		case wire.KindResourceLimit:
			return fmt.Sprintf(code, strconv.FormatInt(bodyLimit+1-c.envelope(t, bin), 10))
		}
		return code
	}
	options := c.options
	if c.kind == wire.KindForbidden {
		options = fmt.Sprintf(options, server.Tokens[rig.ActorReader])
	}
	if c.transport == wire.TransportHTTP {
		v.js(`const base = { url: %q, graph: "council", token: %q, timeout: "60s" }; const og = new HTTPClient({ ...base%s%s });`, url, token, options, env)
	} else {
		v.js(`const base = { server: %q, bin: %q, graph: "council", token: %q, timeout: "60s" }; const og = new CLIClient({ ...base%s%s });`, url, bin, token, options, env)
	}
	v.enter()
	if c.setup != "" {
		v.js("%s", fill(c.setup))
		v.taken()
	}
	if c.canceled {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-c.arrived:
				v.CancelContext()
			case <-ended:
			}
		}()
	}
	if c.frozen {
		require.NoError(t, syscall.Kill(server.Server.PID, syscall.SIGSTOP))
		defer func() { assert.NoError(t, syscall.Kill(server.Server.PID, syscall.SIGCONT)) }()
	}
	v.js("globalThis.result = %s", fill(c.code))
	if c.code != "found" {
		samples := v.taken()
		if !c.canceled { // k6 takes no samples once the iteration is over
			assert.EqualValues(t, 1, sum(samples, "omnigraph_errors", "error_kind", string(c.kind), "transport", c.transport))
			assert.EqualValues(t, 1, sum(samples, "omnigraph_op_failed"))
		}
	}
	res := v.object("result")
	require.Equal(t, false, res["ok"], res)
	require.Equal(t, c.transport, res["transport"])
	problem, _ := res["error"].(map[string]any)
	assert.Equal(t, string(c.kind), problem["kind"], problem["message"])
	assert.Equal(t, c.kind.Retryable(), problem["retryable"])
	assert.Equal(t, c.indeterminate, problem["indeterminate"], problem["message"])
	assert.NotEmpty(t, problem["message"])
	assert.NotContains(t, problem["message"], token)
}

// bodyLimit is the largest request that the server reads, in bytes. One that is larger by a single byte it reads to its
// end before it can refuse it: the real CLI loses the answer to a request that it is still sending.
const bodyLimit = 1 << 20

// envelope is how many bytes a request of largeOp has besides its text.
func (c kindCase) envelope(t *testing.T, bin string) int64 {
	t.Helper()
	var size atomic.Int64
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err == nil && r.Method == http.MethodPost {
			size.Store(n)
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer stub.Close()
	v := newVU(t)
	if c.transport == wire.TransportHTTP {
		v.js(`const og = new HTTPClient({ url: %q, graph: "council", token: "stub-token" });`, stub.URL)
	} else {
		v.js(`const og = new CLIClient({ server: %q, bin: %q, graph: "council", token: "stub-token" });`, stub.URL, bin)
	}
	v.enter()
	v.js(largeOp, "0")
	v.transport.CloseIdleConnections()
	require.Positive(t, size.Load(), "the stub was asked")
	return size.Load()
}
