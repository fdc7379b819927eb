package data_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/js/modules/k6/data"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
)

func newRuntime(t *testing.T, root *data.RootModule) *modulestest.Runtime {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/data": root}, nil, nil))
	_, err := rt.RunOnEventLoop(`
		"use strict";
		const { SharedArray } = require("k6/data");
		let filled = 0;
		function make(name) {
			return new SharedArray(name, () => { filled += 1; return [{ a: [1, 2] }, "text", undefined, 4]; });
		}`)
	require.NoError(t, err)
	return rt
}

func TestOnlyTheFirstVUFillsAnArray(t *testing.T) {
	t.Parallel()
	root := data.New()
	fills := make([]int64, 8)
	var all sync.WaitGroup
	for vu := range fills {
		rt := newRuntime(t, root)
		all.Go(func() {
			value, err := rt.RunOnEventLoop(`const users = make("users"); filled;`)
			if assert.NoError(t, err) {
				fills[vu] = value.ToInteger()
			}
			length, err := rt.RunOnEventLoop(`users.length`)
			if assert.NoError(t, err) {
				assert.EqualValues(t, 4, length.ToInteger())
			}
		})
	}
	all.Wait()
	var sum int64
	for _, n := range fills {
		sum += n
	}
	assert.EqualValues(t, 1, sum)
}

func TestElementsAreFrozenCopies(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, data.New())
	_, err := rt.RunOnEventLoop(`const users = make("users");`)
	require.NoError(t, err)
	for code, want := range map[string]string{
		`users[0].a[1]`: "2", `users[2]`: "null", `users[99]`: "undefined", `users[-1]`: "undefined", `[...users].length`: "4",
		`Array.isArray(users)`: "true", `users.map((u) => typeof u).join()`: "object,string,object,number",
		`users[0] === users[0]`: "false", `Object.isFrozen(users[0].a)`: "true",
	} {
		value, err := rt.RunOnEventLoop(code)
		require.NoError(t, err, code)
		assert.Equal(t, want, value.String(), code)
	}
	for code, text := range map[string]string{
		`users[0] = 1`: "SharedArray is immutable", `users.push(1)`: "SharedArray is immutable",
		`users.length = 0`: "SharedArray is immutable", `"use strict"; users[0].a = 1`: "read only property",
	} {
		_, err := rt.RunOnEventLoop(code)
		require.ErrorContains(t, err, text, code)
	}
}

func TestBadConstructorArguments(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, data.New())
	for code, text := range map[string]string{
		`new SharedArray("", () => [])`: "empty name", `new SharedArray()`: "empty name",
		`new SharedArray("a")`: "a function is expected", `new SharedArray("a", async () => [])`: "does not support async functions",
		`new SharedArray("a", () => ({}))`: "only arrays can be made into SharedArray", `new SharedArray("a", () => 1)`: "only arrays",
		`new SharedArray("a", () => { throw new Error("boom"); })`:           "boom",
		`new SharedArray("a", () => { const a = []; a.push(a); return a; })`: "circular",
	} {
		_, err := rt.RunOnEventLoop(code)
		require.ErrorContains(t, err, text, code)
	}
	_, err := rt.RunOnEventLoop(`make("a")`)
	require.NoError(t, err, "a failed try leaves nothing behind")
	rt.MoveToVUContext(&lib.State{})
	_, err = rt.RunOnEventLoop(`make("b")`)
	require.ErrorContains(t, err, "new SharedArray must be called in the init context")
}
