package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// testCase is one request or one CLI call. Cases run in order, on both sides alike.
type testCase struct {
	name   string
	method string
	path   string
	body   string
	actor  string
	header map[string]string
	status int
	// args makes it a CLI call.
	args []string
	env  map[string]string
	exit int
	// unordered compares arrays as sets: a read without an order promises none.
	unordered bool
	// capture keeps strings of the answer under a name, for {{name}} in later cases.
	capture map[string]string
}

// bad reports whether the call is wrong in some way.
func (c *testCase) bad() bool { return c.status >= 400 || c.exit != 0 }

const graphPath = "/graphs/council"

func get(path string) *testCase {
	return &testCase{method: http.MethodGet, path: graphPath + path, actor: "act-load", status: http.StatusOK}
}

func post(path, body string) *testCase {
	return &testCase{method: http.MethodPost, path: graphPath + path, body: body, actor: "act-load", status: http.StatusOK}
}

func object(fields map[string]any) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func run(path, source string, params map[string]any) *testCase {
	fields := map[string]any{"query": source}
	if params != nil {
		fields["params"] = params
	}
	c := post(path, object(fields))
	c.unordered = !strings.Contains(source, "order {")
	return c
}

// read is an inline query with one pattern, one return and what follows it.
func read(match, ret, tail string) *testCase {
	return run("/query", fmt.Sprintf("query q() { match { %s } return { %s } %s }", match, ret, tail), nil)
}

func write(statements string) *testCase {
	return run("/mutate", "query w() { "+statements+" }", nil)
}

func load(mode string, lines ...string) *testCase {
	return post("/load", object(map[string]any{"mode": mode, "data": strings.Join(lines, "\n") + "\n"}))
}

func cli(args ...string) *testCase { return &testCase{args: append([]string{}, args...)} }

// served is a CLI call of the server.
func served(args ...string) *testCase {
	return cli(append(args, "--server", "{{url}}", "--graph", "council")...)
}

func (c *testCase) fails(status int) *testCase {
	if c.args != nil {
		c.exit = status
	} else {
		c.status = status
	}
	return c
}

func (c *testCase) as(actor string) *testCase {
	c.actor = actor
	return c
}

func (c *testCase) with(header, value string) *testCase {
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header[header] = value
	return c
}

func (c *testCase) getenv(name, value string) *testCase {
	c.env = map[string]string{name: value}
	return c
}

func (c *testCase) asSet() *testCase {
	c.unordered = true
	return c
}

func (c *testCase) keep(name, path string) *testCase {
	c.capture = map[string]string{name: path}
	return c
}

func memory(slug, title string, importance int) string {
	return object(map[string]any{"type": "Memory", "data": map[string]any{
		"slug": slug, "title": title, "body": "body of " + slug, "kind": []string{"decision", "fact", "task", "note"}[importance%4],
		"project": "pa", "importance": importance, "created_at": fmt.Sprintf("2026-01-01T00:00:%02dZ", importance),
	}})
}

func edge(name, from, to string, data map[string]any) string {
	return object(map[string]any{"edge": name, "from": from, "to": to, "data": data})
}

func doc(fields map[string]any) string { return object(map[string]any{"type": "Doc", "data": fields}) }

// rows is what the graph starts with.
func rows() []string {
	lines := []string{
		`{"type":"Project","data":{"slug":"pa","name":"Project A"}}`,
		`{"type":"Project","data":{"slug":"pb","name":"Project B"}}`,
		`{"type":"Note","data":{"id":"note-1","text":"first"}}`,
		doc(map[string]any{
			"name": "full", "alias": "al", "tags": []string{"x", "y"}, "nums": []int{1, 2}, "ok": true, "small": -5, "big": int64(9007199254740993),
			"u": uint32(4000000000), "v": uint64(18446744073709551615), "f": 1.5, "g": 1.1, "day": "2026-01-02", "at": "2026-01-02T03:04:05.123456Z", "state": "open",
		}),
		doc(map[string]any{"name": "bare", "tags": []string{}, "ok": false}),
		doc(map[string]any{"name": "some", "tags": []string{"y"}, "ok": true, "small": 3, "g": 2.0, "f": 0.1, "state": "closed"}),
	}
	for i := range 12 {
		lines = append(lines, memory(fmt.Sprintf("m%02d", i), fmt.Sprintf("Title %d", i), i))
	}
	for i := range 11 {
		lines = append(lines, edge("RelatesTo", fmt.Sprintf("m%02d", i), fmt.Sprintf("m%02d", i+1), map[string]any{"weight": float64(i) / 2}))
	}
	for i := range 12 {
		lines = append(lines, edge("BelongsTo", fmt.Sprintf("m%02d", i), []string{"pa", "pb"}[i%2], map[string]any{}))
	}
	lines = append(lines, edge("RelatesTo", "m05", "m02", map[string]any{}), edge("Has", "full", "note-1", map[string]any{"n": 1, "since": "2026-01-01"}))
	return lines
}

const newMemory = `insert Memory { slug: "w1", title: "t", body: "b", kind: "fact", project: "pa", importance: 5, created_at: datetime("2026-02-01T00:00:00Z") }`

// table is all cases in their order.
func table() []*testCase {
	var all []*testCase
	section := func(name string, cases ...*testCase) {
		for i, c := range cases {
			c.name = fmt.Sprintf("%s %02d", name, i+1)
			all = append(all, c)
		}
	}
	section("surface", surface()...)
	section("load", loads()...)
	section("body", bodies()...)
	section("read", reads()...)
	section("types", types()...)
	section("bad query", badQueries()...)
	section("params", params()...)
	section("mutation", mutations()...)
	section("stored", storedQueries()...)
	section("branch", branches()...)
	section("export", exports()...)
	section("odd branch", oddBranches()...)
	section("odd route", oddRoutes()...)
	section("odd body", oddBodies()...)
	section("odd order", oddOrders()...)
	section("odd load", oddLoads()...)
	section("odd date", oddDates()...)
	section("odd value", oddValues()...)
	section("odd ordering", oddOrderings()...)
	section("cli", cliCases()...)
	section("odd call", oddCalls()...)
	section("store", storeCases()...)
	section("version", cli("version"), cli("--version"))
	section("cluster", clusterCases()...)
	return all
}

func surface() []*testCase {
	bare := func(method, path string) *testCase {
		return &testCase{method: method, path: path, status: http.StatusOK}
	}
	return []*testCase{
		bare("GET", "/healthz"),
		bare("HEAD", "/healthz"),
		bare("POST", "/healthz").fails(405),
		bare("GET", "/nope").fails(404),
		bare("GET", "/").fails(404),
		bare("GET", "/graphs").as("act-load"),
		bare("GET", "/graphs").as("act-reader").fails(403),
		bare("GET", "/graphs").fails(401),
		bare("GET", "/graphs").with("Authorization", "Bearer wrong").fails(401),
		bare("GET", "/graphs").with("Authorization", "Basic abc").fails(401),
		bare("POST", "/graphs").as("act-load").fails(405),
		bare("GET", "/graphs/").as("act-load").fails(404),
		bare("GET", "/graphs/council").as("act-load").fails(404),
		bare("GET", "/graphs/nope/snapshot").as("act-load").fails(404),
		bare("GET", "/graphs/no_pe/snapshot").as("act-load").fails(400),
		bare("GET", "/graphs/nope/snapshot").fails(401),
		get("/nope").fails(404),
		get("/query").fails(405),
		get("/query").as("").fails(401),
		get("/snapshot/").fails(404),
		get("/snapshot"),
		get("/snapshot?branch=").fails(400),
		get("/snapshot?branch=nope").fails(500),
		get("/schema").as("act-reader"),
		get("/branches"),
		get("/commits").keep("init", "commits.0.graph_commit_id"),
		get("/commits/{{init}}"),
		get("/commits/nope").fails(404),
		get("/commits?branch=nope").fails(500),
		get("/queries"),
	}
}

func loads() []*testCase {
	return []*testCase{
		load("overwrite", rows()...),
		get("/snapshot"),
		get("/commits"),
		load("merge", memory("m00", "Title 0 again", 0)),
		load("append", memory("a1", "appended", 1)),
		load("append", memory("a1", "appended twice", 1)),
		read(`$m: Memory { slug: "a1" }`, "$m.slug, $m.title", ""),
		load("merge", memory("a1", "merged", 1)),
		read(`$m: Memory { slug: "a1" }`, "$m.slug, $m.title", ""),
		write(`update Memory set { importance: 2 } where slug = "a1"`).fails(400),
		write(`delete Memory where slug = "a1"`),
		post("/load", `{"data":""}`),
		load("merge", "garbage").fails(400),
		load("merge", "[]").fails(400),
		load("merge", `{"data":{}}`).fails(400),
		load("merge", `{"type":"Nope","data":{}}`).fails(400),
		load("merge", `{"type":"Memory","data":{}}`).fails(400),
		load("merge", `{"type":"Memory","data":{"slug":"x"}}`).fails(400),
		load("merge", memory("d1", "one", 1), memory("d1", "two", 1)).fails(400),
		load("merge", strings.Replace(memory("d1", "one", 1), `"fact"`, `"nope"`, 1)).fails(400),
		load("merge", strings.Replace(memory("d1", "one", 1), `"2026-01-01T00:00:01Z"`, `"soon"`, 1)).fails(400),
		load("merge", strings.Replace(memory("d1", "one", 1), `"importance":1`, `"importance":"1"`, 1)).fails(400),
		load("merge", strings.Replace(memory("d1", "one", 1), `"importance":1`, `"importance":1,"unknown":true`, 1)),
		load("merge", `{"edge":"RelatesTo","from":"zz","to":"m01","data":{}}`).fails(400),
		load("merge", `{"edge":"RelatesTo","from":"m01","to":"zz"}`).fails(400),
		load("merge", `{"edge":"RelatesTo","to":"m01"}`).fails(400),
		load("merge", `{"edge":"Nope","from":"m01","to":"m02"}`).fails(400),
		load("merge", doc(map[string]any{"name": "second", "alias": "al", "tags": []string{}, "ok": true})).fails(400),
		load("merge", doc(map[string]any{"name": "second", "tags": "x", "ok": true})).fails(400),
		load("merge", doc(map[string]any{"name": "second", "tags": nil, "ok": true})).fails(400),
		load("merge", edge("Has", "full", "note-1", map[string]any{})).fails(400),
		load("merge", edge("One", "full", "bare", map[string]any{})),
		load("merge", edge("One", "full", "some", map[string]any{})).fails(400),
		post("/load", `{"mode":"merge"}`).fails(422),
		post("/load", `{"data":"","mode":"nope"}`).fails(422),
		post("/load", `{"data":"","mode":"merge","branch":"nope"}`).fails(404),
		load("merge", memory("d1", "one", 1)).as("act-reader").fails(403),
		write(`delete Memory where slug = "d1"`).as("act-load-2"),
	}
}

func bodies() []*testCase {
	one := `query q() { match { $m: Memory } return { $m.slug } order { $m.slug } limit 1 }`
	return []*testCase{
		post("/query", "{").fails(400),
		post("/query", "").fails(400),
		post("/query", "garbage").fails(400),
		post("/query", `{"query":"a"} x`).fails(400),
		post("/query", `{"query":"a",}`).fails(400),
		post("/query", `{"query":"a" "b"}`).fails(400),
		post("/query", "{\"query\":\"a\nb\"}").fails(400),
		post("/query", `{"query":"\q"}`).fails(400),
		post("/query", `[]`).fails(422),
		post("/query", `null`).fails(422),
		post("/query", `"x"`).fails(422),
		post("/query", `{}`).fails(422),
		post("/query", `{"query":1}`).fails(422),
		post("/query", `{"query":"a","query":"b"}`).fails(422),
		post("/query", `{"query":"a","branch":3}`).fails(422),
		post("/query", `{"query_source":"a"}`).fails(422),
		post("/query", object(map[string]any{"query": one, "params": []int{}})).fails(400),
		post("/query", object(map[string]any{"query": one, "unknown": 1})),
		post("/query", object(map[string]any{"query": one})).with("Content-Type", "text/plain").fails(415),
		post("/query", object(map[string]any{"query": one})).with("Content-Type", "").fails(415),
		post("/query", object(map[string]any{"query": one})).with("Content-Type", "application/json; charset=utf-8"),
		post("/query", object(map[string]any{"query": one, "branch": "main", "snapshot": "x"})).fails(400),
		post("/query", object(map[string]any{"query": one, "branch": "nope"})).fails(500),
		post("/query", object(map[string]any{"query": one, "snapshot": "nope"})).fails(404),
		post("/query", object(map[string]any{"query": one, "snapshot": "{{init}}"})),
		post("/query", object(map[string]any{"query": one, "name": "nope"})).fails(400),
		post("/query", object(map[string]any{"query": one + " " + one})).fails(400),
		post("/query", object(map[string]any{"query": ""})).fails(400),
		post("/query", object(map[string]any{"query": one})).as("").fails(401),
		post("/query", object(map[string]any{"query": strings.Repeat("x", 1<<20)})).fails(413),
		post("/mutate", `[]`).fails(422),
		post("/mutate", `{}`).fails(422),
		post("/mutate", object(map[string]any{"query_source": `query q() { delete Memory where slug = "none" }`})),
		post("/read", object(map[string]any{"query_source": one})),
		post("/read", object(map[string]any{"query": one})).fails(422),
		post("/read", object(map[string]any{"query_source": "garbage"})).fails(400),
		post("/change", object(map[string]any{"query_source": `query q() { delete Memory where slug = "none" }`})),
		post("/ingest", `{"data":""}`),
	}
}

func reads() []*testCase {
	return []*testCase{
		read(`$m: Memory { slug: "m01" }`, "$m.slug, $m.title, $m.kind, $m.importance, $m.created_at", ""),
		read(`$m: Memory { slug: "m01" }`, "$m", ""),
		read(`$m: Memory { slug: "none" }`, "$m.slug", ""),
		read(`$m: Memory`, "$m.slug", "order { $m.slug desc } limit 3"),
		read(`$m: Memory`, "$m.slug as s", "order { s } limit 2"),
		read(`$m: Memory`, "$m.slug", "order { $m.importance desc, $m.title asc } limit 5"),
		read(`$m: Memory`, "$m.slug", "order { $m.kind } limit 6"),
		read(`$m: Memory`, "$m.slug", "limit 0"),
		read(`$m: Memory $m.importance > 8`, "$m.slug", ""),
		read(`$m: Memory $m.importance >= 8 $m.importance != 9`, "$m.slug", ""),
		read(`$m: Memory 3 = $m.importance`, "$m.slug", ""),
		read(`$m: Memory $m.importance < 2.5`, "$m.slug", ""),
		read(`$m: Memory $m.title >= "Title 8"`, "$m.slug", ""),
		read(`$m: Memory $m.created_at > datetime("2026-01-01T00:00:09Z")`, "$m.slug", ""),
		read("$m: Memory\n// a comment\n$m.importance = /* inline */ 1", "$m.slug", ""),
		read(`$m: Memory { kind: "task", importance: 2 }`, "$m.slug", ""),
		read(`$m: Memory { importance: 1.0 }`, "$m.slug", ""),
		read(`$m: Memory { slug: $undeclared }`, "count($m) as n", ""),
		read(`$m: Memory { slug: "m01" } $m relatesTo $r`, "$m.slug, $r.slug", ""),
		read(`$r: Memory { slug: "m02" } $m relatesTo $r`, "$m.slug", ""),
		read(`$m: Memory { slug: "m01" } $m relatesTo {1,3} $r`, "$r.slug", ""),
		read(`$m: Memory { slug: "m03" } $m relatesTo {2,4} $r`, "$r.slug", ""),
		read(`$r: Memory { slug: "m06" } $m relatesTo {1,3} $r`, "$m.slug", ""),
		read(`$m: Memory { slug: "m02" } $m relatesTo $m`, "$m.slug", ""),
		read(`$p: Project { slug: "pa" } $m belongsTo $p`, "$m.slug", "order { $m.slug } limit 4"),
		read(`$p: Project { slug: "pa" } $p belongsTo $m`, "count($m) as n", ""),
		read(`$a: Memory { slug: "m01" } $a relatesTo $b $b relatesTo $c`, "$a.slug, $b.slug, $c.slug", ""),
		read(`$a: Memory { slug: "m01" } $b: Memory { slug: "m03" } $a relatesTo {1,2} $b`, "$a.slug, $b.slug", ""),
		read(`$a: Memory $a relatesTo $b $a.importance > $b.importance`, "$a.slug, $b.slug", ""),
		read(`$m: Memory { slug: "m01" } $m relatesTo $r $r: Memory { kind: "task" }`, "$r.slug", ""),
		read(`$m: Memory not { $m relatesTo $_ }`, "$m.slug", ""),
		read(`$m: Memory not { $m belongsTo $p $p.slug = "pa" }`, "count($m) as n", ""),
		read(`$m: Memory not { $m.importance > 1 }`, "$m.slug", ""),
		read(`$m: Memory $p: Project`, "count($m) as n", ""),
		read(`$m: Memory`, "$m.kind, count($m) as n", ""),
		read(`$m: Memory`, "$m.kind as k, count($m) as n, avg($m.importance) as a, min($m.slug) as s", "order { n desc, k asc }"),
		read(`$m: Memory`, "max($m.importance), min($m.importance), sum($m.importance)", ""),
		read(`$m: Memory { slug: "none" }`, "count($m) as n, max($m.importance) as x, sum($m.importance) as s", ""),
		read(`$m: Memory { slug: "none" }`, "$m.kind, count($m) as n", ""),
		read(`$m: Memory { slug: "m01" }`, `"lit" as l, 3 as n, true, 1.0 as f, [1, 2] as x, date("2026-01-01") as d`, ""),
		read(`$m: Memory { slug: "m01" }`, "$m.slug, $m.slug", ""),
		read(`$m: Memory`, "count($m) as n", "").as("act-reader"),
	}
}

func types() []*testCase {
	everything := "$d.name, $d.alias, $d.tags, $d.nums, $d.ok, $d.small, $d.big, $d.u, $d.f, $d.g, $d.day, $d.at, $d.state"
	filter := func(f string) *testCase { return read("$d: Doc "+f, "$d.name", "order { $d.name }") }
	return []*testCase{
		read("$d: Doc", everything, "order { $d.name }"),
		filter(`$d.tags contains "y"`),
		filter(`$d.nums contains 1`),
		filter(`$d.ok = true`),
		filter(`$d.ok != true`),
		filter(`$d.small > 0`),
		filter(`$d.small != 3`),
		filter(`$d.big = 9007199254740993`),
		filter(`$d.g >= 2.0`),
		filter(`$d.day = date("2026-01-02")`),
		filter(`$d.at > datetime("2026-01-02T03:04:05.122Z")`),
		filter(`$d.state = "open"`),
		filter(`$d.alias != "none"`),
		read(`$d: Doc { tags: "y" }`, "$d.name", ""),
		read(`$d: Doc { day: date("2026-01-02") }`, "$d.name", ""),
		read("$d: Doc", "$d.name, $d.small", "order { $d.small asc }"),
		read("$d: Doc", "$d.name, $d.small", "order { $d.small desc }"),
		read("$d: Doc", "count($d.small) as a, count($d) as b, avg($d.g) as c, max($d.state) as d", ""),
		read("$d: Doc $d has $n", "$d.name, $n.text, $n", ""),
		filter(`$d.tags = ["x"]`).fails(400),
		filter(`$d.nums contains "1"`).fails(400),
		filter(`$d.name contains "1"`).fails(400),
		filter(`$d.day = "2026-01-02"`).fails(400),
		filter(`$d.day = date("soon")`).fails(400),
		read(`$d: Doc { tags: ["x"] }`, "$d.name", "").fails(400),
		read("$d: Doc", "max($d.ok) as a", "").fails(400),
		read("$d: Doc", "sum($d.name) as a", "").fails(400),
		write(`insert Doc { name: "w", tags: ["p", "q"], ok: true, day: date("2026-02-03"), f: 1.5, g: 2.5, big: 5, u: 7 }`),
		read(`$d: Doc { name: "w" }`, everything, ""),
		write(`update Doc set { tags: ["z"], small: 4 } where name = "w"`),
		read(`$d: Doc { name: "w" }`, everything, ""),
		write(`insert Doc { name: "w2", tags: ["p"], ok: true, alias: "al" }`).fails(400),
		write(`insert Doc { name: "w", tags: ["p", 1], ok: true }`).fails(400),
		write(`insert Doc { name: "w", tags: "p", ok: true }`).fails(400),
		write(`insert Doc { name: "w", tags: [], ok: "true" }`).fails(400),
		write(`insert Doc { name: "w", tags: [], ok: true, g: 2 }`).fails(400),
		write(`insert Doc { name: "w", tags: [], ok: true, small: 2.5 }`).fails(400),
		write(`insert Doc { name: "w", tags: [], ok: true, day: date("soon") }`).fails(400),
		write(`insert One { from: "full", to: "some" }`).fails(400),
		write(`insert Note { text: "second" }`),
		write(`update Note set { text: "third" } where text = "second"`),
		write(`delete Note where text = "third"`),
		write(`delete Doc where name = "w"`),
	}
}

func badQueries() []*testCase {
	list := []*testCase{
		read("", "$m.slug", ""),
		read("$m: Memory", "", ""),
		read("$m: Nope", "$m.slug", ""),
		read("$m: Memory", "$m.nope", ""),
		read("$m: Memory", "$x.slug", ""),
		read("$m: Memory { nope: 1 }", "$m.slug", ""),
		read("$m: Memory { slug: 1 }", "$m.slug", ""),
		read(`$m: Memory { kind: "nope" }`, "$m.slug", ""),
		read(`$m: Memory { slug: 'm01' }`, "$m.slug", ""),
		read(`$m: Memory {}`, "$m.slug", ""),
		read(`$m: Memory $m.importance > "a"`, "$m.slug", ""),
		read(`$m: Memory $m.slug == "a"`, "$m.slug", ""),
		read(`$m: Memory $m.slug = $s`, "$m.slug", ""),
		read(`$m: Memory $m = "a"`, "$m.slug", ""),
		read(`$m: Memory $m.importance = -1`, "$m.slug", ""),
		read(`$m: Memory $m.importance = 1 and $m.kind = "fact"`, "$m.slug", ""),
		read(`$m: Memory, $m.importance = 1`, "$m.slug", ""),
		read(`$m: Memory $m nope $r`, "$m.slug", ""),
		read(`$m: Memory $m RelatesTo $r`, "$m.slug", ""),
		read(`$p: Project $p relatesTo $r`, "$p.slug", ""),
		read(`$m: Memory $m relatesTo {0,2} $r`, "$r.slug", ""),
		read(`$m: Memory $m relatesTo {3,1} $r`, "$r.slug", ""),
		read(`$m: Memory $m relatesTo {1,} $r`, "$r.slug", ""),
		read(`$m: Memory $m relatesTo {3} $r`, "$r.slug", ""),
		read(`$a relatesTo $b`, "$a.slug", ""),
		read(`$m: Memory $m: Project`, "$m.slug", ""),
		read(`$m: Memory not { $x: Project }`, "$m.slug", ""),
		read(`$m: Memory`, "$m.slug", "limit -1"),
		read(`$m: Memory`, "$m.slug", "limit 2.5"),
		read(`$m: Memory`, "$m.slug", "limit 2 order { $m.slug }"),
		read(`$m: Memory`, "$m.slug", "order { nope }"),
		read(`$m: Memory`, "$m.slug", "order { $m.nope }"),
		read(`$m: Memory`, "$m.slug", "order { }"),
		read(`$m: Memory`, "$m.slug", "skip 3"),
		read(`$m: Memory`, "count(*)", ""),
		read(`$m: Memory`, `count($m) as n, "x" as l`, ""),
		read(`$m: Memory`, "foo", ""),
		run("/query", "query q() { return { 1 } }", nil),
		run("/query", "query q() { }", nil),
		run("/query", "query q { match { $m: Memory } return { $m.slug } }", nil),
		run("/query", "query Q() { match { $m: Memory } return { $m.slug } }", nil),
		run("/query", "query q($a) { match { $m: Memory } return { $m.slug } }", nil),
		run("/query", "query q($a: Nope) { match { $m: Memory } return { $m.slug } }", nil),
		run("/query", "query q() { match { $m: Memory }", nil),
		run("/query", "garbage", nil),
		run("/query", "query w() { "+newMemory+" }", nil),
		run("/mutate", "query q() { match { $m: Memory } return { $m.slug } }", nil),
	}
	for _, c := range list {
		c.fails(400)
	}
	return list
}

func params() []*testCase {
	typed := `query q($i: I32, $b: Bool, $f: F64, $j: I64, $u: U32, $d: Date, $l: [String], $o: String?) { match { $m: Memory { slug: "m01" } } return { $m.slug } }`
	var list []*testCase
	for _, good := range []map[string]any{
		nil, {}, {"unknown": 1}, {"i": 5}, {"i": "5"}, {"b": true}, {"f": 1}, {"j": "9007199254740993"}, {"d": "2026-01-01"}, {"l": []string{"a"}}, {"o": nil},
	} {
		list = append(list, run("/query", typed, good))
	}
	for _, bad := range []map[string]any{
		{"i": "x"}, {"i": 1.5}, {"i": 3000000000}, {"i": true}, {"i": nil}, {"b": 1}, {"f": "1"}, {"j": 1.5}, {"u": -1}, {"d": 1}, {"l": "a"}, {"l": []int{1}}, {"o": 1},
	} {
		list = append(list, run("/query", typed, bad).fails(400))
	}
	inline := `query q($s: String) { match { $m: Memory { slug: $s } } return { count($m) as n } }`
	filter := `query q($s: String) { match { $m: Memory $m.slug = $s } return { $m.slug } }`
	optional := `query q($s: String?) { match { $m: Memory { slug: $s } } return { count($m) as n } }`
	when := `query q($t: DateTime) { match { $m: Memory $m.created_at > $t } return { $m.slug } }`
	return append(list,
		run("/query", inline, map[string]any{"s": "m01"}),
		run("/query", inline, nil),
		run("/query", filter, map[string]any{"s": "m01"}),
		run("/query", filter, nil).fails(400),
		run("/query", optional, nil),
		run("/query", optional, map[string]any{"s": nil}),
		run("/query", when, map[string]any{"t": "2026-01-01T00:00:10Z"}),
		run("/query", when, map[string]any{"t": "soon"}).fails(400),
		run("/query", `query q($s: I32) { match { $m: Memory { slug: $s } } return { $m.slug } }`, map[string]any{"s": 1}).fails(400),
		run("/query", `query q($n: I32) { match { $m: Memory } return { $m.slug } limit $n }`, map[string]any{"n": 1}).fails(400),
		run("/query", `query q($s: String) { match { $m: Memory { slug: "m01" } } return { $m.slug, $s as x } }`, map[string]any{"s": "a"}),
	)
}

func mutations() []*testCase {
	change := func(from, to string) *testCase { return write(strings.Replace(newMemory, from, to, 1)) }
	find := func(slug string) *testCase {
		return read(`$m: Memory { slug: "`+slug+`" }`, "$m.slug, $m.title, $m.kind, $m.importance, $m.created_at", "")
	}
	return []*testCase{
		write(newMemory),
		find("w1"),
		change(`title: "t"`, `title: "second time"`),
		find("w1"),
		write(newMemory + " " + strings.Replace(newMemory, "w1", "w2", 1) + ` insert RelatesTo { from: "w1", to: "w2", weight: 1.5 }`),
		read(`$m: Memory { slug: "w1" } $m relatesTo $r`, "$r.slug", ""),
		write(`update Memory set { importance: 9, kind: "task" } where slug = "w1"`),
		find("w1"),
		write(`update Memory set { importance: 9 } where slug = "none"`),
		write(`update Memory set { title: "many" } where importance >= 9`),
		read("$m: Memory $m.title = \"many\"", "$m.slug", ""),
		write(`update Memory set { title: "x" } where slug = "w1" update Memory set { title: "y" } where slug = "w1"`),
		find("w1"),
		write(`delete RelatesTo where from = "w1"`),
		write(newMemory + ` insert RelatesTo { from: "w1", to: "m01" } insert RelatesTo { from: "m01", to: "w1" } insert RelatesTo { from: "w1", to: "w1" }`),
		write(`delete Memory where slug = "w1"`),
		write(`delete Memory where slug = "w1"`),
		write(`delete Memory where slug = "w2"`),
		get("/snapshot"),
		change("importance: 5", "importance: 3000000000"),
		find("w1"),
		write(`delete Memory where slug = "w1"`),

		write(`insert Memory { slug: "x" }`).fails(400),
		write(`insert Memory { }`).fails(400),
		write(`insert Nope { slug: "a" }`).fails(400),
		write(`insert memory { slug: "a" }`).fails(400),
		change(`"fact"`, `"nope"`).fails(400),
		change("importance: 5", `importance: "a"`).fails(400),
		change("importance: 5", "importance: 3.5").fails(400),
		change(`datetime("2026-02-01T00:00:00Z")`, `"2026-02-01"`).fails(400),
		change(`datetime("2026-02-01T00:00:00Z")`, `datetime("soon")`).fails(400),
		change(`title: "t"`, `nope: "t"`).fails(400),
		change(`title: "t"`, `title: "t", title: "u"`).fails(400),
		change(`"pa"`, `$p`).fails(400),
		write(`insert RelatesTo { from: "m01", to: "zz" }`).fails(400),
		write(`insert RelatesTo { from: "zz", to: "m01" }`).fails(400),
		write(`insert RelatesTo { from: "m01" }`).fails(400),
		write(`insert RelatesTo { from: "m01", to: "m02", weight: 2 }`).fails(400),
		write(`insert RelatesTo { from: "m01", to: "m02", weight: "a" }`).fails(400),
		write(`update Memory set { slug: "y" } where slug = "m01"`).fails(400),
		write(`update Memory set { nope: "y" } where slug = "m01"`).fails(400),
		write(`update Memory set { title: "y" } where nope = "m01"`).fails(400),
		write(`update Memory set { title: "y" }`).fails(400),
		write(`update Memory set { } where slug = "m01"`).fails(400),
		write(`update Nope set { title: "y" } where slug = "m01"`).fails(400),
		write(`update RelatesTo set { weight: 1.0 } where from = "m01"`).fails(400),
		write(`delete Memory`).fails(400),
		write(`delete Nope where slug = "a"`).fails(400),
		write(`delete Memory where importance = "a"`).fails(400),
		write(newMemory + ` delete Memory where slug = "m01"`).fails(400),
		run("/mutate", `query w($s: String) { update Memory set { importance: 1 } where slug = $s }`, nil).fails(400),
		run("/mutate", `query w($s: String) { update Memory set { importance: 1 } where slug = $s }`, map[string]any{"s": nil}).fails(400),
		write(newMemory).as("act-reader").fails(403),
		write(`garbage`).as("act-reader").fails(403),
		write(newMemory).as("").fails(401),
		post("/mutate", object(map[string]any{"query": "query w() { " + newMemory + " }", "branch": "nope"})).fails(500),
		find("m01"),
	}
}

func storedQueries() []*testCase {
	return []*testCase{
		post("/queries/count_memories", "{}"),
		post("/queries/count_memories", "").with("Content-Type", ""),
		post("/queries/count_memories", "null"),
		post("/queries/get_memory", `{"params":{"slug":"m01"}}`),
		post("/queries/get_memory", `{"params":{"slug":"m01"},"expect_mutation":false}`),
		post("/queries/add_project", `{"params":{"slug":"pc","name":"Project C"}}`),
		post("/queries/set_importance", `{"params":{"slug":"m01","importance":"7"}}`),
		post("/queries/set_importance", `{"params":{"slug":"m01","importance":1}}`).as("act-load-2"),
		get("/queries").as("act-reader"),
		post("/queries/nope", "{}").fails(404),
		post("/queries/count_memories", "{}").as("act-reader").fails(404),
		post("/queries/count_memories", "{}").as("").fails(401),
		post("/queries/get_memory", "{").fails(400),
		post("/queries/get_memory", `{"params":{"slug":3}}`).fails(400),
		post("/queries/get_memory", `{"params":{"slug":"m01"},"expect_mutation":true}`).fails(400),
		post("/queries/get_memory", `{"branch":"main","snapshot":"x"}`).fails(400),
		post("/queries/get_memory", `{"branch":"nope"}`).fails(500),
		post("/queries/set_importance", `{"params":{"slug":"m01","importance":"a"}}`).fails(400),
		post("/queries/set_importance", `{"params":{"slug":"m01"}}`).fails(400),
		post("/queries/set_importance", `{"params":{"slug":"m01","importance":1},"snapshot":"x"}`).fails(400),
		post("/queries/set_importance", `{"params":{"slug":"m01","importance":1},"expect_mutation":false}`).fails(400),
		get("/queries/get_memory").fails(405),
	}
}

func branches() []*testCase {
	create := func(body string) *testCase { return post("/branches", body) }
	on := func(branch, statements string) *testCase {
		return post("/mutate", object(map[string]any{"query": "query w() { " + statements + " }", "branch": branch}))
	}
	merge := func(body string) *testCase { return post("/branches/merge", body) }
	drop := func(name string) *testCase {
		return &testCase{method: http.MethodDelete, path: graphPath + "/branches/" + name, actor: "act-load", status: http.StatusOK}
	}
	at := func(branch, slug string) *testCase {
		return post("/query", object(map[string]any{"query": `query q() { match { $m: Memory { slug: "` + slug + `" } } return { $m.slug, $m.title } }`, "branch": branch}))
	}
	return []*testCase{
		create(`{"name":"b1"}`),
		get("/branches"),
		merge(`{"source":"b1"}`),
		on("b1", `update Memory set { title: "on b1" } where slug = "m01"`),
		at("b1", "m01"),
		at("main", "m01"),
		get("/commits?branch=b1"),
		merge(`{"source":"b1"}`),
		at("main", "m01"),
		merge(`{"source":"b1"}`),
		get("/commits"),
		create(`{"name":"b2","from":"main"}`),
		on("b2", `insert Project { slug: "pz", name: "of b2" }`),
		on("main", `insert Project { slug: "py", name: "of main" }`),
		merge(`{"source":"b2"}`),
		read("$p: Project", "$p.slug, $p.name", "order { $p.slug }"),
		create(`{"name":"b3"}`),
		on("b3", `delete Project where slug = "pz"`),
		on("main", `update Project set { name: "changed" } where slug = "pz"`),
		merge(`{"source":"b3"}`).fails(409),
		create(`{"name":"b4"}`),
		on("b4", `insert Project { slug: "same", name: "b4" }`),
		on("main", `insert Project { slug: "same", name: "main" }`),
		merge(`{"source":"b4"}`).fails(409),
		create(`{"name":"b5","from":"b4"}`),
		drop("b4").fails(409),
		drop("b5"),
		drop("b4"),
		drop("b4").fails(404),
		drop("main").fails(400),
		drop("b3").as("act-reader").fails(403),
		drop("b3"),
		drop("b2"),
		drop("b1"),
		get("/branches"),
		create(`{}`).fails(422),
		create(`{"name":""}`).fails(400),
		create(`{"name":"main"}`).fails(400),
		create(`{"name":"a b"}`).fails(500),
		create(`{"name":"b9","from":"nope"}`).fails(500),
		create(`{"name":"b9"}`).as("act-reader").fails(403),
		merge(`{}`).fails(422),
		merge(`{"source":"main"}`).fails(400),
		merge(`{"source":"nope"}`).fails(500),
		merge(`{"source":"nope"}`).as("act-reader").fails(403),
		post("/load", object(map[string]any{"data": memory("br", "on a new branch", 1), "branch": "made", "from": "main"})),
		post("/load", object(map[string]any{"data": memory("br", "again", 1), "branch": "made", "from": "main"})),
		get("/branches"),
		drop("made"),
	}
}

func exports() []*testCase {
	return []*testCase{
		post("/export", `{"type_names":["Project"]}`).asSet(),
		post("/export", `{"table_keys":["edge:BelongsTo"]}`).asSet(),
		post("/export", `{"type_names":["Memory"]}`).asSet(),
		post("/export", `{}`).as("act-reader").fails(403),
		post("/export", ``).fails(400),
		post("/export", `[]`).fails(422),
		post("/export", `{}`).with("Content-Type", "").fails(415),
		post("/schema/apply", `{"schema_source":"node A {}"}`).fails(403),
	}
}

func cliCases() []*testCase {
	one := `query q() { match { $m: Memory } return { $m.slug, $m.importance, $m.created_at } order { $m.slug } limit 2 }`
	none := `query q() { match { $m: Memory { slug: "none" } } return { $m.slug } }`
	list := []*testCase{
		served("query", "get_memory", "--params", `{"slug":"m01"}`, "--json"),
		served("query", "-e", one, "--json"),
	}
	for _, format := range []string{"json", "jsonl", "csv", "table", "kv"} {
		list = append(list, served("query", "-e", one, "--format", format), served("query", "-e", none, "--format", format))
	}
	return append(list,
		served("query", "-e", one),
		served("read", "-e", one, "--json"),
		served("query", "--query", "rig/queries/council.gq", "count_memories", "--json"),
		served("query", "-e", one, "--branch", "main", "--json"),
		served("mutate", "set_importance", "--params", `{"slug":"m01","importance":3}`, "--json"),
		served("mutate", "set_importance", "--params", `{"slug":"m01","importance":1}`),
		served("mutate", "-e", `query w() { delete Memory where slug = "none" }`, "--json"),
		served("change", "-e", `query w() { delete Memory where slug = "none" }`, "--json"),
		served("snapshot", "--json"),
		served("branch", "list", "--json"),
		served("branch", "list"),
		served("branch", "create", "c1", "--json"),
		served("branch", "merge", "c1", "--json"),
		served("branch", "merge", "c1"),
		served("branch", "delete", "c1", "--yes", "--json"),
		served("branch", "create", "c2", "--quiet"),
		served("branch", "delete", "c2", "--yes"),
		served("commit", "show", "{{init}}", "--json"),
		served("schema", "show", "--json"),
		served("schema", "show"),
		served("export", "--type", "Project").asSet(),
		served("load", "--data", "rig/rows.jsonl", "--mode", "merge", "--json").fails(1),

		cli("nope").fails(2),
		cli("query", "--nope").fails(2),
		cli().fails(2),
		served("load", "--data", "x").fails(2),
		served("load", "--data", "x", "--mode", "nope").fails(2),
		served("load", "--data", "rig/tokens.json", "--mode", "overwrite", "--json").fails(1),
		served("load", "--data", "rig/tokens.json", "--mode", "merge", "--json").fails(1),
		served("query", "-e", one, "--json", "--format", "csv").fails(2),
		served("query", "-e", one, "--format", "nope").fails(2),
		served("query", "-e", one, "--query", "x").fails(2),
		served("query", "-e", one, "--snapshot", "x", "--branch", "main").fails(2),
		served("query", "-e", one, "--params", "{}", "--params-file", "x").fails(2),
		served("query", "nope", "--json").fails(1),
		served("query", "--json").fails(1),
		served("query", "--query", "nope.gq", "--json").fails(1),
		served("query", "--query", "rig/queries/council.gq", "--json").fails(1),
		served("query", "-e", "garbage", "--json").fails(1),
		served("query", "-e", one, "--params", "garbage").fails(1),
		served("query", "-e", one, "--params", "[]").fails(1),
		served("query", "-e", one, "--branch", "nope").fails(1),
		served("query", "-e", one, "--snapshot", "nope").fails(1),
		served("query", "set_importance", "--params", `{"slug":"m01","importance":3}`).fails(1),
		served("query", "-e", `query w() { delete Memory where slug = "none" }`).fails(1),
		served("mutate", "-e", one).fails(1),
		served("query", "get_memory", "--json").getenv("OMNIGRAPH_BEARER_TOKEN", "").fails(1),
		served("query", "get_memory", "--json").getenv("OMNIGRAPH_BEARER_TOKEN", "wrong").fails(1),
		served("mutate", "-e", "query w() { "+newMemory+" }").getenv("OMNIGRAPH_BEARER_TOKEN", tokens["act-reader"]).fails(1),
		cli("query", "-e", one, "--server", "http://127.0.0.1:1", "--graph", "council").fails(1),
		cli("query", "-e", one, "--server", "{{url}}").fails(1),
		cli("query", "-e", one, "--server", "{{url}}", "--graph", "nope").fails(1),
		cli("query", "-e", one, "--server", "nowhere", "--graph", "council").fails(1),
		cli("query", "-e", one).fails(1),
		served("branch", "delete", "nope").fails(1),
		served("branch", "delete", "nope", "--yes").fails(1),
		served("commit", "show", "nope").fails(1),
		served("graphs", "list", "--json").fails(1),
		served("optimize", "--json").fails(1),
		served("cleanup", "--keep", "1", "--confirm").fails(1),
		served("query", "-e", one, "--store", "{{store}}").fails(1),
	)
}

func storeCases() []*testCase {
	one := `query q() { match { $m: Memory { slug: "m01" } } return { $m.slug, $m.importance } }`
	store := func(args ...string) *testCase { return cli(append(args, "--store", "{{store}}")...) }
	return []*testCase{
		store("query", "-e", one, "--json"),
		store("mutate", "-e", `query w() { insert Project { slug: "direct", name: "d" } }`, "--json"),
		store("mutate", "-e", `query w() { insert Project { slug: "direct", name: "e" } }`, "--json", "--as", "act-load"),
		read(`$p: Project { slug: "direct" }`, "$p.name", ""),
		cli("snapshot", "{{store}}", "--json"),
		store("branch", "create", "s1", "--json"),
		store("branch", "merge", "s1", "--json"),
		store("branch", "delete", "s1", "--json"),
		cli("schema", "show", "{{store}}"),
		cli("export", "{{store}}", "--type", "Project").asSet(),
		cli("optimize", "{{store}}", "--json").asSet(),
		get("/snapshot"),
		read(`$p: Project { slug: "direct" }`, "$p.name", ""),
		cli("cleanup", "{{store}}", "--keep", "2"),
		cli("cleanup", "{{store}}", "--json").fails(1),
		store("query", "get_memory", "--json").fails(1),
		store("query", "-e", "garbage").fails(1),
		cli("load", "--data", "nope.jsonl", "--mode", "merge", "{{store}}").fails(1),
		cli("optimize").fails(1),
		cli("branch", "list", "{{store}}").fails(2),
		cli("commit", "show", "nope", "--uri", "{{store}}").fails(1),
	}
}

func clusterCases() []*testCase {
	return []*testCase{
		cli("cluster", "validate", "--config", "rig", "--json"),
		cli("cluster", "validate", "--config", "rig"),
		cli("cluster", "apply", "--config", "rig", "--as", "act-load", "--json"),
		cli("cluster", "validate", "--config", "nope", "--json").fails(1),
		cli("cluster", "import", "--config", "nope", "--json").fails(1),
		cli("cluster", "import", "--config", "rig", "--json").fails(1),
		cli("cluster", "apply", "--config", "nope", "--json").fails(1),
		cli("cluster", "nope").fails(2),
	}
}
