package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTheReadmesCommandsFillPrometheus runs what dashboards/README.md tells a reader to run, on a Prometheus of the test's
// own in place of the one at its address, and in small. The rig is its own, too: no other test has written there.
func TestTheReadmesCommandsFillPrometheus(t *testing.T) {
	bin := os.Getenv("PROMETHEUS")
	if bin == "" || os.Getenv("K6") == "" || os.Getenv("OMNIGRAPH_URI") == "" {
		t.Skip("make test-dashboards runs it: it needs Prometheus, k6 and a rig (PROMETHEUS, K6, OMNIGRAPH_URI)")
	}
	readme, err := os.ReadFile(filepath.Join(target, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no commands")
	}
	p := startPrometheus(t, bin)
	commands := strings.ReplaceAll(string(block[1]), "http://127.0.0.1:9090", p.url)
	if commands == string(block[1]) {
		t.Fatalf("the commands write to an address of their own: %s", commands)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	commands = strings.ReplaceAll(commands, "bin/k6 run", "bin/k6 run --no-thresholds")
	cmd := exec.CommandContext(ctx, os.Getenv("K6"), "x", "omnigraph", "rig", "run", "--rows", "50", "--", "bash", "-euc", commands) // #nosec G204 -- the README's
	// The rig stops its server.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	cmd.Dir = filepath.Join(target, "..")
	cmd.Env = append(os.Environ(), "RATE=5", "DURATION=2s", "RESULTS_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, series := range []string{"k6_omnigraph_ops_total", "k6_omnigraph_op_duration_p95"} {
		got, err := p.at(`count(`+series+`{testid="first",instance="here"})`, time.Now().Add(time.Second))
		if err != nil || len(got) != 1 {
			t.Errorf("%s is not there: %v, %v", series, got, err)
		}
	}
}
