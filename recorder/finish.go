package recorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mitodl/xk6-omnigraph/analysis"
)

// Interval is a 95 % confidence interval, lower bound first.
type Interval = analysis.Interval

// Finish ends the watching and makes the record of everything so far: figures, verdict and reasons. The recorder can
// still be recorded into; a later Finish gives a later record.
func (r *Recorder) Finish() (*Record, error) {
	r.halt()
	rec, err := r.collect()
	if err != nil {
		return nil, err
	}
	if err := rec.compute(); err != nil {
		return nil, err
	}
	return rec, nil
}

// collect makes a record of what was counted, without what is computed from it, and without stopping anything.
func (r *Recorder) collect() (*Record, error) {
	r.mu.RLock()
	m := r.meta
	m.system.Config = maps.Clone(m.system.Config)
	m.extra = maps.Clone(m.extra)
	events := slices.Clone(r.events)
	cells := slices.Collect(maps.Values(r.cells))
	pairs := slices.Collect(maps.Values(r.pairs))
	scenarios := slices.Collect(maps.Values(r.scenarios))
	start, cfg := *r.start.Load(), r.cfg
	r.mu.RUnlock()

	end := r.now()
	if ended := r.ended.Load(); ended != nil {
		end = *ended
	}
	took := max(end.Sub(start), 0)
	rec := &Record{
		Schema: Schema,
		Invocation: Invocation{
			ID: r.id, Session: cfg.Session, Segment: cfg.Segment,
			// Not the wall clock's time of the end: that clock may have been set meanwhile.
			Start: start.UTC(), End: start.Add(took).UTC(), DurationS: took.Seconds(), EndedBy: m.endedBy,
		},
		Run: m.run, System: m.system, Machine: thisMachine(), Generator: m.generator, Script: m.script,
		Dataset: m.dataset, Emulator: m.emulator, Extra: m.extra,
		Limits: cfg.Limits.withDefaults(), Scenarios: scenarios, Events: events,
		Cells: []CellRecord{}, Pairs: []PairRecord{},
		StateBefore: m.before, StateAfter: m.after,
	}
	rec.Limits.RawPerCell, rec.Limits.RawPerPairing = cfg.MaxRaw, cfg.MaxPairs
	if m.floor > 0 {
		rec.Limits.NoiseFloor = m.floor
	}
	rec.labelEmulator()
	if err := rec.Run.complete(); err != nil {
		return nil, err
	}
	if err := rec.plainExtra(); err != nil {
		return nil, err
	}
	if err := r.fillGenerator(rec, m); err != nil {
		return nil, err
	}
	for _, c := range cells {
		cr, err := c.record(r.id)
		if err != nil {
			return nil, fmt.Errorf("cell %+v: %w", c.key, err)
		}
		rec.Cells = append(rec.Cells, cr)
	}
	for _, p := range pairs {
		rec.Pairs = append(rec.Pairs, p.record(r.id))
	}
	return rec, nil
}

// labelEmulator labels a run whose script declares an emulator's version, though nothing that answered was seen to be one.
func (rec *Record) labelEmulator() {
	if rec.Emulator != nil {
		return
	}
	for _, version := range []string{rec.System.Server, rec.System.CLI} {
		if strings.Contains(version, emulatorMark) {
			rec.Emulator = &Emulator{CostModel: unknownLevel, Version: version}
		}
	}
}

// plainExtra turns what scripts stored into what reading the record would give: a report must not depend on whether it
// is made in the run's own process.
func (rec *Record) plainExtra() error {
	for section, v := range rec.Extra {
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("extra section %q is no JSON: %w", section, err)
		}
		var plain any
		if err := json.Unmarshal(data, &plain); err != nil {
			return fmt.Errorf("extra section %q: %w", section, err)
		}
		rec.Extra[section] = plain
	}
	return nil
}

func (r *Recorder) fillGenerator(rec *Record, m meta) error {
	g := &rec.Generator
	if err := r.health.fill(g); err != nil {
		return err
	}
	g.MaxProcessesSet = m.maxProcessesSet
	g.FDExhausted = m.fdExhausted
	g.Queues = map[string]Queue{}
	for k := range r.queues {
		q := &r.queues[k]
		n := q.n.Load()
		if n == 0 {
			continue
		}
		hdr, err := q.export()
		if err != nil {
			return err
		}
		p50, p99 := msOf(hdr.ValueAtQuantile(50)), msOf(hdr.ValueAtQuantile(99))
		g.Queues[QueueKind(k).String()] = Queue{ // #nosec G115 -- k counts the few kinds
			N: n, P50MS: &p50, P99MS: &p99, SumS: float64(q.micros.Load()) / 1e6,
		}
	}
	return nil
}

func msOf(micros int64) float64 { return float64(micros) / 1000 }

// record gives the counted part of a cell; its percentiles are computed from that by [Record.compute].
func (c *Cell) record(repetition string) (CellRecord, error) {
	k := c.key
	cr := CellRecord{
		Scenario: k.Scenario, Variant: k.Variant, Transport: k.Transport, Op: k.Op, Query: k.Query,
		Workers: notZero(k.Workers), Rate: notZero(k.Rate), Phase: notZero(k.Phase),
		Failed: c.failed.Load(), Canceled: c.canceled.Load(),
		Attempts: c.attempts.Load(), Retries: c.retries.Load(), Rows: c.rows.Load(),
		Nodes: c.nodes.Load(), Edges: c.edges.Load(), Over: c.ok.over.Load(),
	}
	if first := c.first.Load(); first > 0 {
		start := time.Duration(first - 1)
		cr.StartS = start.Seconds()
		cr.SpanS = max(time.Duration(c.last.Load())-start, 0).Seconds()
	}
	hdr, err := c.ok.export()
	if err != nil {
		return cr, err
	}
	cr.N = uint64(hdr.TotalCount()) // #nosec G115 -- a count
	cr.BusyS = float64(c.ok.micros.Load()) / 1e6
	if cr.Histogram, err = encode(hdr); err != nil {
		return cr, err
	}
	attempts, err := c.attempt.export()
	if err != nil {
		return cr, err
	}
	if cr.AttemptHistogram, err = encode(attempts); err != nil {
		return cr, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cr.Errors = maps.Clone(c.errors)
	cr.Messages = maps.Clone(c.messages)
	if len(c.raw) > 0 && k.Phase != PhaseWarmup {
		rows := RawRows{Repetition: repetition, Of: cr.N}
		for _, v := range c.raw {
			rows.AtS = append(rows.AtS, round(v.at.Seconds(), 1e3))
			rows.MS = append(rows.MS, round(float64(v.took)/1e6, 1e3))
		}
		cr.Raw = []RawRows{rows}
	}
	cr.Decomposition = c.decomposition()
	return cr, nil
}

// PhaseWarmup and PhaseMeasure are the phases that levels() sets; reports leave the warm-up out.
const (
	PhaseWarmup  = "warmup"
	PhaseMeasure = "measure"
)

func notZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func round(v, scale float64) float64 { return math.Round(v*scale) / scale }

func encode(hdr *hdrhistogram.Histogram) (string, error) {
	if hdr.TotalCount() == 0 {
		return "", nil
	}
	b, err := hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}

// decomposition gives the means of the parts; the caller holds the lock.
func (c *Cell) decomposition() *Decomposition {
	if c.whole.n == 0 {
		return nil
	}
	d := &Decomposition{N: c.whole.n, WallMS: c.whole.sum / float64(c.whole.n) * 1e3}
	left := d.WallMS
	for i, m := range c.parts {
		if m.sum == 0 {
			continue
		}
		p := m.part(Part(i).String(), d.WallMS) // #nosec G115 -- i counts the few parts
		left -= p.MeanMS
		d.Parts = append(d.Parts, p)
	}
	residual := PartRecord{Part: PartResidual, MeanMS: left}
	if d.WallMS > 0 {
		residual.Share = notNaN(left / d.WallMS)
	}
	d.Parts = append(d.Parts, residual)
	return d
}

// PartResidual names what the known parts leave of the wall time.
const PartResidual = "residual"

// PartNames lists the parts' names in the order in which an operation goes through them, the residual last.
func PartNames() []string {
	names := make([]string, 0, partCount+1)
	for p := range partCount {
		names = append(names, p.String())
	}
	return append(names, PartResidual)
}

// part gives a part's mean with the normal approximation's interval: parts are reported as means because means, and
// not medians, add up to the whole.
func (m moments) part(name string, wallMS float64) PartRecord {
	n := float64(m.n)
	mean := m.sum / n
	p := PartRecord{Part: name, MeanMS: mean * 1e3}
	if wallMS > 0 {
		p.Share = notNaN(p.MeanMS / wallMS)
	}
	if m.n >= analysis.MinP50CI {
		variance := max(m.sq2/n-mean*mean, 0) * n / (n - 1)
		half := 1.96 * math.Sqrt(variance/n) * 1e3
		p.MeanCI = &Interval{p.MeanMS - half, p.MeanMS + half}
	}
	return p
}

func notNaN(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (p *Pair) record(repetition string) PairRecord {
	k := p.key
	p.mu.Lock()
	defer p.mu.Unlock()
	pr := PairRecord{
		Scenario: k.Scenario, Op: k.Op, Query: k.Query, Workers: notZero(k.Workers), Phase: notZero(k.Phase),
		A: k.A, B: k.B, N: p.n, Failed: p.failed,
	}
	if len(p.raw) == 0 {
		return pr
	}
	rows := RawPairs{Repetition: repetition, Of: p.n}
	for _, v := range p.raw {
		rows.AtS = append(rows.AtS, round(v.at.Seconds(), 1e3))
		rows.A = append(rows.A, round(v.a, 1e3))
		rows.B = append(rows.B, round(v.b, 1e3))
		rows.FirstA = append(rows.FirstA, v.firstA)
	}
	pr.Raw = []RawPairs{rows}
	return pr
}

// compute derives everything that follows from the counted parts: percentiles, intervals, shares, verdict. A merged
// record goes through it again.
func (rec *Record) compute() error {
	boot := analysis.Bootstrap{Resamples: rec.Limits.Resamples, Seed: rec.Limits.Seed}
	rec.Limits.Method = boot.Method()
	dropped := map[string]*float64{}
	for _, s := range rec.Scenarios {
		if s.OnTimeShare != nil {
			share := 1 - *s.OnTimeShare
			dropped[s.Name] = &share
		}
	}
	for i := range rec.Cells {
		if err := rec.Cells[i].compute(boot, dropped[rec.Cells[i].Scenario]); err != nil {
			return err
		}
	}
	for i := range rec.Pairs {
		rec.Pairs[i].compute(boot)
	}
	rec.findNoiseFloor()
	rec.fillLists()
	rec.sort()
	rec.Verdict, rec.Reasons = Judge(rec)
	return nil
}

// fillLists makes every list of a record one that is there, if empty.
func (rec *Record) fillLists() {
	if rec.Scenarios == nil {
		rec.Scenarios = []Scenario{}
	}
	if rec.Events == nil {
		rec.Events = []Event{}
	}
	if rec.Cells == nil {
		rec.Cells = []CellRecord{}
	}
	if rec.Pairs == nil {
		rec.Pairs = []PairRecord{}
	}
}

// findNoiseFloor takes the A/A noise floor from comparisons of a variant with itself, if nobody has set one: those
// whose variants are named aa…, such as compare({aa1: read, aa2: read}). It is the root mean square of their shares.
func (rec *Record) findNoiseFloor() {
	if rec.Limits.NoiseFloor > 0 {
		return
	}
	var sum float64
	n := 0
	for i := range rec.Pairs {
		p := &rec.Pairs[i]
		if p.Measured() && p.Share != nil && p.N >= analysis.MinPairsCI && p.IsAA() {
			sum += *p.Share * *p.Share
			n++
		}
	}
	if n > 0 {
		rec.Limits.NoiseFloor = math.Sqrt(sum / float64(n))
	}
}

// IsAA tells whether the comparison is one of a variant with itself, by the variants' names.
func (p *PairRecord) IsAA() bool {
	return strings.HasPrefix(strings.ToLower(p.A), "aa") && strings.HasPrefix(strings.ToLower(p.B), "aa")
}

// Sample decodes the cell's histogram into a sample of milliseconds.
func (c *CellRecord) Sample() (analysis.Sample, error) { return decodeSample(c.Histogram) }

func decodeSample(encoded string) (analysis.Sample, error) {
	if encoded == "" {
		return analysis.Sample{}, nil
	}
	hdr, err := decodeHistogram(encoded)
	if err != nil {
		return analysis.Sample{}, err
	}
	return hdrSample(hdr), nil
}

func hdrSample(hdr *hdrhistogram.Histogram) analysis.Sample {
	bars := hdr.Distribution()
	bins := make([]analysis.Bin, 0, len(bars))
	for _, b := range bars {
		if b.Count > 0 {
			// A bucket's middle is at most 0.05 % away from any of its values.
			bins = append(bins, analysis.Bin{Value: float64(b.From+b.To) / 2000, Count: uint64(b.Count)})
		}
	}
	return analysis.FromBins(bins)
}

func (c *CellRecord) compute(boot analysis.Bootstrap, dropped *float64) error {
	s, err := c.Sample()
	if err != nil {
		return fmt.Errorf("cell %s/%s/%s: %w", c.Scenario, c.Variant, c.Query, err)
	}
	if c.Errors == nil {
		c.Errors = map[string]uint64{}
	}
	c.Notes = nil
	set := func(q float64, value **float64, ci **Interval) {
		e := analysis.QuantileOf(s, q, boot)
		*value, *ci = e.Value, e.CI
		if e.Note != "" && !slices.Contains(c.Notes, e.Note) {
			c.Notes = append(c.Notes, e.Note)
		}
	}
	set(0.5, &c.P50, &c.P50CI)
	set(0.95, &c.P95, &c.P95CI)
	set(0.99, &c.P99, &c.P99CI)
	c.Directional = c.P95 == nil
	c.OpsPerS = nil
	if c.N > 0 && c.SpanS > 0 {
		c.OpsPerS = notNaN(float64(c.N) / c.SpanS)
	}
	c.DroppedShare = dropped
	c.P50DropAware, c.P95DropAware, c.P99DropAware = nil, nil, nil
	if dropped != nil {
		aware := func(q float64, plain *float64) *float64 {
			if plain == nil {
				return nil
			}
			return analysis.DropAwareQuantile(s, q, *dropped)
		}
		c.P50DropAware = aware(0.5, c.P50)
		c.P95DropAware = aware(0.95, c.P95)
		c.P99DropAware = aware(0.99, c.P99)
	}
	return nil
}

func (p *PairRecord) compute(boot analysis.Bootstrap) {
	var a, b []float64
	var first []bool
	for _, rows := range p.Raw {
		n := min(len(rows.A), len(rows.B), len(rows.FirstA))
		a, b, first = append(a, rows.A[:n]...), append(b, rows.B[:n]...), append(first, rows.FirstA[:n]...)
	}
	res := analysis.ComparePairs(a, b, first, boot)
	p.MedianDiff, p.MedianDiffCI = res.MedianDiff.Value, res.MedianDiff.CI
	p.Share, p.ShareCI = res.Share.Value, res.Share.CI
	p.OrderEffectP = res.OrderP
	p.Notes = nil
	for _, note := range []string{res.MedianDiff.Note, res.Share.Note} {
		if note != "" && !slices.Contains(p.Notes, note) {
			p.Notes = append(p.Notes, note)
		}
	}
	if n := uint64(res.N); n > 0 && n < p.N { // #nosec G115 -- a count
		p.Notes = append(p.Notes, fmt.Sprintf("difference and share are of a uniform sample of %d from %d pairs", n, p.N))
	}
}

// sort gives a record's lists an order that does not depend on map iteration.
func (rec *Record) sort() {
	slices.SortFunc(rec.Scenarios, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(rec.Cells, func(a, b CellRecord) int { return compareKeys(a.Key(), b.Key()) })
	slices.SortFunc(rec.Pairs, func(a, b PairRecord) int {
		x, y := a.Key(), b.Key()
		return cmp.Or(cmp.Compare(x.Scenario, y.Scenario), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Query, y.Query),
			cmp.Compare(x.Workers, y.Workers), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	slices.SortStableFunc(rec.Events, func(a, b Event) int { return cmp.Compare(a.AtS, b.AtS) })
}

func compareKeys(x, y CellKey) int {
	return cmp.Or(cmp.Compare(x.Scenario, y.Scenario), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Query, y.Query),
		cmp.Compare(x.Workers, y.Workers), cmp.Compare(x.Rate, y.Rate), cmp.Compare(x.Variant, y.Variant),
		cmp.Compare(x.Transport, y.Transport), cmp.Compare(x.Phase, y.Phase))
}

// Key gives the cell's key.
func (c *CellRecord) Key() CellKey {
	return CellKey{
		Scenario: c.Scenario, Variant: c.Variant, Transport: c.Transport, Op: c.Op, Query: c.Query,
		Workers: orZero(c.Workers), Rate: orZero(c.Rate), Phase: orZero(c.Phase),
	}
}

// Key gives the comparison's key.
func (p *PairRecord) Key() PairKey {
	return PairKey{
		Scenario: p.Scenario, Op: p.Op, Query: p.Query, Workers: orZero(p.Workers), Phase: orZero(p.Phase),
		A: p.A, B: p.B,
	}
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Measured tells whether a cell belongs into a report: warm-up does not, nor does what setup() and teardown() did,
// which have no scenario.
func (c *CellRecord) Measured() bool { return c.Scenario != "" && orZero(c.Phase) != PhaseWarmup }

// Empty tells whether the run measured nothing: it made no operation outside of setup(), teardown() and warm-up, not
// even one that failed.
func (rec *Record) Empty() bool {
	for i := range rec.Cells {
		if c := &rec.Cells[i]; c.Measured() && c.N+c.Failed+c.Canceled > 0 {
			return false
		}
	}
	return true
}

// Maintenance tells whether the cell's operations serve the store and not its users: there are few of them, each as
// long as the store needs.
func (c *CellRecord) Maintenance() bool {
	return c.Op == "optimize" || c.Op == "cleanup" || c.Op == "repair"
}

// Measured tells whether a comparison belongs into a report: see [CellRecord.Measured].
func (p *PairRecord) Measured() bool { return p.Scenario != "" && orZero(p.Phase) != PhaseWarmup }
