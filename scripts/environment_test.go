package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
)

func TestAValueThatCanNotBeIsRefusedByItsVariablesName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(content string) string {
		f, err := os.CreateTemp(dir, "tokens-*.json")
		require.NoError(t, err)
		_, err = f.WriteString(content)
		require.NoError(t, errors.Join(err, f.Close()))
		return f.Name()
	}
	missing := filepath.Join(dir, "missing.json")
	for name, c := range map[string]struct {
		script string
		env    []string
		want   string
	}{
		"a strictness":               {"integrity", []string{"INTEGRITY_STRICT=maybe"}, `INTEGRITY_STRICT got "maybe"; it takes 1 or 0`},
		"a leave":                    {"spike", []string{"ALLOW_WRITES=yes"}, `ALLOW_WRITES got "yes"; it takes 1 or 0`},
		"a leave on a rig":           {"spike", []string{"ALLOW_WRITES=yes", "OMNIGRAPH_RIG=" + dir}, `ALLOW_WRITES got "yes"`},
		"no noise":                   {"soak", []string{"NOISE_FLOOR=banana"}, `NOISE_FLOOR got "banana"; it takes a share from 0 to 1, such as 0.02`},
		"noise in percent":           {"soak", []string{"NOISE_FLOOR=2"}, `NOISE_FLOOR got "2"; it takes a share from 0 to 1, such as 0.02`},
		"less than no noise":         {"capacity", []string{"NOISE_FLOOR=-1"}, `NOISE_FLOOR got "-1"`},
		"a level twice":              {"writers", []string{"WRITERS_LEVELS=8,8"}, `WRITERS_LEVELS got "8,8"; it takes each number once`},
		"a list of no tokens":        {"writers", []string{"OMNIGRAPH_TOKENS=,"}, `OMNIGRAPH_TOKENS got ","; it takes bearer tokens`},
		"a list of no tokens, mix":   {"mix", []string{"OMNIGRAPH_TOKENS=,"}, `OMNIGRAPH_TOKENS got ","`},
		"a missing file":             {"writers", []string{"OMNIGRAPH_TOKENS_FILE=" + missing}, "OMNIGRAPH_TOKENS_FILE names " + missing + ", which can't be read"},
		"a missing file, admission":  {"admission", []string{"OMNIGRAPH_TOKENS_FILE=" + missing}, "OMNIGRAPH_TOKENS_FILE names " + missing},
		"a missing file, mix":        {"mix", []string{"OMNIGRAPH_TOKENS_FILE=" + missing}, "OMNIGRAPH_TOKENS_FILE names " + missing},
		"a missing file, soak":       {"soak", []string{"OMNIGRAPH_TOKENS_FILE=" + missing}, "OMNIGRAPH_TOKENS_FILE names " + missing},
		"a missing file in a rig":    {"mix", []string{"OMNIGRAPH_TOKENS_FILE=" + missing, "OMNIGRAPH_RIG=" + dir}, "OMNIGRAPH_TOKENS_FILE names " + missing},
		"a file of something else":   {"writers", []string{"OMNIGRAPH_TOKENS_FILE=" + file("act-load: x")}, "it takes a JSON object of actors"},
		"a file without tokens":      {"writers", []string{"OMNIGRAPH_TOKENS_FILE=" + file("{}")}, "it takes a JSON object of actors"},
		"a file with an empty token": {"capacity", []string{"OMNIGRAPH_TOKENS_FILE=" + file(`{"act-load":""}`)}, "it takes a JSON object of actors"},
		"a file that says nothing":   {"writers", []string{"OMNIGRAPH_TOKENS_FILE=" + file("null")}, "it takes a JSON object of actors"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := bounded(t, "run", "--quiet", "--no-usage-report", c.script+".js")
			cmd.Env = append([]string{"OMNIGRAPH_URI=http://127.0.0.1:1", "RESULTS_DIR=" + t.TempDir()}, c.env...)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, string(out))
			assert.Equal(t, 107, exit.ExitCode(), string(out))
			assert.Contains(t, strings.ReplaceAll(string(out), `\"`, `"`), c.want)
		})
	}
}

func TestMakeSpikeTakesAPresetUnderEitherName(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("make is not installed")
	}
	stub := filepath.Join(t.TempDir(), "k6")
	executable.Write(t, stub, "#!/bin/sh\necho \"$SPIKE_PRESET,$PRESET\"\n")
	for name, c := range map[string]struct{ env, args []string }{
		",":       {},
		",short":  {env: []string{"PRESET=short"}},
		",full":   {args: []string{"PRESET=full"}},
		"quick,":  {env: []string{"SPIKE_PRESET=quick"}},
		"full,":   {args: []string{"SPIKE_PRESET=full"}},
		"quick,x": {env: []string{"PRESET=x"}, args: []string{"SPIKE_PRESET=quick"}},
	} {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--no-print-directory", "-o", "build", "K6=" + stub, "spike"}, c.args...)...)
		cmd.Dir = ".."
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, c.env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, name+"\n", string(out))
	}
}
