package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// small sizes for every scenario: the options of an archive are those of the moment when it is made.
var small = []string{
	"PRESET=short", "SPIKE_PRESET=quick", "SPIKE_WORKERS=1", "SPIKE_READS=2", "SPIKE_WRITES=1", "SPIKE_FRAGMENTS=2", "SPIKE_FLOOR=2", "SPIKE_AFTER=2",
	"BATCH_SIZES=1,8", "BATCH_COMMITS=1", "BATCH_READS=2",
	"FRAGMENTATION_COMMITS=2", "FRAGMENTATION_EVERY=1", "FRAGMENTATION_READS=2", "FRAGMENTATION_AFTER=2",
	"INTEGRITY_ROUNDS=1", "INTEGRITY_WRITERS=2", "NOISE_BLOCKS=2", "NOISE_PAIRS=2",
	"CAPACITY_ESTIMATE=20", "CAPACITY_STEP_SECONDS=1", "CAPACITY_REPEATS=1", "CAPACITY_MAX=30",
	"WRITERS_LEVELS=1,2", "WRITERS_SAME_LEVELS=1", "WRITERS_SECONDS=1", "WRITERS_ROUNDS=1",
	"DURATION=2s", "RATE=5", "WATCH_SECONDS=2", "WATCH_EVERY=1", "OUTAGE_SECONDS=2", "ADMISSION_ROUNDS=1", "ADMISSION_PATIENCE=1", "ADMISSION_BURST=4",
}

func archived(t *testing.T, script string, env ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive.tar")
	args := []string{"archive", "--quiet", "-O", file}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	cmd := exec.Command(k6, append(args, script)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

func TestAnArchiveSaysWhichSizesTheEnvironmentDoesNotChange(t *testing.T) {
	t.Parallel()
	const fixed = "the options were fixed when the archive was made"
	archives := map[string]string{}
	for _, script := range []string{"mix", "soak"} {
		archives[script] = archived(t, "../../scripts/"+script+".js")
	}
	for _, c := range []struct {
		script string
		env    []string
		want   string
	}{
		{"mix", []string{"DURATION=3s", "PRESET=short"}, "duration 5m0s and not 3s"},
		{"mix", []string{"DURATION=3s", "VUS=2"}, "duration 5m0s and not 3s, vus 4 and not 2"},
		{"mix", []string{"RATE=7"}, "rate (none) and not 7"},
		{"mix", []string{"DURATION=300000"}, ""},
		{"mix", nil, ""},
		{"soak", []string{"PRESET=short", "RATE=7"}, "duration 1h0m0s and not 60s, rate 10 and not 7"},
		{"soak", []string{"DURATION=60m"}, ""},
	} {
		cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--no-color", archives[c.script])
		cmd.Dir = t.TempDir()
		cmd.Env = append([]string{"OMNIGRAPH_URI=http://127.0.0.1:1"}, c.env...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s", out)
		assert.Equal(t, 108, exit.ExitCode(), "the server is not there: %s", out)
		if c.want == "" {
			assert.NotContains(t, string(out), fixed, "%s %v", c.script, c.env)
		} else {
			assert.Contains(t, string(out), fixed, "%s %v", c.script, c.env)
			assert.Contains(t, string(out), c.want, "%s %v", c.script, c.env)
		}
	}
}

func TestEveryScriptRunsFromItsArchiveWithTheAddressGivenAtRunTime(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob("../../examples/*.js")
	require.NoError(t, err)
	scripts, err := filepath.Glob("../../scripts/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	shared := rigtest.Start(t, rigtest.Rows(60))
	for _, script := range append(append(examples, "../../smoke.js"), scripts...) {
		t.Run(strings.TrimPrefix(script, "../../"), func(t *testing.T) {
			r := shared
			if strings.Contains(script, "/scripts/") {
				t.Parallel()
				r = rigtest.Start(t, rigtest.Rows(60)) // they optimize and write, each on a store of its own
			}
			env, err := r.Server.Environment()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, k6, "run", "--quiet", "--no-usage-report", "--no-color", "--summary-export", "summary.json", archived(t, script, small...))
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 99 {
				err = nil // a limit of its thresholds on a busy machine: it ran
			}
			require.NoError(t, err, string(out))
			data, err := os.ReadFile(filepath.Join(cmd.Dir, "summary.json"))
			require.NoError(t, err, string(out))
			var summary struct {
				Metrics map[string]struct{ Count, Value float64 }
			}
			require.NoError(t, json.Unmarshal(data, &summary))
			if strings.HasSuffix(script, "smoke.js") {
				return // it needs no server
			}
			assert.Positive(t, summary.Metrics["omnigraph_ops"].Count, string(out))
			if !strings.HasSuffix(script, "errors.js") {
				assert.Less(t, summary.Metrics["omnigraph_op_failed"].Value, 1.0, "nothing succeeded: %s", out)
			}
		})
	}
}
