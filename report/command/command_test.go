package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// written writes a record whose reads take about the given time, and gives its path.
func written(t *testing.T, name string, took time.Duration) string {
	t.Helper()
	r := recorder.New(recorder.Config{})
	c := r.Cell(recorder.CellKey{Scenario: "s", Variant: "http", Transport: "http", Op: "query", Query: "point", Workers: 1})
	for i := range 300 {
		c.Record(took+time.Duration(i%50)*10*time.Microsecond, recorder.OK)
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, rec.Write(path))
	return path
}

func run(args ...string) (string, error) {
	var out, errOut bytes.Buffer
	root := &cobra.Command{Use: "omnigraph", SilenceErrors: true}
	root.AddCommand(Commands(IO{Out: &out, Err: &errOut})...)
	root.SetArgs(args)
	err := root.Execute()
	return out.String() + errOut.String(), err
}

func TestReportInEveryForm(t *testing.T) {
	path := written(t, "record.json.zst", 5*time.Millisecond)
	for want, args := range map[string][]string{
		"Valid: the figures": {"report", path},
		"**Valid: the":       {"report", "-f", "markdown", path},
		"<!DOCTYPE html>":    {"report", "--format=html", path},
		`"verdict": "valid"`: {"report", "--json", path},
	} {
		out, err := run(args...)
		require.NoError(t, err)
		assert.Contains(t, out, want)
	}
	for name, want := range map[string]string{"r.html": "<!DOCTYPE", "r.md": "# omni", "r.json": "{", "r.txt": "omnigraph"} {
		file := filepath.Join(t.TempDir(), name)
		out, err := run("report", "-o", file, path)
		require.NoError(t, err)
		assert.Empty(t, out, "nothing goes to standard output")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want, string(data[:len(want)]))
	}
}

func TestTheTerminalsWidthIsTheTerminalsOnly(t *testing.T) {
	path := written(t, "a.json", 5*time.Millisecond)
	longest := func(text string) int {
		most := 0
		for line := range strings.Lines(text) {
			most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
		}
		return most
	}
	var out bytes.Buffer
	narrow := func(args ...string) string {
		out.Reset()
		root := &cobra.Command{Use: "omnigraph"}
		root.AddCommand(Commands(IO{Out: &out, Err: &out, Width: func() int { return 60 }})...)
		root.SetArgs(args)
		require.NoError(t, root.Execute())
		return out.String()
	}
	usual, err := run("report", path)
	require.NoError(t, err)
	assert.Less(t, longest(narrow("report", path)), longest(usual))
	file := filepath.Join(t.TempDir(), "r.txt")
	narrow("report", path, "-o", file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, usual, string(data))
}

func TestReportMergesRecords(t *testing.T) {
	out, err := run("report", written(t, "a.json", 5*time.Millisecond), written(t, "b.json", 5*time.Millisecond))
	require.NoError(t, err)
	assert.Contains(t, out, "600")
}

func TestCompareFailsABuildOnlyWhenAsked(t *testing.T) {
	a, b := written(t, "a.json", 5*time.Millisecond), written(t, "b.json", 9*time.Millisecond)
	out, err := run("compare", a, b)
	require.NoError(t, err)
	assert.Contains(t, out, "slower")

	out, err = run("compare", a, b, "--fail-on", "slower,invalid")
	var failed *FailOnError
	require.True(t, errors.As(err, &failed))
	assert.Equal(t, []string{"slower"}, failed.Conditions)
	assert.Contains(t, out, "slower", "the comparison is written all the same")

	for _, on := range []string{"faster", "few", "missing", "invalid"} {
		_, err = run("compare", a, b, "--fail-on", on)
		require.NoError(t, err, on)
	}
	_, err = run("compare", a, b, "--fail-on", "effect", "--floor", "0.9")
	require.NoError(t, err)
}

func TestCompareAsJSON(t *testing.T) {
	out, err := run("compare", "--json", written(t, "a.json", 5*time.Millisecond), written(t, "b.json", 9*time.Millisecond))
	require.NoError(t, err)
	var c struct {
		Verdict string
		Cells   []struct{ Verdict string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	assert.Equal(t, "valid", c.Verdict)
	require.Len(t, c.Cells, 1)
	assert.Equal(t, "slower", c.Cells[0].Verdict)
}

func TestPlan(t *testing.T) {
	path := written(t, "a.json", 5*time.Millisecond)
	out, err := run("plan", path, "--rate", "100", "--slo-p95", "50")
	require.NoError(t, err)
	assert.Contains(t, out, "server instances")
	out, err = run("plan", path, "--rate", "100", "--slo-p95", "50", "--write-rows", "10", "--json")
	require.NoError(t, err)
	assert.Contains(t, out, `"name": "rows per commit"`)
}

func TestValidate(t *testing.T) {
	good := written(t, "good.json", 5*time.Millisecond)
	out, err := run("record", "validate", good)
	require.NoError(t, err)
	assert.Contains(t, out, "a run record, verdict valid")

	data, err := os.ReadFile(good)
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, bytes.Replace(data, []byte(`"n": 300`), []byte(`"n": 301`), 1), 0o600))
	out, err = run("record", "validate", good, bad, "--json")
	require.ErrorContains(t, err, "1 of 2 files")
	assert.Contains(t, out, "its histogram holds 300")
}

// edited writes a record with one text in it replaced, and gives its path.
func edited(t *testing.T, path, old, with string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	out := filepath.Join(t.TempDir(), "edited.json")
	require.NoError(t, os.WriteFile(out, bytes.Replace(data, []byte(old), []byte(with), 1), 0o600))
	return out
}

func TestARecordThatDoesNotHoldTogetherIsRefusedEverywhere(t *testing.T) {
	good := written(t, "good.json", 5*time.Millisecond)
	for want, bad := range map[string]string{
		"n is 1000000000000000000":     edited(t, good, `"n": 300`, `"n": 1000000000000000000`),
		"the verdict is directional":   edited(t, good, `"verdict": "valid"`, `"verdict": "directional"`),
		"canceled is":                  edited(t, good, `"canceled": 0`, `"canceled": 1000000000000000000`),
		"cells[0].scenario is null":    edited(t, good, `"scenario": "s"`, `"scenario": null`),
		"failed is 4, its errors by":   edited(t, good, `"failed": 0`, `"failed": 4`),
		"more than any generator make": edited(t, good, `"canceled": 0`, `"canceled": 900000000000`),
	} {
		for _, args := range [][]string{
			{"report", bad}, {"report", good, bad}, {"compare", good, bad}, {"compare", bad, good},
			{"plan", bad, "--rate", "10", "--slo-p95", "50"}, {"record", "validate", bad},
		} {
			out, err := run(args...)
			require.Error(t, err, "%s: %v", want, args)
			assert.Contains(t, err.Error()+out, want, args)
			assert.NotContains(t, out, "Valid:", args)
		}
	}
	_, err := run("report", edited(t, good, `"n": 300`, `"n": 7`))
	require.ErrorContains(t, err, "this record does not hold together: cell http query point at 1 worker (s): n is 7, its histogram holds 300")
}

func TestAFolderStandsForTheRecordInIt(t *testing.T) {
	path := written(t, "record.json", 5*time.Millisecond)
	for _, args := range [][]string{{"report", filepath.Dir(path)}, {"record", "validate", filepath.Dir(path)}} {
		out, err := run(args...)
		require.NoError(t, err)
		assert.Contains(t, strings.ToLower(out), "valid")
	}
	_, err := run("report", t.TempDir())
	require.ErrorContains(t, err, "holds no record.json")

	killed := t.TempDir()
	r := recorder.New(recorder.Config{})
	r.SetPartialPath(filepath.Join(killed, partialName))
	r.Cell(recorder.CellKey{Scenario: "s", Transport: "http", Op: "query"}).Record(time.Millisecond, recorder.OK)
	require.NoError(t, r.Flush())
	_, err = run("report", killed)
	require.ErrorContains(t, err, "name "+filepath.Join(killed, partialName))
	require.NoError(t, os.Rename(path, filepath.Join(killed, "record.json")))
	out, err := run("report", killed)
	require.NoError(t, err)
	assert.Contains(t, out, "is of an earlier run than "+partialName)
	out, err = run("report", filepath.Join(killed, partialName))
	require.NoError(t, err)
	assert.Contains(t, out, "[killed]")
}

func TestAnEndingThatNamesNoFormIsRefused(t *testing.T) {
	path := written(t, "a.json", 5*time.Millisecond)
	dir := t.TempDir()
	for _, name := range []string{"a.xyz", "a", "a.pdf"} {
		_, err := run("report", path, "-o", filepath.Join(dir, name))
		require.ErrorContains(t, err, "it takes .txt, .md, .html or .json")
	}
	_, err := run("report", path, "-f", "markdown", "-o", filepath.Join(dir, "a.xyz"))
	require.NoError(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing is written that was refused")
}

func TestWrongUseIsAnErrorThatSaysWhatIsRight(t *testing.T) {
	path := written(t, "a.json", 5*time.Millisecond)
	for want, args := range map[string][]string{
		"requires at least 1 arg":    {"report"},
		"accepts 2 arg":              {"compare", path},
		"no such file":               {"report", filepath.Join(t.TempDir(), "none.json")},
		"it takes terminal":          {"report", "-f", "pdf", path},
		"contradict":                 {"report", "-f", "html", "--json", path},
		"it takes slower":            {"compare", path, path, "--fail-on", "rain"},
		`no identity field "x"`:      {"compare", path, path, "--varies", "x"},
		"a rate above 0":             {"plan", path, "--slo-p95", "5"},
		"given twice":                {"report", path, path},
		"write report":               {"report", path, "-o", filepath.Join(path, "x.md")},
		"requires at least 1 arg(s)": {"record", "validate"},
	} {
		_, err := run(args...)
		assert.ErrorContains(t, err, want)
	}
}
