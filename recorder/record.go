package recorder

import "time"

// Schema is the identifier of the record's format. It changes when a field changes its meaning or goes away; new
// fields alone don't change it.
const Schema = "xk6-omnigraph/record/1"

// Verdict says how far a run's figures may be trusted.
type Verdict string

// The verdicts, from best to worst.
const (
	Valid       Verdict = "valid"       // figures and comparisons hold
	Directional Verdict = "directional" // shows a direction; absolute figures are not to be quoted
	Invalid     Verdict = "invalid"     // nothing in it is a result
)

// Record is what one run measured: the document that reports, comparisons and plans are made of. It is written once
// and never edited. The names of its fields are a published contract (docs/record.schema.json). A pointer that is
// nil (null in JSON) means "not known" or "too few samples", never zero.
type Record struct {
	Schema     string     `json:"schema"`
	Invocation Invocation `json:"invocation"`
	Run        Run        `json:"run"`
	System     System     `json:"system"`
	Machine    Machine    `json:"machine"`
	Generator  Generator  `json:"generator"`
	Script     Script     `json:"script"`
	Dataset    Dataset    `json:"dataset"`
	// Emulator is set if the system under test was the emulator: its figures are a model's, not a measurement.
	Emulator *Emulator `json:"emulator,omitempty"`

	Verdict Verdict  `json:"verdict"`
	Reasons []Reason `json:"reasons"`
	Limits  Limits   `json:"limits"`

	Scenarios []Scenario   `json:"scenarios"`
	Cells     []CellRecord `json:"cells"`
	Pairs     []PairRecord `json:"pairs"`
	Events    []Event      `json:"events"`

	StateBefore *State `json:"state_before"`
	StateAfter  *State `json:"state_after"`

	// Extra holds what a script's own report section needs, by section name.
	Extra map[string]any `json:"extra,omitempty"`
	// MergedFrom lists the invocations that a merged record was made of.
	MergedFrom []Invocation `json:"merged_from,omitempty"`
	// Generators holds the generators of a merged record; Generator is then the worst of each figure.
	Generators []Generator `json:"generators,omitempty"`
}

// Invocation identifies one run of one generator.
type Invocation struct {
	ID        string    `json:"id"`
	Session   string    `json:"session,omitempty"` // shared by runs that belong together, such as generators of one test
	Segment   string    `json:"segment,omitempty"` // the execution segment this generator had
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	DurationS float64   `json:"duration_s"`
	// EndedBy says what ended the run before its time ("SIGINT", "test.abort: …"); empty after a regular end.
	EndedBy string `json:"ended_by,omitempty"`
	// Partial is true for a record recovered from a run that was killed.
	Partial bool `json:"partial,omitempty"`
}

// System is what is under test.
type System struct {
	Server     string            `json:"server"` // version, empty if not known
	CLI        string            `json:"cli"`
	APIVersion string            `json:"api_version,omitempty"`
	Build      string            `json:"build,omitempty"` // "release" or "debug", empty if not known
	Backend    string            `json:"backend,omitempty"`
	Config     map[string]string `json:"config,omitempty"`
}

// Machine is where the generator ran.
type Machine struct {
	CPUModel    string `json:"cpu_model"`
	CPUs        int    `json:"cpus"`
	MemoryBytes uint64 `json:"memory_bytes"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel"`
}

// Generator is the load generator's identity and how it fared.
type Generator struct {
	K6        string `json:"k6"`
	Extension string `json:"extension"`
	Go        string `json:"go"`

	Ticks         uint64   `json:"ticks"`                 // of the recorder's own ticker
	TickerLagP99  *float64 `json:"ticker_lag_p99_ms"`     // how late the ticker fired
	GCShare       *float64 `json:"gc_share"`              // CPU spent on collecting garbage, of wall time x processors
	MachineCPU    *float64 `json:"machine_cpu_share"`     // busy share of all CPUs
	MachineCPUP95 *float64 `json:"machine_cpu_p95_share"` // 95th percentile of the busy share over the run's seconds
	OwnCPU        *float64 `json:"own_cpu_cores"`         // CPU seconds per second of the generator itself
	PeakRSSBytes  uint64   `json:"peak_rss_bytes"`
	PeakFDs       int      `json:"peak_fds"`
	FDLimit       int      `json:"fd_limit"`
	FDExhausted   bool     `json:"fd_exhausted"`

	// MaxProcessesSet tells whether the script chose the number of CLI processes: then queueing for them is meant.
	MaxProcessesSet bool             `json:"max_processes_set"`
	Queues          map[string]Queue `json:"queues"`
}

// Queue is what operations waited for on the generator's side.
type Queue struct {
	N     uint64   `json:"n"`
	P50MS *float64 `json:"p50_ms"`
	P99MS *float64 `json:"p99_ms"`
	SumS  float64  `json:"sum_s"`
}

// Script identifies the script.
type Script struct {
	Path    string         `json:"path"`
	SHA256  string         `json:"sha256"`
	Options map[string]any `json:"options"`
}

// Dataset identifies the data that the store was built from.
type Dataset struct {
	Builder    string            `json:"builder,omitempty"`
	Seed       string            `json:"seed,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	SHA256     string            `json:"sha256,omitempty"`
}

// Emulator names the cost model behind an emulator's figures.
type Emulator struct {
	CostModel string `json:"cost_model"`
	Version   string `json:"version,omitempty"`
}

// Limits are the rules that the verdict was found by.
type Limits struct {
	OnTimeShare   float64 `json:"on_time_share"`     // at least this share of iterations starts on time
	TickerLagMS   float64 `json:"ticker_lag_ms"`     // at p99
	GCShare       float64 `json:"gc_share"`          //
	MachineCPU    float64 `json:"machine_cpu_share"` // above: shared_machine
	ErrorShare    float64 `json:"error_share"`       // failed operations of a cell
	NoiseFloor    float64 `json:"noise_floor"`       // relative; 0 if no A/A run came with it
	Margin        float64 `json:"margin"`            // relative; an effect counts above floor + margin
	Resamples     int     `json:"resamples"`
	Seed          uint64  `json:"seed"`
	Method        string  `json:"method"`          // of the intervals
	RawPerCell    int     `json:"raw_per_cell"`    // bound of the reservoirs
	RawPerPairing int     `json:"raw_per_pairing"` //
}

// Scenario tells whether a scenario kept its schedule.
type Scenario struct {
	Name     string `json:"name"`
	Executor string `json:"executor,omitempty"`
	// Model is "open" for arrival-rate executors, "closed" for the others, "unknown" without an executor.
	Model string `json:"model"`
	// Started and Dropped count iterations. Both are known from the summary's data alone, and only where a threshold
	// asks for the scenario's own count: iterations{scenario:NAME}, dropped_iterations{scenario:NAME}.
	Started     *int64   `json:"started"`
	Dropped     *int64   `json:"dropped"`
	OnTimeShare *float64 `json:"on_time_share"`
	// Probe is true for a scenario that goes beyond the capacity on purpose: that it breaks its schedule, or that
	// its operations fail, is what it was made to find out and no fault of the run.
	Probe bool `json:"probe,omitempty"`
}

// CellRecord is one cell's figures. Percentiles and rates are of successful operations.
type CellRecord struct {
	Scenario  string   `json:"scenario"`
	Variant   string   `json:"variant"`
	Transport string   `json:"transport"`
	Op        string   `json:"op"`
	Query     string   `json:"query"`
	Workers   *int     `json:"workers"`
	Rate      *float64 `json:"rate"`
	Phase     *string  `json:"phase"`

	N        uint64            `json:"n"` // succeeded
	Failed   uint64            `json:"failed"`
	Canceled uint64            `json:"canceled"`
	Errors   map[string]uint64 `json:"errors"`
	// Messages are the first few distinct messages of each error kind.
	Messages map[string][]string `json:"messages,omitempty"`

	P50   *float64  `json:"p50_ms"`
	P50CI *Interval `json:"p50_ci_ms"`
	P95   *float64  `json:"p95_ms"`
	P95CI *Interval `json:"p95_ci_ms"`
	P99   *float64  `json:"p99_ms"`
	P99CI *Interval `json:"p99_ci_ms"`
	// Notes say why a figure is missing.
	Notes []string `json:"notes,omitempty"`
	// Directional is true where the sample is too small for a p95.
	Directional bool `json:"directional"`

	// DroppedShare is the share of the scenario's iterations that never started; the percentiles below count
	// each as infinitely slow, and are null where that makes them infinite.
	DroppedShare *float64 `json:"dropped_share"`
	P50DropAware *float64 `json:"p50_drop_aware_ms"`
	P95DropAware *float64 `json:"p95_drop_aware_ms"`
	P99DropAware *float64 `json:"p99_drop_aware_ms"`

	OpsPerS  *float64 `json:"ops_per_s"`
	SpanS    float64  `json:"span_s"`  // from the first operation's start to the last one's end
	StartS   float64  `json:"start_s"` // the span's begin, since the start of the run
	BusyS    float64  `json:"busy_s"`  // sum of the durations
	Attempts uint64   `json:"attempts"`
	Retries  uint64   `json:"retries"`
	Rows     uint64   `json:"rows"` // returned by queries, stored queries and exports
	Nodes    uint64   `json:"affected_nodes"`
	Edges    uint64   `json:"affected_edges"`
	Over     uint64   `json:"over_an_hour"` // operations counted as one hour

	Decomposition *Decomposition `json:"decomposition,omitempty"`

	// Histogram is HdrHistogram's V2 compressed encoding in base64, in microseconds. Empty without a success.
	Histogram        string `json:"histogram"`
	AttemptHistogram string `json:"attempt_histogram,omitempty"`
	// Raw holds a bounded uniform sample of the successes, one row set for each repetition.
	Raw []RawRows `json:"raw,omitempty"`
}

// RawRows are raw values of one repetition.
type RawRows struct {
	Repetition string `json:"repetition"` // the invocation's id
	Of         uint64 `json:"of"`         // how many values there were
	// AtS and MS are columns: when an operation ended, in seconds since the start of the run, and how long it took.
	AtS []float64 `json:"at_s"`
	MS  []float64 `json:"ms"`
}

// Decomposition splits the wall time of a cell's operations into parts.
type Decomposition struct {
	N      uint64       `json:"n"`
	WallMS float64      `json:"wall_ms"` // mean wall time; parts and residual add up to it
	Parts  []PartRecord `json:"parts"`
}

// PartRecord is one part's mean. The last part is named "residual".
type PartRecord struct {
	Part   string    `json:"part"`
	MeanMS float64   `json:"mean_ms"`
	MeanCI *Interval `json:"mean_ci_ms"`
	Share  *float64  `json:"share"`
}

// PairRecord is one paired comparison.
type PairRecord struct {
	Scenario string  `json:"scenario"`
	Op       string  `json:"op"`
	Query    string  `json:"query"`
	Workers  *int    `json:"workers"`
	Phase    *string `json:"phase"`
	A        string  `json:"a"`
	B        string  `json:"b"`

	N      uint64 `json:"n"`
	Failed uint64 `json:"failed"`

	MedianDiff   *float64  `json:"median_diff_ms"`
	MedianDiffCI *Interval `json:"median_diff_ci_ms"`
	// Share is (p50 of A - p50 of B) / p50 of A over the pairs.
	Share   *float64  `json:"share"`
	ShareCI *Interval `json:"share_ci"`
	// OrderEffectP is the p value of the test that it made no difference which variant went first.
	OrderEffectP *float64 `json:"order_effect_p"`
	Notes        []string `json:"notes,omitempty"`

	Raw []RawPairs `json:"raw,omitempty"`
}

// RawPairs are raw pairs of one repetition, as columns.
type RawPairs struct {
	Repetition string    `json:"repetition"`
	Of         uint64    `json:"of"`
	AtS        []float64 `json:"at_s"`
	A          []float64 `json:"a_ms"`
	B          []float64 `json:"b_ms"`
	FirstA     []bool    `json:"first_a"`
}

// Event is something that happened to the store or the run at one moment, such as an optimize or an outage.
type Event struct {
	AtS  float64 `json:"at_s"`
	Kind string  `json:"kind"`
	Text string  `json:"text"`
	// DurationS is 0 for a moment.
	DurationS float64 `json:"duration_s,omitempty"`
}

// State is what the store held at one moment.
type State struct {
	Rows    map[string]int64 `json:"rows"`
	Commits *int64           `json:"commits"`
	// CommitsSinceOptimize counts the commits after the last one made by the system itself.
	CommitsSinceOptimize *int64 `json:"commits_since_optimize,omitempty"`
	DataFiles            *int64 `json:"data_files"`
}
