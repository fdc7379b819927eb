package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeadersAreReadFromTheSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source string
		want         []QueryHeader
	}{
		{"ok/no parameters", `query q() { match { $m: Memory } return { $m.slug } }`, []QueryHeader{{Name: "q"}}},
		{"ok/types", `query q($a: String, $b: I32?, $c: [String], $d: [I64]?) { }`, []QueryHeader{{Name: "q", Params: []Param{
			{Name: "a", Type: "String"}, {Name: "b", Type: "I32", Optional: true}, {Name: "c", Type: "[String]"}, {Name: "d", Type: "[I64]", Optional: true},
		}}}},
		{"ok/several", "query a() { }\nquery b($x: Bool) { return { \"}\" } }", []QueryHeader{{Name: "a"}, {Name: "b", Params: []Param{{Name: "x", Type: "Bool"}}}}},
		{"ok/comments", "// query no() {}\n# neither\n/* query no() {} */ query q( // $a: I32\n $b: String) { /* } */ }", []QueryHeader{{Name: "q", Params: []Param{{Name: "b", Type: "String"}}}}},
		{"ok/braces in strings", `query q() { match { $m: Memory { slug: "}{\"}" } } return { $m } }`, []QueryHeader{{Name: "q"}}},
		{"ok/annotations", `query q($v: Vector(3)) @description("a { b") { }`, []QueryHeader{{Name: "q", Params: []Param{{Name: "v", Type: "Vector"}}}}},
		{"ok/umlaut", `query grüße($ä: String) { }`, []QueryHeader{{Name: "grüße", Params: []Param{{Name: "ä", Type: "String"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := ParseHeaders(c.source)
			require.True(t, ok)
			assert.Equal(t, c.want, got)
		})
	}
	for _, source := range []string{
		"", "match {", "query", "query q", "query q(", "query q($", "query q($a", "query q($a:", "query q($a: String", "query q($a: String)",
		"query q() {", "query q() { \" }", "query q() }", "query q($a String) {}", "query q($a: [String) {}", "mutation m() {}", "query q() {} x", "query q($a: T $b: T) {}",
	} {
		_, ok := ParseHeaders(source)
		assert.False(t, ok, source)
	}
}

func FuzzParseHeaders(f *testing.F) {
	for _, s := range []string{"query q($a: String, $b: [I32?]?) { match { $m: T { a: \"x\" } } }", "query", "/*", "\"\\", "query q($a:Vector(", "query q(){}query r(){}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		headers, ok := ParseHeaders(source)
		if !ok {
			return
		}
		for _, h := range headers {
			if h.Name == "" {
				t.Fatal("a header without a name")
			}
			for _, p := range h.Params {
				if p.Name == "" || p.Type == "" {
					t.Fatalf("a parameter without name or type: %+v", p)
				}
			}
		}
	})
}

func TestParametersFitTheirTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, value string
		fits       bool
	}{
		{"String", `"a"`, true}, {"String", `1`, false}, {"String", `["a"]`, false}, {"String", `{}`, false},
		{"DateTime", `"2026-01-01T00:00:00Z"`, true}, {"DateTime", `1`, false},
		{"Bool", `true`, true}, {"Bool", `"true"`, false}, {"Bool", `0`, false},
		{"I32", `1`, true}, {"I32", `-2147483648`, true}, {"I32", `2147483648`, false}, {"I32", `1.5`, false}, {"I32", `"12"`, true}, {"I32", `"abc"`, false}, {"I32", `1e3`, true},
		{"U32", `4294967295`, true}, {"U32", `-1`, false}, {"U32", `"-1"`, false}, {"U32", `"4294967296"`, false},
		{"I64", `"9223372036854775807"`, true}, {"I64", `"9223372036854775808"`, false}, {"U64", `"18446744073709551615"`, true}, {"U64", `"-1"`, false},
		{"F64", `1.5`, true}, {"F64", `"1.5"`, true}, {"F64", `"x"`, false},
		{"[String]", `["a","b"]`, true}, {"[String]", `"a"`, false}, {"[String]", `["a",1]`, false}, {"[I32]", `[]`, true},
		{"Mystery", `{"a":1}`, true},
	} {
		h := &QueryHeader{Name: "q", Params: []Param{{Name: "p", Type: c.typ}}}
		err := CheckParams(h, []byte(`{"p":`+c.value+`}`))
		assert.Equal(t, c.fits, err == nil, "%s %s: %v", c.typ, c.value, err)
	}
}

func FuzzCheckParams(f *testing.F) {
	f.Add(`{"a":1}`)
	f.Add(`{"a":null,"b":[1,"x"]}`)
	f.Add(`{`)
	h := &QueryHeader{Name: "q", Params: []Param{{Name: "a", Type: "I32"}, {Name: "b", Type: "[String]", Optional: true}}}
	f.Fuzz(func(t *testing.T, params string) {
		if err := CheckParams(h, []byte(params)); err != nil && err.Kind != KindBadRequest {
			t.Fatal(err)
		}
	})
}
