package segments

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "omnigraph-segments-")
	if err != nil {
		panic(err)
	}
	k6 = filepath.Join(dir, "k6")
	if out, err := exec.Command("go", "build", "-o", k6, "../../cmd/k6").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build k6: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// told is what an operation said of itself.
type told struct {
	Iteration, Process, VU int
	Key                    string
	Token                  string `json:"-"` // it came with
}

// levels are how long the server takes, in milliseconds, by iteration: the distribution is the same however the iterations are spread.
var levels = []int{50, 250, 450, 650, 850}

// listener answers queries and keeps what they said. Answers take time only where the test asks for it.
func listener(t *testing.T, slow bool) (url string, heard func() []told) {
	t.Helper()
	var mu sync.Mutex
	var all []told
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var op struct{ Params told }
		if err != nil || json.Unmarshal(body, &op) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		op.Params.Token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		mu.Lock()
		all = append(all, op.Params)
		mu.Unlock()
		if slow {
			time.Sleep(time.Duration(levels[op.Params.Iteration%len(levels)]) * time.Millisecond)
		}
		fmt.Fprint(w, `{"query_name":"told","target":{},"row_count":0,"columns":["m.slug"],"rows":[]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []told {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// segment is one process of a run.
type segment struct {
	share string
	dir   string
}

// together runs a process for each share at the same time, each in a folder of its own. Without shares one does all.
func together(t *testing.T, url, scenario, sequence string, env []string, shares ...string) []segment {
	t.Helper()
	script, err := filepath.Abs("load.js")
	require.NoError(t, err)
	if len(shares) == 0 {
		shares = []string{""}
	}
	segments := make([]segment, len(shares))
	outputs := make([]string, len(shares))
	var wg sync.WaitGroup
	for i, share := range shares {
		segments[i] = segment{share: share, dir: t.TempDir()}
		args := []string{"run", "--quiet", "--no-usage-report", "--no-color", "--out", "json=samples.json"}
		if share != "" {
			args = append(args, "--execution-segment", share, "--execution-segment-sequence", sequence)
		}
		cmd := exec.CommandContext(t.Context(), k6, append(args, script)...)
		cmd.Dir = segments[i].dir
		cmd.Env = append(os.Environ(), append(env, "OMNIGRAPH_URI="+url, "SCENARIO="+scenario, fmt.Sprintf("PROCESS=%d", i))...)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				outputs[i] = fmt.Sprintf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	for i, out := range outputs {
		require.Empty(t, out, "segment %q", shares[i])
	}
	return segments
}

func (s segment) record(t *testing.T) *recorder.Record {
	t.Helper()
	rec, err := recorder.Read(filepath.Join(s.dir, "record.json"))
	require.NoError(t, err)
	return rec
}

// durations are the operations' durations as the json output has them: every one, in milliseconds.
func (s segment) durations(t *testing.T) []float64 {
	t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "samples.json"))
	require.NoError(t, err)
	defer f.Close()
	var all []float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Type, Metric string
			Data         struct{ Value float64 }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		if line.Type == "Point" && line.Metric == "omnigraph_op_duration" {
			all = append(all, line.Data.Value)
		}
	}
	return all
}

var quarters = []string{"0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"}

const quarterSequence = "0,1/4,1/2,3/4,1"

// partitioned checks that n iterations were made, each once, and no key twice.
func partitioned(t *testing.T, all []told, n int) {
	t.Helper()
	iterations, keys, owners := map[int]int{}, map[string]int{}, map[int]int{}
	for _, op := range all {
		iterations[op.Iteration]++
		keys[op.Key]++
		if owner, ok := owners[op.VU]; ok {
			assert.Equal(t, owner, op.Process, "VU %d is in two processes", op.VU)
		}
		owners[op.VU] = op.Process
	}
	require.Len(t, all, n)
	for i := range n {
		require.Equal(t, 1, iterations[i], "iteration %d", i)
	}
	assert.Len(t, keys, n, "a key twice")
}

func TestFourSegmentsDoTheWorkOfOneAndTheirRecordsMerge(t *testing.T) {
	t.Parallel()
	const n = 200
	// Few VUs, and far from one level to the next: the percentiles stay on theirs although a machine stands still now and then.
	scenario := fmt.Sprintf(`{"executor":"shared-iterations","vus":8,"iterations":%d}`, n)
	url, heard := listener(t, true)
	parts := together(t, url, scenario, quarterSequence, nil, quarters...)
	partitioned(t, heard(), n)
	for _, op := range heard() {
		require.Equal(t, op.Iteration%len(parts), op.Process, "iterations are dealt in turn")
	}
	aloneURL, alone := listener(t, true)
	single := together(t, aloneURL, scenario, "", nil)[0].record(t)
	partitioned(t, alone(), n)

	var records []*recorder.Record
	var pooled []float64
	files := []string{"x", "omnigraph", "report", "--json"}
	for _, p := range parts {
		records = append(records, p.record(t))
		pooled = append(pooled, p.durations(t)...)
		files = append(files, filepath.Join(p.dir, "record.json"))
	}
	merged, err := recorder.Merge(records...)
	require.NoError(t, err)
	cell, whole := theCell(t, merged), theCell(t, single)
	assert.EqualValues(t, n, cell.N)
	assert.Equal(t, whole.Key(), cell.Key())
	assert.Equal(t, whole.N, cell.N)
	assert.Zero(t, cell.Failed+cell.Canceled)

	// Against the four runs' own durations, pooled as one process would have seen them: within the histogram's error,
	// which is three significant digits.
	slices.Sort(pooled)
	require.Len(t, pooled, n)
	for _, q := range []struct {
		name  string
		share float64
		is    *float64
	}{{"p50", 0.5, cell.P50}, {"p95", 0.95, cell.P95}, {"p99", 0.99, cell.P99}} {
		require.NotNil(t, q.is, q.name)
		lower, upper := pooled[int(math.Ceil(q.share*n))-1], pooled[min(n-1, int(q.share*n))]
		assert.GreaterOrEqual(t, *q.is, lower*0.999-0.001, q.name)
		assert.LessOrEqual(t, *q.is, upper*1.001+0.001, q.name)
	}
	// Against the single run: the server's answers take as long, so the percentiles lie on the same of its levels.
	for name, pair := range map[string][2]*float64{"p50": {cell.P50, whole.P50}, "p95": {cell.P95, whole.P95}} {
		require.NotNil(t, pair[1], name)
		assert.Equal(t, level(*pair[1]), level(*pair[0]), "%s: merged %g ms, single %g ms", name, *pair[0], *pair[1])
	}

	out, err := exec.CommandContext(t.Context(), k6, files...).Output()
	require.NoError(t, err)
	rows := tableRows(t, out)
	assert.Equal(t, fmt.Sprint(n), rows["n, HTTP"])
	assert.Contains(t, rows["HTTP p50"], fmt.Sprintf("%.0f", *cell.P50))
	assert.Contains(t, rows["HTTP p95"], fmt.Sprintf("%.0f", *cell.P95))
}

func theCell(t *testing.T, rec *recorder.Record) *recorder.CellRecord {
	t.Helper()
	require.Len(t, rec.Cells, 1)
	return &rec.Cells[0]
}

// level is the server's level that a duration lies on; the highest has no upper end.
func level(ms float64) int {
	at := 0
	for i, l := range levels {
		if ms >= float64(l) {
			at = i
		}
	}
	return at
}

// tableRows are the rows of all tables in a report of two columns, by their first.
func tableRows(t *testing.T, data []byte) map[string]string {
	t.Helper()
	var doc struct {
		Sections []struct{ Tables []struct{ Rows [][]string } }
	}
	require.NoError(t, json.Unmarshal(data, &doc))
	rows := map[string]string{}
	for _, s := range doc.Sections {
		for _, table := range s.Tables {
			for _, r := range table.Rows {
				if len(r) == 2 {
					rows[r[0]] = r[1]
				}
			}
		}
	}
	return rows
}

func TestARecordIsNotMergedWithItself(t *testing.T) {
	t.Parallel()
	url, _ := listener(t, false)
	part := together(t, url, `{"executor":"shared-iterations","vus":4,"iterations":40}`, quarterSequence, nil, quarters[0])[0]
	file := filepath.Join(part.dir, "record.json")
	out, err := exec.CommandContext(t.Context(), k6, "x", "omnigraph", "report", file, file).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "twice")
}

func TestEveryExecutorIsPartitioned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, scenario, sequence string
		shares                   []string
		n                        int // 0 where the clock decides
		perProcess               []int
		vus                      []int // of each process, where they run as long as the clock says
	}{
		{"shared iterations, unequal in number", `{"executor":"shared-iterations","vus":8,"iterations":10}`, quarterSequence, quarters, 10, []int{3, 3, 2, 2}, nil},
		{"shared iterations, unequal shares", `{"executor":"shared-iterations","vus":8,"iterations":40}`, "0,1/4,1/2,1",
			[]string{"1/2:1", "0:1/4", "1/4:1/2"}, 40, []int{20, 10, 10}, nil},
		{"iterations of each VU", `{"executor":"per-vu-iterations","vus":6,"iterations":5}`, quarterSequence, quarters, 0, []int{10, 10, 5, 5}, nil},
		{"arrival rate", `{"executor":"constant-arrival-rate","rate":40,"timeUnit":"1s","duration":"5s","preAllocatedVUs":16}`,
			quarterSequence, quarters, 0, nil, nil},
		{"arrival rate that changes", `{"executor":"ramping-arrival-rate","startRate":20,"timeUnit":"1s","preAllocatedVUs":16,` +
			`"stages":[{"duration":"3s","target":60},{"duration":"2s","target":10}]}`, quarterSequence, quarters, 0, nil, nil},
		{"looping VUs", `{"executor":"constant-vus","vus":6,"duration":"5s"}`, quarterSequence, quarters, 0, nil, []int{2, 2, 1, 1}},
		{"VUs that change in number", `{"executor":"ramping-vus","startVUs":6,"stages":[{"duration":"5s","target":6}],"gracefulRampDown":"1s"}`,
			quarterSequence, quarters, 0, nil, []int{2, 2, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url, heard := listener(t, c.vus != nil)
			together(t, url, c.scenario, c.sequence, nil, c.shares...)
			all := heard()
			perProcess := map[int]int{}
			for _, op := range all {
				perProcess[op.Process]++
			}
			for i, n := range c.perProcess {
				assert.Equal(t, n, perProcess[i], "process %d", i)
			}
			switch {
			case c.n > 0:
				partitioned(t, all, c.n)
			case c.vus != nil:
				keysAreUnique(t, all)
				vus := map[int]map[int]bool{}
				numbers := map[int]int{}
				for _, op := range all {
					if vus[op.Process] == nil {
						vus[op.Process] = map[int]bool{}
					}
					vus[op.Process][op.VU] = true
					numbers[op.VU] = op.Process
				}
				total := 0
				for i, n := range c.vus {
					assert.Len(t, vus[i], n, "VUs of process %d", i)
					total += n
				}
				assert.Len(t, numbers, total, "a VU's number is in two processes")
			case c.perProcess == nil:
				assert.Len(t, slices.Collect(maps.Keys(perProcess)), len(c.shares), "every process has its share")
				seen := map[int]bool{}
				for _, op := range all {
					assert.False(t, seen[op.Iteration], "iteration %d twice", op.Iteration)
					seen[op.Iteration] = true
					assert.Equal(t, op.Iteration%len(c.shares), op.Process, "iterations are dealt in turn")
				}
				keysAreUnique(t, all)
			default:
				keysAreUnique(t, all)
			}
		})
	}
}

// TestAsManyTokensAsSharesGiveEachProcessAnActorOfItsOwn: the admission cap is each actor's, so that pods are not to meet
// it together.
func TestAsManyTokensAsSharesGiveEachProcessAnActorOfItsOwn(t *testing.T) {
	t.Parallel()
	url, heard := listener(t, false)
	together(t, url, `{"executor":"per-vu-iterations","vus":12,"iterations":3}`, quarterSequence, []string{"OMNIGRAPH_TOKENS=a,b,c,d"}, quarters...)
	all := heard()
	require.Len(t, all, 36)
	actors := map[int]map[string]int{}
	for _, op := range all {
		if actors[op.Process] == nil {
			actors[op.Process] = map[string]int{}
		}
		actors[op.Process][op.Token]++
	}
	assert.Equal(t, map[int]map[string]int{0: {"a": 9}, 1: {"b": 9}, 2: {"c": 9}, 3: {"d": 9}}, actors)
}

func keysAreUnique(t *testing.T, all []told) {
	t.Helper()
	require.NotEmpty(t, all)
	keys := map[string]bool{}
	for _, op := range all {
		assert.False(t, keys[op.Key], "key %s twice", op.Key)
		keys[op.Key] = true
	}
}

func TestFourProcessesWriteToOneServerWithoutACollision(t *testing.T) {
	t.Parallel()
	r := rigtest.Start(t, rigtest.Rows(10))
	const n = 16
	scenario := fmt.Sprintf(`{"executor":"shared-iterations","vus":4,"iterations":%d}`, n)
	parts := together(t, r.URL, scenario, quarterSequence, []string{"WRITE=1", "OMNIGRAPH_GRAPH=" + r.Graph, "OMNIGRAPH_TOKEN=" + r.Token}, quarters...)
	var written, refused uint64
	for _, p := range parts {
		cell := theCell(t, p.record(t))
		written += cell.N
		refused += cell.Errors["conflict_key"]
	}
	assert.Zero(t, refused, "a key was written twice")
	// What the server says it holds decides, not what the clients believe.
	assert.EqualValues(t, written, count(t, r, "query projects() { match { $p: Project } return { $p.slug } }", "segments-"))
	assert.EqualValues(t, n, written)
}

func TestStepsThatWaitForEachOtherRefuseAShareOfATest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script.js"), []byte(`
		import { sequence } from 'k6/x/omnigraph';
		export const options = { vus: 2, iterations: 4 };
		const steps = sequence('two', ['one', 'two']);
		export default function () { steps.turn('one', { of: 4 }, () => {}); }`), 0o600))
	cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--execution-segment", "0:1/2", "script.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	assert.Equal(t, 110, exit.ExitCode(), string(out))
	assert.Contains(t, string(out), "run it without --execution-segment")
	assert.Contains(t, string(out), "0:1/2")
}

// divisible are the scenarios that several processes may do together.
var divisible = []string{"mix", "soak"}

func TestScenariosThatCantBeSplitSaySoAtOnce(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../scripts/*.js")
	require.NoError(t, err)
	require.Greater(t, len(scripts), len(divisible))
	for _, file := range scripts {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if slices.Contains(divisible, name) {
			assert.NotContains(t, string(source), "sequence(", "%s: steps wait for each other within one process only", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(file)
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--execution-segment", "1/4:1/2", "--execution-segment-sequence", quarterSequence, path)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "OMNIGRAPH_URI=http://127.0.0.1:1"} // nobody is asked
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "%s", out)
			assert.Equal(t, 108, exit.ExitCode(), "%s", out)
			assert.Contains(t, string(out), "run it without --execution-segment")
			assert.Contains(t, string(out), "1/4:1/2")
		})
	}
}

func TestTheWholeOfATestIsNoShare(t *testing.T) {
	t.Parallel()
	r := rigtest.Start(t, rigtest.Rows(10))
	path, err := filepath.Abs("../../scripts/noise-floor.js")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--execution-segment", "0:1", path)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "OMNIGRAPH_URI="+r.URL, "OMNIGRAPH_GRAPH="+r.Graph, "OMNIGRAPH_TOKEN="+r.Token, "NOISE_BLOCKS=2", "NOISE_PAIRS=2")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestProcessesThatShareATestLeaveEachOthersStoreAlone runs the soak in two halves on a store that each could optimize:
// none does so before or after its half, while the other may be at work, and the rows of both are gone afterwards.
func TestProcessesThatShareATestLeaveEachOthersStoreAlone(t *testing.T) {
	t.Parallel()
	for _, name := range divisible {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigtest.Start(t, rigtest.Rows(30))
			rigs, err := r.Server.Environment()
			require.NoError(t, err)
			path, err := filepath.Abs(filepath.Join("../../scripts", name+".js"))
			require.NoError(t, err)
			halves := []string{"0:1/2", "1/2:1"}
			outputs, folders := make([]string, len(halves)), make([]string, len(halves))
			var wg sync.WaitGroup
			for i, half := range halves {
				cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--execution-segment", half, "--execution-segment-sequence", "0,1/2,1", path)
				folders[i] = t.TempDir()
				cmd.Dir = folders[i]
				cmd.Env = append(append(os.Environ(), rigs...), "RATE=8", "DURATION=3s", "SOAK_OPTIMIZE_EVERY=0", "WORKLOAD=a")
				wg.Go(func() {
					out, err := cmd.CombinedOutput()
					var exit *exec.ExitError
					if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 99) {
						out = fmt.Appendf(out, "FAILED: %v", err)
					}
					outputs[i] = string(out)
				})
			}
			wg.Wait()
			for i, out := range outputs {
				assert.NotContains(t, out, "FAILED", halves[i])
				assert.Contains(t, out, "rows of this run were deleted", halves[i])
				rec, err := recorder.Read(filepath.Join(folders[i], "results", name, "record.json"))
				require.NoError(t, err)
				for _, cell := range rec.Cells {
					assert.NotEqual(t, "optimize", cell.Op, "the half %s compacted the store", halves[i])
				}
			}
			assert.Zero(t, count(t, r, `query written() { match { $m: Memory } return { $m.project } }`, "load-test-"), "rows are left behind")
		})
	}
}

// count asks the server, not the clients: how often a text occurs in what a query returns.
func count(t *testing.T, r *rigtest.Rig, gq, text string) int {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": gq})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/graphs/"+r.Graph+"/query", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+r.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", answer)
	return strings.Count(string(answer), text)
}
