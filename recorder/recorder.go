package recorder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultMaxRaw     = 1000
	defaultMaxPairs   = 2000
	defaultFlushEvery = 5 * time.Second
	maxEvents         = 1000
)

// Config sets a recorder up. Its zero value is usable: nothing is written to disk until [Record.Write].
type Config struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// MaxRaw bounds the raw values kept for each cell, MaxPairs the raw pairs of each comparison. 0 stands for
	// 1,000 and 2,000.
	MaxRaw, MaxPairs int
	// PartialPath is where the values so far are flushed to, for the case that the process is killed. Empty: none.
	// The file is removed by [Recorder.Close].
	PartialPath string
	// FlushEvery is the time between two flushes; 0 stands for five seconds.
	FlushEvery time.Duration
	// Session is shared by runs that belong together, Segment is this generator's part of the load.
	Session, Segment string
	// Limits replaces [DefaultLimits] where a field is not zero.
	Limits Limits
	// Warn is told once of each problem that does not end the run, such as a partial file that can't be written.
	Warn func(error)
}

// Recorder collects what a whole process measures. It is safe for concurrent use by any number of VUs.
type Recorder struct {
	cfg   Config
	id    string
	now   func() time.Time
	start atomic.Pointer[time.Time] // set anew by Start, while VUs may record already
	ended atomic.Pointer[time.Time] // nil until End

	mu        sync.RWMutex
	cells     map[CellKey]*Cell
	pairs     map[PairKey]*Pair
	events    []Event
	meta      meta
	scenarios map[string]Scenario
	queues    [queueCount]histogram

	health  health
	running sync.WaitGroup
	started bool
	stop    context.CancelFunc
	warned  map[string]bool
	flushed atomic.Bool
}

// meta is what a run says about itself.
type meta struct {
	run             Run
	system          System
	generator       Generator
	script          Script
	dataset         Dataset
	emulator        *Emulator
	before, after   *State
	extra           map[string]any
	endedBy         string
	maxProcessesSet bool
	fdExhausted     bool
	floor           float64
	probes          map[string]bool
}

// QueueKind names what an operation waited for on the generator's side.
type QueueKind uint8

// The queues on the generator's side.
const (
	QueueProcessSlot QueueKind = iota // a free CLI process slot (maxProcesses)
	QueueSharedPool                   // a connection of the shared pool (maxConnections)
	QueueRPSLimit                     // k6's rps option
	queueCount
)

// String gives the queue's name as it stands in a record.
func (q QueueKind) String() string {
	switch q {
	case QueueProcessSlot:
		return "process_slot"
	case QueueSharedPool:
		return "shared_pool"
	case QueueRPSLimit:
		return "rps_limit"
	default:
		return "unknown"
	}
}

// New makes a recorder. It starts no goroutine and does no I/O: [Recorder.Start] does.
func New(cfg Config) *Recorder {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxRaw <= 0 {
		cfg.MaxRaw = defaultMaxRaw
	}
	if cfg.MaxPairs <= 0 {
		cfg.MaxPairs = defaultMaxPairs
	}
	if cfg.FlushEvery <= 0 {
		cfg.FlushEvery = defaultFlushEvery
	}
	r := &Recorder{
		cfg:       cfg,
		id:        newID(),
		now:       cfg.Now,
		cells:     map[CellKey]*Cell{},
		pairs:     map[PairKey]*Pair{},
		scenarios: map[string]Scenario{},
		warned:    map[string]bool{},
	}
	r.begin()
	return r
}

// begin makes this moment the start of the run.
func (r *Recorder) begin() {
	start := r.now()
	r.start.Store(&start)
}

// End makes this moment the end of the run: k6's summary, or a wait of its option --linger, is no part of it. Calls after
// the first do nothing.
func (r *Recorder) End() {
	now := r.now()
	r.ended.CompareAndSwap(nil, &now)
}

func newID() string {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Sprintf("t%d", time.Now().UnixNano())
	}
	return hex.EncodeToString(b[:])
}

// ID identifies this run of this generator.
func (r *Recorder) ID() string { return r.id }

// Start sets the start of the run and begins to watch the generator's own health and to flush the partial file,
// until ctx ends or [Recorder.Close] is called. Calls after the first do nothing.
func (r *Recorder) Start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return
	}
	r.started = true
	r.begin()
	ctx, r.stop = context.WithCancel(ctx)
	r.health.begin()
	r.running.Go(func() { r.health.watch(ctx) })
	r.running.Go(func() { r.flushLoop(ctx) })
}

// SetPartialPath names the partial file, for a caller that learns its place only after [New]. See
// [Config.PartialPath].
func (r *Recorder) SetPartialPath(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg.PartialPath = path
}

func (r *Recorder) partialPath() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.cfg.PartialPath
}

// SetSession names what this run shares with runs that belong to it, and which execution segment it has of the load.
// See [Config.Session].
func (r *Recorder) SetSession(session, segment string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg.Session, r.cfg.Segment = session, segment
}

// SetLimits replaces the limits that the verdict is found by, where a field is not zero.
func (r *Recorder) SetLimits(l Limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg.Limits = l
}

// Close ends what [Recorder.Start] began, waits for it, and removes the partial file: call it once the record is
// written. It may be called more than once.
func (r *Recorder) Close() error {
	r.halt()
	return r.removePartial()
}

func (r *Recorder) halt() {
	r.mu.RLock()
	stop := r.stop
	r.mu.RUnlock()
	if stop != nil {
		stop()
	}
	r.running.Wait()
}

// since is the time since the start of the run.
func (r *Recorder) since() time.Duration { return r.now().Sub(*r.start.Load()) }

// Cell looks up the cell of a key, and makes it if it is new. Look a cell up once and keep it: the lookup takes a
// lock and hashes the key.
func (r *Recorder) Cell(key CellKey) *Cell {
	r.mu.RLock()
	c := r.cells[key]
	r.mu.RUnlock()
	if c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c = r.cells[key]; c == nil {
		c = &Cell{key: key, clock: r.since, bound: r.cfg.MaxRaw, errors: map[string]uint64{}}
		r.cells[key] = c
	}
	return c
}

// Pair looks up the paired comparison of a key, and makes it if it is new. Look it up once and keep it.
func (r *Recorder) Pair(key PairKey) *Pair {
	r.mu.RLock()
	p := r.pairs[key]
	r.mu.RUnlock()
	if p != nil {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p = r.pairs[key]; p == nil {
		p = &Pair{key: key, clock: r.since, bound: r.cfg.MaxPairs}
		r.pairs[key] = p
	}
	return p
}

// Queued counts what one operation waited on the generator's side. Call it for operations that did wait.
func (r *Recorder) Queued(kind QueueKind, d time.Duration) {
	if kind < queueCount {
		r.queues[kind].record(d)
	}
}

// Event notes something that happened just now and took d (0 for a moment): an optimize, an outage. The first 1,000
// are kept.
func (r *Recorder) Event(kind, text string, d time.Duration) {
	at := r.since() - d
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) < maxEvents {
		r.events = append(r.events, Event{
			AtS: at.Seconds(), Kind: kind, Text: text, DurationS: d.Seconds(),
		})
	}
}

// SetRun describes the run. The point name is computed; a factor that does not exist is an error.
func (r *Recorder) SetRun(run Run) error {
	if err := run.complete(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.run = run
	return nil
}

// SetSystem names the system under test. Fields left empty keep what an earlier call said.
func (r *Recorder) SetSystem(s System) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := &r.meta.system
	keep(&have.Server, s.Server)
	keep(&have.CLI, s.CLI)
	keep(&have.APIVersion, s.APIVersion)
	keep(&have.Build, s.Build)
	keep(&have.Backend, s.Backend)
	if len(s.Config) > 0 {
		if have.Config == nil {
			have.Config = map[string]string{}
		}
		maps.Copy(have.Config, s.Config)
	}
}

func keep(have *string, now string) {
	if now != "" {
		*have = now
	}
}

// SetVersions names the k6 and the extension that made the load.
func (r *Recorder) SetVersions(k6, extension string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.generator.K6, r.meta.generator.Extension = k6, extension
}

// SetScript identifies the script and its options.
func (r *Recorder) SetScript(s Script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.script = s
}

// SetDataset identifies the data that the store was built from.
func (r *Recorder) SetDataset(d Dataset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.dataset = d
}

// SetEmulator labels the run: what answered was the emulator with the given cost model.
func (r *Recorder) SetEmulator(e Emulator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.emulator = &e
}

// SetStateBefore and SetStateAfter hold what the store held before and after the measurement. The first state before
// and the last state after are kept.
func (r *Recorder) SetStateBefore(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.meta.before == nil {
		r.meta.before = &s
	}
}

// SetStateAfter sets the store's state after the measurement; the last call counts.
func (r *Recorder) SetStateAfter(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.after = &s
}

// SetExtra stores a JSON value for a script's own report section.
func (r *Recorder) SetExtra(section string, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.meta.extra == nil {
		r.meta.extra = map[string]any{}
	}
	r.meta.extra[section] = value
}

// SetMaxProcessesChosen notes that the script itself set maxProcesses: queueing for processes is then meant.
func (r *Recorder) SetMaxProcessesChosen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.maxProcessesSet = true
}

// SetNoiseFloor sets the relative A/A noise floor that an A/A run found, such as 0.02.
func (r *Recorder) SetNoiseFloor(share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.floor = share
}

// NoteFDExhausted notes that an operation failed for want of a file descriptor.
func (r *Recorder) NoteFDExhausted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.fdExhausted = true
}

// SetProbes names the scenarios that go beyond the capacity on purpose: see [Scenario.Probe].
func (r *Recorder) SetProbes(scenarios []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.probes = make(map[string]bool, len(scenarios))
	for _, name := range scenarios {
		r.meta.probes[name] = true
	}
}

// SetScenario says what became of a scenario's schedule. Nil counts are not known; the on-time share is computed.
func (r *Recorder) SetScenario(s Scenario) {
	s.Model = model(s.Executor)
	s.OnTimeShare = onTimeShare(s.Started, s.Dropped)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Probe = r.meta.probes[s.Name]
	r.scenarios[s.Name] = s
}

func model(executor string) string {
	switch executor {
	case "":
		return "unknown"
	case "constant-arrival-rate", "ramping-arrival-rate":
		return "open"
	default:
		return "closed"
	}
}

func onTimeShare(started, dropped *int64) *float64 {
	if started == nil && dropped != nil && *dropped == 0 {
		kept := 1.0 // of however many
		return &kept
	}
	if started == nil || dropped == nil || *started+*dropped <= 0 {
		return nil
	}
	share := float64(*started) / float64(*started+*dropped)
	return &share
}

// SetEndedBy says what ended the run before its time, such as "SIGINT" or "test.abort: too slow".
func (r *Recorder) SetEndedBy(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.endedBy = reason
}
