package costmodel_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// published are the p50 cells of the user's spike, in ms, by name.
var published = map[string]float64{
	"point/cli/1": 25.9, "point/cli/4": 33.3, "point/cli/8": 45.8,
	"point/http/1": 5.1, "point/http/4": 6.8, "point/http/8": 10.7,
	"scan/cli/1": 27.8, "scan/http/1": 5.5,
	"insert/cli/1": 69.5, "insert/cli/4": 643.1, "insert/cli/8": 1653.6,
	"insert/http/1": 47.6, "insert/http/4": 488.3, "insert/http/8": 1429.8,
	"fragmented/http/1": 167.0, "fragmented/cli/1": 196.0,
	"optimized/http/1": 7.7, "optimized/cli/1": 45.3,
}

// floor is the bare start of the CLI by workers: measured at 1 and 8, between them a straight line.
var floor = map[int]float64{1: 6.7, 4: 6.7 + (14.7-6.7)*3/7, 8: 14.7}

const (
	iterations = 40
	token      = "secret"
)

// rig is a costed server without a network, in the fake time of a synctest bubble.
type rig struct {
	t     *testing.T
	h     http.Handler
	store *graph.Graph
	model *costmodel.Model
	cells map[string]float64
	keys  int
	mu    sync.Mutex
}

func newRig(t *testing.T, m *costmodel.Model) *rig {
	t.Helper()
	graphs, _, err := demo.Open(t.Context(), graph.Options{})
	require.NoError(t, err)
	return &rig{t: t, h: server.New(graphs, server.Options{Cost: m, Tokens: map[string]string{token: "act-load"}}), store: graphs[demo.GraphID].Store, model: m, cells: map[string]float64{}}
}

// call sends a body and returns how long the caller waits for the answer.
func (r *rig) call(path, body string, cli bool, floorMS float64) time.Duration {
	// Real clients need a moment from one answer to their next request; without it two would act at one instant.
	time.Sleep(200 * time.Microsecond)
	start := time.Now()
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/graphs/"+demo.GraphID+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	if cli {
		time.Sleep(time.Duration(floorMS * float64(time.Millisecond)))
		req.Header.Set(costmodel.ClientHeader, "cli")
	}
	rec := httptest.NewRecorder()
	r.h.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK || rec.Header().Get(costmodel.Header) != r.model.Name {
		r.t.Errorf("%s: status %d, cost model %q: %s", path, rec.Code, rec.Header().Get(costmodel.Header), rec.Body)
	}
	return time.Since(start)
}

func (r *rig) insertBody() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys++
	return fmt.Sprintf(`{"params":{"slug":"new-%05d","title":"t","body":"b","kind":"fact","project":"project-00","importance":1}}`, r.keys)
}

// level runs a closed loop of workers that alternate CLI and HTTP, as the spike did, and notes both medians.
func (r *rig) level(name string, workers int, op func() (path, body string)) {
	var cli, http []time.Duration
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			// Real workers drift apart; in fake time a seeded jitter of a tenth does that.
			jitter := rand.New(rand.NewPCG(uint64(w), uint64(workers)))
			for i := range iterations {
				for v := range 2 {
					path, body := op()
					asCLI := (v+w+i)%2 == 0
					d := r.call(path, body, asCLI, floor[workers]*(0.9+0.2*jitter.Float64()))
					r.mu.Lock()
					if asCLI {
						cli = append(cli, d)
					} else {
						http = append(http, d)
					}
					r.mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	r.cells[fmt.Sprintf("%s/cli/%d", name, workers)] = median(cli)
	r.cells[fmt.Sprintf("%s/http/%d", name, workers)] = median(http)
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]+d[(len(d)-1)/2]) / 2 / float64(time.Millisecond)
}

func (r *rig) optimize() time.Duration {
	start := time.Now()
	_, err := r.store.Optimize(context.Background(), func(_ context.Context, fragments int) error {
		time.Sleep(r.model.Optimize(fragments))
		return nil
	})
	require.NoError(r.t, err)
	return time.Since(start)
}

func point() (string, string) {
	return "/queries/get_memory", `{"params":{"slug":"mem-0100"}}`
}

func scan() (string, string) { return "/queries/list_memories", "" }

// spike runs the whole of it: reads and writes on a bulk-loaded store, optimized before each write level, then
// the same reads after as many single-row commits as rows, and again after optimize.
func spike(t *testing.T, m *costmodel.Model) map[string]float64 {
	t.Helper()
	cells := map[string]float64{}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, m)
		r.cells = cells
		insert := func() (string, string) { return "/queries/add_memory", r.insertBody() }
		for _, n := range []int{1, 4, 8} {
			r.level("point", n, point)
		}
		r.level("scan", 1, scan)
		for _, n := range []int{1, 4, 8} {
			r.optimize()
			r.level("insert", n, insert)
		}

		r = newRig(t, m)
		r.cells = cells
		for range 911 {
			r.call("/queries/add_memory", r.insertBody(), false, 0)
		}
		r.level("fragmented", 1, point)
		cells["optimize/s"] = r.optimize().Seconds()
		r.level("optimized", 1, point)
	})
	return cells
}

// variation is by how many points a cell may differ from one run to the next. Writers that queue remember who came
// first, which is the scheduler's choice, and the model draws what each commit takes.
func variation(cell string) float64 {
	if strings.HasPrefix(cell, "insert/") && !strings.HasSuffix(cell, "/1") {
		return 3
	}
	return 1.5
}

func TestSpikeProfileMeetsEveryPublishedMedian(t *testing.T) {
	t.Parallel()
	m, err := costmodel.Load("spike")
	require.NoError(t, err)
	cells := spike(t, m)
	documented := documentedResiduals(t)
	for _, name := range slices.Sorted(maps.Keys(published)) {
		residual := 100 * (cells[name]/published[name] - 1)
		t.Logf("| %s | %.1f | %.1f | %+.1f %% |", name, published[name], cells[name], residual)
		if math.Abs(residual) > 15 {
			t.Errorf("%s: the model says %.1f ms, the spike %.1f ms: %+.1f %%, want within 15 %%", name, cells[name], published[name], residual)
		}
		said, ok := documented[name]
		if !ok || math.Abs(said-residual) > variation(name) {
			t.Errorf("%s: docs/emulator.md says %+.1f %%, the model %+.1f %%", name, said, residual)
		}
	}
	require.Len(t, documented, len(published))
	t.Logf("optimize of 912 fragments: published 11.8 s, model %.1f s", cells["optimize/s"])
	require.InEpsilon(t, 11.8, cells["optimize/s"], 0.05)
}

// documentedResiduals reads the table of docs/emulator.md, in percent by cell.
func documentedResiduals(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("../../docs/emulator.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "<!-- residuals -->")
	require.True(t, ok)
	table, _, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	list := map[string]float64{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(cells[4]), " %"), 64)
		if err != nil {
			continue // the head
		}
		list[strings.TrimSpace(cells[1])] = v
	}
	return list
}
