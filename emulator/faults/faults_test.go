package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/faults"
)

var routes = []string{"query", "mutate"}

func TestParseNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`: "faults: unexpected EOF",
		`{"rules":[{"kind":"latency","nope":1}]}`:                            `faults: json: unknown field "nope"`,
		`{"rules":[{"kind":"nope"}]}`:                                        `rule 1: kind is "nope", a request's is one of`,
		`{"rules":[{"kind":"cli_hang"}]}`:                                    `rule 1: kind is "cli_hang", a request's is one of`,
		`{"rules":[{"command":"query","kind":"latency"}]}`:                   `rule 1: kind is "latency", a command's is one of`,
		`{"rules":[{"kind":"internal"},{"route":"nope","kind":"internal"}]}`: `rule 2: route is "nope", want one of [query mutate]`,
		`{"rules":[{"route":"query","command":"query","kind":"internal"}]}`:  "not both",
		`{"rules":[{"kind":"internal","probability":2}]}`:                    "probability is 2, want 0 to 1",
		`{"rules":[{"kind":"internal","count":-1}]}`:                         "negative",
		`{"rules":[{"command":"*","kind":"cli_exit","code":300}]}`:           "code is 300, an exit code is 0 to 255",
		`{"rules":[{"command":"*","kind":"cli_exit","code":-1}]}`:            "code is -1, an exit code is 0 to 255",
		`{"rules":[{"kind":"internal","after":"2s","until":"1s"}]}`:          "until must lie behind after",
		`{"rules":[{"kind":"latency","delay":5}]}`:                           "a duration is a string",
		`{"rules":[{"kind":"latency","delay":"-5s"}]}`:                       "must not be negative",
	} {
		_, err := faults.Parse([]byte(text), routes)
		require.ErrorContains(t, err, want, text)
	}
	_, err := faults.ReadFile("testdata/none.json", routes)
	require.Error(t, err)
}

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func injector(t *testing.T, c *clock, text string) *faults.Injector {
	t.Helper()
	p, err := faults.Parse([]byte(text), routes)
	require.NoError(t, err)
	if c == nil {
		return faults.New(p, nil)
	}
	return faults.New(p, c.time)
}

func fired(in *faults.Injector, n int, c faults.Call) (list []int) {
	for i := range n {
		if in.Match(c) != nil {
			list = append(list, i)
		}
	}
	return list
}

func TestRulesApplyByRouteActorSkipAndCount(t *testing.T) {
	t.Parallel()
	in := injector(t, nil, `{"rules":[{"route":"query","actor":"a","kind":"internal","skip":2,"count":3}]}`)
	require.Nil(t, in.Match(faults.Call{Route: "mutate", Actor: "a"}))
	require.Nil(t, in.Match(faults.Call{Route: "query", Actor: "b"}))
	require.Nil(t, in.Match(faults.Call{Command: "query"}))
	require.Equal(t, []int{2, 3, 4}, fired(in, 10, faults.Call{Route: "query", Actor: "a"}))
}

func TestRulesApplyWithinTheirWindow(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1000, 0)}
	in := injector(t, c, `{"rules":[{"kind":"internal","after":"10s","until":"20s"}]}`)
	var at []int
	for s := range 30 {
		c.now = time.Unix(1000+int64(s), 0)
		if in.Match(faults.Call{Route: "query"}) != nil {
			at = append(at, s)
		}
	}
	require.Equal(t, []int{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, at)
	in.Set(in.Plan())
	require.Nil(t, in.Match(faults.Call{Route: "query"}), "a new plan's time begins anew")
}

func TestTheSeedDecidesWhichCallsFail(t *testing.T) {
	t.Parallel()
	plan := func(seed string) *faults.Injector {
		return injector(t, nil, `{"seed":`+seed+`,"rules":[{"kind":"internal","probability":0.2}]}`)
	}
	call := faults.Call{Route: "query"}
	first := fired(plan("7"), 1000, call)
	require.Equal(t, first, fired(plan("7"), 1000, call))
	require.NotEqual(t, first, fired(plan("8"), 1000, call))
	require.InDelta(t, 200, len(first), 60)
}

func TestReplayContinuesWhereOtherProcessesStopped(t *testing.T) {
	t.Parallel()
	const text = `{"seed":3,"rules":[{"command":"query","kind":"cli_exit","probability":0.5,"count":20}]}`
	whole := fired(injector(t, nil, text), 60, faults.Call{Command: "query"})
	var calls []faults.Call
	var piecewise []int
	for i := range 60 {
		in := injector(t, nil, text)
		in.Replay(calls)
		if in.Match(faults.Call{Command: "query"}) != nil {
			piecewise = append(piecewise, i)
		}
		calls = append(calls, faults.Call{Command: "query"})
	}
	require.Equal(t, whole, piecewise)
	require.Len(t, whole, 20)
}

func FuzzParse(f *testing.F) {
	f.Add(`{"seed":1,"rules":[{"route":"query","kind":"latency","delay":"1s","probability":0.5}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := faults.Parse([]byte(text), routes)
		if err != nil {
			return
		}
		in := faults.New(p, nil)
		for range 5 {
			in.Match(faults.Call{Route: "query"})
			in.Match(faults.Call{Command: "query"})
		}
	})
}
