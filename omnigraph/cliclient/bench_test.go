package cliclient

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
	"github.com/stretchr/testify/require"
)

// BenchmarkCLIPointRead compares the client with os/exec alone on the real CLI and server, in interleaved pairs whose
// order alternates. os/exec runs the same arguments in the same environment and only keeps the output.
//
//	go test ./omnigraph/cliclient -run '^$' -bench CLIPointRead -benchtime 200x
//
// ratio is the median of the pairs' ratios; it should be at most 1.05.
func BenchmarkCLIPointRead(b *testing.B) {
	r := rigtest.Start(b, rigtest.Rows(500))
	c := realClient(b, r, func(c *Config) { c.Home = b.TempDir() })
	benchmarkPairs(b, c, r)
}

// BenchmarkCLIPointReadWithPrivateHome is the same with the default, an empty configuration folder for each call.
func BenchmarkCLIPointReadWithPrivateHome(b *testing.B) {
	r := rigtest.Start(b, rigtest.Rows(500))
	benchmarkPairs(b, realClient(b, r), r)
}

func benchmarkPairs(b *testing.B, c *Client, r *rigtest.Rig) {
	b.Helper()
	op := onGraph(wire.Operation{Op: wire.OpQuery, Text: readText, Params: json.RawMessage(`{"slug":"mem-0001"}`)})
	args, problem := c.argv(op)
	require.Nil(b, problem)
	env := c.env
	if c.config.Home == "" {
		env = append(env, envHome+"="+b.TempDir())
	}
	module := func() time.Duration {
		began := time.Now()
		out := c.Do(b.Context(), op)
		took := time.Since(began)
		require.Nil(b, out.Err)
		return took
	}
	raw := func() time.Duration {
		began := time.Now()
		ctx, cancel := context.WithTimeout(b.Context(), op.Timeout)
		cmd := exec.CommandContext(ctx, r.Bin, args.list...)
		cmd.Env = env
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		cancel()
		took := time.Since(began)
		require.NoError(b, err)
		return took
	}
	module()
	raw()
	var ratios, modules, raws []float64
	for i := 0; b.Loop(); i++ {
		var m, e time.Duration
		if i%2 == 0 {
			m, e = module(), raw()
		} else {
			e, m = raw(), module()
		}
		ratios = append(ratios, float64(m)/float64(e))
		modules, raws = append(modules, m.Seconds()*1000), append(raws, e.Seconds()*1000)
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(modules), "module-ms")
	b.ReportMetric(median(raws), "exec-ms")
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
