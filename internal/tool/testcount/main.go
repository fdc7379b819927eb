// Command testcount runs `go test -json`, shows what matters of its output, and adds its counts to a file.
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
	"sort"
	"strings"
	"syscall"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	// ImportPath and Action build-output tell of a package that does not compile.
	ImportPath string
}

// counts are tests and subtests; a package that fails without a failed test counts as one failure.
type counts struct{ passed, failed, skipped int }

func main() {
	file := flag.String("counts", "", "add the counts to this file as a line 'passed failed skipped'")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, flag.Args(), *file, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(ctx context.Context, command []string, file string, out io.Writer) (int, error) {
	if len(command) == 0 {
		return 0, fmt.Errorf("no command given: testcount -- go test -json ./…")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- the command that this program is for
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", command[0], err)
	}
	c := read(pipe, out)
	failed := cmd.Wait() != nil
	if failed && c.failed == 0 {
		c.failed = 1
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	if file != "" {
		if err := add(file, c); err != nil {
			return 0, err
		}
	}
	if c.failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// read follows the events: a line for each package, and the whole output of what failed or was skipped.
func read(in io.Reader, out io.Writer) counts {
	var c counts
	output := map[string]*strings.Builder{}
	failures := map[string]int{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line)
			} else {
				c.take(e, output, failures, out)
			}
		}
		if err != nil {
			return c
		}
	}
}

func (c *counts) take(e event, output map[string]*strings.Builder, failures map[string]int, out io.Writer) {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "output":
		b := output[key]
		if b == nil {
			b = &strings.Builder{}
			output[key] = b
		}
		b.WriteString(e.Output)
	case "pass", "fail", "skip":
		c.ended(e, key, output, failures, out)
	}
}

func (c *counts) ended(e event, key string, output map[string]*strings.Builder, failures map[string]int, out io.Writer) {
	text := ""
	if b := output[key]; b != nil {
		text = b.String()
	}
	delete(output, key)
	if e.Test == "" {
		switch e.Action {
		case "fail":
			if failures[e.Package] == 0 {
				c.failed++
			}
			fmt.Fprintf(out, "FAIL  %s (%.1fs)\n%s", e.Package, e.Elapsed, unfinished(output, e.Package)+text)
		case "pass":
			fmt.Fprintf(out, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
		}
		return
	}
	switch e.Action {
	case "pass":
		c.passed++
	case "skip":
		c.skipped++
		fmt.Fprintf(out, "skip  %s %s\n%s", e.Package, e.Test, text)
	case "fail":
		c.failed++
		failures[e.Package]++
		fmt.Fprintf(out, "FAIL  %s %s (%.1fs)\n%s", e.Package, e.Test, e.Elapsed, text)
	}
}

// unfinished is the output of tests that never ended, as when a package panics or runs out of time.
func unfinished(output map[string]*strings.Builder, pkg string) string {
	var keys []string
	for k := range output {
		if strings.HasPrefix(k, pkg+"\x00") {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(output[k].String())
	}
	return b.String()
}

func add(file string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- the caller's own file
	if err != nil {
		return fmt.Errorf("counts: %w", err)
	}
	_, err = fmt.Fprintf(f, "%d %d %d\n", c.passed, c.failed, c.skipped)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
