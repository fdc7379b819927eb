package compiler

import (
	"errors"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, source, err string
		commonJS          bool
	}{
		"an ES module":              {file: "a.js", source: `export const a = 1`},
		"an import alone":           {file: "a.js", source: `import 'k6'`},
		"a top-level await":         {file: "a.js", source: `await null`},
		"nothing of either":         {file: "a.js", source: `const a = 1`, commonJS: true},
		"exports":                   {file: "a.js", source: `exports.a = 1`, commonJS: true},
		"a return at the top":       {file: "a.js", source: `return 1`, commonJS: true},
		"sloppy code":               {file: "a.js", source: `with ({}) {}`, commonJS: true},
		"a hash bang":               {file: "a.js", source: "#!/usr/bin/env k6\nexport const a = 1"},
		"an empty file":             {file: "a.js", source: ``, commonJS: true},
		"a comment at the end":      {file: "a.js", source: `exports.a = 1 // comment`, commonJS: true},
		"a source map out of reach": {file: "a.js", source: "export const a = 1\n//# sourceMappingURL=a.js.map"},
		"types":                     {file: "a.ts", source: `export const a: number = 1 as unknown as number`},
		"types from standard input": {file: "file:///d/-", source: `export const a: number = 1`},
		"types in a .js file":       {file: "a.js", source: `export const a: number = 1`, err: "a.js: Line 1:15"},
		"an error in TypeScript":    {file: "a.ts", source: "export const a = 1\nexport const b: = 2", err: "a.ts: Line 2:"},
		"an error in a module":      {file: "a.js", source: "export default function () {", err: "a.js: Line 1:29 Unexpected end of input"},
		"an error before an export": {file: "a.js", source: "const a = 1; export const b = ;", err: "a.js: Line 1:31 Unexpected token ;"},
		"an error in CommonJS":      {file: "a.js", source: "exports.a = ;", err: "a.js: Line 1:13 Unexpected token ;"},
		"JSON":                      {file: "a.json", source: `{"a": 1, "b": [1]}`, err: "Unexpected token"},
		"a wrapper that is closed":  {file: "a.js", source: "}); (function () {", err: "a.js: Line 1:1 Unexpected token }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := New().Parse(tc.file, tc.source)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.commonJS, parsed.CommonJS)
			if parsed.CommonJS {
				_, err = CompileCommonJS(parsed)
			} else {
				_, err = sobek.ModuleFromAST(parsed.AST, nil)
			}
			require.NoError(t, err)
		})
	}
}

func TestSourceMapsAreHonoured(t *testing.T) {
	t.Parallel()
	asked := ""
	c := New()
	c.LoadSourceMap = func(path string) ([]byte, error) {
		asked = path
		// The first line comes from line 11 of original.ts.
		return []byte(`{"version":3,"sources":["original.ts"],"names":[],"mappings":"AAUA"}`), nil
	}
	parsed, err := c.Parse("file:///d/a.js", "throw new Error('x')\n//# sourceMappingURL=a.js.map")
	require.NoError(t, err)
	assert.Equal(t, "file:///d/a.js.map", asked)
	prg, err := CompileCommonJS(parsed)
	require.NoError(t, err)
	rt := sobek.New()
	value, err := rt.RunProgram(prg)
	require.NoError(t, err)
	call, _ := sobek.AssertFunction(value)
	_, err = call(sobek.Undefined())
	require.ErrorContains(t, err, "file:///d/original.ts:11:")

	c.LoadSourceMap = func(string) ([]byte, error) { return nil, errors.New("not there") }
	_, err = c.Parse("file:///d/a.js", "throw new Error('x')\n//# sourceMappingURL=a.js.map")
	require.NoError(t, err, "a missing map is no reason to refuse a script")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "export default () => {}", "import * as a from 'b'", "await 1", "exports.a = class { #p; static {} }",
		"`${", "/[/", "for await (x of y);", "enum A { B }", "//# sourceMappingURL=data:application/json;base64,e30=",
		"export * as default from 'x'; let let", "'\\u{110000}'", "0b", "a?.b`c`", "}); (function(){",
	} {
		f.Add(seed)
	}
	c := New()
	f.Fuzz(func(_ *testing.T, source string) {
		for _, name := range []string{"a.js", "a.ts"} {
			parsed, err := c.Parse(name, source)
			if err != nil {
				continue
			}
			if parsed.CommonJS {
				_, _ = CompileCommonJS(parsed)
			}
		}
	})
}
