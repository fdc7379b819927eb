package omnigraph

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// k6 hands setup()'s return value on as Go's JSON of what the engine exports, and not as JSON.stringify writes it.
func TestAResultThatSetupReturnsArrivesWhole(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
	r.enter()
	value := r.js(`const res = og.query("query q() { match { $m: Memory } return { $m.slug } }"); res.mine = {a: [1]}; const data = {nested: [res], res}; data`)
	encoded, err := json.Marshal(value.Export())
	require.NoError(t, err)
	written := r.js(`JSON.stringify(data)`).String()
	assert.JSONEq(t, written, string(encoded))
	assert.Contains(t, string(encoded), `"mem-0003"`)
	assert.Contains(t, string(encoded), `"mine":{"a":[1]}`)
}

func TestTagsOfOneCallThatReplaceTheClientsOwnDoNotStickToTheNext(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", tags: {step: "one"}}); const gq = "query q() { match { $m: Memory } return { $m.slug } }"`, server.URL))
	r.enter()
	r.js(`og.query(gq); og.query(gq, {}, {tags: {step: "two"}}); og.query(gq)`)
	samples := r.taken()
	for step, n := range map[string]int{"one": 2, "two": 1} {
		assert.Len(t, of(samples, "omnigraph_op_duration", "step", step), n, step)
		assert.Len(t, of(samples, "http_reqs", "step", step), n, step)
	}
}

func TestATagCalledNameIsTheNameOfTheRequestsAsWithK6HTTP(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", tags: {name: "mine"}}); const gq = "query q() { match { $m: Memory } return { $m.slug } }"`, server.URL))
	r.enter()
	r.js(`og.query(gq)`)
	samples := r.taken()
	assert.Len(t, of(samples, "http_req_duration", "name", "mine"), 1)
	assert.Len(t, of(samples, "omnigraph_op_duration", "query", "q"), 1)
}

// An iteration that is cut off leaves its promises as they are: nothing runs any more that could tidy up.
func TestAComparisonThatWasCutOffSaysNothingAboutTheNextIteration(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.compareClients(t)
	r.js(`compare({a: () => new Promise(() => {}), b: () => og.query(fast)})`)
	r.js(`og.query(fast)`)
	assert.Len(t, of(r.taken(), "omnigraph_op_duration", "variant", "a"), 1, "within the iteration it does")
	r.state.Iteration++
	r.js(`og.query(fast)`)
	samples := of(r.taken(), "omnigraph_op_duration")
	require.Len(t, samples, 1)
	_, tagged := samples[0].Tags.Get("variant")
	assert.False(t, tagged)
}

// An output may take the tags of connected samples from their container; those of an operation differ.
func TestSamplesOfAnOperationPromiseNoCommonTags(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, written))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
	r.enter()
	r.js(`og.mutate("query add() { insert Project { slug: \"a\" } }")`)
	own := 0
	for _, container := range metrics.GetBufferedSamples(r.samples) {
		samples := container.GetSamples()
		connected, is := container.(metrics.ConnectedSampleContainer)
		for _, s := range samples {
			if is {
				assert.Same(t, connected.GetTags(), s.Tags, s.Metric.Name)
			}
		}
		if of(samples, "omnigraph_ops") != nil {
			own++
		}
	}
	assert.Equal(t, 1, own, "one push for an operation")
}

// Metadata of samples that were pushed belongs to the outputs; a request may add to its own.
func TestRequestsGetMetadataOfTheirOwn(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", retry: {maxAttempts: 3, baseDelay: 0}})`, server.URL))
	r.enter()
	r.state.Tags.Modify(func(tm *metrics.TagsAndMeta) { tm.SetMetadata("iter", "7") })
	r.js(readCode)
	var of []map[string]string
	for _, container := range metrics.GetBufferedSamples(r.samples) {
		of = append(of, container.GetSamples()[0].Metadata)
	}
	require.Len(t, of, 4, "three requests and the operation")
	for i, one := range of {
		assert.Equal(t, map[string]string{"iter": "7"}, one)
		one["writer"] = fmt.Sprint(i)
	}
	for i, one := range of {
		assert.Equal(t, fmt.Sprint(i), one["writer"], "no two share their metadata")
	}
}

func TestTheSharedPoolFindsServersByNameWithoutK6sDialer(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect("http://localhost:%s", {graph: "council", pool: "shared"})`, port))
	r.enter()
	r.state.Dialer = &net.Dialer{}
	assert.True(t, r.js(`const res = `+readCode+`; res.ok`).ToBoolean())
}

func TestAUserInTheAddressIsSentWithExportsToo(t *testing.T) {
	t.Parallel()
	server := newStub(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, threeRows)
	})
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect("http://me:secret@%s", {graph: "council", headers: {Host: "omnigraph.example"}})`, server.Listener.Addr()))
	r.enter()
	r.js(readCode + `; og.export()`)
	assert.Empty(t, of(r.taken(), "omnigraph_errors", "error_kind", "unauthorized"))
	require.Len(t, server.asked(), 2)
}

func TestTheStateOfAStoreCanNotBeReadInTheInitContext(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	dir := t.TempDir()
	text := r.throws(fmt.Sprintf(`const rec = record({name: "x", dir: %q}); rec.before(connect("http://127.0.0.1:1"))`, dir))
	assert.Contains(t, text, "before can't be used in the init context")
}

func TestK6sHTTPDebugShowsRequestsWithoutTheirToken(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council", token: "very-secret"})`, server.URL))
	r.enterWith(lib.Options{HTTPDebug: null.StringFrom("full")})
	r.js(readCode)
	assert.Equal(t, "Bearer very-secret", server.asked()[0].Header.Get("Authorization"))
	var logged strings.Builder
	for _, e := range r.logs.AllEntries() {
		fmt.Fprintln(&logged, e.Level, e.Message, e.Data)
	}
	assert.Contains(t, logged.String(), "Authorization: Bearer ***")
	assert.Contains(t, logged.String(), "mem-0001")
	assert.NotContains(t, logged.String(), "very-secret")
}

// With the option systemTags a run may have no tag scenario; VUs go from one scenario to the next all the same.
func TestOperationsBelongToTheirScenarioWithoutItsTag(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const gq = "query q() { match { $m: Memory } return { $m.slug } }"`, server.URL))
	r.enter()
	r.state.Options.SystemTags = metrics.NewSystemTagSet(metrics.TagStatus)
	r.state.Tags = lib.NewVUStateTags(r.VU.StateField.Tags.GetCurrentValues().Tags.Without("scenario").Without("group"))
	plain := r.VU.CtxField
	for i, name := range []string{"first", "second", "second"} {
		r.state.Iteration = int64(i)
		r.VU.CtxField = lib.WithScenarioState(plain, &lib.ScenarioState{Name: name, Executor: "constant-vus"})
		r.js(`og.query(gq); compare({a: () => og.query(gq), b: () => og.query(gq)})`)
	}
	rec, err := r.root.recording.build()
	require.NoError(t, err)
	operations, pairs := map[string]uint64{}, map[string]int{}
	for _, cell := range rec.Cells {
		operations[cell.Scenario] += cell.N
	}
	for _, pair := range rec.Pairs {
		pairs[pair.Scenario]++
	}
	assert.Equal(t, map[string]uint64{"first": 3, "second": 6}, operations)
	assert.Equal(t, map[string]int{"first": 1, "second": 1}, pairs)
}

// k6 gives report() nothing with --summary-mode=disabled or without a handleSummary(), and no scenario's own count without
// its tag. What is not known of a schedule is no schedule that was kept.
func TestAnOpenScheduleIsNotKnownToBeKeptWithoutK6sWord(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	const summary = `report({metrics: {
		"iterations{scenario:s}": {type: "counter", contains: "default", values: {count: %[1]d, rate: 1}},
		"dropped_iterations{scenario:s}": {type: "counter", contains: "default", values: {count: 0, rate: 0}},
	}})`
	for name, c := range map[string]struct {
		tags    *metrics.SystemTagSet
		summary string
		unknown bool
	}{
		"a summary":                  {&metrics.DefaultSystemTagSet, fmt.Sprintf(summary, 1), false},
		"no summary":                 {&metrics.DefaultSystemTagSet, ``, true},
		"a summary of untagged runs": {metrics.NewSystemTagSet(metrics.TagStatus), fmt.Sprintf(summary, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
			r.enter()
			r.state.Options.SystemTags = c.tags
			r.VU.CtxField = lib.WithScenarioState(r.VU.CtxField, &lib.ScenarioState{Name: "s", Executor: "constant-arrival-rate"})
			r.js(`og.query("query q() { match { $m: Memory } return { $m.slug } }")`)
			r.js(c.summary)
			rec, err := r.root.recording.build()
			require.NoError(t, err)
			require.Len(t, rec.Scenarios, 1)
			assert.Equal(t, "open", rec.Scenarios[0].Model)
			assert.Equal(t, c.unknown, rec.Scenarios[0].Started == nil && rec.Scenarios[0].Dropped == nil)
			unknown := slices.ContainsFunc(rec.Reasons, func(r recorder.Reason) bool { return r.Code == "schedule_unknown" })
			assert.Equal(t, c.unknown, unknown)
		})
	}
}

// What k6's SharedArray is made of is its own affair: it may be a proxy of a list.
func TestAListBehindAProxyIsAList(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, written))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const shared = (list) => new Proxy(list, {}); const og = connect(%q, {graph: "council", token: shared(["a", "b"])})`, server.URL))
	assert.Equal(t, `workers_1,workers_2`, r.js(`Object.keys(levels(shared([1, 2]), {duration: "1s"})).join()`).String())
	assert.Contains(t, r.throws(`levels(new Proxy({}, {}), {duration: "1s"})`), "a list of different whole numbers")
	r.enter()
	r.js(`og.load(shared(shared([{type: "Project", data: {slug: "a"}}])))`)
	r.js(`og.mutateMany("query add($slug: String) { insert Project { slug: $slug } }", shared([{slug: "b"}]))`)
	asked := server.asked()
	require.Len(t, asked, 2)
	assert.Contains(t, asked[0].Body, `\"slug\":\"a\"`)
	assert.Contains(t, asked[1].Body, `"b"`)
	assert.Equal(t, "Bearer a", asked[0].Header.Get("Authorization"))
}
