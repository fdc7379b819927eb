package cmd

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
)

func parseOptions(args ...string) (lib.Options, error) {
	var opts lib.Options
	flags := optionFlags(&opts)
	return opts, flags.Parse(args)
}

func TestFlagsSetOnlyWhatIsGiven(t *testing.T) {
	t.Parallel()
	opts, err := parseOptions()
	require.NoError(t, err)
	opts.ForEachSpecified("json", func(key string, _ any) { t.Errorf("%s is set", key) })
}

func TestFlagsOfARun(t *testing.T) {
	t.Parallel()
	var opts lib.Options
	flags := optionFlags(&opts)
	require.NoError(t, flags.Parse([]string{
		"-u", "3", "--duration=1m30s", "-s", "10s:5", "--stage", "20s:7,1m:0", "--tag", "a=b=c", "--tag", "d=",
		"--system-tags", "status,vu", "--blacklist-ip", "10.0.0.0/8,::1/128", "--blacklist-ip", "192.168.0.0/16",
		"--http-debug", "--summary-trend-stats", "min,p(99.9)", "-w", "--no-setup=false", "--execution-segment", "1/4:1/2",
		"--dns", "ttl=0,select=first",
	}))
	assert.EqualValues(t, 3, opts.VUs.Int64)
	assert.Equal(t, 90*time.Second, opts.Duration.TimeDuration())
	require.Len(t, opts.Stages, 3)
	assert.EqualValues(t, 5, opts.Stages[0].Target.Int64)
	assert.EqualValues(t, 7, opts.Stages[1].Target.Int64)
	assert.EqualValues(t, 0, opts.Stages[2].Target.Int64)
	assert.Equal(t, map[string]string{"a": "b=c", "d": ""}, opts.RunTags)
	assert.Len(t, opts.BlacklistIPs, 3)
	assert.Equal(t, "headers", opts.HTTPDebug.String)
	assert.Equal(t, []string{"min", "p(99.9)"}, opts.SummaryTrendStats)
	assert.True(t, opts.Throw.Bool)
	assert.True(t, opts.NoSetup.Valid && !opts.NoSetup.Bool)
	assert.Equal(t, "1/4:1/2", opts.ExecutionSegment.String())
	assert.Equal(t, "0", opts.DNS.TTL.String)
}

func TestBadFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--vus", "many"}, {"--duration", "soon"}, {"--stage", "10s"}, {"--stage", "10s:x"}, {"--stage", "x:1"}, {"--stage", "1s:1,"},
		{"--tag", "=x"}, {"--blacklist-ip", "x"}, {"--summary-time-unit", "h"}, {"--summary-trend-stats", "mode"},
		{"--no-setup=maybe"}, {"--execution-segment", "1/2:1/4"}, {"--execution-segment-sequence", "1,0"},
		{"--dns", "colour=red"}, {"--local-ips", "x"},
	} {
		_, err := parseOptions(args...)
		require.Error(t, err, "%v", args)
		assert.Contains(t, err.Error(), "--", "%v", args)
	}
}

func TestRuntimeOptionsLayer(t *testing.T) {
	t.Parallel()
	env := map[string]string{"K6_SUMMARY_MODE": "disabled", "K6_NO_THRESHOLDS": "true", "OUTSIDE": "outside", "BOTH": "outside"}
	parse := func(args ...string) (lib.RuntimeOptions, error) {
		var opts lib.RuntimeOptions
		var names []string
		if err := runtimeFlags(&opts, &names, true).Parse(args); err != nil {
			return opts, err
		}
		return consolidateRuntimeOptions(opts, env, true)
	}
	opts, err := parse("-e", "BOTH=inside", "-e", "EMPTY")
	require.NoError(t, err)
	assert.Equal(t, summaryDisabled, opts.SummaryMode.String)
	assert.True(t, opts.NoThresholds.Bool)
	assert.Equal(t, "inside", opts.Env["BOTH"])
	assert.Equal(t, "outside", opts.Env["OUTSIDE"])
	assert.Contains(t, opts.Env, "EMPTY")

	opts, err = parse("--summary-mode=full", "--no-thresholds=false", "--include-system-env-vars=false")
	require.NoError(t, err)
	assert.Equal(t, summaryFull, opts.SummaryMode.String)
	assert.False(t, opts.NoThresholds.Bool)
	assert.Empty(t, opts.Env)

	for _, args := range [][]string{{"-e", "1st=x"}, {"--summary-mode=brief"}, {"--compatibility-mode=old"}, {"--type=sh"}} {
		_, err := parse(args...)
		require.Error(t, err, "%v", args)
	}
	_, err = consolidateRuntimeOptions(lib.RuntimeOptions{}, map[string]string{"K6_NO_THRESHOLDS": "maybe"}, true)
	require.ErrorContains(t, err, "K6_NO_THRESHOLDS")
	assert.Equal(t, 104, exitCode(err))
}

func FuzzStage(f *testing.F) {
	f.Add("10s:5")
	f.Add("1d2h:0")
	f.Add("500:-1")
	f.Add(":")
	f.Fuzz(func(t *testing.T, text string) {
		d, target, err := parseStage(text)
		if err == nil && d == 0 && target == 0 && text == "" {
			t.Error("nothing is no stage")
		}
	})
}

func FuzzOptionFlags(f *testing.F) {
	optionFlags(&lib.Options{}).VisitAll(func(flag *pflag.Flag) {
		for _, value := range []string{"1", "10s", "true", "x", "0:1/2", "a=b", "127.0.0.0/8", "p(95)", "*.example.org", ""} {
			f.Add(flag.Name, value)
		}
	})
	f.Fuzz(func(_ *testing.T, name, value string) {
		var opts lib.Options
		// Whatever the outcome, it must be an error or options that can be told apart from none.
		if err := optionFlags(&opts).Set(name, value); err != nil {
			return
		}
		opts.ForEachSpecified("json", func(string, any) {})
		opts.Validate()
	})
}
