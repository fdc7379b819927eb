package scripts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// k6 is the embedded host with the extension, built once for all tests.
var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "omnigraph-scripts-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	k6 = filepath.Join(dir, "k6")
	if out, err := exec.Command("go", "build", "-o", k6, "../cmd/k6").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build k6: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// scenarios are the scripts by name.
func scenarios(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.js")
	require.NoError(t, err)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f, ".js")
	}
	require.GreaterOrEqual(t, len(names), 12)
	return names
}

// patience bounds every wait for something that has to happen.
const patience = 4 * time.Minute

// bounded bounds a k6 process, so that one that hangs fails its test and no other.
func bounded(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, k6, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

func TestEveryScriptBeginsWithAQuestion(t *testing.T) {
	question := regexp.MustCompile(`^// [A-Z].*\?$`)
	for _, name := range scenarios(t) {
		text, err := os.ReadFile(name + ".js")
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(text), "\n")
		assert.Regexp(t, question, first, name)
		assert.Contains(t, string(text), "// Environment: ", "%s says what it takes from the environment", name)
	}
}

func TestNoScriptSendsAnythingWhereItsRecordWouldBeLost(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	t.Run("scripts", func(t *testing.T) {
		for _, name := range scenarios(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd := bounded(t, "run", "--quiet", "--no-usage-report", name+".js")
				cmd.Env = []string{"PRESET=short", "ALLOW_WRITES=1", "OMNIGRAPH_URI=" + server.URL, "OMNIGRAPH_BIN=/does/not/exist", "RESULTS_DIR=" + filepath.Join(taken, "results")}
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit, "%s", out)
				assert.Equal(t, 108, exit.ExitCode(), "%s", out)
				assert.Contains(t, string(out), "test aborted: nothing is sent: this run will leave no record")
			})
		}
	})
	assert.Zero(t, asked.Load(), "requests that reached the server")
}

func TestEveryScriptIsInspectedAndArchivedWithAnEmptyEnvironment(t *testing.T) {
	for _, name := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inspect := bounded(t, "inspect", name+".js")
			inspect.Env = []string{}
			var stderr bytes.Buffer
			inspect.Stderr = &stderr
			stdout, err := inspect.Output()
			require.NoError(t, err, stderr.String())
			assert.Empty(t, stderr.String())
			decoder := json.NewDecoder(bytes.NewReader(stdout))
			var options struct {
				Scenarios  map[string]struct{ Executor string } `json:"scenarios"`
				Thresholds map[string]any                       `json:"thresholds"`
			}
			require.NoError(t, decoder.Decode(&options))
			var more any
			assert.ErrorIs(t, decoder.Decode(&more), io.EOF, "inspect prints one document")
			assert.NotEmpty(t, options.Scenarios)
			assert.NotEmpty(t, options.Thresholds)
			for scenario, s := range options.Scenarios {
				if strings.HasSuffix(s.Executor, "arrival-rate") {
					assert.Contains(t, options.Thresholds, "dropped_iterations{scenario:"+scenario+"}")
				}
			}

			archive := bounded(t, "archive", "-O", filepath.Join(t.TempDir(), "a.tar"), name+".js")
			archive.Env = []string{}
			out, err := archive.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.NoDirExists(t, filepath.Join("results", name), "nothing ran, so nothing is recorded")
		})
	}
}

// ran is what a run of a script left behind.
type ran struct {
	rec    *recorder.Record
	report string
	output string
}

// environment is what a script gets from `rig run`.
func environment(t *testing.T, r *rigtest.Rig) []string {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	encoded, err := json.Marshal(r.Tokens)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tokens, encoded, 0o600))
	return append(os.Environ(),
		"OMNIGRAPH_URI="+r.URL, "OMNIGRAPH_GRAPH="+r.Graph, "OMNIGRAPH_TOKEN="+r.Token, "OMNIGRAPH_TOKENS_FILE="+tokens,
		"OMNIGRAPH_BIN="+r.Bin, "OMNIGRAPH_STORE="+r.Store, "OMNIGRAPH_RIG="+filepath.Dir(tokens), "PRESET=short")
}

// runScript runs a script to its end and reads its record.
func runScript(t *testing.T, r *rigtest.Rig, name string, env ...string) ran {
	t.Helper()
	dir := t.TempDir()
	cmd := bounded(t, "run", "--quiet", "--no-usage-report", name+".js")
	cmd.Env = append(append(environment(t, r), env...), "RESULTS_DIR="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	rec, err := recorder.Read(filepath.Join(dir, "record.json"))
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "NaN")
	plain := strings.ReplaceAll(string(text), `\`, "") // Markdown's own
	assert.Empty(t, rec.Invocation.EndedBy, string(out))
	return ran{rec: rec, report: plain, output: string(out)}
}

// cells gives the measured cells whose scenario matches.
func (r ran) cells(pattern string) []recorder.CellRecord {
	re := regexp.MustCompile(pattern)
	var out []recorder.CellRecord
	for _, c := range r.rec.Cells {
		if c.Measured() && re.MatchString(c.Scenario) {
			out = append(out, c)
		}
	}
	return out
}

// extra decodes what the script kept for its section.
func (r ran) extra(t *testing.T, section string) map[string]any {
	t.Helper()
	value, ok := r.rec.Extra[section].(map[string]any)
	require.True(t, ok, "the record keeps %s", section)
	return value
}

func succeeded(cells []recorder.CellRecord) (n uint64) {
	for _, c := range cells {
		n += c.N
	}
	return n
}

func failed(cells []recorder.CellRecord) (n uint64) {
	for _, c := range cells {
		n += c.Failed
	}
	return n
}

// admissionCap is the rig's: high enough for every script but the one that looks for it.
const admissionCap = "10"

// newRig boots a rig of its own for each scenario: what one leaves in the store is no business of the next.
func newRig(t *testing.T, serverEnv ...string) *rigtest.Rig {
	t.Helper()
	return rigtest.Start(t, rigtest.Rows(60), rigtest.ServerEnv(append(serverEnv, "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX="+admissionCap)...))
}

func TestScenariosOnARig(t *testing.T) {
	t.Run("what the user says of the system stands in the record", func(t *testing.T) {
		got := runScript(t, newRig(t), "mix", "MIX=read:1", "VUS=1", "DURATION=1s", "OMNIGRAPH_BACKEND=local NVMe", "OMNIGRAPH_BUILD=debug",
			`OMNIGRAPH_DATASET={"builder":"council/1","seed":1,"rows":60,"payload_bytes":240,"exponent":1.1}`)
		assert.Equal(t, "local NVMe", got.rec.System.Backend)
		assert.Equal(t, recorder.Invalid, got.rec.Verdict)
		assert.Contains(t, got.report, "debug build")
		assert.Equal(t, map[string]string{
			"provenance": "rig", "rows": "60", "tables": "4", "payload_bytes": "240", "shape": "council", "skew": "relations_power_law_1.1",
		}, got.rec.Run.Data)
		assert.Equal(t, "optimized_before_the_run", got.rec.Run.State["f1_fragmentation"])
	})
	t.Run("spike", func(t *testing.T) {
		got := runScript(t, newRig(t), "spike", "SPIKE_PRESET=quick", "SPIKE_WORKERS=1,2", "SPIKE_READS=4", "SPIKE_WRITES=2", "SPIKE_FRAGMENTS=3", "SPIKE_FLOOR=3", "SPIKE_AFTER=4")
		assert.EqualValues(t, 2*4, succeeded(got.cells(`^point_read_2$`)), "four pairs")
	})
	t.Run("fragmentation counts reads by the commits before them", func(t *testing.T) {
		got := runScript(t, newRig(t), "fragmentation", "FRAGMENTATION_COMMITS=6", "FRAGMENTATION_EVERY=2", "FRAGMENTATION_READS=6", "FRAGMENTATION_AFTER=20")
		commits, _ := got.extra(t, "aging")["commits"].([]any)
		require.Len(t, commits, 4*6)
		assert.EqualValues(t, 0, commits[0])
		assert.EqualValues(t, 6, commits[23])
		assert.EqualValues(t, 20, succeeded(got.cells(`^optimized_read$`)))
		assert.Contains(t, got.report, "Reads and writes on an aging store")
		assert.Regexp(t, `\b6 rows of this run were deleted in one commit; \d+ commits stay`, got.output)
	})
	t.Run("batch-writes writes every row once", func(t *testing.T) {
		got := runScript(t, newRig(t), "batch-writes", "BATCH_SIZES=1,16", "BATCH_COMMITS=3", "BATCH_READS=5")
		assert.EqualValues(t, 3*16, got.cells(`^mutate_16$`)[1].Nodes+got.cells(`^mutate_16$`)[0].Nodes)
		times, _ := got.extra(t, "batch:load_16")["ms"].([]any)
		assert.Len(t, times, 3)
		assert.Contains(t, got.report, "Rows per commit")
		// Two forms, a warm-up and three commits each, of 1 and of 16 rows.
		assert.Contains(t, got.output, fmt.Sprintf("%d rows of this run were deleted", 2*4*(1+16)))
	})
	t.Run("writers repeat after conflicts and lose none", func(t *testing.T) {
		got := runScript(t, newRig(t), "writers", "WRITERS_LEVELS=1,2", "WRITERS_SAME_LEVELS=3", "WRITERS_SECONDS=1", "WRITERS_ROUNDS=1")
		assert.Zero(t, failed(got.cells(`^(distinct|same)_`)))
		assert.NotZero(t, succeeded(got.cells(`^distinct_r1_2$`)))
		assert.NotZero(t, succeeded(got.cells(`^same_r1_3$`)))
		assert.Contains(t, got.report, "commits/s")
	})
	t.Run("writers that get nothing through say why, once", func(t *testing.T) {
		cmd := bounded(t, "run", "--quiet", "--no-usage-report", "writers.js")
		dir := t.TempDir()
		cmd.Env = append(environment(t, newRig(t)), "OMNIGRAPH_STORE=", "RESULTS_DIR="+dir, "WRITERS_LEVELS=1,2", "WRITERS_SAME_LEVELS=2", "WRITERS_SECONDS=1")
		cmd.Env = append(cmd.Env, "OMNIGRAPH_URI="+refusing(t, cmd.Env))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, string(out))
		assert.Equal(t, 99, exit.ExitCode(), string(out))
		text, err := os.ReadFile(filepath.Join(dir, "report.md"))
		require.NoError(t, err)
		report := strings.ReplaceAll(string(text), `\`, "")
		assert.Regexp(t, `none of \d+ measured operations succeeded \(\d+ forbidden\)`, report)
		assert.Regexp(t, `No insert of a distinct key got through: all [\d,]+ failed \(\d+ forbidden\), for example: nobody may write here`, report)
		assert.Contains(t, report, "No update of the contested row got through")
		assert.LessOrEqual(t, strings.Count(string(out), "level=warning"), 6, "at most one for each of the 5 VUs, and none for each failure")
	})
	t.Run("integrity finds what the server breaks and does not fail over it", func(t *testing.T) {
		r := newRig(t, "OMNIGRAPH_EMULATOR_PROFILE=spike") // where an emulator stands in, writes that take time can meet
		got := runScript(t, r, "integrity", "INTEGRITY_ROUNDS=2", "INTEGRITY_WRITERS=8", "OMNIGRAPH_URI="+assembling(t, r, `integrity-\w+-unique-\d+`, 8))
		for _, promise := range []string{"once", "unique", "updates", "whole", "own_writes", "never_back"} {
			kept := got.extra(t, "integrity:"+promise)
			assert.NotZero(t, kept["checked"], promise)
			if promise != "unique" {
				assert.Zero(t, kept["broken"], "%s: %v", promise, kept["examples"])
			}
		}
		if strings.HasPrefix(got.rec.System.Server, "0.8.0") {
			assert.EqualValues(t, 2, got.extra(t, "integrity:unique")["broken"], "0.8.0 keeps every one of concurrent inserts of one key")
			assert.Contains(t, got.report, "The server broke a promise: a key is unique")
		}
	})
	t.Run("integrity fails over it where that is asked for", func(t *testing.T) {
		cmd := bounded(t, "run", "--quiet", "--no-usage-report", "integrity.js")
		cmd.Env = append(environment(t, newRig(t)), "RESULTS_DIR="+t.TempDir(), "INTEGRITY_ROUNDS=1", "INTEGRITY_STRICT=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, string(out))
		assert.Equal(t, 99, exit.ExitCode(), string(out))
	})
	t.Run("noise-floor gives the record its floor", func(t *testing.T) {
		got := runScript(t, newRig(t), "noise-floor", "NOISE_BLOCKS=3", "NOISE_PAIRS=4")
		differences, _ := got.extra(t, "noise:http_read")["differences"].([]any)
		assert.Len(t, differences, 3)
		assert.Positive(t, got.rec.Limits.NoiseFloor)
		assert.Contains(t, got.report, "The same operation against itself")
		for _, p := range got.rec.Pairs {
			if p.Scenario == "cli_read" && p.Measured() {
				assert.EqualValues(t, 12, p.N)
			}
		}
	})
	t.Run("capacity sends at the rates that it says", func(t *testing.T) {
		got := runScript(t, newRig(t), "capacity", "CAPACITY_STEP_SECONDS=2", "CAPACITY_REPEATS=1", "CAPACITY_MAX=60", "CAPACITY_ESTIMATE=30", "CAPACITY_SHARES=50,100", "CAPACITY_VUS=20")
		for scenario, rate := range map[string]float64{"step_050_r1": 15, "step_100_r1": 30} {
			cells := got.cells("^" + scenario + "$")
			require.Len(t, cells, 1)
			require.NotNil(t, cells[0].Rate)
			assert.InDelta(t, rate, *cells[0].Rate, 0.01)
			at := slices.IndexFunc(got.rec.Scenarios, func(s recorder.Scenario) bool { return s.Name == scenario })
			require.GreaterOrEqual(t, at, 0)
			started, dropped := got.rec.Scenarios[at].Started, got.rec.Scenarios[at].Dropped
			require.NotNil(t, started)
			require.NotNil(t, dropped, "dropped iterations are known")
			// Two seconds of a schedule that is twice as dense, for an estimate of half of what may be. A busy machine drops
			// some of it.
			assert.InDelta(t, 2*2*rate, float64(*started+*dropped), 1)
			assert.InDelta(t, float64(*started)/2, float64(cells[0].N+cells[0].Failed+cells[0].Canceled), 1)
		}
		for _, s := range got.rec.Scenarios {
			assert.NotNil(t, s.OnTimeShare, s.Name)
			assert.True(t, s.Probe)
		}
		assert.Contains(t, got.report, "Offered load and latency")
	})
	t.Run("mix changes rows of its own only", func(t *testing.T) {
		t.Parallel() // it mostly waits
		got := runScript(t, newRig(t), "mix", "WORKLOAD=f", "VUS=2", "DURATION=8s")
		for _, query := range []string{"get_memory", "rmw_read", "rmw_write"} {
			assert.Contains(t, got.report, query)
		}
		assert.Contains(t, got.output, "100 rows of this run were deleted")
		assert.Equal(t, got.rec.StateBefore.Rows["node:Memory"]+100, got.rec.StateAfter.Rows["node:Memory"])
	})
	t.Run("mix in the open model", func(t *testing.T) {
		t.Parallel() // it mostly waits
		got := runScript(t, newRig(t), "mix", "MIX=read:1,scan:1", "KEYS=latest", "RATE=10", "DURATION=2s")
		require.NotEmpty(t, got.cells(`^mix$`))
		assert.InDelta(t, 10, *got.cells(`^mix$`)[0].Rate, 0)
	})
	t.Run("mix and soak take a file of tokens that is no rig's", func(t *testing.T) {
		t.Parallel() // it mostly waits
		r := newRig(t)
		for _, name := range []string{"mix", "soak"} {
			got := runScript(t, r, name, "OMNIGRAPH_TOKEN=", "OMNIGRAPH_RIG=", "MIX=read:1", "DURATION=2s")
			assert.NotEmpty(t, got.cells("^"+name+"$"), got.output)
		}
	})
	t.Run("soak optimizes as often as it is told", func(t *testing.T) {
		t.Parallel() // it mostly waits
		got := runScript(t, newRig(t), "soak", "DURATION=15s", "RATE=8", "MIX=read:1", "SOAK_OPTIMIZE_EVERY=1")
		assert.NotEmpty(t, got.rec.Events)
		assert.Contains(t, got.report, "Latency over time")
	})
	t.Run("soak goes on where an optimize beside the load fails", func(t *testing.T) {
		t.Parallel() // it mostly waits
		r := newRig(t)
		bin := filepath.Join(t.TempDir(), "omnigraph")
		executable.Write(t, bin, "#!/bin/sh\n"+
			"if [ \"$1\" = optimize ]; then printf 'Error: \\n   0: optimize requires a clean recovery state\\n' >&2; exit 1; fi\n"+
			"exec '"+r.Bin+"' \"$@\"\n")
		got := runScript(t, r, "soak", "DURATION=15s", "RATE=8", "MIX=read:1", "SOAK_OPTIMIZE_EVERY=1", "OMNIGRAPH_BIN="+bin)
		require.NotEmpty(t, got.rec.Events)
		for _, event := range got.rec.Events {
			assert.Equal(t, "failed optimize", event.Kind)
		}
		assert.Contains(t, got.output, "optimize failed (attempt 5 of 5): optimize requires a clean recovery state")
		assert.Zero(t, failed(got.cells("^soak$")))
	})
	t.Run("soak optimizes a store that is no rig only if it is told to", func(t *testing.T) {
		t.Parallel() // it mostly waits
		got := runScript(t, newRig(t), "soak", "DURATION=2s", "RATE=8", "OMNIGRAPH_RIG=", "ALLOW_WRITES=1")
		assert.EqualValues(t, 0, got.extra(t, "soak")["optimizeEvery"])
		assert.Contains(t, got.output, "rows of this run were deleted", "it may write")
	})
	t.Run("optimize-watch answers and writes nothing", func(t *testing.T) {
		t.Parallel() // it mostly waits
		r := rigtest.Start(t, rigtest.Rows(60), rigtest.Fragments(3), rigtest.Optimize())
		got := runScript(t, r, "optimize-watch", "WATCH_SECONDS=2", "WATCH_EVERY=1")
		assert.Contains(t, got.report, "Is the optimize job running? Yes")
		assert.Equal(t, got.rec.StateBefore.Commits, got.rec.StateAfter.Commits)
	})
	t.Run("admission finds the cap, and several actors get past it", func(t *testing.T) {
		r := newRig(t)
		got := runScript(t, r, "admission", "ADMISSION_BURST=16", "ADMISSION_ROUNDS=1", "OMNIGRAPH_URI="+assembling(t, r, `admission-\w+-burst-\d+`, 16))
		sum := func(step, what string) (n float64) {
			bursts, _ := got.extra(t, "admission:"+step)["bursts"].([]any)
			for _, b := range bursts {
				one, _ := b.(map[string]any)
				v, _ := one[what].(float64)
				n += v
			}
			return n
		}
		assert.InDelta(t, 16, sum("burst", "admitted")+sum("burst", "refused"), 0)
		if !r.Emulated {
			assert.InDelta(t, 10, sum("burst", "admitted"), 0)
		}
		assert.InDelta(t, 16, sum("spread", "admitted"), 0)
		assert.Contains(t, got.report, "exponential, with jitter")
	})
	t.Run("outage tells lost writes from refused ones", func(t *testing.T) {
		t.Parallel() // it mostly waits
		outage(t, newRig(t))
	})
	t.Run("what writes refuses a store that is no rig", func(t *testing.T) {
		t.Parallel() // it mostly waits
		r := newRig(t)
		for _, name := range []string{"fragmentation", "batch-writes", "writers", "integrity", "admission"} {
			cmd := bounded(t, "run", "--quiet", "--no-usage-report", name+".js")
			cmd.Env = append(environment(t, r), "RESULTS_DIR="+t.TempDir(), "OMNIGRAPH_RIG=")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%s: %s", name, out)
			assert.Equal(t, 108, exit.ExitCode(), "%s: %s", name, out)
			assert.Contains(t, string(out), "ALLOW_WRITES=1 allows it", name)
		}
	})
}

// refusing is an address that lets one mutation through to the rig and refuses all others.
func refusing(t *testing.T, env []string) string {
	t.Helper()
	var rig *url.URL
	for _, v := range env {
		if address, ok := strings.CutPrefix(v, "OMNIGRAPH_URI="); ok {
			var err error
			rig, err = url.Parse(address)
			require.NoError(t, err)
		}
	}
	proxy := httputil.NewSingleHostReverseProxy(rig)
	var mutations atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/mutate") && mutations.Add(1) > 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"code":"forbidden","error":"nobody may write here"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// assembling is an address of the rig where mutations that belong together wait for each other: the server finds all n of
// them at once, however late the client or this process get to send one. What they share is the part of their text that
// fits the pattern.
func assembling(t *testing.T, r *rigtest.Rig, pattern string, n int64) string {
	t.Helper()
	rig, err := url.Parse(r.URL)
	require.NoError(t, err)
	type assembly struct {
		come, written atomic.Int64
		all           chan struct{}
	}
	var assemblies sync.Map
	shared, id := regexp.MustCompile(pattern), r.Server.PID
	t.Cleanup(func() { _ = syscall.Kill(id, syscall.SIGCONT) })
	proxy := httputil.NewSingleHostReverseProxy(rig)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the client is gone
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		which := shared.Find(body)
		if which == nil || !strings.HasSuffix(req.URL.Path, "/mutate") {
			proxy.ServeHTTP(w, req)
			return
		}
		found, _ := assemblies.LoadOrStore(string(which), &assembly{all: make(chan struct{})})
		a, _ := found.(*assembly)
		switch come := a.come.Add(1); {
		case come > n: // a repetition
			proxy.ServeHTTP(w, req)
			return
		case come == n:
			assert.NoError(t, syscall.Kill(id, syscall.SIGSTOP))
			close(a.all)
		}
		select {
		case <-a.all:
		case <-req.Context().Done():
			return
		}
		proxy.ServeHTTP(w, req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) {
				if a.written.Add(1) == n {
					assert.NoError(t, syscall.Kill(id, syscall.SIGCONT))
				}
			},
		})))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// rowsOf asks the server how many memories have a key that begins in this way.
func rowsOf(t *testing.T, r *rigtest.Rig, prefix string) int {
	t.Helper()
	const all = `{"query":"query all() { match { $m: Memory } return { $m.slug } }"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/graphs/"+r.Graph+"/query", strings.NewReader(all))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+r.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(text))
	return strings.Count(string(text), `"`+prefix)
}

// outage stops the server while the script runs, and boots it again once the script has met that.
func outage(t *testing.T, r *rigtest.Rig) {
	dir := t.TempDir()
	cmd := bounded(t, "run", "--quiet", "--no-usage-report", "outage.js")
	cmd.Env = append(environment(t, r), "RESULTS_DIR="+dir, "OUTAGE_SECONDS=20", "OUTAGE_TIMEOUT_MS=10000", "OUTAGE_WRITE_EVERY=2", "OUTAGE_EVERY_MS=30")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var out bytes.Buffer
	lines := bufio.NewScanner(stderr)
	readTo := func(line string) {
		for wanted := regexp.MustCompile(line); lines.Scan(); {
			out.WriteString(lines.Text() + "\n")
			if wanted.MatchString(lines.Text()) {
				return
			}
		}
	}
	readTo("restart the server now")
	// The script writes one row after the other: the first has been acknowledged once the second is there.
	for deadline := time.Now().Add(patience); rowsOf(t, r, "outage-") < 2; time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "nothing was written")
	}
	address := r.URL
	require.NoError(t, r.Server.Stop())
	readTo("(reads|writes): ")
	r.Restart(t)
	readTo(`\A\z.`) // to its end
	require.NoError(t, cmd.Wait(), out.String())
	if r.URL != address {
		t.Skip("another process took the port meanwhile: the script had nothing to come back to")
	}
	rec, err := recorder.Read(filepath.Join(dir, "record.json"))
	require.NoError(t, err, out.String())
	got := ran{rec: rec}
	found := got.extra(t, "outage")
	outcomes, _ := found["outcomes"].(map[string]any)
	require.NotNil(t, outcomes, out.String())
	acknowledged, _ := outcomes["acknowledged"].(map[string]any)
	refused, _ := outcomes["refused"].(map[string]any)
	assert.NotZero(t, acknowledged["sent"])
	assert.Zero(t, acknowledged["missing"])
	assert.Zero(t, refused["there"])
	reads, _ := found["reads"].([]any)
	writes, _ := found["writes"].([]any)
	assert.NotEmpty(t, append(reads, writes...), "the restart was seen: %s", out.String())
}
