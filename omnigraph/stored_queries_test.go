package omnigraph

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// twoQueries is a catalog as the real server gives it.
const twoQueries = `{"queries":[
	{"name":"get","tool_name":"get","mutation":false,"params":[{"name":"slug","kind":"string","nullable":false}]},
	{"name":"touch","tool_name":"touch","mutation":true,"params":[{"name":"slug","kind":"string","nullable":false},{"name":"n","kind":"int","nullable":true}]}]}`

// storedServer answers the catalog and otherwise by handler.
func storedServer(t *testing.T, catalog, handler func(http.ResponseWriter, *http.Request, string)) *stub {
	t.Helper()
	return newStub(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/queries") {
			catalog(w, r, body)
			return
		}
		handler(w, r, body)
	})
}

// catalogReads counts how often the catalog was asked for.
func (s *stub) catalogReads() int {
	n := 0
	for _, a := range s.asked() {
		if a.Method == http.MethodGet {
			n++
		}
	}
	return n
}

func TestParametersOfAStoredQueryAreHeldAgainstTheCatalog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, call, problem string }{
		{"fitting", `og.invoke("get", {slug: "a"})`, ""},
		{"missing", `og.invoke("get", {})`, "needs slug of type string"},
		{"no parameters at all", `og.invoke("get")`, "needs slug of type string"},
		{"of another type", `og.invoke("get", {slug: 1})`, "slug of query get takes string, got 1"},
		{"unknown", `og.invoke("get", {slug: "a", limit: 1})`, "does not declare limit"},
		{"optional", `og.invoke("touch", {slug: "a"})`, ""},
		{"optional of another type", `og.invoke("touch", {slug: "a", n: "many"})`, "n of query touch takes int"},
		{"unchecked in the call", `og.invoke("get", {}, {checkParams: false})`, ""},
		{"query that the catalog lacks", `og.invoke("other", {x: 1})`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := storedServer(t, answer(200, twoQueries), answer(200, threeRows))
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", token: "t"})`, server.URL))
			r.enter()
			res := r.export(r.js(c.call))
			if c.problem == "" {
				require.Equal(t, true, res["ok"], res["error"])
				return
			}
			require.Equal(t, false, res["ok"])
			problem := res["error"].(map[string]any)
			assert.Equal(t, "bad_request", problem["kind"])
			assert.Contains(t, problem["message"], c.problem)
			assert.EqualValues(t, 0, res["attempts"], "it was never sent")
			for _, a := range server.asked() {
				assert.Equal(t, http.MethodGet, a.Method, "only the catalog was asked for")
			}
		})
	}
}

func TestTheCatalogIsReadOnceForServerGraphAndTokenAndShowsInNoMetric(t *testing.T) {
	t.Parallel()
	server := storedServer(t, answer(200, twoQueries), answer(200, threeRows))
	root := New().(*rootModule)
	var wg sync.WaitGroup
	for range 4 {
		r := newRuntimeOf(t, root)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", token: "t"})`, server.URL))
		r.enter()
		wg.Go(func() {
			r.js(`for (let i = 0; i < 5; i++) { og.invoke("get", {slug: "a"}); }`)
			samples := r.taken()
			assert.Len(t, of(samples, "http_reqs"), 5)
			assert.Len(t, of(samples, "http_req_duration"), 5)
			assert.Empty(t, of(samples, "http_reqs", "method", "GET"))
			assert.Len(t, of(samples, "omnigraph_ops"), 5)
			assert.Empty(t, of(samples, "omnigraph_ops", "op", "queries"))
			assert.Len(t, of(samples, "omnigraph_attempt_duration"), 5)
		})
	}
	wg.Wait()
	assert.Equal(t, 1, server.catalogReads())
	for i, c := range []struct{ options string }{{`{graph: "h", token: "t"}`}, {`{graph: "g", token: "u"}`}} {
		r := newRuntimeOf(t, root)
		r.js(fmt.Sprintf(`const og = connect(%q, %s)`, server.URL, c.options))
		r.enter()
		r.js(`og.invoke("get", {slug: "a"}); og.invoke("get", {slug: "a"});`)
		assert.Equal(t, 2+i, server.catalogReads(), c.options)
	}
}

func TestWithoutACatalogNothingIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		catalog func(http.ResponseWriter, *http.Request, string)
	}{
		{"forbidden", answer(403, `{"error":"policy denied action 'read'","code":"forbidden"}`)},
		{"no such route", answer(404, ``)},
		{"broken server", answer(500, `{"error":"boom","code":"internal"}`)},
		{"reset", drop("")},
		{"not JSON", answer(200, `<html>`)},
		{"another document", answer(200, `{"queries":7}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := storedServer(t, c.catalog, answer(200, threeRows))
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g"})`, server.URL))
			r.enter()
			for range 3 {
				require.Equal(t, true, r.export(r.js(`og.invoke("get", {whatever: 1})`))["ok"])
			}
			assert.Equal(t, 1, server.catalogReads(), "one failure is enough")
			assert.Empty(t, of(r.taken(), "omnigraph_errors"))
		})
	}
}

func TestAStoredReadIsRetriedAsARead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query    string
		requests int
		unknown  bool
	}{{"get", 3, false}, {"touch", 1, true}} {
		server := storedServer(t, answer(200, twoQueries), answer(502, `<html>bad gateway</html>`))
		r := newRuntime(t)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", retry: {maxAttempts: 3, baseDelay: 1}})`, server.URL))
		r.enter()
		res := r.export(r.js(fmt.Sprintf(`og.invoke(%q, {slug: "a"})`, c.query)))
		assert.Equal(t, c.unknown, res["error"].(map[string]any)["indeterminate"], c.query)
		assert.Len(t, server.asked(), 1+c.requests, c.query)
	}
}

func TestTheCatalogOfTheRealServer(t *testing.T) {
	t.Parallel()
	server := rigtest.Start(t)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: %q, token: %q}), reader = connect(%[1]q, {graph: %[2]q, token: %[4]q})`,
		server.URL, server.Graph, server.Token, server.Tokens[rig.ActorReader]))
	r.enter()
	res := r.export(r.js(`og.invoke("get_memory", {slug: "nobody"})`))
	require.Equal(t, true, res["ok"], res["error"])
	missing := r.export(r.js(`og.invoke("get_memory", {})`))
	assert.Equal(t, "bad_request", missing["error"].(map[string]any)["kind"])
	assert.EqualValues(t, 0, missing["attempts"], "refused before it was sent")
	// A reader may read the catalog, and is told by the server that it may not invoke.
	refused := r.export(r.js(`reader.invoke("get_memory", {slug: "nobody"})`))
	assert.Equal(t, "not_found", refused["error"].(map[string]any)["kind"])
	assert.Len(t, of(r.taken(), "http_reqs"), 2)
	r.js(fmt.Sprintf(`const cli = new CLIClient({server: %q, graph: %q, token: %q, bin: %q})`, server.URL, server.Graph, server.Token, server.Bin))
	res = r.export(r.js(`cli.invoke("get_memory", {slug: "nobody"})`))
	require.Equal(t, true, res["ok"], res["error"])
	missing = r.export(r.js(`cli.invoke("get_memory", {})`))
	assert.Equal(t, "bad_request", missing["error"].(map[string]any)["kind"])
	assert.EqualValues(t, 0, missing["attempts"], "refused before it was started")
	assert.Empty(t, of(r.taken(), "http_reqs"), "the CLI's own operations are no requests of k6's")
}

// scriptedCLI is a CLI that answers every call alike and writes down its arguments.
func scriptedCLI(t *testing.T) (bin string, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	bin = filepath.Join(dir, "omnigraph")
	log := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$1\" >> '" + log + "'\ncase $1 in\nmutate) echo '" + written + "' ;;\n*) echo '" + threeRows + "' ;;\nesac\n"
	executable.Write(t, bin, script)
	return bin, func() []string {
		data, err := os.ReadFile(log)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}

func TestTheCLIsStoredQueriesAreHeldAgainstTheServersCatalog(t *testing.T) {
	t.Parallel()
	bin, calls := scriptedCLI(t)
	server := storedServer(t, answer(200, twoQueries), answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = new CLIClient({server: %q, graph: "g", token: "t", bin: %q}), http = connect(%[1]q + "/", {graph: "g", token: "t"})`, server.URL, bin))
	r.enter()
	for call, want := range map[string]string{
		`og.invoke("get", {})`:                     "needs slug of type string",
		`og.invoke("get", {slug: 1})`:              "slug of query get takes string, got 1",
		`og.invoke("touch", {slug: "a", x: true})`: "does not declare x",
	} {
		res := r.export(r.js(call))
		problem, _ := res["error"].(map[string]any)
		require.NotNil(t, problem, call)
		assert.Equal(t, "bad_request", problem["kind"], call)
		assert.Contains(t, problem["message"], want, call)
	}
	require.Empty(t, calls(), "nothing was started")
	for _, call := range []string{`og.invoke("get", {slug: "a"})`, `og.invoke("touch", {slug: "a"})`, `og.invoke("get", {}, {checkParams: false})`, `http.invoke("get", {slug: "a"})`} {
		require.Equal(t, true, r.export(r.js(call))["ok"], call)
	}
	assert.Equal(t, []string{"query", "mutate", "query"}, calls(), "the catalog tells which command is right")
	assert.Equal(t, 1, server.catalogReads(), "both transports share what is known")
	assert.Empty(t, of(r.taken(), "http_reqs", "method", "GET"))
}

func TestWithoutACatalogTheCLIIsStartedUnchecked(t *testing.T) {
	t.Parallel()
	bin, calls := scriptedCLI(t)
	server := storedServer(t, answer(403, `{"error":"policy denied action 'read'","code":"forbidden"}`), answer(500, ``))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = new CLIClient({server: %q, graph: "g", bin: %q}), gone = new CLIClient({server: "http://127.0.0.1:1", graph: "g", bin: %[2]q}), none = new CLIClient({store: "/nowhere", bin: %[2]q})`, server.URL, bin))
	r.enter()
	r.js(`og.invoke("get", {whatever: 1}); og.invoke("get", {whatever: 1}); gone.invoke("get", {whatever: 1}); none.invoke("get", {})`)
	assert.GreaterOrEqual(t, len(calls()), 3)
	assert.Equal(t, 1, server.catalogReads())
}
