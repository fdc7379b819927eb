package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "omnigraph-e2e-")
	if err != nil {
		panic(err)
	}
	k6 = filepath.Join(dir, "k6")
	build := exec.Command("go", "build", "-o", k6, "../../cmd/k6")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build k6: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds every wait for something that has to happen.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// run is one k6 process in a folder of its own.
type run struct {
	*exec.Cmd
	t      *testing.T
	dir    string
	output *locked
	ended  chan error
}

func start(t *testing.T, script string, env ...string) *run {
	t.Helper()
	return startWith(t, k6, script, env...)
}

// startWith starts a program that stands for k6.
func startWith(t *testing.T, program, script string, env ...string) *run {
	t.Helper()
	output := &locked{}
	r := startTo(t, output, program, script, env...)
	r.output = output
	return r
}

// startTo starts a program whose output goes to a writer.
func startTo(t *testing.T, output io.Writer, program, script string, env ...string) *run {
	t.Helper()
	r := &run{t: t, dir: t.TempDir(), output: &locked{}, ended: make(chan error, 1)}
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "script.js"), []byte(script), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	r.Cmd = exec.CommandContext(ctx, program, "run", "--quiet", "--no-usage-report", "script.js")
	r.Dir = r.dir
	r.Stdout, r.Stderr = output, output
	r.Env = append(os.Environ(), env...)
	require.NoError(t, r.Start())
	go func() { r.ended <- r.Wait() }()
	return r
}

// exit waits for the end and gives the exit code, -1 after a signal.
func (r *run) exit() int {
	r.t.Helper()
	select {
	case err := <-r.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		require.NoError(r.t, err)
		return 0
	case <-time.After(2 * patience):
		r.t.Fatal("k6 did not end")
	}
	return 0
}

func (r *run) file(name string) string { return filepath.Join(r.dir, name) }

func (r *run) record() *recorder.Record {
	r.t.Helper()
	rec, err := recorder.Read(r.file("results/e2e/record.json"))
	require.NoError(r.t, err, r.output.String())
	return rec
}

// slowCLI is a fake CLI that writes its process id down and starts a child that does, too; both sleep.
func slowCLI(t *testing.T) (bin, pids string) {
	t.Helper()
	dir := t.TempDir()
	pids = filepath.Join(dir, "pids")
	bin = filepath.Join(dir, "omnigraph")
	executable.Write(t, bin, fmt.Sprintf("#!/bin/sh\ntrap '' INT TERM\nsh -c 'echo $$ >> %[1]s; exec sleep 300' &\necho $$ >> %[1]s\nwait\n", pids))
	return bin, pids
}

const slowCLIScript = `
	import { CLIClient } from 'k6/x/omnigraph';
	export const options = { vus: 3, duration: '100s' };
	const cli = new CLIClient({ server: 'http://127.0.0.1:1', graph: 'g', bin: __ENV.FAKE, timeout: '90s' });
	export default function () { cli.query('query q() { match { $m: M } return { $m } }'); }`

// awaitCLIs returns once each VU of slowCLIScript has a CLI that has a child.
func awaitCLIs(t *testing.T, pids string) {
	t.Helper()
	eventually(t, "the start of three CLIs with a child each", func() bool { return len(processes(t, pids)) >= 6 })
}

// processes gives the ids written down so far.
func processes(t *testing.T, file string) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var ids []int
	for _, f := range strings.Fields(string(data)) {
		id, err := strconv.Atoi(f)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	return ids
}

// alive tells whether a process runs; a zombie does not.
func alive(id int) bool {
	if syscall.Kill(id, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestNoChildOutlivesK6(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(r *run)
		code int
		// atOnce ends k6 before it can do anything. The kernel ends the CLIs then, but nobody is left for their children.
		atOnce bool
	}{
		{name: "two interrupts in a row", end: func(r *run) {
			_ = r.Process.Signal(os.Interrupt)
			_ = r.Process.Signal(os.Interrupt)
		}, code: 105, atOnce: true},
		{name: "one interrupt", end: func(r *run) { _ = r.Process.Signal(os.Interrupt) }, code: 105},
		{name: "terminated", end: func(r *run) { _ = r.Process.Signal(syscall.SIGTERM) }, code: 105},
		{name: "killed", end: func(r *run) { _ = r.Process.Kill() }, code: -1, atOnce: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bin, pids := slowCLI(t)
			r := start(t, slowCLIScript, "FAKE="+bin)
			awaitCLIs(t, pids)
			leaders := leadersOf(t, processes(t, pids))
			c.end(r)
			assert.Equal(t, c.code, r.exit(), r.output.String())
			ids := processes(t, pids)
			for _, id := range ids {
				if c.atOnce && !leaders[id] {
					continue
				}
				eventually(t, fmt.Sprintf("the end of process %d", id), func() bool { return !alive(id) })
			}
			for _, id := range ids {
				_ = syscall.Kill(id, syscall.SIGKILL)
			}
			if c.code == -1 {
				requireHomesCleared(t, r.Process.Pid, bin)
			}
		})
	}
}

// A user who presses Ctrl-C again, since teardown takes its time, finds the CLIs gone already.
func TestTheFirstInterruptEndsTheCLIsWhateverTeardownDoes(t *testing.T) {
	t.Parallel()
	bin, pids := slowCLI(t)
	r := start(t, `import { sleep } from 'k6';`+slowCLIScript+`
		export function teardown() { sleep(100); }`, "FAKE="+bin)
	awaitCLIs(t, pids)
	require.NoError(t, r.Process.Signal(os.Interrupt))
	for _, id := range processes(t, pids) {
		eventually(t, fmt.Sprintf("the end of process %d", id), func() bool { return !alive(id) })
	}
	select {
	case err := <-r.ended:
		t.Fatalf("k6 ended before its teardown: %v\n%s", err, r.output.String())
	default:
	}
	require.NoError(t, r.Process.Signal(os.Interrupt))
	assert.Equal(t, 105, r.exit(), r.output.String())
}

// requireHomesCleared checks that the next k6 removes the empty folders that a killed one could not remove any more.
func requireHomesCleared(t *testing.T, id int, bin string) {
	t.Helper()
	r := start(t, `
		import { CLIClient } from 'k6/x/omnigraph';
		const cli = new CLIClient({ server: 'http://127.0.0.1:1', graph: 'g', bin: __ENV.FAKE, timeout: '10ms' });
		export default function () { cli.version(); }`, "FAKE="+bin)
	require.Equal(t, 0, r.exit(), r.output.String())
	for _, parent := range []string{"/dev/shm", os.TempDir()} {
		folders, err := filepath.Glob(fmt.Sprintf("%s/omnigraph-home-%d-*", parent, id))
		require.NoError(t, err)
		assert.Empty(t, folders)
	}
}

// leadersOf tells the CLIs themselves from their children, by who leads the group.
func leadersOf(t *testing.T, ids []int) map[int]bool {
	t.Helper()
	leaders := map[int]bool{}
	for _, id := range ids {
		group, err := syscall.Getpgid(id)
		require.NoError(t, err)
		leaders[id] = group == id
	}
	return leaders
}

const recordedScript = `
	import exec from 'k6/execution';
	import { HTTPClient, record, report } from 'k6/x/omnigraph';
	export const options = { scenarios: { load: __ENV.ITERATIONS ? { executor: 'shared-iterations', vus: 2, iterations: Number(__ENV.ITERATIONS) } : { executor: 'constant-vus', vus: 2, duration: '1h', gracefulStop: '1s' } }, thresholds: JSON.parse(__ENV.THRESHOLDS || '{}') };
	const og = new HTTPClient({ url: __ENV.URL, graph: 'g' });
	record({ name: 'e2e' });
	export function setup() { if (__ENV.FAIL_SETUP) { throw new Error('setup went wrong'); } }
	export default function () {
		og.query('query q() { match { $m: M } return { $m } }');
		if (__ENV.ABORT) { exec.test.abort('seen enough'); }
	}
	export function handleSummary(data) { return report(data); }`

// countingServer answers queries and counts them.
func countingServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Millisecond)
		fmt.Fprint(w, `{"query_name":"q","target":{},"row_count":1,"columns":["m"],"rows":[{"m":"a"}]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestARecordSurvivesEveryEndOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		env    []string
		signal os.Signal
		code   int
		ended  string
		none   bool // no operation was made
	}{
		{name: "regular", env: []string{"ITERATIONS=20"}},
		{name: "SIGINT", signal: os.Interrupt, code: 105, ended: "SIGINT"},
		{name: "SIGTERM", signal: syscall.SIGTERM, code: 105, ended: "SIGTERM"},
		{name: "test.abort", env: []string{"ABORT=1"}, code: 108, ended: "seen enough"},
		{name: "failing setup", env: []string{"FAIL_SETUP=1"}, code: 107, ended: "setup went wrong", none: true},
		{name: "crossed thresholds", env: []string{"ITERATIONS=20", `THRESHOLDS={"omnigraph_ops":["count<1"]}`}, code: 99},
		{name: "abortOnFail", env: []string{`THRESHOLDS={"omnigraph_ops":[{"threshold":"count<1","abortOnFail":true}]}`}, code: 99, ended: "threshold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, recordedScript, append(c.env, "URL="+countingServer(t).URL)...)
			if c.signal != nil {
				eventually(t, "a partial record with operations", func() bool {
					rec, err := recorder.Read(r.file("results/e2e/record.partial.ndjson"))
					return err == nil && len(rec.Cells) > 0
				})
				require.NoError(t, r.Process.Signal(c.signal))
			}
			require.Equal(t, c.code, r.exit(), r.output.String())
			rec := r.record()
			if c.ended == "" {
				assert.Empty(t, rec.Invocation.EndedBy)
			} else {
				assert.Contains(t, rec.Invocation.EndedBy, c.ended)
				assert.True(t, hasReason(rec, "ended_early"), "%v", rec.Reasons)
			}
			var n uint64
			for _, cell := range rec.Cells {
				n += cell.N + cell.Failed + cell.Canceled
			}
			assert.Equal(t, c.none, n == 0)
			assert.NoFileExists(t, r.file("results/e2e/record.partial.ndjson"))
			assert.FileExists(t, r.file("results/e2e/report.md"))
		})
	}
}

func hasReason(rec *recorder.Record, code string) bool {
	for _, reason := range rec.Reasons {
		if reason.Code == code {
			return true
		}
	}
	return false
}

func TestAKilledRunLeavesTheLastRecordAndAReadablePartial(t *testing.T) {
	t.Parallel()
	url := countingServer(t).URL
	first := start(t, recordedScript, "ITERATIONS=20", "URL="+url)
	require.Zero(t, first.exit(), first.output.String())
	before, err := os.ReadFile(first.file("results/e2e/record.json"))
	require.NoError(t, err)

	second := exec.Command(k6, "run", "--quiet", "--no-usage-report", "script.js")
	second.Dir = first.dir
	second.Env = append(os.Environ(), "URL="+url)
	require.NoError(t, second.Start())
	t.Cleanup(func() { _ = second.Process.Kill() })
	partial := first.file("results/e2e/record.partial.ndjson")
	eventually(t, "a partial record with operations", func() bool {
		rec, err := recorder.Read(partial)
		return err == nil && len(rec.Cells) > 0
	})
	require.NoError(t, second.Process.Kill())
	_ = second.Wait()

	after, err := os.ReadFile(first.file("results/e2e/record.json"))
	require.NoError(t, err)
	assert.Equal(t, before, after)
	rec, err := recorder.Read(partial)
	require.NoError(t, err)
	assert.Equal(t, recorder.Invalid, rec.Verdict)
	assert.True(t, hasReason(rec, "killed"))
	assert.Contains(t, rec.Script.Path, "script.js")
	assert.NotEmpty(t, rec.Script.SHA256)
	assert.Positive(t, rec.Cells[0].N)
}

func TestInspectAndArchiveNeedNoEnvironmentAndPrintOneDocument(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../examples/*.js")
	require.NoError(t, err)
	more, err := filepath.Glob("../../scripts/*.js")
	require.NoError(t, err)
	scripts = append(append(scripts, more...), "../../smoke.js")
	require.Greater(t, len(scripts), 8)
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Parallel()
			inspect := exec.Command(k6, "inspect", script)
			inspect.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
			out, err := inspect.Output()
			require.NoError(t, err)
			assert.JSONEq(t, string(out), string(out), "one JSON document")
			archive := exec.Command(k6, "archive", "-O", filepath.Join(t.TempDir(), "a.tar"), script)
			archive.Env = inspect.Env
			out, err = archive.Output()
			require.NoError(t, err)
			assert.Empty(t, strings.TrimSpace(string(out)))
		})
	}
}

func TestWithoutOmnigraphTheRigSaysWhereItLooked(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(k6, "x", "omnigraph", "rig", "run", "--", "true")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/does/not/exist"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Equal(t, 1, strings.Count(strings.TrimSpace(string(out)), "\n")+1, "one line: %s", out)
	for _, word := range []string{"--bin", "OMNIGRAPH_BIN", "PATH"} {
		assert.Contains(t, string(out), word)
	}
}

func TestARunWhoseRecordCantBeWrittenFailsAndSaysSo(t *testing.T) {
	t.Parallel()
	script := strings.Replace(recordedScript, "record({ name: 'e2e' })", "record({ name: 'e2e', dir: 'script.js/results' })", 1)
	r := start(t, script, "ITERATIONS=20", "URL="+countingServer(t).URL)
	assert.Equal(t, 110, r.exit(), r.output.String())
	assert.Contains(t, r.output.String(), "will leave no record")
	assert.NotContains(t, r.output.String(), "\nrecord: ")
}

func TestASignalWhileTheSummaryIsMadeEndsNothingEarly(t *testing.T) {
	t.Parallel()
	summing, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/summing" {
			close(summing)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprint(w, `{"query_name":"q","target":{},"row_count":1,"columns":["m"],"rows":[{"m":"a"}]}`)
	}))
	t.Cleanup(server.Close)
	script := strings.Replace(recordedScript, "{ return report(data); }", "{ http.get(`${__ENV.URL}/summing`); return report(data); }", 1)
	r := start(t, "import http from 'k6/http';"+script, "ITERATIONS=20", "URL="+server.URL)
	select {
	case <-summing:
	case <-time.After(patience):
		t.Fatal("no summary was made: " + r.output.String())
	}
	require.NoError(t, r.Process.Signal(os.Interrupt))
	close(release)
	require.Zero(t, r.exit(), r.output.String())
	assert.Empty(t, r.record().Invocation.EndedBy)
	assert.NotContains(t, r.output.String(), "SIGINT")
}

func TestOfTwoRunsInOneFolderTheSecondIsRefused(t *testing.T) {
	t.Parallel()
	url := countingServer(t).URL
	first := start(t, recordedScript, "URL="+url)
	eventually(t, "the first run's claim of the folder", func() bool {
		_, err := os.Stat(first.file("results/e2e/record.partial.ndjson"))
		return err == nil
	})
	second := exec.Command(k6, "run", "--quiet", "--no-usage-report", "script.js")
	second.Dir = first.dir
	second.Env = append(os.Environ(), "ITERATIONS=20", "URL="+url)
	out, err := second.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Equal(t, 110, exit.ExitCode())
	assert.Contains(t, string(out), fmt.Sprintf("process %d since", first.Process.Pid))
	assert.Contains(t, string(out), "RESULTS_DIR")
	assert.NoFileExists(t, first.file("results/e2e/record.json"), "the first run has not ended")
	assert.FileExists(t, first.file("results/e2e/record.partial.ndjson"))

	require.NoError(t, first.Process.Signal(os.Interrupt))
	require.Equal(t, 105, first.exit(), first.output.String())
	assert.Equal(t, "SIGINT", first.record().Invocation.EndedBy)
	assert.NoFileExists(t, first.file("results/e2e/record.lock"))
}
