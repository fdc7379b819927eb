package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
)

// TestMain lets the test binary be the emulator: linked under the names of omnigraph's binaries it acts as they.
func TestMain(m *testing.M) {
	if command.StandsFor(os.Args[0]) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := command.Run(ctx, os.Args)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// real finds omnigraph's own binaries. In CI they must be there unless OMNIGRAPH_REAL=off says otherwise.
func realBinaries(t *testing.T) (cli, server string, ok bool) {
	t.Helper()
	if os.Getenv("OMNIGRAPH_REAL") == "off" {
		return "", "", false
	}
	find := func(variable, name string) string {
		if path := os.Getenv(variable); path != "" {
			return path
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		return path
	}
	cli, server = find("OMNIGRAPH_BIN", "omnigraph"), find("OMNIGRAPH_SERVER_BIN", "omnigraph-server")
	if cli != "" && server != "" {
		return cli, server, true
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("CI has no omnigraph binaries: set OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN, or OMNIGRAPH_REAL=off")
	}
	return "", "", false
}

func emulatorBinaries(t *testing.T) (cli, server string) {
	t.Helper()
	dir := t.TempDir()
	require.Zero(t, command.Run(t.Context(), []string{"omnigraph-emulator", "link", dir}))
	return filepath.Join(dir, "omnigraph"), filepath.Join(dir, "omnigraph-server")
}

// difference is one field in which the emulator is meant to differ.
type difference struct {
	// Case is the name of a case, or "*".
	Case string `json:"case"`
	// Field is a field's path; [] stands for any index.
	Field  string `json:"field"`
	Reason string `json:"reason"`
	used   bool
}

// maxDifferences is how many the project allows itself.
const maxDifferences = 12

func differences(t *testing.T) []*difference {
	t.Helper()
	text, err := os.ReadFile("testdata/differences.json")
	require.NoError(t, err)
	var list []*difference
	require.NoError(t, json.Unmarshal(text, &list))
	require.LessOrEqual(t, len(list), maxDifferences, "too many intended differences")
	for _, d := range list {
		require.NotEmpty(t, d.Case)
		require.NotEmpty(t, d.Field)
		require.NotEmpty(t, d.Reason)
	}
	return list
}

var index = regexp.MustCompile(`\[\d+\]`)

func (d *difference) covers(c *testCase, field string) bool {
	return (d.Case == "*" || d.Case == c.name) && d.Field == index.ReplaceAllString(field, "[]")
}

func TestTheTableIsLargeEnough(t *testing.T) {
	t.Parallel()
	cases := table()
	bad := 0
	names := map[string]bool{}
	for _, c := range cases {
		require.Falsef(t, names[c.name], "the name %q occurs twice", c.name)
		names[c.name] = true
		if c.bad() {
			bad++
		}
	}
	t.Logf("%d cases, %d of them bad", len(cases), bad)
	require.GreaterOrEqual(t, len(cases), 150)
	require.GreaterOrEqual(t, bad, 60)
}

func TestEmulatorAnswersAsTheRealServerAndCLI(t *testing.T) {
	t.Parallel()
	const files = "testdata/rig"
	cli, srv := emulatorBinaries(t)
	emulated := start(t, "emulator", cli, srv, files)
	var truth *side
	if cli, srv, ok := realBinaries(t); ok {
		truth = start(t, "real", cli, srv, files)
	} else {
		t.Log("no real omnigraph: the emulator is held against the table's own expectations only")
	}
	allowed := differences(t)
	for _, c := range table() {
		got := emulated.do(t, c)
		key, want := "status", c.status
		if c.args != nil {
			key, want = "exit", c.exit
		}
		if got[key] != fmt.Sprint(want) {
			t.Errorf("%s: the emulator's %s is %s, want %d: %s", c.name, key, got[key], want, show(got))
		}
		if truth == nil {
			continue
		}
		for _, line := range compare(c, truth.do(t, c), got, allowed) {
			t.Errorf("%s: %s", c.name, line)
		}
	}
	if truth == nil {
		return
	}
	for _, d := range allowed {
		if !d.used {
			t.Errorf("the intended difference in %s of %q no longer occurs: remove it from differences.json", d.Field, d.Case)
		}
	}
}

// compare lists the fields in which two answers differ without leave.
func compare(c *testCase, truth, got observed, allowed []*difference) []string {
	fields := map[string]bool{}
	for f := range truth {
		fields[f] = true
	}
	for f := range got {
		fields[f] = true
	}
	var lines []string
	for f := range fields {
		if truth[f] == got[f] {
			continue
		}
		intended := false
		for _, d := range allowed {
			if d.covers(c, f) {
				d.used, intended = true, true
			}
		}
		if !intended {
			lines = append(lines, fmt.Sprintf("%s\n    real     %s\n    emulator %s", f, orAbsent(truth, f), orAbsent(got, f)))
		}
	}
	slices.Sort(lines)
	return lines
}

func orAbsent(o observed, field string) string {
	if v, ok := o[field]; ok {
		return v
	}
	return "(absent)"
}

func show(o observed) string {
	var parts []string
	for k, v := range o {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
