package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	k6      string
	rounds  int
	seconds int
	clients int
	reads   int
	pairs   int
	asJSON  bool
	stub    bool
	cli     bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.k6, "k6", "bin/k6", "the k6 with the extension")
	flags.IntVar(&s.rounds, "rounds", 7, "interleaved rounds")
	flags.IntVar(&s.seconds, "seconds", 3, "seconds of each measurement")
	flags.IntVar(&s.clients, "clients", 4, "VUs and goroutines")
	flags.IntVar(&s.reads, "reads", 50, "point reads an iteration")
	flags.IntVar(&s.pairs, "pairs", 200, "pairs of CLI calls")
	flags.BoolVar(&s.asJSON, "json", false, "print JSON")
	flags.BoolVar(&s.cli, "cli", false, "compare CLI calls, on the rig that `k6 x omnigraph rig run` exports, in place of HTTP reads")
	flags.BoolVar(&s.stub, "stub", false, "serve the stub until standard input ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.stub {
		return serveStub(ctx, os.Stdin, stdout)
	}
	if s.cli {
		pairs, err := measureCLI(ctx, s, stderr)
		if err != nil {
			return err
		}
		return (&results{CLI: pairs}).print(stdout, s.asJSON)
	}
	address, end, err := startStub(ctx)
	if err != nil {
		return err
	}
	defer end()
	reads, err := measureReads(ctx, s, address, stderr)
	if err != nil {
		return err
	}
	return reads.print(stdout, s.asJSON)
}

// startStub runs this program as the stub and reads its address.
func startStub(ctx context.Context) (string, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-stub") // #nosec G204 -- this program itself
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("stub: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("stub: %w", err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start the stub: %w", err)
	}
	end := func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		return "", nil, fmt.Errorf("the stub said no address: %w", err)
	}
	return strings.TrimSpace(line), end, nil
}

// measureReads interleaves the three ways in rounds whose order rotates.
func measureReads(ctx context.Context, s settings, address string, progress io.Writer) (*results, error) {
	dir, err := os.MkdirTemp("", "omnigraph-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench folder: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &results{Rounds: s.rounds, Clients: s.clients, Reads: s.reads}
	ways := []struct {
		name string
		into *[]float64
		run  func() (float64, error)
	}{
		{"a module", &r.Module, func() (float64, error) { return runK6(ctx, s, dir, moduleScript, address) }},
		{"b k6/http", &r.K6HTTP, func() (float64, error) { return runK6(ctx, s, dir, httpScript, address) }},
		{"c raw loop", &r.Raw, func() (float64, error) {
			return rawLoop(ctx, address, s.clients, time.Duration(s.seconds)*time.Second)
		}},
	}
	for round := range s.rounds {
		for i := range ways {
			way := ways[(round+i)%len(ways)]
			rate, err := way.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			*way.into = append(*way.into, rate)
			fmt.Fprintf(progress, "round %d/%d  %-10s %8.0f reads/s\n", round+1, s.rounds, way.name, rate)
		}
	}
	return r, nil
}

// runK6 runs a script and gives its reads per second.
func runK6(ctx context.Context, s settings, dir, script, address string) (float64, error) {
	file := filepath.Join(dir, "script.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return 0, fmt.Errorf("write the script: %w", err)
	}
	summary := filepath.Join(dir, "summary.json")
	cmd := exec.CommandContext(ctx, s.k6, "run", "--quiet", "--no-usage-report", file) // #nosec G204 -- the user's own k6
	cmd.Env = append(os.Environ(), "ADDRESS="+address, fmt.Sprintf("VUS=%d", s.clients), fmt.Sprintf("READS=%d", s.reads),
		fmt.Sprintf("SECONDS=%d", s.seconds), "SUMMARY="+summary)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("k6: %w\n%s", err, out)
	}
	data, err := os.ReadFile(summary) // #nosec G304 -- written by the run above
	if err != nil {
		return 0, fmt.Errorf("read the summary: %w", err)
	}
	var got struct{ Reads, Failed, Milliseconds float64 }
	if err := json.Unmarshal(data, &got); err != nil {
		return 0, fmt.Errorf("read the summary: %w", err)
	}
	if got.Failed > 0 || got.Reads == 0 {
		return 0, fmt.Errorf("%.0f of %.0f reads failed", got.Failed, got.Reads)
	}
	return got.Reads / got.Milliseconds * 1000, nil
}

// median is the middle of the values, the mean of the two middle ones of an even number.
func median(values []float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	n := len(sorted)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// ratios divides round by round, so that what slows a whole round down cancels out.
func ratios(a, b []float64) []float64 {
	out := make([]float64, 0, len(a))
	for i := range a {
		if i < len(b) && b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}
