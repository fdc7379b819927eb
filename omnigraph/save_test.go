package omnigraph

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

func TestOnlyWhatEndsARunBeforeItsTimeEndsItEarly(t *testing.T) {
	t.Parallel()
	thresholds := func(text string, reason errext.AbortReason) error {
		err := errext.WithExitCodeIfNone(errors.New(text), exitcodes.ThresholdsHaveFailed)
		if reason != 0 {
			err = errext.WithAbortReasonIfNone(err, reason)
		}
		return err
	}
	const crossed = "thresholds on metrics 'checks' have been crossed"
	const stopped = "thresholds on metrics 'checks' were crossed; at least one has abortOnFail enabled, stopping test prematurely"
	const byUser, byThreshold, afterTestEnd, byScriptAbort = 1, 2, 3, 5
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},
		{"thresholds crossed at the end", thresholds(crossed, afterTestEnd), false},
		{"the same without a reason", thresholds(crossed, 0), false},
		{"the same, wrapped", fmt.Errorf("run: %w", thresholds(crossed, afterTestEnd)), false},
		{"an abort by a threshold", thresholds(stopped, byThreshold), true},
		{"the same without a reason", thresholds(stopped, 0), true},
		{"the same with the other reason", thresholds(stopped, afterTestEnd), true},
		{"a signal beside crossed thresholds", errors.Join(thresholds(crossed, afterTestEnd), errext.WithAbortReasonIfNone(errors.New("interrupt"), byUser)), true},
		{"a signal", errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(errors.New("interrupt"), exitcodes.ExternalAbort), byUser), true},
		{"test.abort()", &errext.InterruptError{Reason: errext.AbortTest}, true},
		{"test.fail()", errext.WithExitCodeIfNone(errors.New(errext.MarkedAsFailedTest), exitcodes.MarkedAsFailed), false},
		{"test.fail() with a reason", errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(errors.New(errext.MarkedAsFailedTest), exitcodes.MarkedAsFailed), byScriptAbort), false},
		{"an exception in setup()", errext.WithExitCodeIfNone(errors.New("boom"), exitcodes.ScriptException), true},
		{"any other error", errors.New("boom"), true},
	} {
		assert.Equal(t, c.want, endedEarly(c.err), c.name)
	}
}

// recordedRun makes one run that is recorded in dir, up to its end.
type recordedRun struct {
	*runtime
	recording *recording
	logs      *logtest.Hook
	status    *lib.TestStatus
}

func beginRun(t *testing.T, dir, address string) *recordedRun {
	t.Helper()
	r := newRuntime(t)
	logger, logs := logtest.NewNullLogger()
	run := &recordedRun{runtime: r, recording: r.root.recording, logs: logs, status: lib.NewTestStatus()}
	run.recording.logger, run.recording.status = logger, run.status
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"}); const rec = record({name: "test", dir: %q})`, address, dir))
	run.recording.start()
	r.enter()
	return run
}

func (r *recordedRun) end(t *testing.T, err error) {
	t.Helper()
	r.recording.rehearse()
	r.recording.end(err)
}

func (r *recordedRun) logged(level logrus.Level) string {
	var texts []string
	for _, e := range r.logs.AllEntries() {
		if e.Level == level {
			texts = append(texts, e.Message)
		}
	}
	return strings.Join(texts, "\n")
}

func read(t *testing.T, dir, name string) *recorder.Record {
	t.Helper()
	rec, err := recorder.Read(filepath.Join(dir, name))
	require.NoError(t, err)
	return rec
}

func TestCrossedThresholdsDoNotMakeARunDirectional(t *testing.T) {
	server := newStub(t, answer(200, threeRows))
	dir := t.TempDir()
	run := beginRun(t, dir, server.URL)
	run.js(readCode)
	run.end(t, errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(errors.New("thresholds on metrics 'checks' have been crossed"), exitcodes.ThresholdsHaveFailed), abortedAfterTestEnd))
	assert.Empty(t, read(t, dir, recordFile).Invocation.EndedBy)

	run = beginRun(t, dir, server.URL)
	run.js(readCode)
	run.end(t, &errext.InterruptError{Reason: "test aborted: enough"})
	assert.Equal(t, "test aborted: enough", read(t, dir, recordFile).Invocation.EndedBy)
}

func TestARunThatMeasuredNothingLeavesAnEarlierRecordAlone(t *testing.T) {
	server := newStub(t, answer(200, threeRows))
	dir := t.TempDir()
	good := beginRun(t, dir, server.URL)
	good.js(readCode)
	good.end(t, nil)
	id := read(t, dir, recordFile).Invocation.ID
	page, err := os.ReadFile(filepath.Join(dir, htmlFile))
	require.NoError(t, err)

	killed := filepath.Join(dir, partialFile)
	require.NoError(t, os.WriteFile(killed, []byte("of a run that was killed"), 0o600))

	// setup() asks a port on which nobody listens, and fails.
	bad := beginRun(t, dir, "http://127.0.0.1:1")
	bad.state.Tags = lib.NewVUStateTags(bad.state.Tags.GetCurrentValues().Tags.Without("scenario"))
	bad.js(readCode)
	out := bad.export(bad.js(`report({metrics: {}})`))
	assert.Contains(t, out["stdout"], "the record of an earlier run stays in "+filepath.Join(dir, recordFile))
	bad.end(t, errors.New("setup failed"))
	assert.Equal(t, id, read(t, dir, recordFile).Invocation.ID)
	now, err := os.ReadFile(filepath.Join(dir, htmlFile))
	require.NoError(t, err)
	assert.Equal(t, page, now)
	assert.FileExists(t, killed)
	assert.Equal(t, bad.recording.recorder.ID(), read(t, dir, emptyFile).Invocation.ID)
	assert.Contains(t, bad.logged(logrus.WarnLevel), filepath.Join(dir, emptyFile))

	again := beginRun(t, dir, server.URL)
	again.js(readCode)
	again.end(t, nil)
	assert.Equal(t, again.recording.recorder.ID(), read(t, dir, recordFile).Invocation.ID, "a run that measured something replaces it")
	assert.NoFileExists(t, filepath.Join(dir, emptyFile))
	assert.False(t, again.status.Failed())
	assert.Empty(t, again.logs.AllEntries())
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAScriptCanAskWhyItsRunWillLeaveNoRecord(t *testing.T) {
	server := newStub(t, answer(200, threeRows))
	dir := t.TempDir()
	first := beginRun(t, dir, server.URL)
	assert.Equal(t, "null", first.js(`String(rec.problem())`).String())
	second := beginRun(t, dir, server.URL)
	problem := second.js(`rec.problem()`).String()
	assert.Contains(t, problem, "this run will leave no record")
	assert.Contains(t, problem, fmt.Sprintf("process %d since", os.Getpid()))
	second.end(t, nil)
	first.js(readCode)
	first.end(t, nil)
	assert.Equal(t, first.recording.recorder.ID(), read(t, dir, recordFile).Invocation.ID)

	taken := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	third := beginRun(t, filepath.Join(taken, "results"), server.URL)
	assert.Contains(t, third.js(`rec.problem()`).String(), "can't be written to")
	third.end(t, nil)
}

func TestInTheInitContextNoProblemIsKnown(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	assert.Equal(t, "null", r.js(`String(record({name: "test", dir: "/dev/null/x"}).problem())`).String())
}

func TestASignalAfterTheTestEndsNothingEarly(t *testing.T) {
	server := newStub(t, answer(200, threeRows))
	for _, c := range []struct {
		name string
		late bool
		want string
	}{{"while it runs", false, "SIGTERM"}, {"while the summary is made", true, ""}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			run := beginRun(t, dir, server.URL)
			run.js(readCode)
			// As k6 itself has it: a signal that this has is sent, and may be on its way to the recording.
			sent := make(chan os.Signal, 1)
			signal.Notify(sent, syscall.SIGTERM)
			defer signal.Stop(sent)
			terminate := func() {
				self, err := os.FindProcess(os.Getpid())
				require.NoError(t, err)
				require.NoError(t, self.Signal(syscall.SIGTERM))
				<-sent
			}
			if !c.late {
				terminate()
			}
			run.recording.testOver()
			run.recording.rehearse()
			if c.late {
				terminate()
			}
			run.recording.end(nil)
			assert.Equal(t, c.want, read(t, dir, recordFile).Invocation.EndedBy)
		})
	}
}

func TestARunThatMeasuredNothingIsRecordedWhereNothingIsLost(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		run := beginRun(t, dir, "http://127.0.0.1:1")
		run.end(t, nil)
		assert.Equal(t, run.recording.recorder.ID(), read(t, dir, recordFile).Invocation.ID)
	}
}

func TestALostRecordIsAnErrorThatSaysWhatIsOnDisk(t *testing.T) {
	server := newStub(t, answer(200, threeRows))
	t.Run("err/record", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, recordFile, "taken"), 0o700))
		run := beginRun(t, dir, server.URL)
		run.js(readCode)
		run.end(t, nil)
		text := run.logged(logrus.ErrorLevel)
		assert.Contains(t, text, "could not be written; "+filepath.Join(dir, partialFile)+" holds what was measured")
		assert.EqualValues(t, 1, read(t, dir, partialFile).Cells[0].N)
	})
	t.Run("err/report", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, htmlFile, "taken"), 0o700))
		run := beginRun(t, dir, server.URL)
		run.js(readCode)
		run.end(t, nil)
		text := run.logged(logrus.ErrorLevel)
		assert.Contains(t, text, "the record of this run is whole, in "+filepath.Join(dir, recordFile))
		assert.Contains(t, text, htmlFile)
		assert.FileExists(t, filepath.Join(dir, markdownFile))
		assert.EqualValues(t, 1, read(t, dir, recordFile).Cells[0].N)
	})
	t.Run("err/folder gone", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "results")
		run := beginRun(t, dir, server.URL)
		run.js(readCode)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		run.recording.rehearse()
		assert.Contains(t, run.logged(logrus.ErrorLevel), "the results of this run can't be written to "+dir)
		assert.True(t, run.status.Failed(), "while k6 has not decided yet how to exit")
		run.recording.deferred = true // as with k6's events
		out := run.export(run.js(`report({metrics: {}})`))
		assert.Contains(t, out["stdout"], "can't be written to "+dir)
		assert.NotContains(t, out["stdout"], "record: ")
		run.recording.end(nil)
		assert.Contains(t, run.logged(logrus.ErrorLevel), "nothing of this run is on disk")
	})
}
