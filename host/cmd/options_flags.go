package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// optionFlags are the flags for a test's options. What is given on the command line lands in opts.
func optionFlags(opts *lib.Options) *pflag.FlagSet {
	t := flagTable{pflag.NewFlagSet("", pflag.ContinueOnError)}
	t.SortFlags = false
	loadFlags(t, opts)
	lifeCycleFlags(t, opts)
	networkFlags(t, opts)
	resultFlags(t, opts)
	return t.FlagSet
}

func loadFlags(t flagTable, opts *lib.Options) {
	t.integer("vus", "u", "1", "number of virtual users", func(n int64) { opts.VUs = null.IntFrom(n) })
	t.duration("duration", "d", "how long the test runs", func(d types.NullDuration) { opts.Duration = d })
	t.integer("iterations", "i", "", "number of iterations that the virtual users share", func(n int64) {
		opts.Iterations = null.IntFrom(n)
	})
	t.add("stage", "s", "stage", "",
		"a stage of ramping virtual users, as `duration:target`, or several with commas between; may be repeated",
		func(text string) error {
			for stage := range strings.SplitSeq(text, ",") {
				d, target, err := parseStage(strings.TrimSpace(stage))
				if err != nil {
					return err
				}
				opts.Stages = append(opts.Stages, lib.Stage{
					Duration: types.NullDurationFrom(d), Target: null.IntFrom(target),
				})
			}
			return nil
		})
	t.text("execution-segment", "", "the share of the test that this process runs, as `from:to`, for example 0:1/4",
		func(text string) error {
			segment := &lib.ExecutionSegment{}
			if err := segment.UnmarshalText([]byte(text)); err != nil {
				return err
			}
			opts.ExecutionSegment = segment
			return nil
		})
	t.text("execution-segment-sequence", "", "the `ends` of all shares, for example 0,1/4,1/2,3/4,1",
		func(text string) error {
			sequence := &lib.ExecutionSegmentSequence{}
			if err := sequence.UnmarshalText([]byte(text)); err != nil {
				return err
			}
			opts.ExecutionSegmentSequence = sequence
			return nil
		})
	t.boolean("paused", "p", "false", "start the test in a paused state", func(b bool) { opts.Paused = null.BoolFrom(b) })
}

func lifeCycleFlags(t flagTable, opts *lib.Options) {
	t.boolean("no-setup", "", "false", "don't run setup()", func(b bool) { opts.NoSetup = null.BoolFrom(b) })
	t.boolean("no-teardown", "", "false", "don't run teardown()", func(b bool) { opts.NoTeardown = null.BoolFrom(b) })
	t.duration("min-iteration-duration", "", "the least time between the starts of a virtual user's iterations",
		func(d types.NullDuration) { opts.MinIterationDuration = d })
	t.boolean("throw", "w", "false", "throw on failed requests instead of warning", func(b bool) {
		opts.Throw = null.BoolFrom(b)
	})
}

func networkFlags(t flagTable, opts *lib.Options) {
	t.integer("max-redirects", "", "10", "how many redirects to follow", func(n int64) {
		opts.MaxRedirects = null.IntFrom(n)
	})
	t.integer("batch", "", "20", "how many requests of a batch run at once", func(n int64) { opts.Batch = null.IntFrom(n) })
	t.integer("batch-per-host", "", "6", "how many requests of a batch run at once for each host", func(n int64) {
		opts.BatchPerHost = null.IntFrom(n)
	})
	t.integer("rps", "", "", "the most requests per second, over all virtual users", func(n int64) {
		opts.RPS = null.IntFrom(n)
	})
	t.text("user-agent", "", "the User-Agent header of requests", func(text string) error {
		opts.UserAgent = null.StringFrom(text)
		return nil
	})
	debug := t.text("http-debug", "", "log all requests and responses, with `full` their bodies too", func(text string) error {
		opts.HTTPDebug = null.StringFrom(text)
		return nil
	})
	debug.NoOptDefVal = "headers"
	t.boolean("insecure-skip-tls-verify", "", "false", "don't verify TLS certificates", func(b bool) {
		opts.InsecureSkipTLSVerify = null.BoolFrom(b)
	})
	t.boolean("no-connection-reuse", "", "false", "make a new connection for each request", func(b bool) {
		opts.NoConnectionReuse = null.BoolFrom(b)
	})
	t.boolean("no-vu-connection-reuse", "", "false", "close connections at the end of each iteration", func(b bool) {
		opts.NoVUConnectionReuse = null.BoolFrom(b)
	})
	t.list("blacklist-ip", "", "an IP `range` that must not be called; may be repeated", func(ranges []string) error {
		var blacklist []*lib.IPNet
		for _, r := range ranges {
			parsed, err := lib.ParseCIDR(r)
			if err != nil {
				return fmt.Errorf("blacklisted range %q: %w", r, err)
			}
			blacklist = append(blacklist, parsed)
		}
		opts.BlacklistIPs = blacklist
		return nil
	})
	t.list("block-hostnames", "", "a host name `pattern` that must not be called; may be repeated", func(patterns []string) error {
		blocked, err := types.NewNullHostnameTrie(patterns)
		if err != nil {
			return err
		}
		opts.BlockedHostnames = blocked
		return nil
	})
	t.text("dns", "", "how names are resolved: `ttl=5m,select=random,policy=preferIPv4`", func(text string) error {
		dns := types.DNSConfig{}
		if err := dns.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		opts.DNS = dns
		return nil
	})
	t.text("local-ips", "", "the `IPs`, ranges or networks to call from", func(text string) error {
		pool, err := types.NewIPPool(text)
		if err != nil {
			return err
		}
		opts.LocalIPs = types.NullIPPool{Pool: pool, Valid: true}
		return nil
	})
}

func resultFlags(t flagTable, opts *lib.Options) {
	t.boolean("discard-response-bodies", "", "false", "read the bodies of responses, but don't keep them", func(b bool) {
		opts.DiscardResponseBodies = null.BoolFrom(b)
	})
	t.text("console-output", "", "the `file` that the script's console writes to", func(text string) error {
		opts.ConsoleOutput = null.StringFrom(text)
		return nil
	})
	t.list("summary-trend-stats", "", "the `columns` of trends in the summary (default avg,min,med,max,p(90),p(95))",
		func(columns []string) error {
			if _, err := metrics.GetResolversForTrendColumns(columns); err != nil {
				return err
			}
			opts.SummaryTrendStats = slices.Clone(columns)
			return nil
		})
	t.text("summary-time-unit", "", "the `unit` of times in the summary: s, ms or us", func(text string) error {
		if !slices.Contains([]string{"s", "ms", "us"}, text) {
			return fmt.Errorf("invalid summary time unit '%s', use 's', 'ms' or 'us'", text)
		}
		opts.SummaryTimeUnit = null.StringFrom(text)
		return nil
	})
	t.list("system-tags", "", "the `tags` that k6 itself sets on samples", func(tags []string) error {
		opts.SystemTags = metrics.ToSystemTagSet(tags)
		return nil
	})
	t.add("tag", "", "name=value", "", "a tag for all samples; may be repeated", func(text string) error {
		name, value, err := parseKeyValue(text)
		if err != nil {
			return err
		}
		if opts.RunTags == nil {
			opts.RunTags = make(map[string]string)
		}
		opts.RunTags[name] = value
		return nil
	})
}
