package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

const root = "../.."

// notRun are the commands that this test leaves out, by how they begin, and why.
var notRun = []struct{ begins, because string }{
	{"make spike", "the last step of .ci/run"},
	{"make test", "this test is part of it"},
	{"RESULTS_DIR=results/a make spike", "the last step of .ci/run does so once"},
	{"RESULTS_DIR=results/b make spike", "the last step of .ci/run does so once"},
	{"make build", "the test has built the same programs"},
	{"go build -o bin/omnigraph-emulator", "the test has built the same program"},
	{"go install go.k6.io/xk6", "needs the real k6"},
	{"xk6 ", "needs the real k6"},
	{"GOWORK=off xk6 ", "needs the real k6"},
	{"./k6 ", "needs the real k6"},
	{"go test ./omnigraph/wire -run XXX -fuzz", "takes a minute; the same target runs with its seeds in every test run, and a test here holds that it is there"},
	{"bin/omnigraph-emulator serve", "serves until it is stopped; the emulator's own tests start it"},
	{"bin/omnigraph-emulator cli query …", "a pattern, not a command; the emulator's own tests call it"},
	{"bin/omnigraph-emulator link DIR", "a pattern, not a command; the emulator's own tests call it"},
	{"GOWORK=off GOEXPERIMENT=jsonv2 go test", "compiles Go's standard library anew; the two benchmarks before it run, once each"},
	{"docker ", "needs a container engine; make test-deploy reads the files as docker does, builds the image with buildah and runs it"},
	{"export OMNIGRAPH_SERVER_IMAGE", "names images for docker compose"},
	{"export RIG_USER", "is for docker compose"},
	{"kubectl ", "needs a cluster; test/deploy does the same with processes"},
	{"export K6_PROMETHEUS_RW_SERVER_URL", "needs Prometheus: make test-dashboards runs these two lines"},
	{"bin/k6 run -o experimental-prometheus-rw", "needs Prometheus: make test-dashboards runs these two lines"},
}

// sizes within commands that are made small, and what stands for something of the reader's.
var shorter = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`--rows (?:913|5000)`), "--rows 50"},
	{regexp.MustCompile(`--fragments 100`), "--fragments 2"},
	{regexp.MustCompile(`\bDURATION=\S+`), "DURATION=2s"},
	{regexp.MustCompile(`\bWRITERS_LEVELS=\S+`), "WRITERS_LEVELS=1,2"},
	{regexp.MustCompile(`\bPRESET=\S+`), "PRESET=short"},
	{regexp.MustCompile(`-benchmem\b`), "-benchmem -benchtime 1x"},
	{regexp.MustCompile(`^cd bench\b`), "cd -P bench"}, // a link here, and its module looks for the one above
	{regexp.MustCompile(`\bOMNIGRAPH_TOKEN=…`), `OMNIGRAPH_TOKEN="$OMNIGRAPH_TOKEN"`},
	{regexp.MustCompile(`\bOMNIGRAPH_URI=(?:…|https?://\S+)`), `OMNIGRAPH_URI="$OMNIGRAPH_URI"`},
}

// made is a block's script as it runs here.
func made(b block, dir string) string {
	script := strings.ReplaceAll(strings.Join(b.run, "\n"), "/tmp/rig", filepath.Join(dir, "rig"))
	for _, s := range shorter {
		script = s.pattern.ReplaceAllString(script, strings.ReplaceAll(s.by, "$", "$$"))
	}
	return script
}

// small sizes of scenarios, by their own variables.
var small = []string{
	"PRESET=short", "SPIKE_PRESET=quick", "SPIKE_WORKERS=1", "SPIKE_READS=2", "SPIKE_WRITES=1", "SPIKE_FRAGMENTS=2", "SPIKE_FLOOR=2", "SPIKE_AFTER=2",
	"BATCH_SIZES=1,8", "BATCH_COMMITS=1", "BATCH_READS=2",
	"FRAGMENTATION_COMMITS=2", "FRAGMENTATION_EVERY=1", "FRAGMENTATION_READS=2", "FRAGMENTATION_AFTER=2",
	"INTEGRITY_ROUNDS=1", "INTEGRITY_WRITERS=2", "NOISE_BLOCKS=2", "NOISE_PAIRS=2",
	"CAPACITY_ESTIMATE=20", "CAPACITY_STEP_SECONDS=1", "CAPACITY_REPEATS=1", "CAPACITY_MAX=30",
	"WRITERS_LEVELS=1,2", "WRITERS_SAME_LEVELS=1", "WRITERS_SECONDS=1", "WRITERS_ROUNDS=1",
	"DURATION=2s", "RATE=5", "WATCH_SECONDS=2", "WATCH_EVERY=1", "OUTAGE_SECONDS=2", "ADMISSION_ROUNDS=1", "ADMISSION_PATIENCE=1", "ADMISSION_BURST=4",
}

// block is a code block of commands.
type block struct {
	page string
	run  []string
}

var (
	fence   = regexp.MustCompile("(?ms)^```(?:sh|bash|console)\n(.*?)^```")
	comment = regexp.MustCompile(`\s+# .*$`)
)

func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "dashboards/*.md", "host/README.md", "examples/*.md", "scripts/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		all = append(all, files...)
	}
	require.Greater(t, len(all), 8)
	return all
}

// blocks gives every block with what of it is to be run, and which of the exceptions were met.
func blocks(t *testing.T) (all []block, met map[string]bool) {
	t.Helper()
	met = map[string]bool{}
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
			b := block{page: strings.TrimPrefix(page, root+"/")}
			for _, line := range strings.Split(strings.ReplaceAll(m[1], "\\\n", " "), "\n") {
				line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				left := false
				for _, rule := range notRun {
					if strings.HasPrefix(line, rule.begins) {
						met[rule.begins], left = true, true
						break
					}
				}
				if !left {
					b.run = append(b.run, line)
				}
			}
			if len(b.run) > 0 {
				all = append(all, b)
			}
		}
	}
	return all, met
}

// sandbox is a folder that looks like the repository's root after make build.
func sandbox(t *testing.T, programs string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"examples", "scripts", "smoke.js", "docs", "dashboards", "bench"} {
		source, err := filepath.Abs(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(source, filepath.Join(dir, name)))
	}
	require.NoError(t, os.Symlink(programs, filepath.Join(dir, "bin")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "deploy"), 0o700))
	return dir
}

const recordScript = `
import { HTTPClient, record, report } from 'k6/x/omnigraph';
export const options = { vus: 1, iterations: 25 };
const og = new HTTPClient({ url: __ENV.OMNIGRAPH_URI, graph: __ENV.OMNIGRAPH_GRAPH, token: __ENV.OMNIGRAPH_TOKEN });
record({ name: 'docs' });
export default function () { og.invoke('list_memories'); }
export function handleSummary(data) { return report(data); }`

func TestEveryCommandInTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	all, met := blocks(t)
	require.Greater(t, len(all), 2)
	for _, rule := range notRun {
		assert.True(t, met[rule.begins], "no page has a command that begins with %q any more: take it off the list", rule.begins)
	}
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "../../cmd/...")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for i, b := range all {
		t.Run(fmt.Sprintf("%s/%d", b.page, i), func(t *testing.T) {
			t.Parallel()
			// Each has a server of its own: 0.8.0 may leave a table for repair when one optimizes while another writes.
			r := rigtest.Start(t, rigtest.Rows(60))
			env, err := r.Server.Environment()
			require.NoError(t, err)
			env = append(append(os.Environ(), append(env, small...)...), "PATH="+programs+":"+os.Getenv("PATH"))
			dir := sandbox(t, programs)
			script := made(b, dir)
			require.NotContains(t, script, "…", "a command with something left out needs a place in the list")
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // on a machine that is busy with other tests
			defer cancel()
			for _, m := range recordPath.FindAllStringSubmatch(script, -1) {
				names := strings.Split(strings.Trim(m[1], "{}"), ",")
				if m[1] == "*" {
					names = []string{"first", "second"}
				}
				for _, name := range names {
					makeRecord(ctx, t, dir, name, env)
				}
			}
			defer stopRigs(t, dir)
			cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
			cmd.Dir, cmd.Env = dir, env
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 99 {
				err = nil // a limit of a script's thresholds, in small and on a busy machine
			}
			require.NoError(t, err, "%s\n%s", script, out)
		})
	}
}

var recordPath = regexp.MustCompile(`results/([a-z-]+|\{[a-z,-]+\}|\*)/record\.json`)

// stopRigs ends the servers that a block has left running: their rigs have a server.json.
func stopRigs(t *testing.T, dir string) {
	t.Helper()
	var rigs []string
	for _, pattern := range []string{"*/server.json", "*/*/server.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		rigs = append(rigs, found...)
	}
	for _, r := range rigs {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(dir, "bin/k6"), "x", "omnigraph", "rig", "down", filepath.Dir(r))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
	}
}

// makeRecord puts a record where the documentation's commands look for some.
func makeRecord(ctx context.Context, t *testing.T, dir, name string, env []string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "record.js"), []byte(recordScript), 0o600))
	cmd := exec.CommandContext(ctx, "bin/k6", "run", "--quiet", "--no-usage-report", "record.js")
	cmd.Dir, cmd.Env = dir, append(env, "RESULTS_DIR="+filepath.Join(dir, "results", name))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if _, err := os.Stat(filepath.Join(dir, "results", name, "record.json")); err != nil {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "results", name), 0o700))
		require.NoError(t, os.Rename(filepath.Join(dir, "results", "docs", "record.json"), filepath.Join(dir, "results", name, "record.json")))
	}
}

var inBackticks = regexp.MustCompile("`([a-z][A-Za-z0-9_-]*(?:/[A-Za-z0-9_.*-]*)+|[a-z_]+\\.go)`")

func TestThePlacesThatTheArchitectureNamesAreThere(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	named := 0
	for _, m := range inBackticks.FindAllStringSubmatch(string(data), -1) {
		if strings.HasPrefix(m[1], "k6/") {
			continue
		}
		at, err := filepath.Glob(filepath.Join(root, m[1]))
		require.NoError(t, err)
		if len(at) == 0 {
			at, err = filepath.Glob(filepath.Join(root, "omnigraph", "*", m[1])) // beside the one named before
			require.NoError(t, err)
		}
		if len(at) == 0 {
			at, err = filepath.Glob(filepath.Join(root, "omnigraph", m[1]))
			require.NoError(t, err)
		}
		assert.NotEmpty(t, at, "docs/architecture.md names %s", m[1])
		named++
	}
	assert.Greater(t, named, 10)
}
