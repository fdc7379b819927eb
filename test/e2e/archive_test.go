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
