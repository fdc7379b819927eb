package fastjson

import (
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/js/common"
)

// describe writes a value with its types, key order and code units, or the error of parsing it.
const describe = `(parse, text) => {
	const show = (v) => {
		if (v === null) return 'null';
		if (Array.isArray(v)) return '[' + v.map(show).join() + ']';
		if (typeof v === 'object') {
			const proto = Object.getPrototypeOf(v) === Object.prototype ? '' : 'odd:';
			return proto + '{' + Object.keys(v).map((k) => show(k) + ':' + show(v[k]) + (Object.getOwnPropertyDescriptor(v, k).writable ? '' : '!')).join() + '}';
		}
		if (typeof v === 'string') return '"' + Array.from({ length: v.length }, (_, i) => v.charCodeAt(i).toString(16)).join(' ') + '"';
		if (Object.is(v, -0)) return '-0';
		return typeof v + ':' + String(v);
	};
	try { return show(parse(text)); } catch (e) { return e.name + ': ' + e.message; }
}`

// both returns what the original and the replacement make of a text.
func both(tb testing.TB) func(tb testing.TB, text sobek.Value) (original, replaced string) {
	tb.Helper()
	rt := sobek.New()
	value, err := rt.RunString("(" + describe + ")")
	require.NoError(tb, err)
	show, isFunction := sobek.AssertFunction(value)
	require.True(tb, isFunction)
	before := rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse")
	original, ok := sobek.AssertFunction(before)
	require.True(tb, ok)
	parser := New(rt)
	// What the parser leaves alone counts as parsed by the original.
	after := rt.ToValue(func(call sobek.FunctionCall) sobek.Value {
		if value, done := parser.Parse(call.Argument(0).String()); done {
			return value
		}
		value, err := original(nil, call.Argument(0))
		if err != nil {
			common.Throw(rt, err)
		}
		return value
	})
	return func(tb testing.TB, text sobek.Value) (string, string) {
		tb.Helper()
		original, err := show(nil, before, text)
		require.NoError(tb, err)
		replaced, err := show(nil, after, text)
		require.NoError(tb, err)
		return original.String(), replaced.String()
	}
}

func seeds() []string {
	return []string{
		`{"columns":["a"],"rows":[{"a":1,"b":"x","c":null,"d":true,"e":false,"f":{"g":[]},"h":{}}],"n":-12.5e-3}`,
		`0`, `-0`, `-1`, `01`, `1.`, `.5`, `1e5`, `1E+2`, `1e`, `123456789012345`, `1234567890123456789`, `-9007199254740993`, `1e400`, `-`,
		`""`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u0041\u00e4\u20ac\ud83d\ude00"`, `"\ud83d"`, `"\ude00x"`, `"\ud83d\u0041"`, `"\u00g0"`, `"\x"`, `"`, `"\`,
		`"grüße €  😀"`, "\"\uFFFD\"", "\"a\\n\uFFFD\"", "\"tab\tinside\"", "\"\x7f\"", `"a`, `true`, `tru`, `falsey`, `null`, `nul`, ` 	` + "\r\n" + `[ 1 , 2 ] `,
		`[1,]`, `[,1]`, `[1 2]`, `[`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `{`, `{"b":1,"a":2,"1":3,"0":4}`, `{"a":1,"a":2}`, `{"__proto__":{"x":1}}`,
		`{"\u005f_proto__":1}`, `{"constructor":1,"toString":2,"length":3}`, ``, ` `, `1 2`, `[]]`, `NaN`, `undefined`, `'x'`, "\u2028", "\ufeff1",
		strings.Repeat("[", 300) + strings.Repeat("]", 300), `[1,2,3,4,5,6,7,8,9,10]`, `{"":1}`, `{"a":{"a":{"a":1}}}`,
	}
}

func TestParsesAsTheOriginalDoes(t *testing.T) {
	compare := both(t)
	rt := sobek.New()
	for _, text := range seeds() {
		original, replaced := compare(t, rt.ToValue(text))
		assert.Equal(t, original, replaced, text)
	}
	lone, err := rt.RunString(`'"\ud83d"'`)
	require.NoError(t, err)
	original, replaced := compare(t, lone)
	assert.Equal(t, original, replaced)
}

func TestLeavesOnlyTheRareAlone(t *testing.T) {
	rt := sobek.New()
	p := New(rt)
	for text, reads := range map[string]bool{
		`{"a":[1,-2.5e3,"x\ny\u00e4\ud83d\ude00",true,false,null,{}]}`: true, ` [ ] `: true, `"grüße"`: true,
		`{"__proto__":1}`: false, `"\ud83d"`: false, `[1,]`: false, `1e999`: false, ``: false,
	} {
		_, ok := p.Parse(text)
		assert.Equal(t, reads, ok, text)
	}
}

func TestManyNamesAreForgotten(t *testing.T) {
	p := New(sobek.New())
	for i := range 10 * maxNames {
		p.intern(strings.Repeat("x", i%maxNameLength) + string(rune('a'+i%7)) + strings.Repeat("y", i%11))
	}
	p.intern(strings.Repeat("long", maxNameLength))
	assert.LessOrEqual(t, len(p.names), maxNames)
}

func FuzzParsesAsTheOriginalDoes(f *testing.F) {
	for _, text := range seeds() {
		f.Add(text)
	}
	compare := both(f)
	rt := sobek.New()
	f.Fuzz(func(t *testing.T, text string) {
		original, replaced := compare(t, rt.ToValue(text))
		if original != replaced {
			t.Fatalf("%q: the original makes %s of it, the replacement %s", text, original, replaced)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	const text = `{"query_name":"get_memory","target":{"branch":"main","snapshot":null},"row_count":3,"columns":["m.slug","m.title","m.importance"],` +
		`"rows":[{"m.slug":"mem-0001","m.title":"first of three rows","m.importance":1},{"m.slug":"mem-0002","m.title":"second of three rows","m.importance":2},` +
		`{"m.slug":"mem-0003","m.title":"third of three rows","m.importance":3}]}`
	rt := sobek.New()
	b.Run("JSON.parse", func(b *testing.B) {
		parse, ok := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
		require.True(b, ok)
		value := rt.ToValue(text)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parse(nil, value); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Parser", func(b *testing.B) {
		p := New(rt)
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := p.Parse(text); !ok {
				b.Fatal("not read")
			}
		}
	})
}
