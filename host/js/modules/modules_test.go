package modules_test

import (
	"errors"
	"io/fs"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/js/modulestest"
)

type fixed struct {
	exports   modules.Exports
	instances atomic.Int32
	fail      error
}

func (f *fixed) NewModuleInstance(vu modules.VU) modules.Instance {
	f.instances.Add(1)
	if f.fail != nil {
		common.Throw(vu.Runtime(), f.fail)
	}
	return instance{f.exports}
}

type instance struct{ exports modules.Exports }

func (i instance) Exports() modules.Exports { return i.exports }

type plain struct{ Answer int }

func (*plain) Double(n int) int { return 2 * n }

func goModules() map[string]any {
	return map[string]any{
		"k6/x/named":   &fixed{exports: modules.Exports{Named: map[string]any{"a": 1, "b": 2}}},
		"k6/x/both":    &fixed{exports: modules.Exports{Default: map[string]any{"d": 4}, Named: map[string]any{"a": 1}}},
		"k6/x/default": &fixed{exports: modules.Exports{Default: map[string]any{"d": 4, "e": 5}}},
		"k6/x/none":    &fixed{exports: modules.Exports{Default: map[string]any{"d": 4}, Named: map[string]any{}}},
		"k6/x/plain":   &plain{Answer: 42},
		"k6/x/fails":   &fixed{fail: errors.New("no instance today")},
		"k6/x/refused": refuser{},
	}
}

type refuser struct{}

func (refuser) ImportError() error { return errors.New("elsewhere") }

func loaderOf(files map[string]string) modules.FileLoader {
	return func(u *url.URL, name string) ([]byte, error) {
		if text, ok := files[u.String()]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

// runMain runs a main module in a new VU and returns what it puts into the global variable out.
func runMain(t *testing.T, resolver *modules.ModuleResolver) (string, error) {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	system := modules.NewModuleSystem(resolver, rt.VU)
	require.NoError(t, rt.VU.RuntimeField.Set("require", system.Require))
	var settle func() (*sobek.Object, error)
	if err := rt.EventLoop.Start(func() error { settle = system.RunMain(); return nil }); err != nil {
		return "", err
	}
	if _, err := settle(); err != nil {
		return "", err
	}
	return rt.VU.RuntimeField.Get("out").String(), nil
}

func TestImports(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"file:///d/esm.js":       `export const x = 'x'; export default 'def'; export { y } from './inner/cjs.js';`,
		"file:///d/inner/cjs.js": `exports.y = 'y'; exports.also = require('../esm2.js').z; exports.self = typeof module;`,
		"file:///d/esm2.js":      `export const z = 'z';`,
		"file:///d/flag.js":      `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'flagged';`,
		"file:///d/fn.js":        `module.exports = function () { return 'called'; };`,
		"file:///d/c1.js":        `exports.one = 1; const c2 = require('./c2.js'); exports.seen = c2.saw;`,
		"file:///d/c2.js":        `exports.saw = require('./c1.js').one;`,
		"file:///d/throws.js":    `throw new RangeError('in the module');`,
		"file:///d/tla.js":       `export const late = await Promise.resolve('late');`,
		"file:///d/star.js":      `export * from './esm2.js'; export * from './esm.js'`,
		"file:///d/bad.js":       `let let`,
	}
	for name, tc := range map[string]struct{ code, want, err string }{
		"named exports":                   {`import { a, b as c } from 'k6/x/named'; globalThis.out = [a, c]`, "1,2", ""},
		"default of named exports":        {`import n from 'k6/x/named'; globalThis.out = Object.keys(n)`, "a,b", ""},
		"a namespace":                     {`import * as n from 'k6/x/named'; globalThis.out = Object.keys(n)`, "a,b,default", ""},
		"a name that is not there":        {`import { zz } from 'k6/x/named'; globalThis.out = [zz === null]`, "true", ""},
		"default beside named":            {`import d, { a } from 'k6/x/both'; globalThis.out = [d.d, a, d.a]`, "4,1,", ""},
		"properties of the default":       {`import { d, e, f } from 'k6/x/default'; globalThis.out = [d, e, f === null]`, "4,5,true", ""},
		"no named exports":                {`import { d } from 'k6/x/none'; globalThis.out = [d === null]`, "true", ""},
		"a plain object":                  {`import p, { answer } from 'k6/x/plain'; globalThis.out = [p.answer, p.double(4), answer]`, "42,8,42", ""},
		"an instance that throws":         {`import 'k6/x/fails'`, "", "no instance today"},
		"a refused module":                {`import 'k6/x/refused'`, "", "elsewhere"},
		"an ES module":                    {`import def, { x, y } from './esm.js'; globalThis.out = [def, x, y]`, "def,x,y", ""},
		"CommonJS":                        {`import c, { y, also, self, none } from './inner/cjs.js'; globalThis.out = [c.y, y, also, self, none === null]`, "y,y,z,object,true", ""},
		"CommonJS that was an ES module":  {`import f from './flag.js'; globalThis.out = f`, "flagged", ""},
		"a function as module.exports":    {`import f from './fn.js'; globalThis.out = f()`, "called", ""},
		"the namespace of CommonJS":       {`import * as c from './inner/cjs.js'; globalThis.out = Object.keys(c)`, "also,default,self,y", ""},
		"CommonJS files in a cycle":       {`import { one, seen } from './c1.js'; globalThis.out = [one, seen]`, "1,1", ""},
		"a star export":                   {`import { z, x } from './star.js'; globalThis.out = [z, x]`, "z,x", ""},
		"awaiting at the top":             {`import { late } from './tla.js'; globalThis.out = late`, "late", ""},
		"require in an ES module":         {`import './esm2.js'; globalThis.out = [require('./inner/cjs.js').y, require('./esm.js').default, require('k6/x/named').a, require('k6/x/default').d, require('k6/x/both').default.d]`, "y,def,1,4,4", ""},
		"require of what awaits":          {`import './esm2.js'; require('./tla.js')`, "", "can be imported, not required"},
		"require of what throws":          {`import './esm2.js'; require('./throws.js')`, "", "RangeError: in the module"},
		"require of nothing":              {`import './esm2.js'; require('')`, "", "empty"},
		"an exception in a module":        {`import './throws.js'`, "", "RangeError: in the module"},
		"an import.meta":                  {`globalThis.out = [import.meta.resolve('./x.js'), import.meta.resolve('k6/http')]; export {}`, "file:///d/x.js,k6/http", ""},
		"a main module in CommonJS":       {`exports.x = 1; globalThis.out = [typeof require('./esm2.js').z, this === exports]`, "string,true", ""},
		"a file that can't be parsed":     {`import './bad.js'`, "", "file:///d/bad.js"},
		"a file that is not there":        {`import './none.js'`, "", "not exist"},
		"a name an ES module lacks":       {`import { nope } from './esm2.js'`, "", `does not provide an export named "nope"`},
		"an import for its effects alone": {`import './fn.js'; import 'k6/x/named'; globalThis.out = 'done'`, "done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &url.URL{Scheme: "file", Path: "/d/"}
			resolver := modules.NewModuleResolver(goModules(), loaderOf(files), nil, base, nil, nil)
			err := resolver.LoadMainModule(base, "file:///d/main.js", []byte(tc.code))
			for range 2 { // a second VU finds the same
				var out string
				if err == nil {
					out, err = runMain(t, resolver)
				}
				if tc.err != "" {
					require.ErrorContains(t, err, tc.err)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tc.want, out)
				resolver.Lock()
			}
		})
	}
}

func TestUnknownModulesAreReportedTogether(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "file", Path: "/d/"}
	resolver := modules.NewModuleResolver(nil, nil, nil, base, nil, nil)
	err := resolver.LoadMainModule(base, "file:///d/main.js", []byte(`import 'k6/x/one'; import a from 'k6/x/two';`))
	var unknown modules.UnknownModulesError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []string{"k6/x/one", "k6/x/two"}, unknown.List())
	assert.ErrorContains(t, err, `unknown modules ["k6/x/one", "k6/x/two"] were tried to be loaded, but couldn't`)
}

type counter struct{ n int }

func (c *counter) Next() int { c.n++; return c.n }

func TestLockedResolverLoadsNothingNew(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "file", Path: "/d/"}
	files := loaderOf(map[string]string{"file:///d/a.js": "exports.a = 1", "file:///d/b.js": "exports.b = 1"})
	resolver := modules.NewModuleResolver(map[string]any{"k6/x/counter": &counter{}}, files, nil, base, nil, nil)
	require.NoError(t, resolver.LoadMainModule(base, "file:///d/main.js", []byte(`
		let failed = 'nothing failed';
		try { if (require('k6/x/counter').next() === 1) require('./a.js'); else require('./b.js'); } catch (e) { failed = String(e); }
		globalThis.out = failed;`)))
	out, err := runMain(t, resolver)
	require.NoError(t, err)
	assert.Equal(t, "nothing failed", out)
	resolver.Lock()
	out, err = runMain(t, resolver)
	require.NoError(t, err)
	assert.Contains(t, out, `module "file:///d/b.js" was not loaded`)
}

func TestOneInstancePerVU(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "file", Path: "/d/"}
	all := goModules()
	resolver := modules.NewModuleResolver(all, loaderOf(map[string]string{"file:///d/a.js": `import 'k6/x/named'`}), nil, base, nil, nil)
	require.NoError(t, resolver.LoadMainModule(base, "file:///d/main.js",
		[]byte(`import 'k6/x/named'; import './a.js'; require('k6/x/named'); globalThis.out = 1;`)))
	for range 3 {
		_, err := runMain(t, resolver)
		require.NoError(t, err)
	}
	assert.EqualValues(t, 3, all["k6/x/named"].(*fixed).instances.Load())
	assert.Equal(t, []string{"k6/x/named", "file:///d/a.js"}, resolver.Imported())
}

func TestRemoteModulesStayRemote(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "file", Path: "/d/"}
	resolver := modules.NewModuleResolver(nil, loaderOf(map[string]string{
		"https://h.example/l/a.js": `import './b.js'; import 'file:///d/secret.js'`,
		"https://h.example/l/b.js": `export const b = 1`,
		"file:///d/secret.js":      `export const s = 1`,
	}), nil, base, nil, nil)
	err := resolver.LoadMainModule(base, "file:///d/main.js", []byte(`import 'https://h.example/l/a.js'`))
	require.ErrorContains(t, err, "not allowed")
}

func init() { modules.Register("k6/x/registered-once", &plain{}) }

func TestRegister(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { modules.Register("k6/mine", &plain{}) })
	assert.Panics(t, func() { modules.Register("k6/x/registered-once", &plain{}) })
}
