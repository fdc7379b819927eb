package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

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
