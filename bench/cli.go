package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/cliclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// errNoOmnigraph says that there is nothing to compare the CLI on.
var errNoOmnigraph = errors.New("no rig in the environment: run it as `k6 x omnigraph rig run -- bench -cli`")

// measureCLI makes pairs of the same point read, once through the module's transport and once with raw os/exec of the
// same arguments; which goes first alternates. It takes the rig that `k6 x omnigraph rig run` exports.
func measureCLI(ctx context.Context, s settings, progress io.Writer) (*pairs, error) {
	url, graph, token, bin := os.Getenv("OMNIGRAPH_URL"), os.Getenv("OMNIGRAPH_GRAPH"), os.Getenv("OMNIGRAPH_TOKEN"), os.Getenv("OMNIGRAPH_BIN")
	if os.Getenv("OMNIGRAPH_RIG") == "" || url == "" || bin == "" {
		return nil, errNoOmnigraph
	}
	client, err := cliclient.New(cliclient.Config{Bin: bin, Server: url, Token: token, Slots: cliclient.NewSlots(4)})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	home, err := os.MkdirTemp("", "omnigraph-bench-home-")
	if err != nil {
		return nil, fmt.Errorf("home: %w", err)
	}
	defer os.RemoveAll(home)
	params, err := json.Marshal(map[string]string{"slug": "mem-0001"})
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	op := &wire.Operation{Op: wire.OpQuery, Graph: graph, Text: query, Params: params, Timeout: time.Minute}
	module := func() error {
		if out := client.Do(ctx, op); out.Err != nil {
			return out.Err
		}
		return nil
	}
	raw := func() error {
		cmd := exec.CommandContext(ctx, bin, "query", "-e", query, "--params", string(params), "--server", url, "--graph", graph, "--json") // #nosec G204 G702 -- the user's own CLI
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "OMNIGRAPH_HOME=" + home, "OMNIGRAPH_BEARER_TOKEN=" + token}
		if _, err := cmd.Output(); err != nil {
			return fmt.Errorf("raw: %w", err)
		}
		return nil
	}
	result := &pairs{}
	const warmup = 5
	for i := range s.pairs + warmup {
		first, second := module, raw
		if i%2 == 1 {
			first, second = raw, module
		}
		a, err := timed(first)
		if err != nil {
			return nil, err
		}
		b, err := timed(second)
		if err != nil {
			return nil, err
		}
		if i%2 == 1 {
			a, b = b, a
		}
		if i >= warmup {
			result.Module = append(result.Module, a)
			result.Raw = append(result.Raw, b)
		}
		if (i+1)%50 == 0 {
			fmt.Fprintf(progress, "pairs of CLI calls: %d of %d\n", i+1, s.pairs+warmup)
		}
	}
	return result, nil
}

// timed gives the milliseconds that a call takes.
func timed(call func() error) (float64, error) {
	start := time.Now()
	err := call()
	return float64(time.Since(start)) / float64(time.Millisecond), err
}
