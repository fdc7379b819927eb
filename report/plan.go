package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// PlanOptions are what a plan has to provide for.
type PlanOptions struct {
	Rate     float64 // reads per second
	SLOP95MS float64 // of reads
	// WriteRows are rows to be written per second; 0 if none.
	WriteRows float64
	// Query and Transport choose the read to plan with; empty stands for HTTP and the query that was read most.
	Query, Transport string
}

// Plan is how many of each thing a load takes, with what limits it.
type Plan struct {
	Verdict recorder.Verdict  `json:"verdict"`
	Reasons []recorder.Reason `json:"reasons"`
	Options PlanOptions       `json:"options"`
	Items   []PlanItem        `json:"items"`

	banner string
	facts  []Fact
}

// PlanItem is one figure of a plan. A nil Value is not known; Basis then says what would tell.
type PlanItem struct {
	Name  string             `json:"name"`
	Value *float64           `json:"value"`
	CI    *analysis.Interval `json:"ci"`
	Unit  string             `json:"unit"`
	// LimitedBy says what the figure is bounded by, Basis what it was found from.
	LimitedBy string `json:"limited_by,omitempty"`
	Basis     string `json:"basis"`
}

// MakePlan plans from one record (merge several with [recorder.Merge], or pass them all: each item takes the first
// record that tells).
func MakePlan(records []*recorder.Record, opts PlanOptions) (*Plan, error) {
	switch {
	case len(records) == 0:
		return nil, errors.New("a plan needs a record")
	case !(opts.Rate > 0) || math.IsInf(opts.Rate, 0):
		return nil, errors.New("a plan needs a rate above 0, in reads per second")
	case !(opts.SLOP95MS > 0) || math.IsInf(opts.SLOP95MS, 0):
		return nil, errors.New("a plan needs an objective for the p95 above 0, in milliseconds")
	case !(opts.WriteRows >= 0) || math.IsInf(opts.WriteRows, 0):
		return nil, errors.New("a plan needs a write rate of 0 or more, in rows per second")
	}
	p := &Plan{Verdict: recorder.Valid, Options: opts, Reasons: []recorder.Reason{}}
	for _, rec := range records {
		p.banner = firstOf(p.banner, bannerOf(rec))
		if rec.Verdict == recorder.Invalid {
			p.Verdict = recorder.Invalid
		} else if rec.Verdict == recorder.Directional && p.Verdict == recorder.Valid {
			p.Verdict = recorder.Directional
		}
		for _, r := range rec.Reasons {
			if recorder.ClassOf(r.Code) == recorder.ClassNamed {
				continue
			}
			if len(records) > 1 {
				r.Text = runName(rec) + ": " + r.Text
			}
			if !slices.Contains(p.Reasons, r) {
				p.Reasons = append(p.Reasons, r)
			}
		}
		if diff := recorder.IdentityDiff(records[0], rec, "script", "point"); len(diff) > 0 {
			p.Verdict = recorder.Invalid
			p.Reasons = append(p.Reasons, recorder.Reason{
				Code: "identity_mismatch",
				Text: fmt.Sprintf("the records %s and %s differ in %s", records[0].Invocation.ID, rec.Invocation.ID, joinWords(diff)),
			})
		}
	}
	p.facts = planFacts(records)
	read := bestRead(records, opts)
	p.Items = append(p.Items, instances(records, read, opts), vus(read, opts))
	if opts.WriteRows > 0 {
		c := compactionOf(records, opts)
		b := bestBatch(records, opts.WriteRows, c)
		p.Items = append(p.Items, rowsPerCommit(b, c, opts), writers(records, b), cadence(b, c, opts))
		if item := optimizing(b, c, opts); item != nil {
			p.Items = append(p.Items, *item)
		}
	}
	return p, nil
}

// runName names a record among several: by its script.
func runName(rec *recorder.Record) string {
	return strings.TrimPrefix(titleOf(rec), titlePrefix)
}

// planFacts identify the numbers behind a plan: what all runs share, by the first, and each run.
func planFacts(records []*recorder.Record) []Fact {
	all := facts(records[0])
	if len(records) == 1 {
		return all
	}
	var out []Fact
	for _, f := range all {
		switch f.Name {
		case "run", "time", "script", "declared":
		default:
			out = append(out, f)
		}
	}
	for _, rec := range records {
		out = append(out, Fact{"run", fmt.Sprintf("%s (%s), %s", rec.Invocation.ID, runName(rec), rec.Invocation.Start.Format("2006-01-02 15:04 MST"))})
	}
	return out
}

// readCell is the cell that a plan's reads are computed from, with its p95.
type readCell struct {
	cell *recorder.CellRecord
	p95  float64
	met  bool // the objective
	// alone: nothing else was measured at the same time, so its operations per second are what its workers could do.
	alone bool
}

// bestRead is the cell with the highest throughput whose p95 meets the objective; if none does, the fastest one.
func bestRead(records []*recorder.Record, opts PlanOptions) *readCell {
	transport := opts.Transport
	if transport == "" {
		transport = "http"
	}
	query := opts.Query
	if query == "" {
		query = mostRead(records, transport)
	}
	var best *readCell
	for _, rec := range records {
		for i := range rec.Cells {
			c := &rec.Cells[i]
			if !isRead(c, transport) || c.Query != query || c.P95 == nil || c.OpsPerS == nil || fragmentedName.MatchString(c.Scenario) {
				continue
			}
			r := &readCell{cell: c, p95: *c.P95, met: *c.P95 <= opts.SLOP95MS, alone: ranAlone(rec, c)}
			switch {
			case best == nil, r.met && !best.met, r.met == best.met && r.alone && !best.alone:
				best = r
			case best.alone && !r.alone:
			case r.met == best.met && r.met && *c.OpsPerS > *best.cell.OpsPerS:
				best = r
			case r.met == best.met && !r.met && r.p95 < best.p95:
				best = r
			}
		}
	}
	return best
}

// ranAlone tells whether a cell's workers did nothing else: not in turns with another variant, and not in a mix.
func ranAlone(rec *recorder.Record, c *recorder.CellRecord) bool {
	if c.Variant != "" {
		return false
	}
	for i := range rec.Cells {
		other := &rec.Cells[i]
		if other != c && other.Scenario == c.Scenario && other.Measured() && other.N+other.Failed > 0 {
			return false
		}
	}
	return true
}

func isRead(c *recorder.CellRecord, transport string) bool {
	return c.Measured() && c.Transport == transport && (c.Op == "query" || c.Op == "invoke") && c.Nodes+c.Edges == 0
}

// mostRead is the query with the most successes, the first by name among equals.
func mostRead(records []*recorder.Record, transport string) string {
	n := map[string]uint64{}
	best := ""
	for _, rec := range records {
		for i := range rec.Cells {
			if c := &rec.Cells[i]; isRead(c, transport) {
				n[c.Query] += c.N
				if best == "" || n[c.Query] > n[best] || n[c.Query] == n[best] && c.Query < best {
					best = c.Query
				}
			}
		}
	}
	return best
}

// instances is how many servers the rate takes, from a capacity run's knee if there is one.
func instances(records []*recorder.Record, read *readCell, opts PlanOptions) PlanItem {
	item := PlanItem{Name: "server instances", Unit: "servers"}
	for _, rec := range records {
		data, ok := capacityOf(rec)
		if !ok || opts.Query != "" && data.Query != opts.Query {
			continue
		}
		data.SLOP95MS = opts.SLOP95MS
		knee := data.knee()
		if knee.Rate.Value == nil || *knee.Rate.Value <= 0 {
			continue
		}
		v := math.Ceil(opts.Rate / *knee.Rate.Value)
		item.Value = &v
		if ci := knee.Rate.CI; ci != nil && ci[0] > 0 {
			item.CI = &analysis.Interval{math.Ceil(opts.Rate / ci[1]), math.Ceil(opts.Rate / ci[0])}
		}
		item.Basis = fmt.Sprintf("one server keeps the objective up to %s/s (capacity run)", msCI(knee.Rate.Value, knee.Rate.CI))
		item.LimitedBy = "the server's knee"
		for _, s := range data.Steps {
			if s.LimitedBy == "policy" && s.Rate <= *knee.Rate.Value {
				item.LimitedBy = "the per-actor admission cap, a policy: several actors get past it"
			}
		}
		return item
	}
	if read == nil {
		item.Basis = "not known: no read cell has a p95; run scripts/capacity.js"
		return item
	}
	if !read.met {
		item.Basis = fmt.Sprintf("not known: the best measured p95 is %s ms, above the objective; optimize the store first", ms(read.p95))
		return item
	}
	if !read.alone {
		item.Basis = fmt.Sprintf("not known: %s took turns with other operations, so its operations/s say nothing about what one server stands; run scripts/capacity.js", read.cell.Label())
		return item
	}
	v := math.Ceil(opts.Rate / *read.cell.OpsPerS)
	item.Value = &v
	item.LimitedBy = "the measured load: at least so much fits on one server"
	item.Basis = fmt.Sprintf("%s did %s operations/s in the closed model; scripts/capacity.js finds the knee, with an interval",
		read.cell.Label(), ms(*read.cell.OpsPerS))
	return item
}

// vus is Little's law: rate times mean duration are in flight. The interval is that of the mean.
func vus(read *readCell, opts PlanOptions) PlanItem {
	item := PlanItem{Name: "VUs of the load test", Unit: "VUs", LimitedBy: "Little's law: rate x duration"}
	if read == nil || read.cell.N == 0 {
		item.Basis = "not known: no read cell has a p95"
		return item
	}
	s, err := read.cell.Sample()
	if err != nil {
		item.Basis = "not known: the cell's histogram can't be read"
		return item
	}
	mean, half := meanWithHalf(s)
	v := math.Max(1, math.Ceil(opts.Rate*mean/1000))
	item.Value = &v
	if s.Len() >= analysis.MinP50CI {
		item.CI = &analysis.Interval{
			math.Max(1, math.Ceil(opts.Rate*math.Max(mean-half, 0)/1000)), math.Max(1, math.Ceil(opts.Rate*(mean+half)/1000)),
		}
	}
	item.Basis = fmt.Sprintf("%s takes %s ms on average; preallocate %s so that a p95 of %s ms drops no iteration",
		read.cell.Label(), ms(mean), counted(int(math.Max(1, math.Ceil(opts.Rate*read.p95/1000))), "VU"), ms(read.p95))
	return item
}

// meanWithHalf is a sample's mean with half the width of its normal interval.
func meanWithHalf(s analysis.Sample) (mean, half float64) {
	n := float64(s.Len())
	mean = s.Sum() / n
	var sq float64
	for _, b := range s.Bins() {
		d := b.Value - mean
		sq += float64(b.Count) * d * d
	}
	return mean, 1.96 * math.Sqrt(sq/math.Max(n-1, 1)/n)
}

// batch is a way to write, with the rows that one of its commits writes.
type batch struct {
	name   string
	rows   float64 // per commit
	rowsPS float64
	ci     *analysis.Interval // of rowsPS
	// workers is how many writers wrote so, 0 if not known.
	workers int
	// enough: even the interval's lower end reaches the rows wanted. bearable: compacting what it leaves takes little of
	// the time, as far as that is known.
	enough, bearable bool
	// passed is a batch of fewer rows that would have written enough, but whose compaction takes too much of the time.
	passed *batch
}

// sure is the cautious end of the rows per second.
func (b *batch) sure() float64 {
	if b.ci != nil {
		return b.ci[0]
	}
	return b.rowsPS
}

// commitsPS is how many commits a second it takes to write so many rows, with more rows in each where it can't write
// enough.
func (b *batch) commitsPS(wanted float64) float64 { return wanted / b.needs(wanted) }

// needs is the rows per commit for the rows wanted: its own, or more at constant commits per second.
func (b *batch) needs(wanted float64) float64 {
	if b.enough || b.sure() <= 0 {
		return b.rows
	}
	return b.rows * wanted / b.sure()
}

// batches lists every way to write that the records tell of: the batch-writes scenario's own sizes, and every cell
// that wrote rows.
func batches(records []*recorder.Record) []batch {
	var out []batch
	for _, rec := range records {
		sizes := batchSizes(rec, analysis.DefaultBootstrap())
		for _, b := range sizes {
			if b.rate.Value != nil {
				out = append(out, batch{
					name: fmt.Sprintf("%s of %s (one writer)", b.Form, counted(int64(b.Rows), "row")),
					rows: b.Rows, rowsPS: *b.rate.Value, ci: b.rate.CI, workers: 1,
				})
			}
		}
		if len(sizes) > 0 {
			continue // its cells pool all sizes
		}
		for i := range rec.Cells {
			c := &rec.Cells[i]
			if c.Measured() && c.Nodes > 0 && c.N > 0 && c.SpanS > 0 {
				out = append(out, batch{
					name: c.Label(), rows: float64(c.Nodes) / float64(c.N), rowsPS: float64(c.Nodes) / c.SpanS,
					workers: c.Key().Workers,
				})
			}
		}
	}
	return out
}

// maxOptimizeShare is the share of the time that optimizes may take before a plan asks for more rows in a commit: each
// competes with reads and writes while it runs.
const maxOptimizeShare = 0.1

// compaction is what the records tell of how the store ages and what compacting it takes.
type compaction struct {
	known bool
	// under is how many commits may pass before the objective is missed.
	under analysis.Estimate
	// took is what one optimize took, in seconds, after so many commits; 0 if not known.
	took, commits float64
	note          string
}

// compactionOf takes the first record that holds a fragmentation run.
func compactionOf(records []*recorder.Record, opts PlanOptions) compaction {
	for _, rec := range records {
		var a aging
		if !extra(rec, "aging", &a) {
			continue
		}
		c := compaction{known: true}
		c.under = analysis.FitFragmentation(pointsOf(a.Commits, a.MS)).CommitsUnder(opts.SLOP95MS, analysis.DefaultBootstrap())
		c.note = c.under.Note
		var opt agingOptimize
		if extra(rec, "aging_optimize", &opt) && opt.MS > 0 && !math.IsInf(opt.MS, 0) {
			c.took, c.commits = opt.MS/1000, opt.Commits
		}
		return c
	}
	return compaction{note: "not known: no record holds a fragmentation run; run scripts/fragmentation.js"}
}

// every is the time between two optimizes at a rate of commits, in seconds.
func (c *compaction) every(commitsPS float64) analysis.Estimate {
	if c.under.Value == nil || commitsPS <= 0 {
		return analysis.Estimate{Note: c.note}
	}
	return scaled(c.under, 1/commitsPS)
}

// share is the part of the time that optimizes take at a rate of commits; no value where that is not known.
func (c *compaction) share(commitsPS float64) analysis.Estimate {
	every := c.every(commitsPS)
	if every.Value == nil || *every.Value <= 0 || c.took <= 0 {
		return analysis.Estimate{Note: c.note}
	}
	v := c.took / *every.Value
	e := analysis.Estimate{Value: &v}
	if ci := every.CI; ci != nil && ci[0] > 0 {
		e.CI = &analysis.Interval{c.took / ci[1], c.took / ci[0]}
	}
	return e
}

// bestBatch is the way with the fewest rows per commit that reaches the wanted rows per second and whose fragments can
// be compacted in a bearable part of the time; failing that, the one with the most rows per commit that writes enough, or
// the one that writes most. Fewer rows per commit are quicker commits, and less is lost with one.
func bestBatch(records []*recorder.Record, wanted float64, c compaction) *batch {
	var best, passed *batch
	for _, b := range batches(records) {
		b.enough = b.sure() >= wanted
		share := c.share(b.commitsPS(wanted))
		b.bearable = share.Value == nil || *share.Value <= maxOptimizeShare
		if b.enough && !b.bearable && (passed == nil || b.rows < passed.rows) {
			passed = &b
		}
		switch {
		case best == nil, b.enough && !best.enough, b.enough == best.enough && b.bearable && !best.bearable:
			best = &b
		case b.enough != best.enough || b.bearable != best.bearable:
		case !b.enough && b.sure() > best.sure(),
			b.enough && b.bearable && b.rows < best.rows,
			b.enough && !b.bearable && b.rows > best.rows:
			best = &b
		}
	}
	if best != nil && passed != nil && passed.rows < best.rows {
		best.passed = passed
	}
	return best
}

func rowsPerCommit(b *batch, c compaction, opts PlanOptions) PlanItem {
	item := PlanItem{Name: "rows per commit", Unit: "rows", LimitedBy: "the server's commit path: commits serialize"}
	if b == nil {
		item.Basis = "not known: no write was measured; run scripts/batch-writes.js"
		return item
	}
	rows := math.Ceil(b.needs(opts.WriteRows))
	item.Basis = fmt.Sprintf("%s wrote %s rows/s", b.name, msCI(&b.rowsPS, b.ci))
	switch {
	case !b.enough:
		item.Basis += fmt.Sprintf("; %s rows/s are wanted, so more rows must go into each commit: extrapolated at constant commits/s, verify it with scripts/batch-writes.js", ms(opts.WriteRows))
	case b.passed != nil:
		item.LimitedBy = "optimize: every commit is a fragment to compact"
		share := c.share(b.passed.commitsPS(opts.WriteRows))
		every := c.every(b.passed.commitsPS(opts.WriteRows))
		item.Basis += fmt.Sprintf("; %s a commit would write enough, too, but take an optimize every %s, %s of the time",
			counted(int64(math.Ceil(b.passed.rows)), "row"), duration(*every.Value), percent(*share.Value))
	case !c.known:
		item.Basis += "; what compacting its fragments takes is not weighed: no record holds a fragmentation run"
	}
	item.Value = &rows
	return item
}

// writers is how many writers to run: the level with the highest throughput, or the scalability law's peak.
func writers(records []*recorder.Record, b *batch) PlanItem {
	item := PlanItem{Name: "writers", Unit: "writers", LimitedBy: "commits serialize in the server"}
	if b == nil {
		item.Basis = "not known: no write was measured; run scripts/writers.js"
		return item
	}
	for _, rec := range records {
		for _, g := range groupsOf(rec) {
			if !g.writes() || len(g.levels) < 2 || g.levels[0].rate != 0 {
				continue
			}
			lanes := g.lanes()
			ln := lanes[len(lanes)-1]
			if fit := g.scaling(ln); fit.PeakN.Value != nil {
				v := math.Max(1, math.Round(*fit.PeakN.Value))
				item.Value = &v
				if ci := fit.PeakN.CI; ci != nil {
					item.CI = &analysis.Interval{math.Max(1, math.Floor(ci[0])), math.Ceil(ci[1])}
				}
				item.Basis = fmt.Sprintf("the scalability law's peak of %s over %s", g.title(), ln)
				return item
			}
			best := bestLevel(g, ln)
			if best == nil {
				continue
			}
			v := float64(*best.Workers)
			item.Value = &v
			item.Basis = fmt.Sprintf("%s has the highest throughput of the measured levels, %s operations/s", best.Label(), ms(*best.OpsPerS))
			return item
		}
	}
	if b.workers > 0 {
		v := float64(b.workers)
		item.Value = &v
	}
	item.Basis = "one level was measured only; run scripts/writers.js"
	return item
}

func bestLevel(g *group, ln lane) *recorder.CellRecord {
	var best *recorder.CellRecord
	for _, l := range g.levels {
		if c := g.cell(l, ln); c != nil && c.OpsPerS != nil && c.Workers != nil && (best == nil || *c.OpsPerS > *best.OpsPerS) {
			best = c
		}
	}
	return best
}

// cadence is how often optimize has to run, from a fragmentation model.
func cadence(b *batch, c compaction, opts PlanOptions) PlanItem {
	item := PlanItem{Name: "optimize at least every", Unit: "s", LimitedBy: "reads slow down with every commit"}
	if b == nil {
		item.Basis = "not known: no write was measured"
		return item
	}
	if c.under.Value == nil {
		item.Basis = c.note
		return item
	}
	commits := b.commitsPS(opts.WriteRows)
	every := c.every(commits)
	item.Value, item.CI = every.Value, every.CI
	item.Basis = fmt.Sprintf("%s commits may pass (fragmentation run), %s are made each second", wholeEstimate(c.under), ms(commits))
	if *c.under.Value == 0 {
		item.Basis = c.note
	}
	return item
}

// optimizing is how much of the time optimizes take; nil where that is not known.
func optimizing(b *batch, c compaction, opts PlanOptions) *PlanItem {
	if b == nil {
		return nil
	}
	share := c.share(b.commitsPS(opts.WriteRows))
	if share.Value == nil {
		return nil
	}
	item := PlanItem{
		Name: "share of the time that optimizes take", Unit: "share", Value: share.Value, CI: share.CI,
		LimitedBy: fmt.Sprintf("the plan's own bound of %.0f %%", maxOptimizeShare*100),
		Basis:     fmt.Sprintf("an optimize took %s after %s (fragmentation run)", duration(c.took), counted(int64(c.commits), "commit")),
	}
	if *share.Value > maxOptimizeShare {
		item.Basis += "; that is more than should go into optimizes: put more rows into a commit, or accept a higher read p95"
	}
	return &item
}

// Document is the plan as a report.
func (p *Plan) Document() *Document {
	d := &Document{Title: "omnigraph capacity plan", Banner: p.banner, Verdict: p.Verdict, Reasons: p.Reasons, Facts: p.facts}
	switch p.Verdict {
	case recorder.Valid:
		d.Meaning = "Valid: the plan rests on runs that can be trusted; leave room for what they did not contain."
	case recorder.Directional:
		d.Meaning = "Directional: the runs behind this plan show a direction; measure on the target machine before buying it."
	default:
		d.Meaning = "Invalid: the runs behind this plan can't be trusted. Repeat them."
	}
	caption := fmt.Sprintf("For %s reads/s at a p95 of %s ms", ms(p.Options.Rate), ms(p.Options.SLOP95MS))
	if p.Options.WriteRows > 0 {
		caption += fmt.Sprintf(" and %s rows written/s", ms(p.Options.WriteRows))
	}
	t := Table{Caption: caption, Header: []string{"what", "how much", "limited by", "found from"}}
	for _, item := range p.Items {
		value := none
		if item.Value != nil {
			value = planNumber(*item.Value, item.Unit)
			switch {
			case item.Unit == "share":
				value = percentCI(item.Value, item.CI)
			case item.CI != nil:
				value += fmt.Sprintf(" [%s, %s]", planNumber(item.CI[0], item.Unit), planNumber(item.CI[1], item.Unit))
			}
		}
		t.Rows = append(t.Rows, []string{item.Name, value, item.LimitedBy, item.Basis})
	}
	sec := Section{Title: "Plan", Tables: []Table{t}}
	if p.Options.WriteRows > 0 {
		sec.Notes = []string{"Reads and writes were measured apart; at once they share the server. Try the plan with scripts/mix.js before relying on it."}
	}
	d.Sections = []Section{sec}
	return d
}

func planNumber(v float64, unit string) string {
	if unit == "s" {
		return duration(v)
	}
	return count(int64(v))
}
