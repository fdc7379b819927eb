package cliclient

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
	"github.com/stretchr/testify/require"
)

const (
	readText = `query point($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title, $m.body } }`
	addText  = `query add($slug: String, $title: String) {
		insert Memory { slug: $slug, title: $title, body: "b", kind: "note", project: "p", importance: 1, created_at: now() }
	}`
	setText    = `query set($slug: String, $n: I32) { update Memory set { importance: $n } where slug = $slug }`
	forgetText = `query forget($slug: String) { delete Memory where slug = $slug }`
	countText  = `query n() { match { $m: Memory } return { count($m) as n } }`
)

// realClient is a client for a rig.
func realClient(t testing.TB, r *rigtest.Rig, change ...func(*Config)) *Client {
	t.Helper()
	config := Config{Bin: r.Bin, Server: r.URL, Store: r.Store, Token: r.Token}
	for _, f := range change {
		f(&config)
	}
	return clientFor(t, config)
}

func params(t testing.TB, values map[string]any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(values)
	require.NoError(t, err)
	return text
}

// onGraph makes an operation on the rig's graph.
func onGraph(op wire.Operation) *wire.Operation {
	op.Graph, op.Timeout = rig.Graph, time.Minute
	return &op
}

func succeed(t testing.TB, c *Client, op wire.Operation) *wire.Outcome {
	t.Helper()
	out := c.Do(t.Context(), onGraph(op))
	require.Nil(t, out.Err)
	require.Zero(t, out.ExitCode)
	return out
}

func TestEveryOperationOnTheRealServer(t *testing.T) {
	r := rigtest.Start(t)
	c := realClient(t, r)
	memory := func(slug string) json.RawMessage { return params(t, map[string]any{"slug": slug}) }
	count := func(t *testing.T) string {
		return succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: countText}).Success.Rows
	}
	yes, no := true, false

	t.Run("version", func(t *testing.T) {
		out := succeed(t, c, wire.Operation{Op: wire.OpVersion})
		require.Regexp(t, `^omnigraph \d+\.`, out.Success.Doc)
	})
	t.Run("mutate, query, forget", func(t *testing.T) {
		out := succeed(t, c, wire.Operation{Op: wire.OpMutate, Text: addText, Params: params(t, map[string]any{"slug": "cli-1", "title": "one"})})
		require.Equal(t, 1, out.Success.AffectedNodes)
		require.True(t, out.Success.Mutation)
		require.NotEmpty(t, out.Success.ActorID)
		out = succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("cli-1")})
		require.JSONEq(t, `[{"m.slug":"cli-1","m.title":"one","m.body":"b"}]`, out.Success.Rows)
		require.Equal(t, 1, out.Success.RowCount)
		require.Positive(t, out.Process.CPU)
		require.Positive(t, out.Timings.Decode)
		out = succeed(t, c, wire.Operation{Op: wire.OpMutate, Text: forgetText, Params: memory("cli-1")})
		require.Equal(t, 1, out.Success.AffectedNodes)
		out = succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("cli-1")})
		require.Zero(t, out.Success.RowCount)
	})
	t.Run("one of several queries by name", func(t *testing.T) {
		out := succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText + "\n" + countText, Name: "n"})
		require.JSONEq(t, count(t), out.Success.Rows)
	})
	t.Run("address in another spelling", func(t *testing.T) {
		other := realClient(t, r, func(c *Config) { c.Server = "HTTP" + strings.TrimPrefix(r.URL, "http") + "/" })
		require.JSONEq(t, count(t), succeed(t, other, wire.Operation{Op: wire.OpQuery, Text: countText}).Success.Rows)
	})
	t.Run("invoke", func(t *testing.T) {
		slug := json.RawMessage(`{"slug":"nobody"}`)
		out := succeed(t, c, wire.Operation{Op: wire.OpInvoke, Name: "get_memory", Params: slug, Mutation: &no})
		require.Zero(t, out.Success.RowCount)
		require.False(t, out.Success.Mutation)
		out = succeed(t, c, wire.Operation{Op: wire.OpInvoke, Name: "forget", Params: slug, Mutation: &yes})
		require.True(t, out.Success.Mutation)
		out = succeed(t, c, wire.Operation{Op: wire.OpInvoke, Name: "count_memories"})
		require.Equal(t, 1, out.Success.RowCount)
	})
	t.Run("invoke a mutation of which nothing is known", func(t *testing.T) {
		add := params(t, map[string]any{"slug": "cli-2", "title": "t", "body": "b", "kind": "note", "project": "p", "importance": 1})
		out := succeed(t, c, wire.Operation{Op: wire.OpInvoke, Name: "add_memory", Params: add})
		require.Equal(t, 1, out.Success.AffectedNodes, "once, although it took two processes")
		out = succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("cli-2")})
		require.Equal(t, 1, out.Success.RowCount)
		succeed(t, c, wire.Operation{Op: wire.OpInvoke, Name: "forget", Params: memory("cli-2")})
	})
	t.Run("snapshot, schema, commits", func(t *testing.T) {
		require.Contains(t, succeed(t, c, wire.Operation{Op: wire.OpSnapshot}).Success.Rows, `"type":"Memory"`)
		require.Contains(t, succeed(t, c, wire.Operation{Op: wire.OpSchema}).Success.Doc, "node Memory")
		require.Positive(t, succeed(t, c, wire.Operation{Op: wire.OpCommits}).Success.RowCount)
	})
	t.Run("branches", func(t *testing.T) {
		succeed(t, c, wire.Operation{Op: wire.OpBranchCreate, Branch: "try", From: "main"})
		require.Contains(t, succeed(t, c, wire.Operation{Op: wire.OpBranches}).Success.Rows, `"try"`)
		succeed(t, c, wire.Operation{Op: wire.OpMutate, Branch: "try", Text: addText, Params: params(t, map[string]any{"slug": "cli-3", "title": "x"})})
		require.Zero(t, succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("cli-3")}).Success.RowCount)
		succeed(t, c, wire.Operation{Op: wire.OpBranchMerge, Source: "try", Target: "main"})
		require.Equal(t, 1, succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("cli-3")}).Success.RowCount)
		succeed(t, c, wire.Operation{Op: wire.OpBranchDelete, Branch: "try"})
		require.NotContains(t, succeed(t, c, wire.Operation{Op: wire.OpBranches}).Success.Rows, `"try"`)
		succeed(t, c, wire.Operation{Op: wire.OpMutate, Text: forgetText, Params: memory("cli-3")})
	})
	t.Run("load", func(t *testing.T) {
		row := func(i int) string {
			return fmt.Sprintf(`{"type":"Memory","data":{"slug":"load-%d","title":"t","body":"b","kind":"fact","project":"p","importance":1,"created_at":"2026-01-01T00:00:00Z"}}`, i)
		}
		out := succeed(t, c, wire.Operation{Op: wire.OpLoad, Mode: "merge", Data: []byte(row(1) + "\n" + row(2) + "\n")})
		require.Equal(t, 2, out.Success.AffectedNodes)
		file := filepath.Join(t.TempDir(), "rows.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(row(3)+"\n"), 0o600))
		out = succeed(t, c, wire.Operation{Op: wire.OpLoad, Mode: "append", DataFile: file})
		require.Equal(t, 1, out.Success.AffectedNodes)
		require.FileExists(t, file, "the user's own")
		require.Equal(t, 1, succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("load-3")}).Success.RowCount)
	})
	t.Run("export", func(t *testing.T) {
		var rows []string
		out := succeed(t, c, wire.Operation{Op: wire.OpExport, TypeNames: []string{"Memory"}, Each: func(row string) error {
			rows = append(rows, row)
			return nil
		}})
		require.Greater(t, out.Success.RowCount, 50)
		require.Len(t, rows, out.Success.RowCount)
		require.Contains(t, strings.Join(rows, ""), `"slug":"load-3"`)
	})
	t.Run("maintenance of the store while the server runs", func(t *testing.T) {
		require.Positive(t, succeed(t, c, wire.Operation{Op: wire.OpOptimize}).Success.RowCount)
		require.Positive(t, succeed(t, c, wire.Operation{Op: wire.OpRepair}).Success.RowCount)
		require.Positive(t, succeed(t, c, wire.Operation{Op: wire.OpCleanup, Keep: 5}).Success.RowCount)
		require.Equal(t, 1, succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: memory("load-3")}).Success.RowCount)
	})
	t.Run("the store alone", func(t *testing.T) {
		alone := realClient(t, r, func(c *Config) { c.Server, c.Token = "", "" })
		require.JSONEq(t, count(t), succeed(t, alone, wire.Operation{Op: wire.OpQuery, Text: countText}).Success.Rows)
		require.Contains(t, succeed(t, alone, wire.Operation{Op: wire.OpSnapshot}).Success.Rows, `"type":"Memory"`)
		require.Positive(t, succeed(t, alone, wire.Operation{Op: wire.OpCommits}).Success.RowCount)
	})
	t.Run("a load that overwrites", func(t *testing.T) {
		out := succeed(t, c, wire.Operation{Op: wire.OpLoad, Mode: "overwrite", Data: []byte(`{"edge":"RelatesTo","from":"load-1","to":"load-2","data":{}}` + "\n")})
		require.Equal(t, 1, out.Success.AffectedEdges)
		out = succeed(t, c, wire.Operation{Op: wire.OpExport, TypeNames: []string{"RelatesTo"}})
		require.Equal(t, 1, out.Success.RowCount, "all others are gone")
	})
}

func TestEveryByteReachesTheRealServer(t *testing.T) {
	r := rigtest.Start(t)
	long := strings.Repeat("lang 漢字 🦀 ", 18_000) // About 300 KB.
	require.Greater(t, len(long), 300_000)
	titles := map[string]string{
		"umlauts": "äöüß ÄÖÜ", "cjk": "漢字かな 한글", "emoji": "🦀👩‍🚀", "quotes": `"double" 'single' \back\ ` + "`tick`",
		"newline": "a\nb\r\nc\td", "nul": "a\x00b", "shell": "$HOME $(id) ; rm -rf * | & > <", "dash": "--flag -x", "long": long,
	}
	for _, locale := range []string{"C", "C.UTF-8"} {
		c := realClient(t, r, func(c *Config) { c.Env = map[string]string{"LANG": locale, "LC_ALL": locale} })
		for name, title := range titles {
			slug := locale + " " + name + " ü"
			succeed(t, c, wire.Operation{Op: wire.OpMutate, Text: addText, Params: params(t, map[string]any{"slug": slug, "title": title})})
			out := succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: readText, Params: params(t, map[string]any{"slug": slug})})
			var rows []map[string]string
			require.NoError(t, json.Unmarshal([]byte(out.Success.Rows), &rows))
			require.Len(t, rows, 1, "%s %s", locale, name)
			require.Equal(t, title, rows[0]["m.title"], "%s %s", locale, name)
		}
	}
}

func TestLongTextAndTwoThousandRowsOnTheRealServer(t *testing.T) {
	r := rigtest.Start(t)
	c := realClient(t, r)
	var data strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&data, `{"type":"Memory","data":{"slug":"bulk-%04d","title":"t","body":"b","kind":"fact","project":"bulk","importance":1,"created_at":"2026-01-01T00:00:00Z"}}`+"\n", i)
	}
	require.Equal(t, 2000, succeed(t, c, wire.Operation{Op: wire.OpLoad, Mode: "merge", Data: []byte(data.String())}).Success.AffectedNodes)
	text := `query bulk() { match { $m: Memory { project: "bulk" } } return { $m.slug } order { $m.slug asc } }` + "\n// " + strings.Repeat("x", 2*inlineBytes)
	out := succeed(t, c, wire.Operation{Op: wire.OpQuery, Text: text})
	require.Equal(t, 2000, out.Success.RowCount)
	var rows []map[string]string
	require.NoError(t, json.Unmarshal([]byte(out.Success.Rows), &rows))
	require.Len(t, rows, 2000)
	require.Equal(t, "bulk-1999", rows[1999]["m.slug"])
}

// keepPort keeps a server's port from being taken by others, without listening on it. It says whether it was free.
func keepPort(t *testing.T, address string) bool {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil
}

func TestFailuresOnTheRealServer(t *testing.T) {
	r := rigtest.Start(t, rigtest.ServerEnv("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=2"))
	reader := r.Tokens[rig.ActorReader]
	require.NotEmpty(t, reader)
	write := wire.Operation{Op: wire.OpMutate, Text: setText, Params: json.RawMessage(`{"slug":"x","n":1}`)}
	read := wire.Operation{Op: wire.OpQuery, Text: readText, Params: json.RawMessage(`{"slug":"x"}`)}
	with := func(op wire.Operation, change func(*wire.Operation)) wire.Operation {
		change(&op)
		return op
	}
	tests := []struct {
		name   string
		config func(*Config)
		op     wire.Operation
		kind   wire.ErrorKind
	}{
		{"no server", func(c *Config) { c.Server = "http://127.0.0.1:1" }, write, wire.KindConnect},
		{"no token", func(c *Config) { c.Token = "" }, read, wire.KindUnauthorized},
		{"wrong token", func(c *Config) { c.Token = "wrong-token" }, write, wire.KindUnauthorized},
		{"policy", func(c *Config) { c.Token = reader }, write, wire.KindForbidden},
		{"query that does not parse", nil, with(read, func(o *wire.Operation) { o.Text = "quer" }), wire.KindBadRequest},
		{"parameter of the wrong type", nil, with(write, func(o *wire.Operation) { o.Params = json.RawMessage(`{"slug":"x","n":"many"}`) }), wire.KindBadRequest},
		{"unknown stored query", nil, wire.Operation{Op: wire.OpInvoke, Name: "nope"}, wire.KindNotFound},
		{"branch that is not there", nil, with(read, func(o *wire.Operation) { o.Branch = "nope" }), wire.KindNotFound},
		{"data that is no NDJSON", nil, wire.Operation{Op: wire.OpLoad, Mode: "merge", Data: []byte("{\n")}, wire.KindBadRequest},
		{"data file that is not there", nil, wire.Operation{Op: wire.OpLoad, Mode: "merge", DataFile: "/no/such/rows.jsonl"}, wire.KindBadRequest},
		{"argument that the CLI does not know", func(c *Config) { c.Args = []string{"--no-such-flag"} }, write, wire.KindUnsupported},
		{"store that is not there", func(c *Config) { c.Store = "/no/such/graph.omni" }, wire.Operation{Op: wire.OpRepair}, wire.KindNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var change []func(*Config)
			if test.config != nil {
				change = append(change, test.config)
			}
			out := realClient(t, r, change...).Do(t.Context(), onGraph(test.op))
			require.NotNil(t, out.Err)
			require.Equal(t, test.kind, out.Err.Kind, out.Err.Message)
			require.NotEmpty(t, out.Err.Message)
			require.False(t, out.Err.Indeterminate, "nothing was done")
			require.Positive(t, out.ExitCode)
			require.NotContains(t, out.Err.Message, r.Token)
		})
	}
	t.Run("unknown graph", func(t *testing.T) {
		op := onGraph(read)
		op.Graph = "nope"
		require.Equal(t, wire.KindNotFound, realClient(t, r).Do(t.Context(), op).Err.Kind)
	})
	signal := func(t *testing.T, sig syscall.Signal) {
		t.Helper()
		require.NoError(t, syscall.Kill(r.Server.PID, sig))
	}
	t.Run("time-out", func(t *testing.T) {
		signal(t, syscall.SIGSTOP)
		defer signal(t, syscall.SIGCONT)
		op := onGraph(write)
		op.Timeout = 300 * time.Millisecond
		out := realClient(t, r).Do(t.Context(), op)
		require.Equal(t, wire.KindTimeout, out.Err.Kind)
		require.True(t, out.Err.Indeterminate)
	})
	t.Run("admission cap and stale views", func(t *testing.T) {
		if r.Emulated {
			t.Skip("the emulator is too quick for six processes to meet")
		}
		c := realClient(t, r)
		seen := map[wire.ErrorKind]bool{}
		// The requests of six processes are at the server together once it has slept for as long as the processes need.
		for asleep := 100 * time.Millisecond; !seen[wire.KindAdmissionCapped] && asleep < patience/2; asleep *= 2 {
			signal(t, syscall.SIGSTOP)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					out := c.Do(t.Context(), onGraph(write))
					if out.Err != nil {
						mu.Lock()
						defer mu.Unlock()
						seen[out.Err.Kind] = true
					}
				})
			}
			time.Sleep(asleep)
			signal(t, syscall.SIGCONT)
			wg.Wait()
		}
		require.True(t, seen[wire.KindAdmissionCapped], "%v", seen)
		delete(seen, wire.KindAdmissionCapped)
		delete(seen, wire.KindConflictStale)
		require.Empty(t, seen, "no other kind")
	})
	t.Run("killed server", func(t *testing.T) {
		for {
			require.NoError(t, r.Server.Stop())
			if keepPort(t, r.URL) {
				break
			}
			r.Restart(t) // Somebody was quick to take the port.
		}
		out := realClient(t, r).Do(t.Context(), onGraph(write))
		require.Equal(t, wire.KindConnect, out.Err.Kind)
		require.False(t, out.Err.Indeterminate, "refused: it was never sent")
	})
}
