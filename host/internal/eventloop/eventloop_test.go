package eventloop

import (
	"errors"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func TestStartWaitsForCallbacks(t *testing.T) {
	t.Parallel()
	loop := New(sobek.New())
	var order []string
	err := loop.Start(func() error {
		first, second := loop.RegisterCallback(), loop.RegisterCallback()
		secondRan := make(chan struct{})
		go func() {
			<-secondRan
			first(func() error {
				order = append(order, "first")
				third := loop.RegisterCallback()
				go third(func() error { order = append(order, "third"); return nil })
				return nil
			})
		}()
		second(func() error { order = append(order, "second"); close(secondRan); return nil })
		order = append(order, "start")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"start", "second", "first", "third"}, order)
	assert.NoError(t, loop.Start(func() error { return nil }), "a loop can be started again")
}

func TestAnErrorLeavesTheRestForTheDrain(t *testing.T) {
	t.Parallel()
	loop := New(sobek.New())
	boom := errors.New("boom")
	var ran []int
	err := loop.Start(func() error {
		for i := range 3 {
			loop.RegisterCallback()(func() error {
				ran = append(ran, i)
				if i == 0 {
					return boom
				}
				return errors.New("nobody sees this")
			})
		}
		return nil
	})
	require.ErrorIs(t, err, boom)
	assert.Equal(t, []int{0}, ran)
	before := 0
	loop.Drain(func() { before++ })
	assert.Equal(t, []int{0, 1, 2}, ran)
	assert.Equal(t, 2, before)
}

func TestAFailedStartIsDrainedToo(t *testing.T) {
	t.Parallel()
	loop := New(sobek.New())
	drained := false
	require.Error(t, loop.Start(func() error {
		callback := loop.RegisterCallback()
		time.AfterFunc(5*time.Millisecond, func() { callback(func() error { drained = true; return nil }) })
		return errors.New("boom")
	}))
	loop.WaitOnRegistered()
	assert.True(t, drained)
}

func TestACallbackIsCalledOnce(t *testing.T) {
	t.Parallel()
	loop := New(sobek.New())
	callback := loop.RegisterCallback()
	nothing := func() error { return nil }
	callback(nothing)
	assert.Panics(t, func() { callback(nothing) })
	loop.WaitOnRegistered()
}

func TestRejections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ code, err string }{
		"an error":               {`Promise.reject(new TypeError('wrong'))`, "Uncaught (in promise) TypeError: wrong\n\tat s.js:1:16(4)"},
		"a string":               {`Promise.reject('text')`, "Uncaught (in promise) text"},
		"undefined":              {`Promise.reject()`, "Uncaught (in promise) undefined"},
		"an async function":      {`(async () => { await null; throw new RangeError('late') })()`, "Uncaught (in promise) RangeError: late\n\tat s.js:1:34(6)"},
		"handled at once":        {`Promise.reject(1).catch(() => {})`, ""},
		"handled by a later job": {`const p = Promise.reject(1); Promise.resolve().then(() => p.catch(() => {}))`, ""},
		"what can't be shown":    {`Promise.reject({ toString() { throw 1 } })`, "Uncaught (in promise) a value that can't be shown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := sobek.New()
			loop := New(rt)
			err := loop.Start(func() error {
				_, err := rt.RunScript("s.js", tc.code)
				return err
			})
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
			require.NoError(t, loop.Start(func() error { return nil }), "the next start does not see it")
		})
	}
}

func TestARejectionWithAGoErrorWrapsIt(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	loop := New(rt)
	cause := errors.New("cause")
	err := loop.Start(func() error {
		_, _, reject := rt.NewPromise()
		return reject(cause)
	})
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "Uncaught (in promise) cause")
}

func TestAnIdleStartAllocatesNothing(t *testing.T) {
	loop := New(sobek.New())
	nothing := func() error { return nil }
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = loop.Start(nothing) }))
}
