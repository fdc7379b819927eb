package omnigraph

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func TestBadOptionsThrowAtOnceAndNameOptionGotAndTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		want       []string
	}{
		{"err/unknown option", `new HTTPClient({urll: "http://x"})`, []string{"HTTPClient", "urll", "not known", "url"}},
		{"err/option of the other transport", `new HTTPClient({bin: "omnigraph"})`, []string{"bin", "not known"}},
		{"err/options no object", `new HTTPClient("http://x")`, []string{"HTTPClient", `"http://x"`, "object"}},
		{"err/args with a number", `new CLIClient({args: ["a", 1]})`, []string{"args", "1 at position 1", "a list of strings"}},
		{"err/args with NUL", `new CLIClient({args: ["a\0"]})`, []string{"args", "position 0", "NUL"}},
		{"err/retry kinds with null", `new CLIClient({retry: {kinds: [null]}})`, []string{"retry", "kinds", "null at position 0"}},
		{"err/retry maxElapsed zero", `new HTTPClient({retry: {maxElapsed: 0}})`, []string{"retry", "maxElapsed", "with 0", "a duration above 0"}},
		{"err/retry of what fails again", `new HTTPClient({retry: {kinds: ["timeout", "bad_request"]}})`, []string{"retry", "kinds", `"bad_request"`, "never repeated"}},
		{"err/retry of canceled", `new HTTPClient({retry: {kinds: ["canceled"]}})`, []string{"retry", "kinds", `"canceled"`}},
		{"err/retry of unsupported", `new CLIClient({retry: {kinds: ["unsupported"]}})`, []string{"retry", "kinds", `"unsupported"`}},
		{"err/url of another scheme", `new HTTPClient({url: "ftp://x"})`, []string{"url", `"ftp"`, "http://"}},
		{"err/url without host", `new HTTPClient({url: "http://"})`, []string{"url", "host"}},
		{"err/url no string", `new HTTPClient({url: 7})`, []string{"url", "7", "http"}},
		{"err/url with query", `new HTTPClient({url: "http://x/?a=b"})`, []string{"url", "query"}},
		{"err/slip in scheme", `connect("http:/127.0.0.1:1")`, []string{"url", "host"}},
		{"err/server no url", `new CLIClient({server: "localhost:1"})`, []string{"server", "scheme"}},
		{"err/timeout zero", `new HTTPClient({timeout: 0})`, []string{"timeout", "got 0", "above 0"}},
		{"err/timeout negative", `new HTTPClient({timeout: "-1s"})`, []string{"timeout", "-1s"}},
		{"err/timeout no duration", `new HTTPClient({timeout: "soon"})`, []string{"timeout", "soon", "30s"}},
		{"err/timeout NaN", `new HTTPClient({timeout: NaN})`, []string{"timeout", "NaN"}},
		{"err/timeout endless", `new HTTPClient({timeout: Infinity})`, []string{"timeout", "Infinity"}},
		{"err/throw no boolean", `new HTTPClient({throw: 1})`, []string{"throw", "got 1", "true or false"}},
		{"err/pool unknown", `new HTTPClient({pool: "process"})`, []string{"pool", "process", "shared"}},
		{"err/maxConnections zero", `new HTTPClient({maxConnections: 0})`, []string{"maxConnections", "got 0", "from 1 to 65535"}},
		{"err/maxConnections too many", `new HTTPClient({pool: "shared", maxConnections: 1e12})`, []string{"maxConnections", "got 1000000000000", "from 1 to 65535"}},
		{"err/maxConnections without a shared pool", `new HTTPClient({maxConnections: 4})`, []string{"maxConnections", "pool: 'shared'"}},
		{"err/maxConnections without a shared pool, connect", `connect("http://x", {pool: "vu", maxConnections: 4})`, []string{"connect", "maxConnections", "pool: 'shared'"}},
		{"err/maxConnections fraction", `new HTTPClient({maxConnections: 1.5})`, []string{"maxConnections", "1.5"}},
		{"err/maxProcesses text", `new CLIClient({maxProcesses: "4"})`, []string{"maxProcesses", `"4"`}},
		{"err/maxOutputBytes tiny", `new CLIClient({maxOutputBytes: 10})`, []string{"maxOutputBytes", "10", "1024"}},
		{"err/tags no object", `new HTTPClient({tags: "a"})`, []string{"tags", `"a"`}},
		{"err/tags with object", `new HTTPClient({tags: {a: {}}})`, []string{"tags", `"a"`, "an object"}},
		{"err/headers with number", `new HTTPClient({headers: {a: 1}})`, []string{"headers", `"a"`}},
		{"err/headers with line break", `new HTTPClient({headers: {a: "x\ny"}})`, []string{"headers", `"a"`}},
		{"err/retry true", `new HTTPClient({retry: true})`, []string{"retry", "maxAttempts"}},
		{"err/retry unknown member", `new HTTPClient({retry: {attempts: 3}})`, []string{"retry", `"attempts"`, "maxAttempts"}},
		{"err/retry unknown kind", `new HTTPClient({retry: {kinds: ["oops"]}})`, []string{"retry", "kinds", `"oops"`, "no error kind"}},
		{"err/retry attempts zero", `new HTTPClient({retry: {maxAttempts: 0}})`, []string{"retry", "maxAttempts", "0"}},
		{"err/apiVersion", `new HTTPClient({apiVersion: "latest"})`, []string{"apiVersion", "latest", "auto"}},
		{"err/args", `new CLIClient({args: "--x"})`, []string{"args", "--x", "list"}},
		{"err/args with NUL", `new CLIClient({args: ["a\0b"]})`, []string{"args"}},
		{"err/env", `new CLIClient({env: {A: 1}})`, []string{"env", `"A"`}},
		{"err/token list empty", `new HTTPClient({token: []})`, []string{"token got an empty list", "a list of strings"}},
		{"err/token with line break", `new HTTPClient({token: "a\nb"})`, []string{"token", "control"}},
		{"err/connect without scheme", `connect("127.0.0.1:8080")`, []string{"127.0.0.1:8080", "http://"}},
		{"err/connect without scheme, name", `connect("graphs.example.org:443/base")`, []string{"http://"}},
		{"err/timeout beyond reason", `new HTTPClient({timeout: "10000000h"})`, []string{"timeout", "24h"}},
		{"err/connect no string", `connect(7)`, []string{"connect", "7"}},
		{"err/connect with both addresses", `connect("/tmp/x.omni", {server: "http://x"})`, []string{"server", "store"}},
		{"err/store with line break", `connect("/tmp/a\nb")`, []string{"uri", "control"}},
		{"err/connect with a slip in the scheme", `connect("htpp://127.0.0.1:8080")`, []string{"connect: uri", `"htpp"`, "http://", "s3://"}},
		{"err/connect with another scheme", `connect("FTP://x/y")`, []string{"connect: uri", `"FTP"`, "http://"}},
		{"err/store of another scheme", `new CLIClient({store: "gs://bucket/g"})`, []string{"CLIClient: option store", `"gs"`, "s3://"}},
		{"err/server with a password", `new CLIClient({server: "http://me:hush@h"})`, []string{"CLIClient: option server", "password", "token"}},
		{"err/header with a space", `new HTTPClient({headers: {"a b": "c"}})`, []string{"headers", `"a b"`, "no name of a header"}},
		{"err/header without a name", `connect("http://x", {headers: {"": "c"}})`, []string{"headers", `""`}},
		{"err/header with a control character", `new HTTPClient({headers: {a: "\x01"}})`, []string{"headers", `"a"`, "control character"}},
		{"err/tag of our own", `new HTTPClient({tags: {transport: "x"}})`, []string{"tags", `"transport"`, "another name"}},
		{"err/tag of our own, CLI", `new CLIClient({tags: {ok: "yes"}})`, []string{"tags", `"ok"`, "another name"}},
		{"err/record unknown member of run", `record({name: "a", run: {dta: {}}})`, []string{"option run", `"dta"`, "{data, state, workload, environment, protocol}"}},
		{"err/record run of another type", `record({name: "a", run: {data: {rows: true}}})`, []string{"option run", "data.rows", "bool", "texts and numbers"}},
		{"err/record unknown member of system", `record({name: "a", system: {sevrer: "0.8.0"}})`, []string{"option system", `"sevrer"`, "{server, cli, apiVersion, build, backend}", "config"}},
		{"err/record class no object", `record({name: "a", run: {data: 5}})`, []string{"option run", "member data ", "number"}},
		{"err/record config of another type", `record({name: "a", system: {config: {cache: []}}})`, []string{"option system", "config.cache", "array"}},
		{"err/record setting that JSON has no form for", `record({name: "a", settings: {n: NaN}})`, []string{"option settings.n got NaN", "it takes what JSON can say"}},
		{"err/record system no object", `record({name: "a", system: "0.8.0"})`, []string{"option system", "string"}},
		{"err/record dataset of another type", `record({name: "a", dataset: 5})`, []string{"option dataset got 5", "the builder's name, or an object"}},
		{"err/record build", `record({name: "a", system: {build: "fast"}})`, []string{"option system", "build", `"fast"`, "'release'"}},
		{"err/record name no text", `record({name: 7})`, []string{"name", "number"}},
		{"err/token list with an empty one", `new HTTPClient({token: ["a", ""]})`, []string{"token", "empty string at position 1"}},
		{"err/header of the body", `new HTTPClient({headers: {"content-type": "text/plain"}})`, []string{"headers", `"content-type"`, "sets itself"}},
		{"err/levels own tags", `levels([4], {duration: "1s", tags: {workers: "x"}})`, []string{"tags", "workers and phase"}},
		{"err/levels empty", `levels([], {duration: "1s"})`, []string{"levels", "empty"}},
		{"err/levels no list", `levels(4, {duration: "1s"})`, []string{"levels", "got 4", "[1, 4, 8]"}},
		{"err/levels twice", `levels([4, 4], {duration: "1s"})`, []string{"levels", "4"}},
		{"err/levels without length", `levels([4], {})`, []string{"duration", "iterations"}},
		{"err/levels with both", `levels([4], {duration: "1s", iterations: 4})`, []string{"exclude"}},
		{"err/levels too short", `levels([4], {duration: "10ms"})`, []string{"duration", "1s"}},
		{"err/levels unknown option", `levels([4], {time: "10s"})`, []string{"time", "not known"}},
		{"err/sequence without steps", `sequence("a", [])`, []string{"steps"}},
		{"err/sequence step twice", `sequence("a", ["x", "x"])`, []string{`"x"`, "twice"}},
		{"err/record without name", `record({})`, []string{"name"}},
		{"err/record unknown option", `record({name: "a", bogus: 1})`, []string{"bogus"}},
		{"err/record unknown factor", `record({name: "a", run: {data: {row: "1"}}})`, []string{"row", "rows"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := newRuntime(t).throws(c.code)
			for _, want := range c.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// No other name is the extension's: the rest of a script's tags are its own.
func TestEveryTagOfTheExtensionsIsReserved(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, written))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", tags: {mine: "x"}})`, server.URL))
	r.enter()
	r.js(`og.mutate("query q() {}"); og.mutate("query q() {}", {n: NaN}); compare({a: () => og.mutate("query q() {}"), b: () => og.mutate("query q() {}")})`)
	base := r.state.Tags.GetCurrentValues().Tags.Map()
	used := map[string]bool{"mine": true}
	for _, s := range r.taken() {
		if !strings.HasPrefix(s.Metric.Name, "omnigraph_") {
			continue
		}
		if s.Metric.Name != "omnigraph_pair_overhead" { // of two clients
			v, _ := s.Tags.Get("mine")
			assert.Equal(t, "x", v, s.Metric.Name)
		}
		for name := range s.Tags.Map() {
			used[name] = true
			if _, k6s := base[name]; !k6s && name != "mine" {
				assert.Contains(t, ownTags, name, s.Metric.Name)
			}
		}
	}
	for _, name := range ownTags {
		assert.True(t, used[name], "%s is on no metric", name)
	}
}

// The address of a store is an argument of the CLI, which every user of the machine can read.
func TestAStoresAddressHoldsNoPassword(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, code := range []string{`connect("s3://user:hush-hush@bucket/g")`, `new CLIClient({store: "S3://hush-hush@bucket"})`, `new CLIClient({store: "s3://user:hush%zz-hush@bucket/g"})`} {
		text := r.throws(code)
		assert.Contains(t, text, "user or password", code)
		assert.Contains(t, text, "AWS_ACCESS_KEY_ID", code)
		assert.NotContains(t, text, "hush", code)
	}
	r.js(`new CLIClient({store: "s3://bucket/a@b"}); new CLIClient({store: "file:///tmp/a@b"}); connect("./a@b")`)
}

func TestABadTokenIsNeverQuoted(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, code := range []string{`new HTTPClient({token: "hush-hush\n"})`, `new HTTPClient({token: {a: "hush-hush"}})`, `new HTTPClient({token: ["hush-hush\0"]})`} {
		assert.NotContains(t, r.throws(code), "hush-hush")
	}
}

func TestTheAddressChoosesTheTransport(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1:8080": "http", "HTTPS://graph.example": "http", "Http://x/base": "http",
		"/var/lib/graphs/council.omni": "cli", "council.omni": "cli", "./a/b": "cli", "s3://bucket/graph": "cli",
		"file:///tmp/g.omni": "cli", "S3://bucket/g": "cli", `C:\graphs\council.omni`: "cli", "c:graph": "cli", "http:relative": "http",
	} {
		assert.Equal(t, want, transportOf(address), address)
	}
}

func TestAnAbsentAddressFailsAtTheFirstOperation(t *testing.T) {
	t.Parallel()
	for _, code := range []string{`connect(undefined)`, `connect("")`, `connect(null)`, `new HTTPClient({url: undefined})`, `new HTTPClient()`} {
		r := newRuntime(t)
		r.js("const og = " + code)
		r.enter()
		res := r.export(r.js(`og.health()`))
		assert.Equal(t, false, res["ok"], code)
		problem := res["error"].(map[string]any)
		assert.Equal(t, "bad_request", problem["kind"], code)
		assert.Contains(t, problem["message"], "address", code)
		assert.Len(t, of(r.taken(), "omnigraph_errors", "error_kind", "bad_request"), 1, code)
	}
}

func TestOperationsInTheInitContextAreRefused(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.js(`const og = connect("http://127.0.0.1:1", {graph: "g"})`)
	for _, code := range []string{`og.query("query q() {}")`, `og.asyncQuery("query q() {}")`, `compare({a() {}, b() {}})`} {
		assert.Contains(t, r.throws(code), "init context", code)
	}
}

func TestBadArgumentsThrow(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.js(`const og = connect("http://127.0.0.1:1", {graph: "g"})`)
	r.enter()
	for code, want := range map[string]string{
		`og.query()`:                                    "gq got undefined",
		`og.query("")`:                                  "gq",
		`og.query(7)`:                                   "got 7",
		`og.query("query q() {}", 7)`:                   "params got 7",
		`og.query("query q() {}", [1])`:                 "params got a list",
		`og.query("query q() {}", {}, "x")`:             "options got",
		`og.query("query q() {}", {}, {tmeout: 1})`:     "tmeout",
		`og.query("query q() {}", {}, {mode: "x"})`:     "mode",
		`og.query("query q() {}", {}, {pool: "vu"})`:    "pool",
		`og.query("query q() {}", {}, {tags: {op: 1}})`: "\"op\"",
		`og.invoke()`:                                   "name",
		`og.load()`:                                     "rows",
		`og.load([1])`:                                  "row 0",
		`og.load("{}", {mode: "replace"})`:              "mode",
		`og.createBranch("")`:                           "branch",
		`og.query.call({}, "query q() {}")`:             "on a client",
		`compare({a() {}})`:                             "at least two",
		`compare({a: 1, b() {}})`:                       "variant a",
		`compare({"a b"() {}, b() {}})`:                 "a b",
		`compare({a() {}, b() {}})`:                     "made no operation",
		`compare()`:                                     "variants",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
	assert.Empty(t, of(r.taken(), "omnigraph_ops"), "a call that throws on its arguments is no operation")
}

func TestLevelsMakeStaggeredScenariosWithTheirTags(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	got := r.export(r.js(`levels([1, 4], {duration: "10s", warmup: "2s", exec: "read", name: "point", tags: {a: "b"}})`))
	require.Len(t, got, 4)
	first := got["point_1_warmup"].(map[string]any)
	assert.Equal(t, map[string]any{"a": "b", "workers": "1", "phase": "warmup"}, first["tags"])
	assert.Equal(t, "0s", first["startTime"])
	assert.Equal(t, "2s", first["duration"])
	second := got["point_1"].(map[string]any)
	assert.Equal(t, "3s", second["startTime"])
	assert.Equal(t, "constant-vus", second["executor"])
	assert.Equal(t, "read", second["exec"])
	last := got["point_4"].(map[string]any)
	assert.Equal(t, "17s", last["startTime"])
	assert.EqualValues(t, 4, last["vus"])
	assert.Equal(t, map[string]any{"a": "b", "workers": "4", "phase": "measure"}, last["tags"])

	logger, logs := logtest.NewNullLogger()
	r.VU.InitEnvField.Logger = logger
	counted := r.export(r.js(`levels([8], {iterations: 3, maxDuration: "1m"})`))
	level := counted["workers_8"].(map[string]any)
	assert.Equal(t, "shared-iterations", level["executor"])
	assert.EqualValues(t, 8, level["iterations"], "k6 takes no fewer iterations than VUs")
	assert.Empty(t, logs.Entries)
}

// k6 starts a scenario at its time, however early the one before is done.
func TestLevelsOfIterationsWarnOnceOfTheTimeThatTheyTake(t *testing.T) {
	t.Parallel()
	root, _ := New().(*rootModule)
	logger, logs := logtest.NewNullLogger()
	for range 2 {
		r := newRuntimeOf(t, root)
		r.VU.InitEnvField.Logger = logger
		got := r.export(r.js(`levels([1, 4], {iterations: 20})`))
		assert.Equal(t, "10m1s", got["workers_4"].(map[string]any)["startTime"])
		assert.Equal(t, "10m0s", got["workers_4"].(map[string]any)["maxDuration"])
	}
	require.Len(t, logs.Entries, 1)
	assert.Contains(t, logs.LastEntry().Message, "each of the 2 levels has 10m0s")
	assert.Contains(t, logs.LastEntry().Message, "give maxDuration")
}

// A text that is null or empty never undoes what the client was told, as a write to main in place of its branch would.
func TestATextThatIsNotThereLeavesTheClientsOption(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, written) })
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", branch: "dev"})`, server.URL))
	r.enter()
	for _, branch := range []string{"undefined", "null", `""`} {
		res := r.export(r.js(fmt.Sprintf(`og.mutate("query add($s: String) { insert Project { slug: $s } }", {s: "a"}, {branch: %[1]s, graph: %[1]s, name: %[1]s})`, branch)))
		require.Equal(t, true, res["ok"], res["error"])
		asked := server.asked()
		last := asked[len(asked)-1]
		assert.Contains(t, last.Body, `"branch":"dev"`, branch)
		assert.Contains(t, last.Path, "/graphs/council/", branch)
	}
}

func TestACallThatNamesABranchOrACommitMeansNoOther(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	for _, c := range []struct{ client, call, want string }{
		{`branch: "dev"`, `{}`, `dev/`},
		{`branch: "dev"`, `{snapshot: "c1"}`, `/c1`},
		{`snapshot: "c0"`, `{snapshot: "c1"}`, `/c1`},
		{`snapshot: "c0"`, `{branch: "dev"}`, `dev/`},
		{`snapshot: "c0"`, `{branch: ""}`, `/c0`},
	} {
		r := newRuntime(t)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", %s})`, server.URL, c.client))
		r.enter()
		res := r.export(r.js(`og.query("query q() { match { $m: Memory } return { $m.slug } }", {}, ` + c.call + `)`))
		require.Equal(t, true, res["ok"], res["error"])
		asked := server.asked()
		body := gjson.Parse(asked[len(asked)-1].Body)
		assert.Equal(t, c.want, body.Get("branch").String()+"/"+body.Get("snapshot").String(), c)
	}
}

// A commit that somebody did not get is no commit: a condition that is lost that way would let every write through.
func TestACommitIsNeverNullOrEmpty(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, written) })
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
	r.enter()
	for _, got := range []string{"null", `""`} {
		for option, code := range map[string]string{
			"ifCommit": `og.mutate("query q() {}", {}, {ifCommit: %s})`, "snapshot": `og.query("query q() {}", {}, {snapshot: %s})`,
		} {
			assert.Contains(t, r.throws(fmt.Sprintf(code, got)), "option "+option+" got "+got+"; it takes a commit's id")
		}
		assert.Contains(t, r.throws(fmt.Sprintf(`new HTTPClient({snapshot: %s})`, got)), "option snapshot got "+got)
	}
	assert.Empty(t, server.asked())
}

func TestWhatTheClientRefusesIsNoAttempt(t *testing.T) {
	t.Parallel()
	const ask = `.query("query q($s: String) { match { $p: Project { slug: $s } } return { $p.slug } }", {s: "a"})`
	for _, code := range []string{
		`new HTTPClient({url: "http://127.0.0.1:1"})` + ask, `new CLIClient()` + ask, `new CLIClient({server: "http://127.0.0.1:1"})` + ask,
		`new CLIClient({server: "http://127.0.0.1:1"}).optimize()`, `new HTTPClient({url: "http://127.0.0.1:1"}).optimize()`, `new HTTPClient().health()`,
	} {
		r := newRuntime(t)
		r.enter()
		res := r.export(r.js(code))
		assert.Equal(t, false, res["ok"], code)
		assert.EqualValues(t, 0, res["attempts"], code)
		samples := r.taken()
		assert.Empty(t, of(samples, "omnigraph_attempt_duration"), code)
		assert.Len(t, of(samples, "omnigraph_errors"), 1, code)
		assert.Len(t, of(samples, "omnigraph_op_duration"), 1, code)
	}
}
