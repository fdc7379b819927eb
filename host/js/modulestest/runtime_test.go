package modulestest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/js/promises"
	"go.k6.io/k6/v2/lib"
)

type answer struct{ vu modules.VU }

func (answer) NewModuleInstance(vu modules.VU) modules.Instance { return answer{vu} }

func (a answer) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"value": 42,
		"later": func(text string, fail bool) any {
			promise, resolve, reject := promises.New(a.vu)
			go func() {
				if fail {
					reject(errors.New(text))
					return
				}
				resolve(text)
			}()
			return promise
		},
	}}
}

func TestRunOnEventLoop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ code, want, err string }{
		"value of the code":            {code: `1 + 1`, want: "2"},
		"a required Go module":         {code: `require('k6/x/answer').value`, want: "42"},
		"its default is all of it":     {code: `require('k6/x/answer').later.length >= 0`, want: "true"},
		"a promise is waited for":      {code: `let r = []; require('k6/x/answer').later('x').then((v) => r.push(v)); r`, want: "x"},
		"a timer is waited for":        {code: `let r = []; setTimeout((v) => r.push(v), 5, 'late'); r`, want: "late"},
		"an interval until cleared":    {code: `let r = [], id = setInterval(() => { r.push(1); if (r.length === 3) clearInterval(id); }, 1); r`, want: "1,1,1"},
		"a rejection nobody handles":   {code: `require('k6/x/answer').later('no', true)`, err: "Uncaught (in promise) no"},
		"a rejected Error":             {code: `Promise.reject(new TypeError('wrong'))`, err: "Uncaught (in promise) TypeError: wrong"},
		"a handled rejection":          {code: `let r = []; require('k6/x/answer').later('no', true).catch((e) => r.push(String(e), e.message, e instanceof Error)); r`, want: "no,,false"},
		"an exception":                 {code: `throw new Error('boom')`, err: "Error: boom"},
		"an unknown module":            {code: `require('k6/x/nowhere')`, err: "unknown modules"},
		"text encoding":                {code: `new TextDecoder().decode(new TextEncoder().encode('grün'))`, want: "grün"},
		"web crypto":                   {code: `crypto.randomUUID().length`, want: "36"},
		"a Go error thrown":            {code: `let t; try { require('k6/x/nowhere') } catch (e) { t = e.name } t`, want: "GoError"},
		"a timer without its function": {code: `setTimeout(5)`, err: "callable function"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := NewRuntime(t)
			require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/x/answer": answer{}}, nil, nil))
			value, err := rt.RunOnEventLoop(tc.code)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, value.String())
		})
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	rt := NewRuntime(t)
	assert.NotNil(t, rt.VU.InitEnv().Registry)
	assert.Nil(t, rt.VU.InitEnv().BuiltinMetrics)
	assert.Nil(t, rt.VU.Events().Global)
	assert.Nil(t, rt.VU.State())
	state := &lib.State{}
	rt.MoveToVUContext(state)
	assert.Nil(t, rt.VU.InitEnv())
	assert.Same(t, state, rt.VU.State())
	rt.VU.InitEnvField = NewRuntime(t).VU.InitEnvField
	assert.Panics(t, func() { rt.VU.State() })
}

func TestEndOfContextDropsTimers(t *testing.T) {
	defer leaktest.VerifyNone(t, goleak.IgnoreCurrent())
	rt := NewRuntime(t)
	start := time.Now()
	time.AfterFunc(10*time.Millisecond, rt.CancelContext)
	_, err := rt.RunOnEventLoop(`setTimeout(() => { throw new Error('too late') }, 60000)`)
	require.NoError(t, err)
	assert.Less(t, time.Since(start), 30*time.Second)
}

func TestAnotherRuntimeSharesModules(t *testing.T) {
	t.Parallel()
	first := NewRuntime(t)
	require.NoError(t, first.SetupModuleSystem(map[string]any{"k6/x/answer": answer{}}, nil, nil))
	_, err := first.RunOnEventLoop(`require('k6/x/answer')`)
	require.NoError(t, err)
	second := NewRuntime(t)
	require.NoError(t, second.SetupModuleSystemFromAnother(first))
	value, err := second.RunOnEventLoop(`require('k6/x/answer').value`)
	require.NoError(t, err)
	assert.Equal(t, int64(42), value.ToInteger())
}
