package omnigraph

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
)

// slowFirst answers queries named slow after a while and others at once.
func slowFirst(w http.ResponseWriter, r *http.Request, body string) {
	if strings.Contains(body, "query slow") {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
	_, _ = io.WriteString(w, threeRows)
}

func (r *runtime) compareClients(t *testing.T) {
	t.Helper()
	server := newStub(t, slowFirst)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const slow = "query slow() { match { $m: Memory } return { $m.slug } }"; const fast = "query fast() { match { $m: Memory } return { $m.slug } }"; const ran = []`, server.URL))
	r.enter()
}

func TestCompareMeasuresTheDifferenceAndRotatesTheOrder(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.compareClients(t)
	for i := range 4 {
		r.state.Iteration = int64(i)
		r.js(`compare({a: () => { ran.push("a"); og.query(slow) }, b: () => { ran.push("b"); og.query(fast) }})`)
	}
	assert.Equal(t, "b,a,a,b,b,a,a,b", r.js(`ran.join(",")`).String())
	samples := r.taken()
	pairs := of(samples, "omnigraph_pair_overhead", "pair", "a-b", "op", "query")
	require.Len(t, pairs, 4)
	slow, fast := of(samples, "omnigraph_op_duration", "variant", "a"), of(samples, "omnigraph_op_duration", "variant", "b")
	for i, p := range pairs {
		assert.InDelta(t, slow[i].Value-fast[i].Value, p.Value, 1e-6, "first minus second, whichever ran first")
		_, hasQuery := p.Tags.Get("query")
		assert.False(t, hasQuery, "the two queries have no name in common")
	}
	assert.Len(t, of(samples, "omnigraph_op_duration", "variant", "a", "query", "slow"), 4)
	assert.Len(t, of(samples, "omnigraph_op_duration", "variant", "b", "query", "fast"), 4)
	r.js(`og.query(fast)`)
	assert.Empty(t, of(r.taken(), "omnigraph_op_duration", "variant", "b"), "after compare there is no variant")
}

func TestCompareAddsUpSeveralOperationsAndLeavesFailedPairsOut(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.compareClients(t)
	got := r.export(r.js(`compare({a: () => { og.query(slow); og.query(slow) }, b: () => og.query(fast), c: () => og.query(fast)})`))
	samples := r.taken()
	total := 0.0
	for _, s := range of(samples, "omnigraph_op_duration", "variant", "a") {
		total += s.Value
	}
	assert.InDelta(t, total, got["a"], 1e-6)
	assert.Len(t, of(samples, "omnigraph_pair_overhead"), 2)
	r.js(`compare({a: () => og.query(slow), b: () => og.query("query q($s: String) {}", {})})`)
	samples = r.taken()
	assert.Empty(t, of(samples, "omnigraph_pair_overhead"))
	assert.Len(t, of(samples, "omnigraph_ops"), 2, "the failed side is an operation nevertheless")
}

func TestCompareAwaitsAsyncCallbacks(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.compareClients(t)
	r.js(`(async () => {
		await compare({
			a: async () => { ran.push("a1"); await og.asyncQuery(slow); ran.push("a2") },
			b: async () => { ran.push("b1"); await og.asyncQuery(fast); ran.push("b2") },
		});
		ran.push("end");
	})()`)
	assert.Equal(t, "b1,b2,a1,a2,end", r.js(`ran.join(",")`).String())
	samples := r.taken()
	assert.Len(t, of(samples, "omnigraph_pair_overhead", "pair", "a-b"), 1)
	assert.Len(t, of(samples, "omnigraph_op_duration", "variant", "a"), 1)
	text := r.throws(`(async () => { await compare({a: async () => { throw new Error("oops") }, b: async () => og.asyncQuery(fast)}) })()`)
	assert.Contains(t, text, "oops")
	r.js(`og.query(fast)`)
	for _, s := range of(r.taken(), "omnigraph_op_duration", "query", "fast") {
		v, _ := s.Tags.Get("variant")
		assert.Contains(t, []string{"", "b"}, v)
	}
}

func TestAVariantIsChargedTheTimeInWhichAnythingWasUnderWay(t *testing.T) {
	t.Parallel()
	type operation struct{ begin, end int } // in the order of their ends; begins are noted in the order of time
	for name, tt := range map[string]struct {
		operations []operation
		took       int
	}{
		"one":                 {[]operation{{0, 10}}, 10},
		"one after the other": {[]operation{{0, 10}, {15, 20}}, 15},
		"at once":             {[]operation{{0, 10}, {0, 10}, {0, 12}}, 12},
		"overlapping":         {[]operation{{0, 10}, {5, 15}, {20, 30}}, 25},
		"one within another":  {[]operation{{3, 5}, {0, 10}}, 10},
		"a chain":             {[]operation{{0, 4}, {3, 7}, {6, 9}}, 9},
	} {
		v, at := &variantScope{name: name}, time.Now()
		for now := range 40 {
			for _, op := range tt.operations {
				if op.end == now {
					v.end(at.Add(time.Duration(now)*time.Second), false, &series{})
				}
			}
			for _, op := range tt.operations {
				if op.begin == now {
					v.begin(at.Add(time.Duration(now) * time.Second))
				}
			}
		}
		require.NoError(t, v.close())
		assert.Equal(t, time.Duration(tt.took)*time.Second, v.result.took, name)
	}
	v, at := &variantScope{name: "one is not awaited"}, time.Now()
	v.begin(at)
	v.begin(at.Add(time.Second))
	v.end(at.Add(3*time.Second), false, &series{})
	require.NoError(t, v.close())
	v.end(at.Add(9*time.Second), true, &series{})
	assert.Equal(t, 3*time.Second, v.result.took, "until the last that was awaited")
	assert.False(t, v.result.failed)
}

func TestCompareChargesOperationsAtOnceOnce(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(3)
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, "query meet") {
			together.Done()
			together.Wait()
		}
		_, _ = io.WriteString(w, threeRows)
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); let took; const q = (name) => og.asyncQuery("query " + name + "() { match { $m: Memory } return { $m.slug } }")`, server.URL))
	r.enter()
	r.js(`(async () => { took = await compare({ a: async () => Promise.all([q("meet"), q("meet"), q("meet")]), b: async () => q("alone") }) })()`)
	took := r.export(r.js(`took`))["a"].(float64)
	sum, longest := 0.0, 0.0
	for _, s := range of(r.taken(), "omnigraph_op_duration", "variant", "a") {
		sum, longest = sum+s.Value, max(longest, s.Value)
	}
	assert.Less(t, took, sum)
	assert.GreaterOrEqual(t, took, longest-1e-6)
}

func TestAnExceptionInACallbackEndsTheVariant(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.compareClients(t)
	assert.Contains(t, r.throws(`compare({a: () => { throw new Error("oops") }, b: () => { throw new Error("oops") }})`), "oops")
	r.js(`og.query(fast)`)
	samples := of(r.taken(), "omnigraph_op_duration")
	require.Len(t, samples, 1)
	_, has := samples[0].Tags.Get("variant")
	assert.False(t, has)
}

func TestAsyncOperationsKeepWhatTheyWereCalledWith(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		_, _ = io.WriteString(w, threeRows)
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const gq = "query q($s: String) { match { $m: Memory { slug: $s } } return { $m.slug } }"; const done = []`, server.URL))
	r.enter()
	r.js(`{
		const params = {s: "first"}, options = {tags: {kept: "yes"}};
		og.asyncQuery(gq, params, options).then((res) => done.push(res.rowCount));
		params.s = "changed"; options.tags.kept = "no";
		og.asyncQuery(gq, {s: "second"});
	}`)
	assert.Equal(t, "3", r.js(`done.join(",")`).String(), "the event loop waits for both")
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, bodies, 2)
	assert.Contains(t, strings.Join(bodies, ""), "first")
	assert.NotContains(t, strings.Join(bodies, ""), "changed")
	samples := r.taken()
	assert.Len(t, of(samples, "omnigraph_ops"), 2)
	assert.Len(t, of(samples, "omnigraph_ops", "kept", "yes"), 1)
}

func TestTheEndOfAnIterationCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := newStub(t, func(w http.ResponseWriter, r *http.Request, body string) {
		cancel() // not before it was sent: then the write could not have been done
		hang(w, r, body)
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
	r.enter()
	r.VU.CtxField = ctx
	res := r.export(r.js(writeCode))
	problem := res["error"].(map[string]any)
	assert.Equal(t, "canceled", problem["kind"])
	assert.Equal(t, true, problem["indeterminate"])
	rec, err := r.root.recording.build()
	require.NoError(t, err)
	require.Len(t, rec.Cells, 1)
	assert.EqualValues(t, 1, rec.Cells[0].Canceled)
	assert.EqualValues(t, 0, rec.Cells[0].Failed+rec.Cells[0].N)
}

func TestQueryTagsStayFew(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
	r.enter()
	r.js("for (let i = 0; i < 300; i++) { og.query(`query same() { match { $m: Memory { slug: \"k${i}\" } } return { $m.slug } }`) }")
	r.js("for (let i = 0; i < 300; i++) { og.query(`query own_${i}() { match { $m: Memory } return { $m.slug } }`) }")
	values := map[string]bool{}
	for _, s := range of(r.taken(), "omnigraph_ops") {
		v, _ := s.Tags.Get("query")
		values[v] = true
	}
	assert.LessOrEqual(t, len(values), maxLabels+1)
	assert.Contains(t, values, "same")
	assert.Contains(t, values, "other")
}

func TestTokensOfAListGoToVUsInTurn(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	for vu, want := range map[uint64]string{1: "a", 2: "b", 3: "a"} {
		r := newRuntime(t)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", token: ["a", "b"]})`, server.URL))
		r.enter()
		r.state.VUIDGlobal = vu
		r.js(readCode)
		asked := server.asked()
		assert.Equal(t, "Bearer "+want, asked[len(asked)-1].Header.Get("Authorization"), vu)
	}
}

func TestASequencesStepsTakeTurnsAndWarmUpOutsideTheMeasurement(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	root := New().(*rootModule)
	var mu sync.Mutex
	var order []string
	var running sync.WaitGroup
	vu := func(step string, turns int) *runtime {
		r := newRuntimeOf(t, root)
		r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const s = sequence("s", ["one", "two"])`, server.URL))
		r.enter()
		require.NoError(t, r.VU.RuntimeField.Set("note", func(what string) {
			mu.Lock()
			order = append(order, what)
			mu.Unlock()
		}))
		running.Go(func() {
			for range turns {
				if _, err := r.RunOnEventLoop(fmt.Sprintf(`s.turn(%q, {of: 4, workers: 2, warmup: 1}, () => { note(%q); %s })`, step, step, readCode)); err != nil {
					t.Error(err)
				}
			}
		})
		return r
	}
	vus := []*runtime{vu("two", 2), vu("two", 2), vu("one", 3), vu("one", 1)}
	running.Wait()
	require.Len(t, order, 12, "2 workers warm up once and share 4 turns, in both steps")
	for i, what := range order {
		assert.Equal(t, []string{"one", "two"}[i/6], what, "turn %d", i)
	}
	warm, measured := 0, 0
	for _, r := range vus {
		for _, s := range of(r.taken(), "omnigraph_ops") {
			if v, _ := s.Tags.Get("phase"); v == "warmup" {
				warm++
			} else {
				measured++
			}
		}
	}
	assert.Equal(t, 4, warm)
	assert.Equal(t, 8, measured)
}

func TestATurnThatThrowsCountsAndTheNextStepComes(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.js(`const s = sequence("s", ["one", "two"])`)
	r.enter()
	assert.Contains(t, r.throws(`s.turn("one", {}, () => { throw new Error("oops") })`), "oops")
	assert.Equal(t, "7", r.js(`s.turn("two", {}, () => 7)`).String())
	for code, want := range map[string]string{
		`s.turn("three", {}, () => 1)`:                "three",
		`s.turn("one", {of: 1, workers: 2}, () => 1)`: "workers",
		`s.turn("one", {off: 1}, () => 1)`:            "off",
		`s.turn("one", {}, 1)`:                        "fn",
		`s.turn("one", {}, () => Promise.resolve(1))`: "promise",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
}

func TestOptionsOfK6ThatDontReachTheCLIAreNamedOnce(t *testing.T) {
	t.Parallel()
	root := New().(*rootModule)
	warned := 0
	for range 2 {
		r := newRuntimeOf(t, root)
		r.js(`const og = new CLIClient({server: "http://127.0.0.1:1", graph: "g", bin: "/does/not/exist"})`)
		options := lib.Options{}
		options.RPS.Int64, options.RPS.Valid = 5, true
		r.enterWith(options)
		r.js(readCode)
		for _, e := range r.logs.AllEntries() {
			if strings.Contains(e.Message, "rps") {
				warned++
			}
		}
	}
	assert.Equal(t, 1, warned)
}
