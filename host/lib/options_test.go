package lib

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

func env(pairs map[string]string) func(string) (string, bool) {
	return func(key string) (string, bool) {
		value, ok := pairs[key]
		return value, ok
	}
}

func TestOptionsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	opts, err := OptionsFromEnv(env(map[string]string{
		"K6_VUS": "7", "K6_DURATION": "1d2h", "K6_STAGES": "5s:10,1m:0", "K6_NO_SETUP": "true",
		"K6_SETUP_TIMEOUT": "1500", "K6_DNS": "ttl=1m,select=first", "K6_TLS_CIPHER_SUITES": `["TLS_AES_128_GCM_SHA256"]`,
		"K6_BLACKLIST_IPS": "10.0.0.0/8,127.0.0.0/8", "K6_BLOCK_HOSTNAMES": "*.example.org,a.test",
		"K6_SUMMARY_TREND_STATS": "avg,p(99)", "K6_SYSTEM_TAGS": "status,vu", "K6_TAGS": "a:b,c:d",
		"K6_LOCAL_IPS": "127.0.0.1-127.0.0.9", "K6_USER_AGENT": "x", "K6_ITERATIONS": "3", "K6_CONSOLE_OUTPUT": "c.txt",
	}))
	require.NoError(t, err)
	assert.Equal(t, null.IntFrom(7), opts.VUs)
	assert.Equal(t, types.NullDurationFrom(26*time.Hour), opts.Duration)
	assert.Equal(t, []Stage{
		{types.NullDurationFrom(5 * time.Second), null.IntFrom(10)}, {types.NullDurationFrom(time.Minute), null.IntFrom(0)},
	}, opts.Stages)
	assert.Equal(t, null.BoolFrom(true), opts.NoSetup)
	assert.Equal(t, types.NullDurationFrom(1500*time.Millisecond), opts.SetupTimeout)
	assert.Equal(t, null.StringFrom("1m"), opts.DNS.TTL)
	assert.Equal(t, types.NullDNSSelect{DNSSelect: types.DNSfirst, Valid: true}, opts.DNS.Select)
	assert.False(t, opts.DNS.Policy.Valid)
	assert.Len(t, *opts.TLSCipherSuites, 1)
	require.Len(t, opts.BlacklistIPs, 2)
	assert.Equal(t, "127.0.0.0/8", opts.BlacklistIPs[1].String())
	_, blocked := opts.BlockedHostnames.Trie.Contains("www.example.org")
	assert.True(t, blocked)
	assert.Equal(t, []string{"avg", "p(99)"}, opts.SummaryTrendStats)
	assert.Equal(t, metrics.NewSystemTagSet(metrics.TagStatus, metrics.TagVU), opts.SystemTags)
	assert.Equal(t, map[string]string{"a": "b", "c": "d"}, opts.RunTags)
	assert.Equal(t, "127.0.0.3", opts.LocalIPs.Pool.GetIP(2).String())
	assert.Equal(t, null.StringFrom("c.txt"), opts.ConsoleOutput)
}

func TestNoVariablesSetNothing(t *testing.T) {
	t.Parallel()
	for name, lookup := range map[string]func(string) (string, bool){
		"absent": env(nil), "empty": func(string) (string, bool) { return "", true },
	} {
		opts, err := OptionsFromEnv(lookup)
		require.NoError(t, err, name)
		var set []string
		opts.ForEachSpecified("json", func(key string, _ any) { set = append(set, key) })
		assert.Empty(t, set, name)
	}
}

func TestABadVariableIsNamed(t *testing.T) {
	t.Parallel()
	_, err := OptionsFromEnv(env(map[string]string{"K6_VUS": "abc"}))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "envconfig.Process: assigning K6_VUS to VUs: converting 'abc' to type null.Int. ")
	var code errext.HasExitCode
	require.ErrorAs(t, err, &code)
	assert.Equal(t, exitcodes.InvalidConfig, code.ExitCode())
}

func TestALaterLayerWins(t *testing.T) {
	t.Parallel()
	script := Options{
		VUs: null.IntFrom(5), Iterations: null.IntFrom(10), RunTags: map[string]string{"a": "1"},
		UserAgent: null.StringFrom("script"), SummaryTrendStats: []string{"avg"}, Throw: null.BoolFrom(true),
		DNS: types.DNSConfig{TTL: null.StringFrom("1m"), Valid: true},
	}
	got := script.Apply(Options{
		Duration: types.NullDurationFrom(time.Second), RunTags: map[string]string{"b": "2"}, Throw: null.BoolFrom(false),
		DNS: types.DNSConfig{Select: types.NullDNSSelect{DNSSelect: types.DNSfirst, Valid: true}, Valid: true},
	})
	assert.Equal(t, types.NullDurationFrom(time.Second), got.Duration)
	assert.False(t, got.Iterations.Valid, "the new layer says how the test runs")
	assert.Equal(t, null.IntFrom(5), got.VUs, "vus survives")
	assert.Equal(t, map[string]string{"b": "2"}, got.RunTags, "tags are replaced")
	assert.Equal(t, null.BoolFrom(false), got.Throw)
	assert.Equal(t, null.StringFrom("script"), got.UserAgent)
	assert.Equal(t, []string{"avg"}, got.SummaryTrendStats)
	assert.Equal(t, "ttl=1m,select=first,policy=DNSPolicy(0)", got.DNS.String())
	assert.Equal(t, null.IntFrom(10), script.Iterations, "the receiver keeps its own")
}

func TestEachShortcutClearsTheOthers(t *testing.T) {
	t.Parallel()
	all := Options{
		Duration: types.NullDurationFrom(time.Second), Iterations: null.IntFrom(1),
		Stages: []Stage{{}}, Scenarios: ScenarioConfigs{"a": nil},
	}
	for name, layer := range map[string]Options{
		"duration":   {Duration: types.NullDurationFrom(2 * time.Second)},
		"iterations": {Iterations: null.IntFrom(2)},
		"stages":     {Stages: []Stage{}},
		"scenarios":  {Scenarios: ScenarioConfigs{}},
	} {
		got := all.Apply(layer)
		var set []string
		got.ForEachSpecified("json", func(key string, _ any) { set = append(set, key) })
		assert.Equal(t, []string{name}, set)
	}
	assert.Equal(t, all, all.Apply(Options{VUs: all.VUs}))
}

func TestOptionsSurviveAJSONRoundTrip(t *testing.T) {
	t.Parallel()
	const source = `{
		"vus": 3, "duration": "1m30s", "stages": [{"duration": "10s", "target": 5}],
		"hosts": {"a.test": "127.0.0.1:8080", "*.b.test": "::1"}, "blockHostnames": ["*.x.test"],
		"dns": {"ttl": "inf", "select": "roundRobin", "policy": "onlyIPv6"}, "tlsVersion": {"min": "tls1.1", "max": "tls1.3"},
		"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"], "thresholds": {"m{a:b}": ["p(95)<1", {"threshold": "avg<2", "abortOnFail": true, "delayAbortEval": "10s"}]},
		"systemTags": ["status", "url"], "tags": {"k": "v"}, "executionSegment": "0:1/4", "executionSegmentSequence": "0,1/4,1",
		"blacklistIPs": ["10.0.0.0/8"], "ext": {"mine": {"x": [1]}}, "cloud": {"name": "n"}, "throw": true, "summaryTimeUnit": "ms"
	}`
	opts, unknown, err := ParseOptions([]byte(source))
	require.NoError(t, err)
	require.NoError(t, unknown)
	assert.Equal(t, types.NullDurationFrom(90*time.Second), opts.Duration)
	assert.JSONEq(t, `{"x": [1]}`, string(opts.External["mine"]))
	assert.True(t, opts.Thresholds["m{a:b}"].Thresholds[1].AbortOnFail)

	encoded, err := json.Marshal(opts)
	require.NoError(t, err)
	again, unknown, err := ParseOptions(encoded)
	require.NoError(t, err)
	require.NoError(t, unknown)
	twice, err := json.Marshal(again)
	require.NoError(t, err)
	assert.JSONEq(t, string(encoded), string(twice))
	for _, part := range []string{`"0:1/4"`, `"0,1/4,1"`, `"1m30s"`, `"roundRobin"`, `"delayAbortEval":"10s"`, `"127.0.0.1:8080"`} {
		assert.Contains(t, string(encoded), part)
	}
}

func TestAnUnknownOptionIsOnlyReported(t *testing.T) {
	t.Parallel()
	opts, unknown, err := ParseOptions([]byte(`{"vus": 2, "bogus": 1}`))
	require.NoError(t, err)
	require.EqualError(t, unknown, `json: unknown field "bogus"`)
	assert.Equal(t, null.IntFrom(2), opts.VUs)
}

func TestBadOptionValues(t *testing.T) {
	t.Parallel()
	for source, text := range map[string]string{
		`{"duration": "soon"}`:                                     "invalid duration",
		`{"iterations": "x"}`:                                      "invalid syntax",
		`{"scenarios": {"a": {}}}`:                                 "scenario 'a' doesn't have a specified executor type",
		`{"scenarios": {"a": {"executor": "foo"}}}`:                "unknown executor type 'foo'",
		`{"thresholds": {"a": "b"}}`:                               "thresholds",
		`{"tlsVersion": "ssl3"}`:                                   "unknown TLS version",
		`{"tlsCipherSuites": ["ROT13"]}`:                           "unknown cipher suite",
		`{"hosts": {"a.test": "nowhere"}}`:                         "nowhere",
		`{"hosts": {"a b": "127.0.0.1"}}`:                          "invalid host name pattern",
		`{"dns": {"select": "best"}}`:                              "invalid DNS selection",
		`{"dns": {"ttl": "-1s"}}`:                                  "can't be negative",
		`{"blacklistIPs": ["10.0.0.0"]}`:                           "failed to parse CIDR",
		`{"executionSegment": "1:0"}`:                              "segment start value must be less",
		`{"tlsAuth": [{"cert": "x", "key": "y"}]}`:                 "tlsAuth",
		`{"tlsAuth": [{"cert": "x", "key": "y", "password":"z"}]}`: "not in PEM form",
		`"quick"`: "Options",
	} {
		_, _, err := ParseOptions([]byte(source))
		require.Error(t, err, source)
		assert.Contains(t, err.Error(), text, source)
		var code errext.HasExitCode
		require.ErrorAs(t, err, &code)
		assert.Equal(t, exitcodes.InvalidConfig, code.ExitCode())
	}
}

func TestValidateFindsASegmentOutsideItsSequence(t *testing.T) {
	t.Parallel()
	opts, _, err := ParseOptions([]byte(`{"executionSegment": "0:1/3", "executionSegmentSequence": "0,1/2,1"}`))
	require.NoError(t, err)
	problems := opts.Validate()
	require.Len(t, problems, 1)
	assert.ErrorIs(t, errors.Join(problems...), errSegmentNotInSequence)
	assert.Empty(t, Options{}.Validate())
}

func TestStrictJSONRefusesTrailingData(t *testing.T) {
	t.Parallel()
	var v map[string]int
	require.NoError(t, StrictJSONUnmarshal([]byte(` {"a":1} `), &v))
	require.Error(t, StrictJSONUnmarshal([]byte(`{"a":1} {}`), &v))
	require.Error(t, StrictJSONUnmarshal([]byte(`{"a":1}]`), &v))
}

func FuzzParseOptions(f *testing.F) {
	f.Add([]byte(`{"vus": 1, "duration": 1000, "stages": [{"duration": "1s", "target": 1}]}`))
	f.Add([]byte(`{"thresholds": {"a": ["count>1", {"threshold": "rate<1"}]}, "dns": {"ttl": 5}}`))
	f.Add([]byte(`{"hosts": {"*.a": "[::1]:80"}, "executionSegment": "1/4:1/2", "tlsVersion": "tls1.2"}`))
	f.Add([]byte(`{"scenarios": null, "systemTags": [], "tlsAuth": [{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts, _, err := ParseOptions(data)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(opts)
		require.NoError(t, err)
		_, unknown, err := ParseOptions(encoded)
		require.NoError(t, err)
		require.NoError(t, unknown)
		opts.Validate()
		opts.Apply(opts)
	})
}

func FuzzOptionsFromEnv(f *testing.F) {
	f.Add("5s:10,1m:0", "ttl=5m", "10.0.0.0/24", "*.a,b", "10.0.0.0/8")
	f.Add(":", "=", "-", "*", "/")
	f.Fuzz(func(_ *testing.T, stages, dns, ips, hosts, cidr string) {
		opts, err := OptionsFromEnv(env(map[string]string{
			"K6_STAGES": stages, "K6_DNS": dns, "K6_LOCAL_IPS": ips, "K6_BLOCK_HOSTNAMES": hosts, "K6_BLACKLIST_IPS": cidr,
		}))
		if err == nil && opts.LocalIPs.Valid {
			opts.LocalIPs.Pool.GetIP(1 << 40)
		}
	})
}

func TestCipherSuitesHaveTheirOldNamesToo(t *testing.T) {
	t.Parallel()
	var old, current TLSCipherSuites
	require.NoError(t, json.Unmarshal([]byte(`["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"]`), &old))
	require.NoError(t, json.Unmarshal([]byte(`["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"]`), &current))
	assert.Equal(t, current, old)
}
