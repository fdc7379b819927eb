package conformance

import (
	"net/http"
	"strings"
)

// each makes a case of every text, all answered with one status.
func each(status int, build func(text string) *testCase, texts ...string) []*testCase {
	cases := make([]*testCase, len(texts))
	for i, text := range texts {
		cases[i] = build(text)
		cases[i].status = status
	}
	return cases
}

func join(lists ...[]*testCase) []*testCase {
	var all []*testCase
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func oddRoutes() []*testCase {
	call := func(method, path string) *testCase {
		return &testCase{method: method, path: path, actor: "act-load", status: http.StatusOK}
	}
	var cases []*testCase
	for _, path := range []string{
		"/query", "/mutate", "/queries", "/queries/get_memory", "/load", "/snapshot", "/schema", "/schema/apply", "/branches", "/branches/merge",
		"/branches/none", "/commits", "/commits/x", "/export", "/read", "/change", "/ingest",
	} {
		cases = append(cases, call("PUT", graphPath+path).fails(405), call("PATCH", graphPath+path).as("").fails(401))
	}
	return append(cases,
		call("HEAD", "/graphs"),
		call("POST", "/graphs").as("").fails(401),
		call("OPTIONS", "/graphs").fails(405),
		call("GET", "/graphs//snapshot").fails(400),
		call("GET", graphPath+"//snapshot").fails(404),
		call("GET", "/GRAPHS/council/snapshot").fails(404),
		call("GET", "//healthz").fails(404),
		call("DELETE", graphPath+"/branches/a%2Fb").fails(404),
		call("DELETE", graphPath+"/branches/a/b").fails(404),
		get("/snapshot?branch=main&branch=x").fails(400),
		get("/snapshot?branch=main&other=x"),
		get("/snapshot?branch").fails(400),
		get("/commits?branch=%zz").fails(500),
		get("/commits/a%2Fb").fails(404),
		get("/snapshot").with("Authorization", "bearer token-load").fails(401),
		get("/snapshot").with("Authorization", "Bearer  token-load").fails(401),
		get("/snapshot").with("Authorization", "Bearer").fails(401),
	)
}

func oddBodies() []*testCase {
	query := func(body string) *testCase { return post("/query", body) }
	return join(
		// What cannot be read, where it is and how it is called.
		each(400, query,
			`{"query":"a",`, `{"query":"a", `, `{"query":"a","params":{`, `{"query":"a","params":{"a":1,}}`, `{"query":"a","params":{"a":1,2}}`,
			`{"query":"a","params":{"a":[1,`, `{"query":"a","params":{"a":[1,]}}`, `{"query":"a","params":[1,{a}]}`, `{"query":"a","params":{"a":-}}`,
			`{"query":"a","params":1e999}`, `{"query":"\ud800"}`, `{"query":"\ud800\n"}`, `{"query":"\ud83d\`, `{"query":"\u12g4"}`, "{\"query\":\"\xff\"}",
			`{"query":"a","nope":{"a":1,}}`, `{"query":"a","nope":[1,]}`, `{"query":"a","nope":[1,`, `{"query":"a","nope":[{"x":nul}]}`, `{"query":"a","nope":-}`,
			"{\"query\":\"a\",\"nope\":\"\x01\"}", `{"query":"a","nope":"\q"}`, `{"query":"a"}]`, `["a",null,null,null,null,1]`, `["a",`,
		),
		// Fields that the server does not know are skipped, not read.
		each(400, query,
			`{"query":"a","nope":"\ud800"}`, `{"query":"a","nope":1e999}`, "{\"query\":\"a\",\"nope\":\"\xff\"}", `{"query":"a","nope":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+`}`,
			`["a",null,null,null,null]`, `{"query":"a","params":5}`, `{"query":"a","params":5,"branch":"nope"}`,
		),
		// The first field that is wrong decides, whatever follows.
		each(422, query,
			`{"query":[}`, `{"query":{"a":tru}}`, `{"query":truex}`, `{"query":1,"name":nul}`, `{"query":[]}`, `{"query":{}}`, `[["a"]]`, `["a"]`, `["a",1]`, `truex`, `{"nope":1}{`,
			`{"query":1e-999}`, `{"query":12345678901234567890123}`, `{"query":-0}`, `{"query":1e16}`, `{"query":1E5}`, `{"query":18446744073709551615}`,
		),
		each(400, func(body string) *testCase { return post("/load", body) },
			`{"mode":[]}`, `{"mode":{}}`, `{"mode":1}`, `{"mode":true}`),
		each(422, func(body string) *testCase { return post("/load", body) },
			`{"mode":{"merge":null}}`, `{"mode":{"merge":1}}`, `{"mode":"Merge"}`, `["a",1]`, `[null]`, `[null,null,"merge"]`, `[null,null,"merge",1]`),
		each(400, func(body string) *testCase { return post("/queries/set_importance", body) },
			`[]`, `["a"]`, `[null,null]`, `{"snapshot":1}`, `{"expect_mutation":[]}`, "{\"snapshot\":\"\t\"}", `{"params":5,"branch":"nope"}`),
		each(422, func(body string) *testCase { return post("/branches", body) },
			`["a",null]`, `[null]`, `{"name":1,"nope":nul}`),
		each(422, func(body string) *testCase { return post("/export", body) },
			`{"type_names":null}`, `{"type_names":"a"}`, `{"type_names":["a",1]}`, `{"table_keys":[[]]}`),
		each(422, func(body string) *testCase { return post("/schema/apply", body) },
			`{"schema_source":"x","allow_data_loss":null}`, `["a",null]`),
		each(400, func(body string) *testCase { return post("/mutate", body) }, `["a"]`, `["a",null,null]`),
	)
}

// oddOrders have two mistakes: the one that the server looks for first is named.
func oddOrders() []*testCase {
	const memory = `query q($s: String) { match { $m: Memory { slug: $s } } return { $m.nope } }`
	const change = `query w($s: String) { delete Nope where slug = $s }`
	with := func(source string, more map[string]any) string {
		fields := map[string]any{"query": source}
		for k, v := range more {
			fields[k] = v
		}
		return object(fields)
	}
	wrong := map[string]any{"params": map[string]any{"s": 3}}
	elsewhere := map[string]any{"branch": "nope", "params": map[string]any{"s": 3}}
	return []*testCase{
		post("/query", with(memory, wrong)).fails(400),
		post("/query", with(memory, elsewhere)).fails(400),
		post("/query", with(memory, map[string]any{"branch": "nope"})).fails(500),
		post("/query", with("garbage", map[string]any{"branch": "nope", "params": 3})).fails(400),
		post("/query", with("garbage", map[string]any{"snapshot": "nope"})).fails(404),
		post("/query", with(change, map[string]any{"snapshot": ""})).fails(404),
		post("/mutate", with(memory, nil)).fails(400),
		post("/mutate", with(memory, wrong)).fails(400),
		post("/mutate", with(memory, map[string]any{"branch": "nope"})).fails(500),
		post("/mutate", with(change, wrong)).fails(400),
		post("/mutate", with(change, map[string]any{"branch": ""})).fails(400),
		post("/queries/get_memory", `{"snapshot":"nope","params":3}`).fails(404),
		post("/queries/set_importance", `{"branch":"","params":{}}`).fails(400),
		load("merge", `{"type":"Doc","data":{"name":"q","ok":true,"tags":[],"state":"x"}}`, `{"type":"Nope"}`).fails(400),
		load("merge", `{"type":"Doc","data":{"name":"q","ok":true,"tags":[],"state":"x"}}`, `{"edge":"Has","from":"full","to":"note-1"}`).fails(400),
		load("merge", `{"type":"Doc","data":{"name":"q","ok":true,"tags":"x"}}`, `{"type":"Doc","data":{"name":"q","ok":true,"tags":[],"nums":[2147483648]}}`).fails(400),
		load("merge", `{"edge":"RelatesTo","from":"yy","to":"m01"}`, `{"edge":"RelatesTo","to":"m01"}`).fails(400),
		load("merge", `{"edge":"Has","from":"full","to":"note-1","data":{"n":1,"since":"x"}}`, `{"edge":"Has","from":"full","to":"note-1"}`).fails(400),
		load("merge", `{"type":"Doc","data":{"name":"q","ok":true,"tags":[],"alias":"al"}}`, `{"edge":"RelatesTo","from":"yy","to":"m01"}`).fails(400),
	}
}

func oddLoads() []*testCase {
	const project = `{"type":"Project","data":{"slug":"odd","name":"n"}}`
	into := func(fields map[string]any) *testCase {
		fields["mode"] = "merge"
		return post("/load", object(fields))
	}
	value := func(property string) *testCase {
		return load("merge", `{"type":"Doc","data":{"name":"odd","ok":true,"tags":["t"],`+property+`}}`)
	}
	stored := read(`$d: Doc { name: "odd" }`, "$d.alias, $d.nums, $d.small, $d.big, $d.u, $d.f, $d.g, $d.day, $d.at, $d.state", "")
	cases := join(
		each(200, func(lines string) *testCase { return load("merge", lines) },
			project+` {"type":"Project","data":{"slug":"odd2","name":"n"}}`,
			"{\"type\":\n\"Project\",\"data\":{\"slug\":\"odd\",\n\n\"name\":\"two lines\"}}",
			"\r\n"+project+"\r\n",
			`{"edge":"relatesTo","from":"m01","to":"m02"}`, `{"edge":"RELATESTO","from":"m01","to":"m02"}`,
			`{"type":"Note","data":{"text":"a","id":5}}`, `{"type":"Project","data":{"slug":"odd","name":"n","id":"odd"}}`, `{"type":"Project","data":{"slug":"é日本😀","name":"\u0000"}}`,
		),
		each(400, func(lines string) *testCase { return load("merge", lines) },
			project+"\n  x", project+project[:20], project+","+project, "\n\nx", project+"1", "1 2", "truefalse", project+"\x01", "["+project+"]",
			`{"type":"Project","data":{"slug":"odd","name":"n","id":"other"}}`, `{"type":"memory","data":{}}`, `{"type":"Doc","data":{"name":"odd","ok":true,"tags":[],"nums":[2147483648]}}`,
		),
	)
	for _, property := range []string{
		`"small":2147483648`, `"small":-2147483649`, `"small":1.0`, `"big":9223372036854775808`, `"u":4294967296`, `"u":-1`, `"f":16777217`, `"f":1e39`, `"g":1e308`,
		`"g":123456789012345678901234567890`, `"g":1e16`, `"g":1e-7`, `"g":-0.0`, `"nums":[1,null]`, `"nums":[1.5]`, `"alias":"é"`, `"day":0`, `"day":-1`, `"at":-1`, `"at":1234567890123`,
	} {
		again := *stored
		cases = append(cases, value(property), &again)
	}
	return append(cases,
		into(map[string]any{"data": project, "branch": ""}).fails(404),
		into(map[string]any{"data": project, "branch": "", "from": "main"}).fails(400),
		into(map[string]any{"data": project, "branch": "new", "from": ""}).fails(400),
		into(map[string]any{"data": project, "branch": "main", "from": "nope"}),
		load("overwrite", `{"type":"Doc","data":{"name":"odd","ok":true,"tags":[]}}`).fails(400),
		post("/export", `{"type_names":["Doc"]}`).asSet(),
		write(`delete Doc where name = "odd" delete Project where slug = "odd" delete Project where slug = "odd2" delete Project where slug = "é日本😀" delete Note where text = "a"`),
	)
}

func oddDates() []*testCase {
	cases := []*testCase{load("merge", `{"type":"Doc","data":{"name":"dated","ok":true,"tags":[]}}`)}
	for _, text := range []string{
		"2026-1-2", "20260102", "+2026-01-02", "-0001-01-01", "+12026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05", "2026-01-02t030405z", "2026-01-02T03:04:05.1234567890+0130",
		"2026-01-02T03:04:05 UTC", "2026-01-02T01:00:00 +02", "2026-01-02T23:59:60Z", "1969-12-31T23:59:59.9999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
	} {
		cases = append(cases, read(`$d: Doc { name: "dated" }`, `date("`+text+`") as d`, ""))
		if !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "-") {
			cases = append(cases, read(`$d: Doc { name: "dated" }`, `datetime("`+text+`") as d`, ""))
		}
	}
	param := func(path, kind, source, value string) *testCase {
		return run(path, "query q($x: "+kind+") { "+source+" }", map[string]any{"x": value})
	}
	const one = "return { $d.name, $x }"
	return append(join(cases, each(400, func(text string) *testCase {
		return read(`$d: Doc`, `datetime("`+text+`") as d`, "")
	}, "", "2026", "26-01-02", "2026-02-30", "2026-13-01", " 2026-01-02", "2026-01-02T03:04", "2026-01-02T3:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05+25:00",
		"2026-01-02T24:00:00Z", "2026-01-02T03:04:05 Z", "2026-01-02T03:04:05 Nowhere/Land")),
		param("/query", "Date", `match { $d: Doc { name: "full" } } `+one, "2026-01-02T03:04:05Z"),
		param("/query", "DateTime", `match { $d: Doc { name: "full", at: $x } } `+one, "2026-01-02"),
		param("/query", "DateTime", `match { $d: Doc $d.at <= $x } `+one, "2030-01-02"),
		param("/query", "Date", `match { $d: Doc { name: "none" } } `+one, "soon").fails(400),
		param("/query", "Date", `match { $d: Doc { name: "none" } $d.day = $x } return { $d.name }`, "soon").fails(400),
		param("/query", "Date", `match { $d: Doc { name: "none", day: $x } } return { $d.name }`, "soon"),
		param("/query", "Date", `match { $d: Doc { name: "full", day: $x } } `+one, "soon").fails(500),
		read(`$d: Doc { day: date("soon") }`, "$d.name", "").fails(500),
		read(`$d: Doc { name: "none", at: datetime("soon") }`, "$d.name", ""),
		read(`$d: Doc { name: date("soon") }`, "$d.name", "").fails(400),
		read(`$d: Doc { tags: date("soon") }`, "$d.name", "").fails(400),
		param("/mutate", "Date", `update Doc set { day: $x } where name = "dated"`, "2026-1-2"),
		param("/mutate", "Date", `update Doc set { day: $x } where name = "none"`, "soon"),
		write(`update Doc set { at: datetime("soon") } where name = "none"`),
		write(`delete Doc where day = date("2026-01-02")`).fails(500),
		param("/mutate", "DateTime", `delete Doc where at > $x`, "2026-01-02").fails(500),
		read(`$d: Doc { name: "dated" }`, "$d.day, $d.at", ""),
		write(`delete Doc where name = "dated"`),
	)
}

func oddBranches() []*testCase {
	create := func(body string) *testCase { return post("/branches", body) }
	on := func(branch, statements string) *testCase {
		return post("/mutate", object(map[string]any{"query": "query w() { " + statements + " }", "branch": branch}))
	}
	merge := func(body string) *testCase { return post("/branches/merge", body) }
	snapshot := func(branch string) *testCase { return get("/snapshot?branch=" + branch) }
	drop := func(name string) *testCase {
		return &testCase{method: http.MethodDelete, path: graphPath + "/branches/" + name, actor: "act-load", status: http.StatusOK}
	}
	return join(
		[]*testCase{
			// Whose a table is, along a branch's life.
			create(`{"name":"o1"}`), snapshot("o1"), on("o1", `update Memory set { title: "x" } where slug = "m01"`), snapshot("o1"),
			merge(`{"source":"o1"}`), snapshot("main"), snapshot("o1"), merge(`{"source":"main","target":"o1"}`), snapshot("o1"),
			create(`{"name":"o2","from":"o1"}`), on("o2", newMemory), merge(`{"source":"o2","target":"o1"}`), snapshot("o1"),
			merge(`{"source":"o1"}`), snapshot("main"), merge(`{"source":"main","target":"o1"}`), merge(`{"source":"o1"}`), get("/commits?branch=o1"),
			// Names.
			snapshot("%20o1%20"), on(" o1 ", `update Memory set { title: "y" } where slug = "m01"`), create(`{"name":" o3 ","from":" o1 "}`),
			merge(`{"source":" o3 ","target":" main "}`), drop("%20o3"), drop("o3").fails(404), get("/branches"),
			post("/load", object(map[string]any{"data": memory("z1", "t", 1), "branch": " o1 "})).fails(404),
			create(`{"name":"日本"}`), create(`{"name":"A_b-c.d"}`), on("日本", `update Memory set { title: "z" } where slug = "m01"`), merge(`{"source":"日本"}`),
			get("/branches"), drop("日本"), drop("A_b-c.d"), drop("%20main").fails(400),
			merge(`{"source":" main","target":"main"}`).fails(400), merge(`{"source":"nope","target":"o1"}`).fails(500), merge(`{"source":"o1","target":"nope"}`).fails(500),
		},
		each(400, create, `{"name":" "}`, `{"name":"x","from":""}`, `{"name":" main "}`),
		each(400, merge, `{"source":"o1","target":""}`, `{"source":"","target":"main"}`),
		each(500, create, `{"name":"..x"}`, `{"name":"y.lock"}`, `{"name":"./z"}`, `{"name":"z/../y"}`, `{"name":"/y"}`, `{"name":"p//q"}`, `{"name":"a\\b"}`, `{"name":"a:b"}`),
		[]*testCase{
			drop("o2"), drop("o1"),
			// What each side may do alone and both may not.
			create(`{"name":"c1"}`), on("c1", `insert One { from: "bare", to: "some" }`), on("main", `insert One { from: "bare", to: "full" }`), merge(`{"source":"c1"}`).fails(409),
			create(`{"name":"c2"}`), on("c2", `update Doc set { alias: "twice" } where name = "bare"`), on("main", `update Doc set { alias: "twice" } where name = "some"`), merge(`{"source":"c2"}`).fails(409),
			create(`{"name":"c3"}`), on("c3", `delete Memory where slug = "m09"`), on("main", `insert RelatesTo { from: "m09", to: "m01" }`), merge(`{"source":"c3"}`).fails(409),
			load("merge", `{"type":"Note","data":{"id":"n-1","text":"n1"}}`, `{"type":"Note","data":{"id":"n-2","text":"n2"}}`),
			create(`{"name":"c4"}`), on("c4", `insert Has { from: "bare", to: "n-1", n: 1 }`), on("main", `delete Note where text = "n1"`), merge(`{"source":"c4"}`).fails(409),
			create(`{"name":"c5"}`), on("c5", `update Memory set { title: "same" } where slug = "m08"`), on("main", `update Memory set { title: "same" } where slug = "m08"`), merge(`{"source":"c5"}`),
			create(`{"name":"c6"}`), on("c6", `delete Note where text = "n2"`), on("main", `delete Note where text = "n2"`), merge(`{"source":"c6"}`),
			snapshot("main"),
			drop("c1"), drop("c2"), drop("c3"), drop("c4"), drop("c5"), drop("c6"),
			write(`delete One where from = "bare"`), write(`update Doc set { alias: "some" } where name = "some"`),
		},
	)
}

func oddOrderings() []*testCase {
	return each(400, func(order string) *testCase {
		return read("$p: Project", "$p.slug as a, $p.name as b", "order { "+order+" }")
	},
		"", "a,", "a asc,", "a b", "a, = b", "{ a }", "$p 1", "a 1.5", "Memory")
}

func oddValues() []*testCase {
	filter := func(f string) *testCase { return read("$d: Doc "+f, "$d.name", "order { $d.name }") }
	param := func(kind, source string, value any) *testCase {
		return run("/query", "query q($x: "+kind+") { "+source+" order { $d.name } }", map[string]any{"x": value})
	}
	list := join(
		each(200, filter,
			`$d.small != 4294967296`, `$d.small < 9223372036854775807`, `$d.u != 9223372036854775807`, `$d.big = 9007199254740992.0`,
			`$d.f = 0.1`, `$d.f != 0.1`, `$d.nums contains 1.0`, `{ f: 0.1 }`, `{ nums: 1.0 }`, `$d.alias = $d.name`,
		),
		each(400, filter,
			`$d.small = 9223372036854775808`, `$d.small > -2.5`, `$d.name contains null`, `$d.tags contains $d`, `$d.tags contains ["y"]`, `$d.state = 1`, `$d.state contains "open"`, `{ state: 1 }`,
			`{ name: $d.small }`, `{ tags: 1 }`, `$d.ok = count($d)`,
		),
		// What never commits, so that it costs nothing.
		each(200, write, `delete Doc where tags = ["y"]`, `delete Doc where tags != []`, `update Doc set { big: 1 } where u > 4294967295`),
		each(500, write, `delete Doc where small = 2.5`, `update Doc set { big: 1 } where u > 9223372036854775807`, `delete Doc where small = 2147483648`),
	)
	for _, kind := range []string{"U32", "U64", "[U64]"} {
		for _, value := range []any{true, "a", "-1", []any{nil}, uint64(18446744073709551615), 1.5} {
			list = append(list, param(kind, `match { $d: Doc } return { $d.name, $x }`, value).fails(400))
		}
	}
	return append(list,
		param("F64", `match { $d: Doc { nums: $x } } return { $d.name }`, 1),
		param("[String]", `match { $d: Doc { tags: $x } } return { $d.name }`, []string{"y"}).fails(400),
		param("String", `match { $d: Doc { nums: $x } } return { $d.name }`, "y").fails(400),
		param("I32", `match { $d: Doc { state: $x } } return { $d.name }`, 1).fails(400),
		param("[Date]", `match { $d: Doc } return { $d.name, $x }`, []string{"2026-1-2"}),
		param("[Date]", `match { $d: Doc } return { $d.name, $x }`, []string{"soon"}).fails(400),
	)
}

func oddCalls() []*testCase {
	const one = `query q() { match { $m: Memory } return { $m.slug } order { $m.slug } limit 1 }`
	const text = `query q() { match { $d: Doc { name: "full" } } return { "a,b" as c, "q\"x" as d, "line\nbreak" as e, "é日本" as f, "" as g, 1.5 as h } }`
	const nothing = `query w() { delete Project where slug = "none" }`
	list := []*testCase{
		served("query", "--params={}", "-e", one, "--json"),
		served("query", "-e", one, "q", "--json"),
		served("query", "-e", one, "x", "--json").fails(1),
		served("query", "-e", "", "--json").fails(1),
		served("query", "-e", one, "--json", "--json").fails(2),
		served("query", "-e", one, "-e", one).fails(2),
		served("query", "--json=true", "-e", one).fails(2),
		served("mutate", "--json").fails(1),
		served("mutate", "-e", nothing, "--as", "act-load").fails(1),
		served("mutate", "-e", nothing, "--if-commit", "x").fails(2),
		served("mutate", "-e", nothing, "--branch", "nope").fails(1),
		served("branch", "create", "x", "--as", "act-load").fails(1),
		served("branch").fails(2), served("commit").fails(2), served("schema").fails(2),
		served("branch", "create").fails(2),
		served("branch", "create", "a;b").fails(1),
		served("branch", "merge", "main").fails(1),
		cli("query", "-e", one, "--cluster", "rig", "--graph", "council").fails(1),
		cli("branch", "list", "--cluster", "rig", "--graph", "council").fails(1),
		cli("query", "-e", one, "--store", "nowhere").fails(1),
		cli("snapshot", "nowhere").fails(1),
		cli("mutate", "-e", one, "--store", "{{store}}").fails(1),
		cli("cleanup", "{{store}}", "--keep", "x").fails(2),
		cli("cleanup", "{{store}}", "--keep", "-1").fails(2),
		cli("cleanup", "{{store}}", "--older-than", "1x").fails(1),
		cli("cleanup", "{{store}}", "--older-than", "1.5h").fails(1),
		cli("init", "x").fails(2),
	}
	for _, format := range []string{"json", "jsonl", "csv", "table", "kv"} {
		list = append(list, served("query", "-e", text, "--format", format))
	}
	return list
}
