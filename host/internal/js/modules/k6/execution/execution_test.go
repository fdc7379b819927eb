package execution

import (
	"context"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

func newRuntime(t *testing.T) (*modulestest.Runtime, *lib.State, *test.Hook) {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/execution": New()}, nil, nil))
	_, err := rt.RunOnEventLoop(`var { vu, scenario, instance, test } = require('k6/execution');`)
	require.NoError(t, err)
	logger, hook := test.NewNullLogger()
	state := &lib.State{
		VUID: 3, VUIDGlobal: 7, Iteration: 5, Logger: logger, TestStatus: lib.NewTestStatus(),
		Options:                 lib.Options{RPS: null.IntFrom(9)},
		Tags:                    lib.NewVUStateTags(metrics.NewRegistry().RootTagSet().With("group", "")),
		GetScenarioVUIter:       func() uint64 { return 1 },
		GetScenarioLocalVUIter:  func() uint64 { return 2 },
		GetScenarioGlobalVUIter: func() uint64 { return 4 },
	}
	return rt, state, hook
}

func inScenario(ctx context.Context) context.Context {
	ctx = lib.WithScenarioState(ctx, &lib.ScenarioState{
		Name: "mine", Executor: "constant-vus", StartTime: time.UnixMilli(1234),
		ProgressFn: func() (float64, []string) { return 0.5, nil },
	})
	return lib.WithExecutionState(ctx, lib.NewExecutionState(&lib.TestRunState{}, nil))
}

func TestInformation(t *testing.T) {
	t.Parallel()
	rt, state, _ := newRuntime(t)
	rt.MoveToVUContext(state)
	rt.VU.CtxField = inScenario(rt.VU.CtxField)
	for code, want := range map[string]string{
		`vu.idInInstance`:              "3",
		`vu.idInTest`:                  "7",
		`vu.iterationInInstance`:       "5",
		`vu.iterationInScenario`:       "1",
		`scenario.name`:                "mine",
		`scenario.executor`:            "constant-vus",
		`scenario.startTime`:           "1234",
		`scenario.progress`:            "0.5",
		`scenario.iterationInInstance`: "2",
		`scenario.iterationInTest`:     "4",
		`[instance.currentTestRunDuration, instance.iterationsCompleted, instance.iterationsInterrupted, instance.vusActive, instance.vusInitialized]`: "0,0,0,0,0",
		`[test.options.rps, test.options.maxRedirects === null, test.options === test.options]`:                                                        "9,true,true",
		`(function () { 'use strict'; try { test.options.rps = 1 } catch (e) { return e.name } })()`:                                                   "TypeError",
		`Object.keys(vu).sort()`: "idInInstance,idInTest,iterationInInstance,iterationInScenario,metrics",
		`vu.tags.group === ''`:   "true",
	} {
		value, err := rt.RunOnEventLoop(code)
		require.NoError(t, err, code)
		assert.Equal(t, want, value.String(), code)
	}
}

func TestWhereInformationIsMissing(t *testing.T) {
	t.Parallel()
	inInit, state, _ := newRuntime(t)
	for _, code := range []string{`vu.idInTest`, `vu.iterationInScenario`, `vu.metrics.tags.x`, `scenario.name`, `instance.vusActive`, `test.options`} {
		_, err := inInit.RunOnEventLoop(code)
		require.ErrorContains(t, err, "init context", code)
	}
	inSetup := inInit // later
	state.GetScenarioVUIter = nil
	inSetup.MoveToVUContext(state)
	for code, text := range map[string]string{
		`scenario.name`:          "outside of the VU context",
		`vu.iterationInScenario`: "outside of the VU context",
		`instance.vusActive`:     "getting instance information",
	} {
		_, err := inSetup.RunOnEventLoop(code)
		require.ErrorContains(t, err, text, code)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	rt, state, _ := newRuntime(t)
	rt.MoveToVUContext(state)
	value, err := rt.RunOnEventLoop(`
		const tags = vu.metrics.tags, meta = vu.metrics.metadata;
		tags.a = 'x'; tags.n = 7; tags.yes = true; delete tags.gone;
		meta.trace = 'id';
		[Object.keys(tags), tags.a, tags.n, 'a' in tags, 'b' in tags, tags.b, Object.keys(meta), meta.trace, 'trace' in meta, meta.none].join('|')`)
	require.NoError(t, err)
	assert.Equal(t, "a,group,n,yes|x|7|true|false||trace|id|true|", value.String())
	now := state.Tags.GetCurrentValues()
	assert.Equal(t, map[string]string{"a": "x", "n": "7", "yes": "true", "group": ""}, now.Tags.Map())
	assert.Equal(t, map[string]string{"trace": "id"}, now.Metadata)
	_, err = rt.RunOnEventLoop(`delete vu.metrics.tags.a; delete vu.metrics.metadata.trace`)
	require.NoError(t, err)
	now = state.Tags.GetCurrentValues()
	assert.Equal(t, map[string]string{"n": "7", "yes": "true", "group": ""}, now.Tags.Map())
	assert.Empty(t, now.Metadata)
	for _, code := range []string{`vu.metrics.tags.o = {}`, `vu.metrics.tags.o = null`, `vu.metrics.metadata.o = []`} {
		_, err := rt.RunOnEventLoop(code)
		require.ErrorContains(t, err, "only String, Boolean and Number", code)
	}
}

func TestAbortAndFail(t *testing.T) {
	t.Parallel()
	rt, state, hook := newRuntime(t)
	rt.MoveToVUContext(state)
	_, err := rt.RunOnEventLoop(`try { test.abort('why') } finally { for (;;); }`)
	require.True(t, errext.IsInterruptError(err))
	assert.ErrorContains(t, err, "test aborted: why")
	_, err = rt.RunOnEventLoop(`test.abort(); for (;;);`)
	require.ErrorContains(t, err, "test aborted at")

	assert.False(t, state.TestStatus.Failed())
	_, err = rt.RunOnEventLoop(`test.fail('smell')`)
	require.NoError(t, err)
	assert.True(t, state.TestStatus.Failed())
	assert.Equal(t, "test marked as failed: smell", hook.LastEntry().Message)
}
