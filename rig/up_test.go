package rig_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// call calls a rig's server and gives status and document.
func call(t *testing.T, r *rigtest.Rig, actor, method, path, body string) (int, map[string]any) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Authorization", "Bearer "+r.Tokens[actor])
	req.Header.Set("Content-Type", "application/json")

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	doc := map[string]any{}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, data)
	}

	return res.StatusCode, doc
}

func invoke(t *testing.T, r *rigtest.Rig, name, params string) map[string]any {
	t.Helper()

	status, doc := call(t, r, rig.ActorWriter, http.MethodPost, "/graphs/council/queries/"+name, `{"params":`+params+`}`)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", name, status, doc)
	}

	return doc
}

func memories(t *testing.T, r *rigtest.Rig) float64 {
	t.Helper()

	rows, _ := invoke(t, r, "count_memories", `{}`)["rows"].([]any)
	row, _ := rows[0].(map[string]any)
	n, _ := row["n"].(float64)

	return n
}

func TestEveryStoredQueryWorks(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(30))

	if n := memories(t, r); n != 30 {
		t.Errorf("%v memories", n)
	}

	for _, c := range []struct {
		query, params string
		field         string
		want          float64
	}{
		{"get_memory", `{"slug":"mem-0001"}`, "row_count", 1},
		{"get_memory", `{"slug":"nobody"}`, "row_count", 0},
		{"list_memories", `{}`, "row_count", 30},
		{
			"add_memory",
			`{"slug":"x","title":"t","body":"b","kind":"note","project":"prj-99","importance":3}`,
			"affected_nodes", 1,
		},
		{"project_memories", `{"project":"prj-99"}`, "row_count", 1},
		{"relate", `{"from":"x","to":"mem-0002"}`, "affected_edges", 1},
		{"related", `{"slug":"x"}`, "row_count", 1},
		{"set_importance", `{"slug":"x","importance":5}`, "affected_nodes", 1},
		{"forget", `{"slug":"x"}`, "affected_nodes", 1},
		{"get_memory", `{"slug":"x"}`, "row_count", 0},
	} {
		if doc := invoke(t, r, c.query, c.params); doc[c.field] != c.want {
			t.Errorf("%s %s: %s is %v, wanted %v", c.query, c.params, c.field, doc[c.field], c.want)
		}
	}
}

func TestPoliciesTellActorsApart(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(5))

	const (
		read  = `{"query":"query q() { match { $m: Memory } return { $m.slug } }"}`
		write = `{"query":"query q() { update Memory set { importance: 1 } where slug = \"mem-0001\" }"}`
		base  = "/graphs/council/"
	)

	for _, c := range []struct {
		actor, method, path, body string
		want                      int
	}{
		{"act-load", "POST", base + "query", read, 200},
		{"act-load", "POST", base + "mutate", write, 200},
		{"act-load", "GET", "/graphs", "", 200},
		{"act-load-2", "POST", base + "mutate", write, 200},
		{"act-load-8", "POST", base + "mutate", write, 200},
		{"act-reader", "POST", base + "query", read, 200},
		{"act-reader", "POST", base + "mutate", write, 403},
		{"act-reader", "POST", base + "queries/count_memories", "{}", 404},
		{"act-reader", "GET", "/graphs", "", 403},
		{"act-outsider", "POST", base + "query", read, 403},
		{"nobody", "POST", base + "query", read, 401},
	} {
		if got, doc := call(t, r, c.actor, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s %s %s: %d %v, wanted %d", c.actor, c.method, c.path, got, doc, c.want)
		}
	}
}

func TestFragmentsAreCommitsAndOptimizeRemovesThem(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(40), rigtest.Fragments(6))

	if n := memories(t, r); n != 46 || r.Fragments() != 6 {
		t.Errorf("%v memories, %d fragments", n, r.Fragments())
	}

	// The rows that follow the dataset's.
	if doc := invoke(t, r, "get_memory", `{"slug":"mem-0046"}`); doc["row_count"] != 1.0 {
		t.Errorf("%v", doc)
	}

	commits := func() int {
		_, doc := call(t, r, rig.ActorWriter, http.MethodGet, "/graphs/council/commits", "")
		list, _ := doc["commits"].([]any)

		return len(list)
	}

	if got := commits(); got < 6 {
		t.Errorf("%d commits", got)
	}

	done, err := r.Optimize(t.Context(), r.Bin, nil)
	if err != nil {
		t.Fatal(err)
	}

	// Memory: one bulk fragment and six single rows become one.
	if done.Removed < 7 || done.Added < 1 || done.Added >= done.Removed || done.Took <= 0 {
		t.Errorf("%+v", done)
	}

	if n := memories(t, r); n != 46 {
		t.Errorf("%v memories after optimize", n)
	}
}

func TestARestartedServerKeepsAddressAndRows(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(10), rigtest.Fragments(2))
	url, pid := r.URL, r.Server.PID

	if err := r.Server.Kill(); err != nil {
		t.Fatal(err)
	}

	if st, err := r.Status(); err != nil || st.Running {
		t.Errorf("killed, and the status is %+v, %v", st, err)
	}

	r.Restart(t)

	if r.URL != url && rigtest.Free(t, url) || r.Server.PID == pid {
		t.Errorf("%s (process %d), was %s (process %d)", r.URL, r.Server.PID, url, pid)
	}

	if n := memories(t, r); n != 12 {
		t.Errorf("%v memories", n)
	}
}

func TestADetachedServerIsFoundByOthersAndStopped(t *testing.T) {
	b := rigtest.Binaries(t)
	r := made(t)
	small := dataset.Default()
	small.Rows = 10

	s, err := r.Up(t.Context(), rig.UpOptions{Binaries: b, Detach: true, Dataset: &small})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })

	other, err := rig.Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}

	st, err := other.Status()
	if err != nil || !st.Running || st.URL != s.URL || st.PID != s.PID || !st.Loaded || st.Version == "" {
		t.Errorf("status %+v, %v", st, err)
	}

	found, err := other.Server()
	if err != nil || found.URL != s.URL || found.Done() != nil {
		t.Errorf("found %+v, %v", found, err)
	}

	if err := other.Remove(); !errors.Is(err, rig.ErrRunning) {
		t.Errorf("remove while it is up: %v", err)
	}

	// Up again: wear and compaction act on the running server, anything else is refused.
	var log bytes.Buffer

	again, err := other.Up(t.Context(), rig.UpOptions{Binaries: b, Detach: true, Fragments: 2, Optimize: true, Log: &log})
	if err != nil || again.PID != s.PID {
		t.Errorf("up again: %+v, %v", again, err)
	}

	for _, part := range []string{"already up", "2 single-row commits", "optimized"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q lacks %q", log.String(), part)
		}
	}

	large := dataset.Default()

	for name, o := range map[string]rig.UpOptions{
		"other rows": {Binaries: b, Detach: true, Dataset: &large},
		"reseed":     {Binaries: b, Detach: true, Reseed: true},
		"other port": {Binaries: b, Detach: true, Port: 1},
		"attached":   {Binaries: b},
	} {
		if _, err := other.Up(t.Context(), o); !errors.Is(err, rig.ErrRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := other.Down(); err != nil {
		t.Fatal(err)
	}

	<-s.Done()
	down(t, r)

	if err := other.Remove(); err != nil {
		t.Error(err)
	}
}

func TestRowsAreLoadedAgainOnlyOnDemand(t *testing.T) {
	b := rigtest.Binaries(t)
	r := made(t)
	small := dataset.Default()
	small.Rows = 10

	for _, c := range []struct {
		name      string
		o         rig.UpOptions
		loads     bool
		fragments int
	}{
		{"first", rig.UpOptions{Dataset: &small, Fragments: 2}, true, 2},
		{"as it was", rig.UpOptions{Dataset: &small}, false, 2},
		{"without saying", rig.UpOptions{Fragments: 1}, false, 3},
		{"reseed", rig.UpOptions{Reseed: true}, true, 0},
	} {
		var log bytes.Buffer

		c.o.Binaries, c.o.Log = b, &log

		s, err := r.Up(t.Context(), c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		if loaded := strings.Contains(log.String(), "loaded 10 memories"); loaded != c.loads || r.Fragments() != c.fragments {
			t.Errorf("%s: %d fragments, log %q", c.name, r.Fragments(), log.String())
		}

		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestATakenPortIsTold(t *testing.T) {
	b := rigtest.Binaries(t)

	var lc net.ListenConfig

	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	addr, _ := l.Addr().(*net.TCPAddr)
	r := made(t)

	_, err = r.Up(t.Context(), rig.UpOptions{Binaries: b, Port: addr.Port})
	if !errors.Is(err, rig.ErrPortTaken) || !strings.Contains(err.Error(), fmt.Sprint(addr.Port)) ||
		!strings.Contains(err.Error(), "--port") {
		t.Errorf("error %v", err)
	}

	down(t, r)
}

// A port may be taken between the choice and the boot: the wrapper takes it on the first two boots.
func TestAPortThatIsTakenMeanwhileIsReplaced(t *testing.T) {
	b := rigtest.Binaries(t)
	if b.Emulator != "" {
		t.Skip("the wrapper is made for the real server's message")
	}

	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	actual := b.Server
	b.Server = script(t, filepath.Join(dir, "omnigraph-server"), `echo "$4" >> `+count+`
if [ $(wc -l < `+count+`) -le 2 ]; then
  printf 'Error: \n   0: \033[91mAddress already in use (os error 98)\033[0m\n' >&2
  exit 1
fi
exec `+actual+` "$@"`)

	r := made(t)

	s, err := r.Up(t.Context(), rig.UpOptions{Binaries: b})
	if err != nil {
		t.Fatal(err)
	}

	if err := s.Stop(); err != nil {
		t.Error(err)
	}

	tried, err := os.ReadFile(count)
	// The third may in fact be taken.
	fields := strings.Fields(string(tried))
	if err != nil || len(fields) < 3 || len(fields) > 3 && rigtest.Free(t, "http://"+fields[2]) {
		t.Fatalf("tried %q, %v", tried, err)
	}

	if !strings.HasSuffix(s.URL, fields[len(fields)-1]) {
		t.Errorf("the address is %s, the last tried %s", s.URL, tried)
	}
}

func TestABrokenClusterIsTold(t *testing.T) {
	b := rigtest.Binaries(t)

	for name, c := range map[string]struct{ file, content, want string }{
		"a schema that does not parse": {"council.pg", "node {", "council.schema: parse error"},
		"a query that does not parse":  {"queries/council.gq", "query x(", "council.gq"},
		"no configuration":             {"cluster.yaml", "", "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			if b.Emulator != "" {
				t.Skip("what the real omnigraph finds")
			}

			r := made(t)
			if err := os.WriteFile(filepath.Join(r.Dir(), c.file), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}

			_, err := r.Up(t.Context(), rig.UpOptions{Binaries: b})

			var refused *rig.ClusterError
			if !errors.As(err, &refused) || refused.Stage != "validate" || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\x1b") {
				t.Errorf("error %v", err)
			}

			down(t, r)
		})
	}
}

func TestADestroyedStoreIsToldWithTheServersLines(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(5), rigtest.Real())

	if err := r.Server.Stop(); err != nil {
		t.Fatal(err)
	}

	if err := os.RemoveAll(filepath.Join(r.Store, "__manifest")); err != nil {
		t.Fatal(err)
	}

	_, err := r.Up(t.Context(), rig.UpOptions{Binaries: rigtest.Binaries(t)})

	var boot *rig.BootError
	if !errors.As(err, &boot) || !strings.Contains(err.Error(), "no healthy graphs") ||
		!strings.Contains(strings.Join(boot.Log, "\n"), "__manifest was not found") {
		t.Fatalf("error %v", err)
	}

	if strings.Contains(err.Error(), "\x1b") || strings.Contains(err.Error(), ".cargo") {
		t.Errorf("%q", err)
	}

	down(t, r.Rig)
}

func TestTheServersEnvironmentReachesIt(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(5), rigtest.Real(), rigtest.ServerEnv("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=0"))

	status, doc := call(t, r, rig.ActorWriter, http.MethodPost, "/graphs/council/queries/set_importance",
		`{"params":{"slug":"mem-0001","importance":2}}`)
	if status != http.StatusTooManyRequests {
		t.Errorf("%d %v", status, doc)
	}
}
