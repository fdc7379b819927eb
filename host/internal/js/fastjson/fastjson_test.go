package fastjson

import (
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	show, ok := sobek.AssertFunction(value)
	require.True(tb, ok)
	parse := func() sobek.Value { return rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse") }
	before := parse()
	require.NoError(tb, Install(rt))
	after := parse()
	require.False(tb, before.SameAs(after))
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
	for _, value := range []sobek.Value{
		lone, sobek.Undefined(), sobek.Null(), rt.ToValue(5), rt.ToValue(true), rt.ToValue([]string{"1"}), rt.NewObject(),
	} {
		original, replaced := compare(t, value)
		assert.Equal(t, original, replaced)
	}
}

func TestLooksLikeTheOriginal(t *testing.T) {
	rt := sobek.New()
	look := `[JSON.parse.name, JSON.parse.length, Object.keys(JSON).length, JSON.parse('[1,{"a":2}]', (k, v) => (typeof v === 'number' ? v + 1 : v))[1].a,
		Object.getOwnPropertyDescriptor(JSON, 'parse').enumerable, Object.getOwnPropertyDescriptor(JSON, 'parse').writable].join()`
	before, err := rt.RunString(look)
	require.NoError(t, err)
	require.NoError(t, Install(rt))
	after, err := rt.RunString(look)
	require.NoError(t, err)
	assert.Equal(t, before.String(), after.String())
}

func TestManyNamesAreForgotten(t *testing.T) {
	p := &parser{rt: sobek.New(), names: make(map[string]string)}
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
	for _, name := range []string{"original", "replaced"} {
		b.Run(name, func(b *testing.B) {
			rt := sobek.New()
			if name == "replaced" {
				require.NoError(b, Install(rt))
			}
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
	}
}
