package console

import (
	"testing"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`[]`:                              ``,
		`['text']`:                        `text`,
		`['a', 1, true, null, undefined]`: `a 1 true null undefined`,
		`[{ a: 1, b: [1, 'x'] }]`:         `{ a: 1, b: [ 1, "x" ] }`,
		`[[1, 'two', [undefined, null]]]`: `[ 1, "two", [ undefined, null ] ]`,
		`[{}, []]`:                        `{} []`,
		`[() => 1, class A {}]`:           `[object Function] [object Function]`,
		`[{ f() {} }]`:                    `{ f: [object Function] }`,
		`[new Error('an error')]`:         `Error: an error`,
		`[{ e: new TypeError('t') }]`:     `{ e: TypeError: t }`,
		`(() => { const c = { n: 1 }; c.self = c; return [c] })()`:   `{ n: 1, self: [Circular] }`,
		`(() => { const c = [1]; c.push(c); return [c] })()`:         `[ 1, [Circular] ]`,
		`(() => { const same = { x: 1 }; return [[same, same]] })()`: `[ { x: 1 }, { x: 1 } ]`,
		`[new Uint8Array([1, 2])]`:                                   `Uint8Array(2) [ 1, 2 ]`,
		`[new Float32Array([1.5])]`:                                  `Float32Array(1) [ 1.5 ]`,
		`[new Uint8Array([1, 2]).buffer]`:                            `ArrayBuffer(2) [ 1, 2 ]`,
		`[new Uint8Array(0)]`:                                        `Uint8Array(0) []`,
		`[new Date(0)]`:                                              `"1970-01-01T00:00:00.000Z"`,
		`[new Date(NaN)]`:                                            `Invalid Date`,
		`[NaN, Infinity, 1.5, 1e21, 10n]`:                            `NaN Infinity 1.5 1e+21 10`,
		`[Symbol('s'), { s: Symbol('t') }]`:                          `Symbol(s) { s: Symbol(t) }`,
		`['%s is %d', 'x', 5]`:                                       `%s is %d x 5`,
		`[Object.create(null), new String('boxed')]`:                 `{} boxed`,
		`[['q"uote', 'ü']]`:                                          `[ "q\"uote", "ü" ]`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			rt := sobek.New()
			value, err := rt.RunString(`(` + code + `)`)
			require.NoError(t, err)
			var args []sobek.Value
			require.NoError(t, rt.ExportTo(value, &args))
			assert.Equal(t, want, Format(rt, args))
		})
	}
}

func TestVeryDeepValuesEnd(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	value, err := rt.RunString(`let d = 1; for (let i = 0; i < 10000; i++) d = [d]; d`)
	require.NoError(t, err)
	assert.Contains(t, Format(rt, []sobek.Value{value}), "[Object]")
}

func TestLevels(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	logger, hook := test.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	require.NoError(t, rt.Set("console", New(rt, func() logrus.FieldLogger { return logger })))
	for name, level := range map[string]logrus.Level{
		"log": logrus.InfoLevel, "info": logrus.InfoLevel, "debug": logrus.DebugLevel, "warn": logrus.WarnLevel, "error": logrus.ErrorLevel,
	} {
		_, err := rt.RunString(`console.` + name + `('x', 1)`)
		require.NoError(t, err)
		assert.Equal(t, level, hook.LastEntry().Level)
		assert.Equal(t, "x 1", hook.LastEntry().Message)
	}
	_, err := rt.RunString(`console.table([])`)
	require.Error(t, err)
}
