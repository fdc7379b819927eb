package omnigraph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/sirupsen/logrus"
)

// The global events of k6 that a recording follows, by number: their constants are internal to k6.
const (
	eventTestStart = 2
	eventTestEnd   = 3
	eventExit      = 6
)

// recording is the process's one run record: what is measured, where it goes, and when it is written.
type recording struct {
	recorder *recorder.Recorder

	mu       sync.Mutex
	attached bool
	logger   logrus.FieldLogger
	config   *recordConfig
	summary  *summaryFacts
	// begun says that a test has begun, and not only its init code.
	begun bool
	// signals are those that came while the test went on; watched is closed once all of them are noted.
	signals  chan os.Signal
	watched  chan struct{}
	signaled bool
	// late takes the signals after the test, which end nothing early any more, nor this process before the record stands.
	late chan os.Signal
	// unwritable is why the record will not be written, or nil.
	unwritable error
	// doubtful is why the record will probably not be written, found when the test was over, or nil.
	doubtful error
	// claim keeps other runs from writing into the same folder.
	claim  *recorder.Claim
	status *lib.TestStatus
	// serverSeen and cliSeen say that the version is noted.
	serverSeen, cliSeen sync.Once
	// emulated is what is known of an emulator behind the run, nil if nothing is.
	emulated atomic.Pointer[emulation]
	// seen maps the scenarios that made an operation to their executors.
	seen sync.Map
	// untagged says that samples carry no scenario: what k6 counts by it is not known.
	untagged atomic.Bool
	// spare are descriptors that are held open until the record is written, so that it can be even where the run has
	// used up all others: idle connections stay open to the end of the process.
	spare []*os.File
	// deferred says that the record is written at k6's Exit event, which alone tells how the run ended.
	deferred bool
}

func newRecording() *recording {
	r := &recording{}
	r.recorder = recorder.New(recorder.Config{Warn: r.warn})
	return r
}

func (r *recording) warn(err error) {
	r.mu.Lock()
	logger := r.logger
	r.mu.Unlock()
	if logger != nil {
		logger.Warn(err.Error())
	}
}

// fail says that results are lost, and asks k6 to exit with an error while it still may.
func (r *recording) fail(err error) {
	r.mu.Lock()
	logger, status := r.logger, r.status
	r.mu.Unlock()
	if logger != nil {
		logger.Error(err.Error())
	}
	if status != nil {
		status.MarkFailed()
	}
}

// wanted tells whether this run is to leave a record; the caller holds the lock. k6 inspect and k6 archive run the init
// code and no test: they leave no record, nor take the place of one.
func (r *recording) wanted() bool { return r.config != nil && r.begun && r.unwritable == nil }

// attach follows the run's events, once for the process. Where a host has no events (in module tests) the recording
// begins and ends with what calls it.
func (r *recording) attach(vu modules.VU) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attached {
		return
	}
	r.attached = true
	r.logger = vu.InitEnv().Logger
	if pre := vu.InitEnv().TestPreInitState; pre != nil {
		r.status = pre.TestStatus
	}
	follow(vu.Events(), r)
}

func follow(events common.Events, r *recording) {
	global := events.Global
	if global == nil || reflect.ValueOf(global).Kind() == reflect.Pointer && reflect.ValueOf(global).IsNil() {
		return
	}
	r.deferred = true
	_, ch := global.Subscribe(eventTestStart, eventTestEnd, eventExit)
	go func() {
		for e := range ch {
			switch e.Type {
			case eventTestStart:
				r.start()
			case eventTestEnd:
				r.testOver()
				r.rehearse()
			case eventExit:
				r.end(exitError(e.Data))
			}
			e.Done()
		}
	}()
}

// exitError reads the field Error of k6's exit data, whose type is internal.
func exitError(data any) error {
	v := reflect.ValueOf(data)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	f := v.FieldByName("Error")
	if !f.IsValid() || !f.CanInterface() {
		return nil
	}
	err, _ := f.Interface().(error)
	return err
}

// start begins the recorder's own watch over the generator, and notes signals, which k6 does not pass on.
func (r *recording) start() {
	r.recorder.Start(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
	if r.config != nil && r.spare == nil {
		r.spare = spareFiles()
	}
	if r.signals != nil {
		return
	}
	r.prepareFolder()
	ch, done := make(chan os.Signal, 1), make(chan struct{})
	r.signals, r.watched = ch, done
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer close(done)
		if s, ok := <-ch; ok {
			r.interrupted(s)
		}
	}()
}

// interrupted notes the signal that ends the test.
func (r *recording) interrupted(s os.Signal) {
	name := "SIGTERM"
	if s == syscall.SIGINT {
		name = "SIGINT"
	}
	r.mu.Lock()
	r.signaled = true
	r.mu.Unlock()
	r.recorder.SetEndedBy(name)
}

// testOver ends the watch for signals: iterations and teardown are done. What k6 was sent before is noted when it
// returns, however soon the test ended over it.
func (r *recording) testOver() {
	r.mu.Lock()
	signals := r.signals
	r.signals = nil
	if signals != nil {
		r.late = make(chan os.Signal, 1)
		signal.Notify(r.late, syscall.SIGINT, syscall.SIGTERM)
	}
	r.mu.Unlock()
	if signals != nil {
		r.recorder.End()
		signal.Stop(signals) // waits for signals on their way
		close(signals)
		<-r.watched
	}
}

// problem tells why this run will leave no record, or nil: known from the start of the test on, before setup().
func (r *recording) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unwritable
}

// prepareFolder finds out before the load whether the record can be written after it, and takes the folder for this run
// alone. A run whose results would be lost, or would take the place of another's, is marked as failed at once.
func (r *recording) prepareFolder() {
	if r.config == nil {
		return
	}
	err := os.MkdirAll(r.config.dir, 0o750)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(r.config.dir, ".probe-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err == nil {
		r.claim, err = recorder.ClaimFolder(r.config.dir)
	}
	if err != nil {
		r.unwritable = fmt.Errorf("this run will leave no record: %s can't be written to: %w", r.config.dir, err)
		if errors.Is(err, recorder.ErrClaimed) {
			r.unwritable = fmt.Errorf("this run will leave no record: %w; wait for it to end, or name another folder (option dir of record(), RESULTS_DIR of the shipped scenarios)", err)
		}
		r.recorder.SetPartialPath("")
		r.logger.Error(r.unwritable.Error())
		if r.status != nil {
			r.status.MarkFailed()
		}
	}
}

// end writes the record if the script asked for one, and stops what start began.
func (r *recording) end(err error) {
	r.testOver() // for hosts without events
	r.mu.Lock()
	if r.late != nil {
		signal.Stop(r.late)
		r.late = nil
	}
	spare := r.spare
	r.spare = nil
	claim := r.claim
	r.claim = nil
	signaled := r.signaled
	wanted := r.wanted()
	r.mu.Unlock()
	if endedEarly(err) && !signaled {
		r.recorder.SetEndedBy(firstLine(err.Error()))
	}
	closeAll(spare)
	if wanted {
		if err := r.save(); err != nil {
			r.fail(err)
		}
	}
	if err := r.recorder.Close(); err != nil {
		r.warn(fmt.Errorf("the recorder could not be closed: %w", err))
	}
	if claim != nil {
		if err := claim.Release(); err != nil {
			r.warn(fmt.Errorf("the results folder could not be given back: %w", err))
		}
	}
}

// spareFiles opens as many files as writing a record and its reports takes at once. None is no reason to end a run.
func spareFiles() []*os.File {
	const most = 4
	var files []*os.File
	for range most {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		files = append(files, f)
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // read only
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (r *recording) processesLimited() { r.recorder.SetMaxProcessesChosen() }

// noteFailure keeps an eye on failures that are the generator's own.
func (r *recording) noteFailure(e *wire.Error) {
	if (e.Kind == wire.KindConnect || e.Kind == wire.KindSpawnFailed) && strings.Contains(e.Message, "open files") {
		r.recorder.NoteFDExhausted()
	}
}

// paths of what a recording writes below its folder.
func (c *recordConfig) path(name string) string { return filepath.Join(c.dir, name) }

// sawScenario notes the scenario that an operation belongs to, and whether its samples say so.
func (r *recording) sawScenario(ctx context.Context, state *lib.State) {
	s := lib.GetScenarioState(ctx)
	if s == nil {
		return
	}
	r.seen.LoadOrStore(s.Name, s.Executor)
	if !state.Options.SystemTags.Has(metrics.TagScenario) && !r.untagged.Swap(true) {
		r.mu.Lock()
		configured := r.config != nil
		r.mu.Unlock()
		if configured {
			state.Logger.Warn("the record will not tell the scenarios' iterations apart: k6's option systemTags leaves out the tag scenario, by which k6 counts them")
		}
	}
}
