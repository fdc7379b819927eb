package runner

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/internal/trace"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// probe is an extension for these tests: it panics, tells about its VU, waits for contexts and ends them.
type probe struct {
	mu       sync.Mutex
	contexts map[string]context.Context
	events   []event.Type
	end      func()
}

var theProbe = &probe{contexts: make(map[string]context.Context)} //nolint:gochecknoglobals // extensions are global

func init() { modules.Register("k6/x/probe", theProbe) }

type probeInstance struct {
	vu      modules.VU
	exports modules.Exports
}

func (p *probe) NewModuleInstance(vu modules.VU) modules.Instance {
	i := &probeInstance{vu: vu}
	i.exports = modules.Exports{Named: map[string]any{
		"panic": func() { panic("out of order") },
		"end": func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.end()
		},
		"phase": func() string {
			return map[bool]string{true: "init", false: "vu"}[vu.InitEnv() != nil] +
				map[bool]string{true: " state", false: ""}[vu.State() != nil]
		},
		"keep": func(name string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.contexts[name] = vu.Context()
		},
		"later": func() any { // settles when the context ends
			promise, resolve, _ := vu.Runtime().NewPromise()
			callback, ctx := vu.RegisterCallback(), vu.Context()
			go func() {
				<-ctx.Done()
				callback(func() error { return resolve("late") })
			}()
			return promise
		},
		"subscribe": func() {
			_, events := vu.Events().Local.Subscribe(event.IterStart, event.IterEnd)
			go func() {
				for e := range events {
					p.mu.Lock()
					p.events = append(p.events, e.Type)
					p.mu.Unlock()
					e.Done()
				}
			}()
		},
	}}
	return i
}

func (i *probeInstance) Exports() modules.Exports { return i.exports }

func (p *probe) context(name string) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.contexts[name]
}

type fixture struct {
	t      testing.TB
	pre    *lib.TestPreInitState
	logs   *test.Hook
	bundle *Bundle
	runner *Runner
	out    chan metrics.SampleContainer
}

func preInit(t testing.TB, env map[string]string) (*lib.TestPreInitState, *test.Hook) {
	t.Helper()
	logger, hook := test.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	registry := metrics.NewRegistry()
	return &lib.TestPreInitState{
		RuntimeOptions: lib.RuntimeOptions{Env: env, CompatibilityMode: null.StringFrom("extended")},
		Registry:       registry,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
		Events:         event.NewSystem(100, logger),
		LookupEnv:      func(string) (string, bool) { return "", false },
		Logger:         logger,
		TracerProvider: trace.NewNoopTracerProvider(),
		Usage:          usage.New(),
		TestStatus:     lib.NewTestStatus(),
	}, hook
}

func bundleOf(t testing.TB, pre *lib.TestPreInitState, files map[string]string, main string) (*Bundle, error) {
	t.Helper()
	system := fsext.NewMemMapFs()
	for name, content := range files {
		require.NoError(t, fsext.WriteFile(system, name, []byte(content), 0o600))
	}
	source := &loader.Source{
		URL: &url.URL{Scheme: "file", Path: main}, PWD: loader.Dir(&url.URL{Scheme: "file", Path: main}),
		Data: []byte(files[main]),
	}
	return NewBundle(t.Context(), pre, source, map[string]fsext.Fs{"file": system})
}

func newFixture(t testing.TB, script string, options lib.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, out: make(chan metrics.SampleContainer, 1000)}
	f.pre, f.logs = preInit(t, map[string]string{"FROM": "test"})
	var err error
	f.bundle, err = bundleOf(t, f.pre, map[string]string{"/script.js": script}, "/script.js")
	require.NoError(t, err)
	f.runner, err = New(f.pre, f.bundle)
	require.NoError(t, err)
	options = lib.Options{
		SystemTags: metrics.NewSystemTagSet(metrics.TagGroup, metrics.TagScenario, metrics.TagCheck, metrics.TagIter, metrics.TagVU),
		DNS:        types.DefaultDNSConfig(),
	}.Apply(f.bundle.Options()).Apply(options)
	require.NoError(t, f.runner.SetOptions(options))
	return f
}

func (f *fixture) activate(ctx context.Context, a *Activation) *ActiveVU {
	f.t.Helper()
	vu, err := f.runner.NewVU(f.t.Context(), 1, 1, f.out)
	require.NoError(f.t, err)
	if a == nil {
		a = &Activation{Scenario: "default", Exec: "default"}
	}
	a.RunContext = ctx
	return vu.Activate(a)
}

func (f *fixture) lines() []string {
	var lines []string
	for _, entry := range f.logs.AllEntries() {
		lines = append(lines, entry.Message)
	}
	return lines
}

func (f *fixture) samples(metric *metrics.Metric) []metrics.Sample {
	var found []metrics.Sample
	for _, container := range metrics.GetBufferedSamples(f.out) {
		for _, sample := range container.GetSamples() {
			if metric == nil || sample.Metric == metric {
				found = append(found, sample)
			}
		}
	}
	return found
}

func TestIteration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import exec from 'k6/execution';
		console.log('init', typeof __ITER, __VU);
		export default function (data) {
			console.log(__VU, __ITER, __ENV.FROM, __ENV.MORE, data, arguments.length, exec.vu.iterationInScenario);
		}`, lib.Options{RunTags: map[string]string{"run": "r"}})
	vu := f.activate(t.Context(), &Activation{
		Scenario: "s", Exec: "default", Env: map[string]string{"MORE": "m"}, Tags: map[string]string{"team": "red"},
	})
	require.NoError(t, vu.RunOnce())
	require.NoError(t, vu.RunOnce())
	assert.Equal(t, []string{
		"init undefined 0", "init undefined 1", "1 0 test m undefined 1 0", "1 1 test m undefined 1 1",
	}, f.lines())

	samples := f.samples(nil)
	require.Len(t, samples, 8)
	for i, sample := range samples {
		assert.Equal(t, []string{"data_sent", "data_received", "iteration_duration", "iterations"}[i%4], sample.Metric.Name)
		assert.Equal(t, map[string]string{"run": "r", "team": "red", "scenario": "s", "group": ""}, sample.Tags.Map())
		assert.Equal(t, map[string]string{"vu": "1", "iter": []string{"0", "1"}[i/4]}, sample.Metadata)
	}
}

func TestActivationResetsTags(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import exec from 'k6/execution';
		export default function () { exec.vu.metrics.tags.mine = 'x'; exec.vu.metrics.metadata.meta = 'y'; }
		export function other() { console.log(JSON.stringify(Object.keys(exec.vu.metrics.tags)), __ENV.MORE, exec.vu.iterationInScenario, __ITER); }`,
		lib.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	vu := f.activate(ctx, &Activation{
		Scenario: "first", Exec: "default", Env: map[string]string{"MORE": "m"}, OnDeactivate: func(*VU) { close(over) },
	})
	require.NoError(t, vu.RunOnce())
	cancel()
	<-over
	second := vu.Activate(&Activation{RunContext: t.Context(), Scenario: "second", Exec: "other"})
	require.NoError(t, second.RunOnce())
	assert.Equal(t, []string{`["group","scenario"] undefined 0 1`}, f.lines())
}

func TestExceptionEndsItsIterationOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `export default function () { if (__ITER === 0) throw new TypeError('wrong'); }`, lib.Options{})
	vu := f.activate(t.Context(), nil)
	err := vu.RunOnce()
	var exception errext.Exception
	require.ErrorAs(t, err, &exception)
	assert.Equal(t, "TypeError: wrong\n\tat default (file:///script.js:1:54(7))", exception.StackTrace())
	message, fields := errext.Format(err)
	assert.Equal(t, exception.StackTrace(), message)
	assert.Equal(t, "script exception", fields["hint"])
	require.NoError(t, vu.RunOnce())
	assert.Len(t, f.samples(f.pre.BuiltinMetrics.Iterations), 2)
}

func TestInterruptions(t *testing.T) {
	for name, script := range map[string]string{
		"a busy loop":                   `export default function () { for (;;); }`,
		"a sleep":                       `import { sleep } from 'k6'; export default function () { sleep(600); }`,
		"a timer":                       `export default function () { setInterval(() => {}, 1); }`,
		"a caught exception in a loop":  `import { sleep } from 'k6'; export default function () { for (;;) { try { sleep(600); } catch (e) {} } }`,
		"callbacks that never end":      `import { later } from 'k6/x/probe'; export default async function () { for (;;) await later(); }`,
		"code after the context's end":  `import { later } from 'k6/x/probe'; export default async function () { await later(); for (;;); }`,
		"a finally that never finishes": `export default function () { try { for (;;); } finally { for (;;); } }`,
	} {
		t.Run(name, func(t *testing.T) {
			defer leaktest.VerifyNone(t, goleak.IgnoreCurrent())
			f := newFixture(t, script+"\nexport function next() { console.log('next'); }", lib.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			vu := f.activate(ctx, &Activation{Scenario: "a", Exec: "default", OnDeactivate: func(*VU) { close(over) }})
			time.AfterFunc(20*time.Millisecond, cancel)
			_ = vu.RunOnce()
			<-over
			assert.Empty(t, f.samples(f.pre.BuiltinMetrics.Iterations))
			require.ErrorIs(t, vu.RunOnce(), context.Canceled)
			assert.NotContains(t, f.lines(), "next")

			second := vu.Activate(&Activation{RunContext: t.Context(), Scenario: "b", Exec: "next"})
			require.NoError(t, second.RunOnce())
			assert.Contains(t, f.lines(), "next")
			assert.Len(t, f.samples(f.pre.BuiltinMetrics.Iterations), 1)
		})
	}
}

// TestTheEndOfInitialisationInterruptsNoIteration ends the context of the init code when that is all but over.
func TestTheEndOfInitialisationInterruptsNoIteration(t *testing.T) {
	f := newFixture(t, `
		import { end } from 'k6/x/probe';
		if (__VU > 0) end();
		export default function () {}`, lib.Options{})
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		theProbe.mu.Lock()
		theProbe.end = cancel
		theProbe.mu.Unlock()
		vu, err := f.runner.NewVU(ctx, 1, 1, f.out)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		runtime.Gosched() // to whoever is late
		require.NoError(t, vu.Activate(&Activation{RunContext: t.Context(), Exec: "default"}).RunOnce())
		<-f.out
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import exec from 'k6/execution';
		export default function () { try { exec.test.abort('why'); } catch (e) { } console.log('went on'); }`, lib.Options{})
	err := f.activate(t.Context(), nil).RunOnce()
	require.True(t, errext.IsInterruptError(err))
	assert.ErrorContains(t, err, "test aborted: why")
	assert.Empty(t, f.lines())
	assert.Empty(t, f.samples(f.pre.BuiltinMetrics.Iterations))
}

func TestPanicComesThrough(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import probe from 'k6/x/probe';
		export function setup() { probe.panic(); }
		export default function () { try { probe.panic(); } catch (e) { } }`, lib.Options{})
	vu := f.activate(t.Context(), nil)
	assert.PanicsWithValue(t, "out of order", func() { _ = vu.RunOnce() })
	err := f.runner.Setup(t.Context(), f.out)
	var coded errext.HasExitCode
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, exitcodes.GoPanic, coded.ExitCode())
	assert.ErrorContains(t, err, "out of order")
}

func TestContextsAndPhases(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import { phase, keep } from 'k6/x/probe';
		console.log(phase());
		keep('init' + __VU);
		export function setup() { console.log(phase()); keep('setup'); }
		export default function () { console.log(phase()); keep('iteration' + __ITER); }`, lib.Options{})
	require.NoError(t, f.runner.Setup(t.Context(), f.out))
	vu := f.activate(t.Context(), nil)
	require.NoError(t, vu.RunOnce())
	require.NoError(t, vu.RunOnce())
	assert.Equal(t, []string{"init", "init", "vu state", "init", "vu state", "vu state"}, f.lines())
	for _, name := range []string{"init1", "setup", "iteration0", "iteration1"} {
		require.Error(t, theProbe.context(name).Err(), name)
		<-theProbe.context(name).Done()
	}
	assert.NotSame(t, theProbe.context("iteration0"), theProbe.context("iteration1"))
}

func TestIterationEvents(t *testing.T) {
	theProbe.mu.Lock()
	theProbe.events = nil
	theProbe.mu.Unlock()
	f := newFixture(t, `
		import { subscribe } from 'k6/x/probe';
		if (__VU > 0) subscribe();
		export default function () {}`, lib.Options{})
	vu := f.activate(t.Context(), nil)
	require.NoError(t, vu.RunOnce())
	require.NoError(t, vu.RunOnce())
	theProbe.mu.Lock()
	defer theProbe.mu.Unlock()
	assert.Equal(t, []event.Type{event.IterStart, event.IterEnd, event.IterStart, event.IterEnd}, theProbe.events)
	vu.script.local.UnsubscribeAll()
}

func TestSetupData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		setup, data, seen, err string
		timeout                time.Duration // none to speak of
	}{
		"an object":         {setup: `() => ({ a: 1, u: undefined })`, data: `{"a":1,"u":null}`, seen: `{"a":1,"u":null}`},
		"null":              {setup: `() => null`, data: `null`, seen: `null`},
		"nothing":           {setup: `() => {}`, seen: `undefined`},
		"a promise":         {setup: `async () => { await null; return [1] }`, data: `[1]`, seen: `[1]`},
		"a function inside": {setup: `() => ({ f() {} })`, err: "setup() data"},
		"an exception":      {setup: `() => { throw new Error('no') }`, err: "Error: no"},
		"a rejection":       {setup: `async () => { await null; throw new RangeError('late') }`, err: "Uncaught (in promise) RangeError: late"},
		"a timeout":         {setup: `() => { for (;;); }`, err: "setup() execution timed out after 0 seconds", timeout: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `
				export const setup = `+tc.setup+`;
				export default function (data) { console.log(data === undefined ? 'undefined' : JSON.stringify(data)); }
				export function teardown(data) { console.log('teardown', data === undefined ? 'undefined' : JSON.stringify(data)); }`,
				lib.Options{SetupTimeout: types.NullDurationFrom(cmp.Or(tc.timeout, time.Minute))})
			err := f.runner.Setup(t.Context(), f.out)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.data, string(f.runner.SetupData()))
			require.NoError(t, f.activate(t.Context(), nil).RunOnce())
			require.NoError(t, f.runner.Teardown(t.Context(), f.out))
			assert.Equal(t, []string{tc.seen, "teardown " + tc.seen}, f.lines())
		})
	}
}

func TestSetupTimeoutHasItsExitCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import { sleep } from 'k6';
		export function setup() { sleep(60); }
		export default function () {}`, lib.Options{SetupTimeout: types.NullDurationFrom(10 * time.Millisecond)})
	err := f.runner.Setup(t.Context(), f.out)
	var coded errext.HasExitCode
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, exitcodes.SetupTimeout, coded.ExitCode())
}

func TestHandleSummary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		function, err string
		want          map[string]string
	}{
		"none":               {function: `undefined`},
		"text and bytes":     {function: `(d) => ({ stdout: d.n + 1 + '', f: new Uint8Array([65]).buffer })`, want: map[string]string{"stdout": "2", "f": "A"}},
		"undefined setup":    {function: `(d) => ({ s: String('setup_data' in d) + d.setup_data })`, want: map[string]string{"s": "trueundefined"}},
		"a promise":          {function: `async () => ({ s: 'x' })`, want: map[string]string{"s": "x"}},
		"nothing returned":   {function: `() => {}`},
		"an exception":       {function: `() => { throw new Error('no') }`, err: "Error: no"},
		"a number":           {function: `() => 7`, err: "should return a map", want: map[string]string{}},
		"a number to write":  {function: `() => ({ a: 'x', b: 7 })`, err: "summary object b", want: map[string]string{}},
		"not a function":     {function: `'text'`, err: "handleSummary must be a function", want: map[string]string{}},
		"metrics go nowhere": {function: `() => { for (let i = 0; i < 5000; i++) c.add(1); return { s: 'x' } }`, want: map[string]string{"s": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `
				import { Counter } from 'k6/metrics';
				const c = new Counter('cc');
				export const handleSummary = `+tc.function+`;
				export default function () {}`, lib.Options{})
			results, err := f.runner.HandleSummary(t.Context(), []byte(`{"root_group":{},"n":1}`))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
			}
			if tc.want == nil {
				assert.Nil(t, results)
				return
			}
			got := make(map[string]string)
			for key, content := range results {
				data, err := io.ReadAll(content)
				require.NoError(t, err)
				got[key] = string(data)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	const noop = "\nexport default function () {}"
	for name, tc := range map[string]struct {
		files map[string]string
		err   string
		code  exitcodes.ExitCode
	}{
		"an ES module":             {files: map[string]string{"/s.js": noop}},
		"CommonJS":                 {files: map[string]string{"/s.js": "exports.default = function () {}"}},
		"TypeScript":               {files: map[string]string{"/s.js": "import { a } from './l.ts'; a(1);" + noop, "/l.ts": "export enum E { A = 1 }; export const a = (x: number): number => x as E;"}},
		"a missing file":           {files: map[string]string{"/s.js": "import './no.js';" + noop}, err: "couldn't be found on local disk", code: exitcodes.ScriptException},
		"a bare name":              {files: map[string]string{"/s.js": "import 'lodash';" + noop}, err: "couldn't be recognised", code: exitcodes.ScriptException},
		"unknown modules":          {files: map[string]string{"/s.js": "import 'k6/x/a'; import 'k6/b';" + noop}, err: `unknown modules ["k6/x/a", "k6/b"]`, code: exitcodes.ScriptException},
		"a module elsewhere":       {files: map[string]string{"/s.js": "import 'k6/ws';" + noop}, err: "the real k6 has it", code: exitcodes.ScriptException},
		"a name that is not there": {files: map[string]string{"/s.js": "import { x } from './l.js';" + noop, "/l.js": "export const y = 1"}, err: "does not provide an export named", code: exitcodes.ScriptException},
		"a syntax error":           {files: map[string]string{"/s.js": "export default function () {"}, err: "file:///s.js: Line 1:29 Unexpected end of input", code: exitcodes.ScriptException},
		"an exception":             {files: map[string]string{"/s.js": "throw new Error('init');" + noop}, err: "Error: init", code: exitcodes.ScriptException},
		"an awaited exception":     {files: map[string]string{"/s.js": "await null; throw new Error('init');" + noop}, err: "Error: init", code: exitcodes.ScriptException},
		"an endless await":         {files: map[string]string{"/s.js": "await new Promise(() => {});" + noop}, err: "nothing settles", code: exitcodes.ScriptException},
		"a rejection":              {files: map[string]string{"/s.js": "Promise.reject(new Error('init'));" + noop}, err: "Uncaught (in promise) Error: init", code: exitcodes.ScriptException},
		"no functions":             {files: map[string]string{"/s.js": "export const x = 1;"}, err: "no exported functions in script"},
		"setup of another type":    {files: map[string]string{"/s.js": "export const setup = 1;" + noop}, err: "'setup' must be a function"},
		"options of another type":  {files: map[string]string{"/s.js": "export const options = 'x';" + noop}, err: "options", code: exitcodes.InvalidConfig},
		"options out of range":     {files: map[string]string{"/s.js": "export const options = { duration: 'soon' };" + noop}, err: "soon", code: exitcodes.InvalidConfig},
		"null for options":         {files: map[string]string{"/s.js": "export const options = null;" + noop}},
		"an abort":                 {files: map[string]string{"/s.js": "import exec from 'k6/execution'; exec.test.abort('now');" + noop}, err: "test aborted: now", code: exitcodes.ScriptAborted},
		"module.exports in ESM":    {files: map[string]string{"/s.js": "import { sleep } from 'k6'; module.exports.x = 1;" + noop}, err: "mixing ECMAScript Modules", code: exitcodes.ScriptException},
		"a remote file's local":    {files: map[string]string{"/s.js": "import './d/l.js';" + noop, "/d/l.js": "import '../m.js'", "/m.js": "export {}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pre, _ := preInit(t, nil)
			_, err := bundleOf(t, pre, tc.files, "/s.js")
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
			var coded errext.HasExitCode
			if tc.code == 0 {
				assert.False(t, errors.As(err, &coded))
				return
			}
			require.ErrorAs(t, err, &coded)
			assert.Equal(t, tc.code, coded.ExitCode())
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	pre, hook := preInit(t, nil)
	b, err := bundleOf(t, pre, map[string]string{
		"/a/s.js": `
			import { inner } from './lib/m.js';
			const required = require('./lib/c.js');
			const bytes = open('/a/lib/data.txt', 'b');
			console.log(open('data.txt'), inner, required.text, bytes.byteLength, import.meta.resolve('./x.js'));
			let failed;
			try { open('./none.txt'); } catch (e) { failed = String(e); }
			console.log(failed);
			if (__VU > 0) { try { open('later.txt'); } catch (e) { console.log(String(e)); } }
			export default function () { try { open('data.txt'); } catch (e) { console.log(String(e)); } }`,
		"/a/lib/m.js":     `export const inner = open('./data.txt');`,
		"/a/lib/c.js":     `module.exports = { text: open('./data.txt') };`,
		"/a/data.txt":     "main",
		"/a/lib/data.txt": "library",
		"/a/later.txt":    "later",
	}, "/a/s.js")
	require.NoError(t, err)
	assert.Equal(t, "main main library 7 file:///a/x.js", hook.AllEntries()[0].Message)
	assert.Contains(t, hook.AllEntries()[1].Message, `can't open "./none.txt"`)

	kept := b.LoadedFiles()["file"]
	for name, want := range map[string]bool{"/a/data.txt": true, "/a/lib/data.txt": true, "/a/lib/m.js": true, "/a/later.txt": false} {
		found, err := fsext.Exists(kept, name)
		require.NoError(t, err)
		assert.Equal(t, want, found, name)
	}
	assert.Equal(t, []string{"file:///a/lib/m.js", "file:///a/lib/c.js"}, b.Imported())

	hook.Reset()
	r, err := New(pre, b)
	require.NoError(t, err)
	vu, err := r.NewVU(t.Context(), 1, 1, make(chan metrics.SampleContainer, 10))
	require.NoError(t, err)
	assert.Contains(t, hook.LastEntry().Message, "was not opened when")
	require.NoError(t, vu.Activate(&Activation{RunContext: t.Context(), Exec: "default"}).RunOnce())
	assert.Contains(t, hook.LastEntry().Message, "init stage")
}

func TestOptionsObjectIsUpdated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		export const options = { tags: { a: 'b' }, userAgent: 'mine' };
		export default function () { console.log(JSON.stringify(options.tags), options.userAgent, options.noConnectionReuse); }`,
		lib.Options{RunTags: map[string]string{"c": "d"}, NoConnectionReuse: null.BoolFrom(true)})
	require.NoError(t, f.activate(t.Context(), nil).RunOnce())
	assert.Equal(t, []string{`{"c":"d"} mine true`}, f.lines())
}

func TestMinIterationDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, `import { sleep } from 'k6'; export default function () { sleep(0.02) }`,
			lib.Options{MinIterationDuration: types.NullDurationFrom(50 * time.Millisecond)})
		vu := f.activate(t.Context(), nil)
		start := time.Now()
		require.NoError(t, vu.RunOnce())
		assert.Equal(t, 50*time.Millisecond, time.Since(start))
		durations := f.samples(f.pre.BuiltinMetrics.IterationDuration)
		require.Len(t, durations, 1)
		assert.InDelta(t, 20, durations[0].Value, 0, "the rest does not count")
	})
}

func TestManyVUsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		import { check, group } from 'k6';
		import * as h from 'k6/http';
		const lib = require('k6/execution');
		export default async function () {
			await new Promise((r) => setTimeout(r, 1));
			group('g', () => check(lib.vu.idInTest, { 'has an id': (id) => id > 0 }));
		}`, lib.Options{})
	var group sync.WaitGroup
	for id := range uint64(16) {
		group.Go(func() {
			vu, err := f.runner.NewVU(t.Context(), id+1, id+1, f.out)
			if !assert.NoError(t, err) {
				return
			}
			active := vu.Activate(&Activation{RunContext: t.Context(), Scenario: "s", Exec: "default"})
			for range 5 {
				assert.NoError(t, active.RunOnce())
			}
		})
	}
	group.Wait()
	checks := f.samples(f.pre.BuiltinMetrics.Checks)
	require.Len(t, checks, 80)
	for _, sample := range checks {
		assert.Equal(t, map[string]string{"group": "::g", "check": "has an id", "scenario": "s"}, sample.Tags.Map())
	}
}

func TestIterationAllocatesLittle(t *testing.T) {
	f := newFixture(t, `export default function () {}`, lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagGroup)})
	vu := f.activate(t.Context(), nil)
	require.NoError(t, vu.RunOnce())
	allocations := testing.AllocsPerRun(200, func() {
		_ = vu.RunOnce()
		<-f.out
	})
	assert.LessOrEqual(t, allocations, 10.0)
}

func TestConsoleGoesToItsFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/console.log"
	f := newFixture(t, `export default function () { console.log('to the file'); }`,
		lib.Options{ConsoleOutput: null.StringFrom(path)})
	require.NoError(t, f.activate(t.Context(), nil).RunOnce())
	assert.Empty(t, f.lines())
	data, err := fsext.ReadFile(fsext.NewOsFs(), path)
	require.NoError(t, err)
	assert.Contains(t, string(data), "to the file")
	assert.True(t, strings.HasSuffix(string(data), "\n"))
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		export function setup() {} export function other() {} export const value = 1;
		export default () => {}; export class C {}`, lib.Options{})
	executable := make(map[string]bool)
	for _, name := range []string{"setup", "other", "value", "default", "nothing"} {
		executable[name] = f.runner.IsExecutable(name)
	}
	names := slices.Sorted(maps.Keys(executable))
	got := slices.DeleteFunc(names, func(name string) bool { return !executable[name] })
	assert.Equal(t, []string{"default", "other"}, got)
}

func TestFrozenEnv(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags *features.Flags
		want  string
	}{
		"as ever": {&features.Flags{}, "test changed x undefined"},
		"frozen":  {&features.Flags{FreezeEnv: true}, "test TypeError x test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `export default function () {
				let outcome = 'changed';
				const before = __ENV.FROM;
				try { delete __ENV.FROM; __ENV.NEW = '1'; } catch (e) { outcome = e.name; }
				console.log(before, outcome, __ENV.S, __ENV.FROM);
			}`, lib.Options{})
			f.pre.FeatureFlags = tc.flags
			vu := f.activate(t.Context(), &Activation{Exec: "default", Env: map[string]string{"S": "x"}})
			require.NoError(t, vu.RunOnce())
			assert.Equal(t, []string{tc.want}, f.lines())
		})
	}
}

func TestEndlessRecursionEndsTheIteration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
		function deep(n) { return deep(n + 1) + 1; }
		export default function () { if (__ITER === 0) deep(0); }`, lib.Options{})
	vu := f.activate(t.Context(), nil)
	require.ErrorContains(t, vu.RunOnce(), "RangeError")
	require.NoError(t, vu.RunOnce(), "the VU goes on")
}
