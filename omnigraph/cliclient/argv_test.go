package cliclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

const (
	servedArgs = "--server http://h:8080 --graph g"
	storeArgs  = "--store /data/g.omni"
)

func clientFor(t testing.TB, config Config) *Client {
	t.Helper()
	c, err := New(config)
	require.NoError(t, err)
	return c
}

func TestArgvOfEveryOperation(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		name   string
		op     wire.Operation
		served string // what is expected with a server and a store
		stored string // the same with a store alone; empty is unsupported
	}{
		{"query", wire.Operation{Op: wire.OpQuery, Text: "TEXT"}, "query -e TEXT SERVED --json", "query -e TEXT STORE --json"},
		{"query with everything", wire.Operation{Op: wire.OpQuery, Text: "TEXT", Name: "q", Params: json.RawMessage(`{"a":1}`), Branch: "b"}, `query -e TEXT --params {"a":1} SERVED --branch b --json q`, `query -e TEXT --params {"a":1} STORE --branch b --json q`},
		{"query of a snapshot", wire.Operation{Op: wire.OpQuery, Text: "TEXT", Snapshot: "s"}, "query -e TEXT SERVED --snapshot s --json", "query -e TEXT STORE --snapshot s --json"},
		{"names with dots", wire.Operation{Op: wire.OpInvoke, Name: ".a."}, "query SERVED --json .a.", ""},
		{"mutate", wire.Operation{Op: wire.OpMutate, Text: "TEXT", Branch: "b"}, "mutate -e TEXT SERVED --branch b --json", "mutate -e TEXT STORE --branch b --json"},
		{"conditional mutate", wire.Operation{Op: wire.OpMutate, Text: "TEXT", IfCommit: "01M"}, "mutate -e TEXT SERVED --if-commit 01M --json", "mutate -e TEXT STORE --if-commit 01M --json"},
		{"invoke", wire.Operation{Op: wire.OpInvoke, Name: "find"}, "query SERVED --json find", ""},
		{"invoke a read", wire.Operation{Op: wire.OpInvoke, Name: "find", Mutation: &no}, "query SERVED --json find", ""},
		{"invoke a mutation", wire.Operation{Op: wire.OpInvoke, Name: "add", Mutation: &yes, Params: json.RawMessage(`{}`)}, "mutate --params {} SERVED --json add", ""},
		{"load from a file", wire.Operation{Op: wire.OpLoad, DataFile: "rows.jsonl", Mode: "merge", Branch: "b", From: "main"}, "load --data rows.jsonl --mode merge SERVED --branch b --from main --json --quiet", "load --data rows.jsonl --mode merge STORE --branch b --from main --json --quiet"},
		{"load that appends", wire.Operation{Op: wire.OpLoad, DataFile: "-rows.jsonl", Mode: "append"}, "load --data=-rows.jsonl --mode append SERVED --json --quiet", "load --data=-rows.jsonl --mode append STORE --json --quiet"},
		{"load that overwrites", wire.Operation{Op: wire.OpLoad, DataFile: "rows.jsonl", Mode: "overwrite"}, "load --data rows.jsonl --mode overwrite SERVED --yes --json --quiet", "load --data rows.jsonl --mode overwrite STORE --yes --json --quiet"},
		{"snapshot", wire.Operation{Op: wire.OpSnapshot, Branch: "b"}, "snapshot SERVED --branch b --json", "snapshot STORE --branch b --json"},
		{"schema", wire.Operation{Op: wire.OpSchema}, "schema show SERVED --json", "schema show STORE --json"},
		{"branches", wire.Operation{Op: wire.OpBranches}, "branch list SERVED --json", "branch list STORE --json"},
		{"branch create", wire.Operation{Op: wire.OpBranchCreate, Branch: "b", From: "main"}, "branch create SERVED --from main --json --quiet b", "branch create STORE --from main --json --quiet b"},
		{"branch delete", wire.Operation{Op: wire.OpBranchDelete, Branch: "b"}, "branch delete SERVED --yes --json --quiet b", "branch delete STORE --yes --json --quiet b"},
		{"branch merge", wire.Operation{Op: wire.OpBranchMerge, Source: "b", Target: "main"}, "branch merge SERVED --into main --json --quiet b", "branch merge STORE --into main --json --quiet b"},
		{"commits", wire.Operation{Op: wire.OpCommits, Branch: "b"}, "commit list SERVED --branch b --json", "commit list STORE --branch b --json"},
		{"export", wire.Operation{Op: wire.OpExport, TypeNames: []string{"A", "B"}}, "export SERVED --type A --type B", "export STORE --type A --type B"},
		{"version", wire.Operation{Op: wire.OpVersion}, "--version", "--version"},
		{"optimize", wire.Operation{Op: wire.OpOptimize}, "optimize STORE --json --quiet", "optimize STORE --json --quiet"},
		{"cleanup", wire.Operation{Op: wire.OpCleanup, Keep: 3}, "cleanup STORE --keep 3 --confirm --yes --json --quiet", "cleanup STORE --keep 3 --confirm --yes --json --quiet"},
		{"repair", wire.Operation{Op: wire.OpRepair}, "repair STORE --json --quiet", "repair STORE --json --quiet"},
		{"values like flags", wire.Operation{Op: wire.OpQuery, Text: "-x", Name: "--store", Branch: "-b", Params: json.RawMessage("-1")}, "query --query-string=-x --params=-1 SERVED --branch=-b --json -- --store", "query --query-string=-x --params=-1 STORE --branch=-b --json -- --store"},
	}
	served := clientFor(t, Config{Server: "http://h:8080", Store: "/data/g.omni"})
	stored := clientFor(t, Config{Store: "/data/g.omni"})
	fill := strings.NewReplacer("SERVED", servedArgs, "STORE", storeArgs)
	seen := map[wire.Op]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen[test.op.Op] = true
			test.op.Graph = "g"
			args, err := served.argv(&test.op)
			require.Nil(t, err)
			require.Equal(t, fill.Replace(test.served), strings.Join(args.list, " "))

			args, err = stored.argv(&test.op)
			if test.stored == "" {
				require.Equal(t, wire.KindUnsupported, err.Kind)
				return
			}
			require.Nil(t, err)
			require.Equal(t, fill.Replace(test.stored), strings.Join(args.list, " "))
		})
	}
	for _, op := range wire.Ops() {
		require.Equal(t, op.Offered(wire.TransportCLI), seen[op], "%s is offered and tested, or neither", op)
	}
}

func TestUsersArgumentsComeBeforePositions(t *testing.T) {
	t.Parallel()
	c := clientFor(t, Config{Server: "http://h:8080", Args: []string{"--as", "act-1"}})
	args, err := c.argv(&wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "find"})
	require.Nil(t, err)
	require.Equal(t, "query "+servedArgs+" --json --as act-1 find", strings.Join(args.list, " "))
	args, err = c.argv(&wire.Operation{Op: wire.OpVersion})
	require.Nil(t, err)
	require.Equal(t, []string{"--version"}, args.list, "the spawn floor stays the same")
}

func TestWhatCannotWorkIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	served := Config{Server: "http://h:8080"}
	long := strings.Repeat("x", maxArgBytes+1)
	tests := []struct {
		name    string
		config  Config
		op      wire.Operation
		kind    wire.ErrorKind
		message string
	}{
		{"graphs", served, wire.Operation{Op: wire.OpGraphs}, wire.KindUnsupported, "use a HTTPClient"},
		{"health", served, wire.Operation{Op: wire.OpHealth}, wire.KindUnsupported, "use a HTTPClient"},
		{"queries", served, wire.Operation{Op: wire.OpQueries}, wire.KindUnsupported, "use a HTTPClient"},
		{"unknown operation", served, wire.Operation{Op: "dance"}, wire.KindUnsupported, "dance"},
		{"optimize without a store", served, wire.Operation{Op: wire.OpOptimize}, wire.KindUnsupported, "give the CLI client `store`"},
		{"cleanup without a store", served, wire.Operation{Op: wire.OpCleanup, Keep: 1}, wire.KindUnsupported, "`store`"},
		{"repair without a store", served, wire.Operation{Op: wire.OpRepair}, wire.KindUnsupported, "`store`"},
		{"stored query on a store", Config{Store: "g.omni"}, wire.Operation{Op: wire.OpInvoke, Name: "find"}, wire.KindUnsupported, "`server`"},
		{"no address", Config{}, wire.Operation{Op: wire.OpQuery, Text: "T"}, wire.KindBadRequest, "give the client `server` or `store`"},
		{"no graph", served, wire.Operation{Op: wire.OpQuery, Text: "T"}, wire.KindBadRequest, "graph: query needs a graph"},
		{"no text", served, wire.Operation{Op: wire.OpMutate, Text: " \n"}, wire.KindBadRequest, "mutate needs the text"},
		{"params that are no JSON", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Params: json.RawMessage("{\x00}")}, wire.KindBadRequest, "params: not valid JSON"},
		{"params that are too deep", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Params: nested(maxParamsDepth + 1)}, wire.KindBadRequest, "params: nested deeper than 127 levels"},
		{"a graph that is a step", served, wire.Operation{Op: wire.OpQuery, Graph: "..", Text: "T"}, wire.KindBadRequest, `graph: got ".."`},
		{"a graph that is a step to itself", served, wire.Operation{Op: wire.OpSchema, Graph: "."}, wire.KindBadRequest, `graph: got "."`},
		{"a graph that is a step in disguise", served, wire.Operation{Op: wire.OpQuery, Graph: "%2e%2e", Text: "T"}, wire.KindBadRequest, `graph: got "%2e%2e"`},
		{"a graph with a space behind", served, wire.Operation{Op: wire.OpQuery, Graph: ".. ", Text: "T"}, wire.KindBadRequest, `graph: got ".. "`},
		{"a graph with a path", served, wire.Operation{Op: wire.OpQuery, Graph: "a/../b", Text: "T"}, wire.KindBadRequest, `graph: got "a/../b"`},
		{"a graph with a query", served, wire.Operation{Op: wire.OpQuery, Graph: "a?b", Text: "T"}, wire.KindBadRequest, `graph: got "a?b"`},
		{"a graph over two lines", served, wire.Operation{Op: wire.OpQuery, Graph: "a\nb", Text: "T"}, wire.KindBadRequest, `graph: got "a\nb"`},
		{"a stored query that is a step", served, wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: ".."}, wire.KindBadRequest, `name: got ".."`},
		{"a branch to delete that is a step", served, wire.Operation{Op: wire.OpBranchDelete, Graph: "g", Branch: ".."}, wire.KindBadRequest, `branch: got ".."`},
		{"a branch and a snapshot", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Branch: "b", Snapshot: "s"}, wire.KindBadRequest, `the branch is "b"`},
		{"a branch and a snapshot of a store", Config{Store: "g.omni"}, wire.Operation{Op: wire.OpQuery, Text: "T", Branch: "b", Snapshot: "s"}, wire.KindBadRequest, "not both"},
		{"rows that are not UTF-8", served, wire.Operation{Op: wire.OpLoad, Graph: "g", Mode: "append", Data: []byte("{}\n{\"a\":\"\xff\"}")}, wire.KindBadRequest, "data: line 2 is not UTF-8: byte 7 of it is 0xff"},
		{"load without a mode", served, wire.Operation{Op: wire.OpLoad, Graph: "g", Data: []byte("{}")}, wire.KindBadRequest, `mode: got "", takes`},
		{"load of an unknown mode", served, wire.Operation{Op: wire.OpLoad, Graph: "g", Mode: "upsert"}, wire.KindBadRequest, `mode: got "upsert", takes append, merge or overwrite`},
		{"no name", served, wire.Operation{Op: wire.OpInvoke}, wire.KindBadRequest, "name: invoke needs"},
		{"nothing to keep", Config{Store: "g.omni"}, wire.Operation{Op: wire.OpCleanup}, wire.KindBadRequest, "keep: cleanup takes"},
		{"no branch to delete", served, wire.Operation{Op: wire.OpBranchDelete, Graph: "g"}, wire.KindBadRequest, "branch: must not be empty"},
		{"no branch to create", served, wire.Operation{Op: wire.OpBranchCreate, Graph: "g"}, wire.KindBadRequest, "branch: must not be empty"},
		{"no source to merge", served, wire.Operation{Op: wire.OpBranchMerge, Graph: "g"}, wire.KindBadRequest, "source: must not be empty"},
		{"mutation on a snapshot", served, wire.Operation{Op: wire.OpMutate, Graph: "g", Text: "T", Snapshot: "s"}, wire.KindBadRequest, "snapshot: a mutation"},
		{"conditional read", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", IfCommit: "c"}, wire.KindBadRequest, "ifCommit: only a mutation"},
		{"NUL in a branch", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Branch: "a\x00b"}, wire.KindBadRequest, "branch: must not contain NUL"},
		{"NUL in a name", served, wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "a\x00b"}, wire.KindBadRequest, "name: must not contain NUL"},
		{"branch that is too long", served, wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Branch: long}, wire.KindBadRequest, "branch: got 100001 bytes"},
		{"name that is too long", served, wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: long}, wire.KindBadRequest, "name: got 100001 bytes"},
		{"type that is too long", served, wire.Operation{Op: wire.OpExport, Graph: "g", TypeNames: []string{long}}, wire.KindBadRequest, "types: got"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.config.Bin = "/no/such/omnigraph" // A start would be spawn_failed.
			out := clientFor(t, test.config).Do(t.Context(), &test.op)
			require.NotNil(t, out.Err)
			require.Equal(t, test.kind, out.Err.Kind, out.Err.Message)
			require.Contains(t, out.Err.Message, test.message)
			require.False(t, out.Err.Indeterminate)
			require.Equal(t, -1, out.ExitCode)
			require.Nil(t, out.Process)
		})
	}
}

// nested is an object of a depth, itself included.
func nested(depth int) json.RawMessage {
	return json.RawMessage(`{"text":"[[[\"[[[","a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
}

func TestDeepParamsGoAsFarAsTheCLIReads(t *testing.T) {
	t.Parallel()
	c := clientFor(t, Config{Server: "http://h:8080"})
	params := nested(maxParamsDepth)
	args, err := c.argv(&wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "T", Params: params})
	require.Nil(t, err)
	require.Contains(t, args.list, string(params))
}

// A store has no address whose path could go astray.
func TestAStoreTakesBranchesOfAnyName(t *testing.T) {
	t.Parallel()
	c := clientFor(t, Config{Store: "/data/g.omni"})
	args, err := c.argv(&wire.Operation{Op: wire.OpBranchDelete, Graph: "..", Branch: ".."})
	require.Nil(t, err)
	require.Equal(t, "branch delete "+storeArgs+" --yes --json --quiet ..", strings.Join(args.list, " "))
}

// seenBy runs an operation on the mirror.
func seenBy(t testing.TB, c *Client, op *wire.Operation) reflection {
	t.Helper()
	out := c.Do(t.Context(), op)
	require.Nil(t, out.Err)
	var rows []reflection
	require.NoError(t, json.Unmarshal([]byte(out.Success.Rows), &rows))
	require.Len(t, rows, 1)
	for _, arg := range rows[0].Args {
		require.LessOrEqual(t, len(arg), maxArgBytes)
	}
	return rows[0]
}

func TestLongTextAndParamsGoThroughPrivateFiles(t *testing.T) {
	t.Parallel()
	text := "query q() { } // " + strings.Repeat("ü", 40_000)
	params := json.RawMessage(`{"s":"` + strings.Repeat("x", 300_000) + `"}`)
	r := seenBy(t, fake(t, "mirror"), &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: text, Params: params, Name: "q"})
	require.Equal(t, text, string(r.Files["--query"]))
	require.Equal(t, string(params), string(r.Files["--params-file"]))
	require.Equal(t, map[string]string{"--query": "-rw-------", "--params-file": "-rw-------", "folder": "drwx------"}, r.Modes)
	require.NotContains(t, r.Args, "-e")
	for _, arg := range r.Args {
		if strings.Contains(arg, "omnigraph-call-") {
			require.NoFileExists(t, arg)
		}
	}
}

func TestInlineUpToTheLimit(t *testing.T) {
	t.Parallel()
	text := "//" + strings.Repeat("x", inlineBytes-2)
	r := seenBy(t, fake(t, "mirror"), &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: text})
	require.Empty(t, r.Files)
	require.Contains(t, r.Args, text)
	r = seenBy(t, fake(t, "mirror"), &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: text + "x"})
	require.Equal(t, text+"x", string(r.Files["--query"]))
}

func TestEveryByteArrivesUnderAnyLocale(t *testing.T) {
	t.Parallel()
	text := "query q() { } // äöü 漢字 🦀 \"quoted\" 'single' \\ $HOME `id` \n\t*"
	params := json.RawMessage(`{"s":"äöü 漢字 🦀 \" \\ \n \u0000 $HOME ` + "`id`" + `"}`)
	for _, locale := range []string{"C", "en_US.UTF-8", ""} {
		c := fake(t, "mirror", withEnv("LANG", locale), withEnv("LC_ALL", locale))
		r := seenBy(t, c, &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: text, Params: params})
		require.Contains(t, r.Args, text)
		require.Contains(t, r.Args, string(params))
		r = seenBy(t, c, &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: text + "\x00"})
		require.Equal(t, text+"\x00", string(r.Files["--query"]), "NUL can't be in an argument")
	}
}

func TestLoadWritesDataToAPrivateFile(t *testing.T) {
	t.Parallel()
	c := fake(t, "mirror")
	data := []byte(strings.Repeat(`{"type":"Memory","data":{}}`+"\n", 2000))
	// The mirror answers a query; that a load takes this for no answer of its own is part of the test.
	out := c.Do(t.Context(), &wire.Operation{Op: wire.OpLoad, Graph: "g", Data: data, Mode: "merge"})
	require.Equal(t, wire.KindProtocol, out.Err.Kind)
	require.True(t, out.Err.Indeterminate)

	a := &arguments{list: []string{"load"}}
	a.file("--data", "data.jsonl", data)
	files, err := makeScratch(a, true)
	require.NoError(t, err)
	written, err := os.ReadFile(a.list[2])
	require.NoError(t, err)
	require.Equal(t, data, written)
	info, err := os.Stat(a.list[2])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, files.remove())
	require.NoDirExists(t, files.home)
	require.NoDirExists(t, files.files)
}

func TestStoredQueryTeachesWhetherItWrites(t *testing.T) {
	t.Parallel()
	catalog := NewCatalog()
	pids := filepath.Join(t.TempDir(), "pids")
	shared := func(c *Config) { c.Catalog = catalog }
	c := fake(t, "stored", shared, withEnv(fakePIDs, pids))
	write := &wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "writes"}
	first := c.Do(t.Context(), write)
	require.Nil(t, first.Err)
	require.Equal(t, 1, first.Success.AffectedNodes)
	second := c.Do(t.Context(), write)
	require.Nil(t, second.Err)
	require.Len(t, awaitPIDs(pids, 3), 3, "two processes for the first call, one for the second")
	require.Positive(t, first.Timings.Spawn)
	require.Nil(t, fake(t, "stored", shared, withEnv(fakePIDs, pids)).Do(t.Context(), write).Err)
	require.Len(t, awaitPIDs(pids, 4), 4, "another client knows it already")
	require.Equal(t, "mutate", c.storedCommand(write))
	require.Equal(t, "query", c.storedCommand(&wire.Operation{Graph: "g", Name: "reads"}))
	require.Equal(t, "query", c.storedCommand(&wire.Operation{Graph: "other", Name: "writes"}))

	read := c.Do(t.Context(), &wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "reads"})
	require.Nil(t, read.Err)
	require.Equal(t, 1, read.Success.RowCount)

	// What has changed on the server since is learned anew.
	catalog.writes.Store(c.storedQuery(&wire.Operation{Graph: "g", Name: "reads"}), true)
	require.Nil(t, c.Do(t.Context(), &wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "reads"}).Err)

	// What the script says is not second-guessed.
	yes := true
	out := c.Do(t.Context(), &wire.Operation{Op: wire.OpInvoke, Graph: "g", Name: "reads", Mutation: &yes})
	require.Equal(t, wire.KindBadRequest, out.Err.Kind)
	require.Contains(t, out.Err.Message, "is a read")
}
