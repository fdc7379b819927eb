package k6

import (
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

type fixture struct {
	*modulestest.Runtime

	samples chan metrics.SampleContainer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6": New()}, nil, nil))
	_, err := rt.RunOnEventLoop(`var { check, group, sleep, fail, randomSeed } = require('k6');`)
	require.NoError(t, err)
	f := &fixture{rt, make(chan metrics.SampleContainer, 100)}
	logger, _ := test.NewNullLogger()
	tags := rt.VU.InitEnv().Registry.RootTagSet().With("group", "")
	rt.MoveToVUContext(&lib.State{
		Options:        lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagGroup, metrics.TagCheck)},
		BuiltinMetrics: rt.BuiltinMetrics, Samples: f.samples, Tags: lib.NewVUStateTags(tags), Logger: logger,
	})
	return f
}

type seen struct {
	name  string
	value float64
	tags  map[string]string
}

func (f *fixture) seen() []seen {
	var all []seen
	for _, container := range metrics.GetBufferedSamples(f.samples) {
		for _, s := range container.GetSamples() {
			value := s.Value
			if s.Metric.Name == metrics.GroupDurationName {
				value = -1
			}
			all = append(all, seen{s.Metric.Name, value, s.Tags.Map()})
		}
	}
	return all
}

func TestCheck(t *testing.T) {
	t.Parallel()
	of := func(name string, value float64, extra ...string) seen {
		tags := map[string]string{"group": "", "check": name}
		if len(extra) == 2 {
			tags[extra[0]] = extra[1]
		}
		return seen{"checks", value, tags}
	}
	for name, tc := range map[string]struct {
		code, want, err string
		samples         []seen
	}{
		"functions":         {code: `check(3, { odd: (n) => n % 2, big: (n) => n > 9 })`, want: "false", samples: []seen{of("odd", 1), of("big", 0)}},
		"values":            {code: `check(null, { yes: 'text', also: {} })`, want: "true", samples: []seen{of("yes", 1), of("also", 1)}},
		"nothing to check":  {code: `check(1, {})`, want: "true"},
		"tags":              {code: `check(1, { a: true }, { mine: 7 })`, want: "true", samples: []seen{of("a", 1, "mine", "7")}},
		"a tag of its name": {code: `check(1, { a: true }, { group: 'g' })`, want: "true", samples: []seen{of("a", 1, "group", "g")}},
		"an exception":      {code: `check(1, { a: () => true, b: () => { throw new TypeError('x') }, c: true })`, err: "TypeError: x", samples: []seen{of("a", 1), of("b", 0)}},
		"an async function": {code: `check(1, { a: async () => true })`, err: "does not support async functions"},
		"a promise":         {code: `check(1, { a: () => Promise.resolve(1) })`, err: "does not support async functions"},
		"no conditions":     {code: `check(1)`, err: "no checks provided"},
		"a bad tag":         {code: `check(1, { a: true }, { t: {} })`, err: "metric tag 't'"},
		"a bad name":        {code: `check(1, { 'a::b': true })`, err: "'::'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			value, err := f.RunOnEventLoop(tc.code)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, tc.want, value.String())
			}
			assert.Equal(t, tc.samples, f.seen())
		})
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	duration := func(group string) seen { return seen{"group_duration", -1, map[string]string{"group": group}} }
	for name, tc := range map[string]struct {
		code, want, err string
		samples         []seen
	}{
		"its value":         {code: `group('a', () => 5)`, want: "5", samples: []seen{duration("::a")}},
		"nested":            {code: `group('a', () => group('b', () => { check(1, { c: true }); return 1 }))`, want: "1", samples: []seen{{"checks", 1, map[string]string{"group": "::a::b", "check": "c"}}, duration("::a::b"), duration("::a")}},
		"an exception":      {code: `group('a', () => { throw new TypeError('x') })`, err: "TypeError: x", samples: []seen{duration("::a")}},
		"a separator":       {code: `group('a::b', () => 1)`, err: "'::'"},
		"no function":       {code: `group('a')`, err: "requires a callback"},
		"an async function": {code: `group('a', async () => 1)`, err: "does not support async functions"},
		"an async method":   {code: `group('a', ({ async m() {} }).m)`, err: "does not support async functions"},
		"a promise":         {code: `group('a', () => Promise.resolve(1)) instanceof Promise`, want: "true", samples: []seen{duration("::a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			value, err := f.RunOnEventLoop(tc.code)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, tc.want, value.String())
			}
			assert.Equal(t, tc.samples, f.seen())
			group, _ := f.VU.State().Tags.GetCurrentValues().Tags.Get("group")
			assert.Empty(t, group, "the group was left")
		})
	}
}

func TestGroupInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, f.VU.Runtime().Set("interrupt", func() { f.VU.Runtime().Interrupt("enough") }))
	_, err := f.RunOnEventLoop(`try { group('a', () => { interrupt(); for (;;); }) } catch (e) { }`)
	require.ErrorContains(t, err, "enough")
	group, _ := f.VU.State().Tags.GetCurrentValues().Tags.Get("group")
	assert.Empty(t, group)
}

func TestSleepEndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	time.AfterFunc(10*time.Millisecond, f.CancelContext)
	start := time.Now()
	_, err := f.RunOnEventLoop(`sleep(0); sleep(-1); sleep('x'); sleep(); sleep(1e300)`)
	require.NoError(t, err)
	assert.Less(t, time.Since(start), 30*time.Second)
	assert.Error(t, f.VU.Context().Err(), "the last of them lasted until then")
}

func TestFailAndRandomSeed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.RunOnEventLoop(`fail('given up')`)
	require.ErrorContains(t, err, "given up")
	value, err := f.RunOnEventLoop(`
		var r = () => [Math.random(), Math.random()].join();
		randomSeed(1); var a = r(); randomSeed(1); var b = r(); randomSeed(2); [a === b, a === r()].join()`)
	require.NoError(t, err)
	assert.Equal(t, "true,false", value.String())
}

func TestInitContext(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6": New()}, nil, nil))
	for _, code := range []string{`require('k6').check(1, {})`, `require('k6').group('a', () => 1)`} {
		_, err := rt.RunOnEventLoop(code)
		require.ErrorContains(t, err, "init context")
	}
}
