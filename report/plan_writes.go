package report

import (
	"fmt"
	"math"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// batch is a way to write, with the rows that one of its commits writes.
type batch struct {
	name   string
	rows   float64 // per commit
	rowsPS float64
	ci     *analysis.Interval // of rowsPS
	// workers is how many writers wrote so, 0 if not known.
	workers int
	// age is how many commits since an optimize the store had when it was written so, on average.
	age float64
	// most is how many such commits a second fit into everything that the records tell, and bound what decides it.
	most  float64
	bound bound
}

// bound is what limits the commits a second.
type bound int

const (
	byItself bound = iota // the commits' own duration
	byWriters
	byCycle
)

func (b bound) String() string {
	switch b {
	case byWriters:
		return "the commits/s that the writers run came to"
	case byCycle:
		return "optimize: every commit is a fragment to compact"
	default:
		return "the server's commit path: commits serialize"
	}
}

// sure is the cautious end of the rows per second.
func (b *batch) sure() float64 {
	if b.ci != nil {
		return b.ci[0]
	}
	return b.rowsPS
}

// batches lists every way to write that the records tell of: the sizes of batch-writes.js, the levels of writers.js, and
// every cell of another record that wrote rows.
func batches(records []*recorder.Record) []batch {
	var out []batch
	for _, rec := range records {
		sizes := batchSizes(rec, analysis.DefaultBootstrap())
		for _, b := range sizes {
			if b.rate.Value != nil {
				out = append(out, batch{
					name: fmt.Sprintf("%s of %s (one writer)", b.Form, counted(int64(b.Rows), "row")),
					rows: b.Rows, rowsPS: *b.rate.Value, ci: b.rate.CI, workers: 1, age: float64(len(b.MS)) / 2,
				})
			}
		}
		levels := writerLevels(groupsOf(rec), "distinct")
		for _, w := range levels {
			if w.ok > 0 && w.rate() > 0 {
				e := w.throughput()
				out = append(out, batch{
					name: "inserts of 1 row by " + counted(w.workers, "writer"),
					rows: 1, rowsPS: *e.Value, ci: e.CI, workers: w.workers, age: w.age(),
				})
			}
		}
		if len(sizes)+len(levels) > 0 {
			continue // their cells pool what is apart here
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

// age is how many commits a round's store had since its optimize, on average over the round.
func (w *writerLevel) age() float64 {
	return float64(w.ok) / math.Max(1, float64(len(w.rates))) / 2
}

// ceiling is the most commits a second that any number of writers came to, whatever one writer did alone on a fresh store.
type ceiling struct {
	known   bool
	workers int
	rows    float64 // in each of its commits: of commits with fewer rows it says nothing
	age     float64
	rate    analysis.Estimate // commits/s of the best level
	peak    analysis.Estimate // of the scalability law, in writers
}

// ceilingOf takes the first record in which several numbers of writers did nothing but write.
func ceilingOf(records []*recorder.Record) ceiling {
	for _, rec := range records {
		groups := groupsOf(rec)
		if c := ceilingOfLevels(writerLevels(groups, "distinct")); c.known {
			return c
		}
		for _, g := range groups {
			// Variants that take turns share the time: together they came to more.
			if !g.writes() || len(g.levels) < 2 || g.levels[0].rate != 0 || len(g.pairNames()) > 0 {
				continue
			}
			lanes := g.lanes()
			ln := lanes[len(lanes)-1]
			best := bestLevel(g, ln)
			if best == nil || best.N == 0 {
				continue
			}
			l := level{workers: *best.Workers}
			if g.paces[l].own() {
				continue
			}
			return ceiling{
				known: true, workers: *best.Workers, rows: math.Max(1, float64(best.Nodes)/float64(best.N)),
				rate: g.throughput(l, best), peak: g.scaling(ln).PeakN,
			}
		}
	}
	return ceiling{}
}

func ceilingOfLevels(levels []*writerLevel) ceiling {
	var best *writerLevel
	for _, w := range levels {
		if w.ok > 0 && w.rate() > 0 && (best == nil || w.rate() > best.rate()) {
			best = w
		}
	}
	if best == nil || len(levels) < 2 {
		return ceiling{}
	}
	return ceiling{
		known: true, workers: best.workers, rows: 1, age: best.age(), rate: best.throughput(),
		peak: analysis.FitUSL(throughputs(levels), analysis.DefaultBootstrap()).PeakN,
	}
}

// over tells whether the ceiling says anything of commits of so many rows: a commit of more rows takes no less time.
func (c *ceiling) over(rows float64) bool { return c.known && rows >= c.rows*0.999 }

func (c *ceiling) String() string {
	rows := ""
	if c.rows > 1.001 {
		rows = " of " + ms(c.rows) + " rows"
	}
	return fmt.Sprintf("commits%s came to at most %s/s, with %s", rows, estimate(c.rate), counted(c.workers, "writer"))
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
	// slows is by how many milliseconds a commit makes each later one slower; 0 if no such effect was found.
	slows float64
	note  string
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
		if slope := analysis.FitFragmentation(pointsOf(a.InsertCommits, a.InsertMS)).Slope; slope.CI != nil && slope.CI[0] > 0 {
			c.slows = *slope.Value
		}
		var opt agingOptimize
		if extra(rec, "aging_optimize", &opt) && opt.MS > 0 && !math.IsInf(opt.MS, 0) {
			c.took, c.commits = opt.MS/1000, opt.Commits
		}
		return c
	}
	return compaction{note: "not known: no record holds a fragmentation run; run scripts/fragmentation.js"}
}

// endless is the number of commits that may pass where reads set no bound.
const endless = 1e9

// cycle is the steady work of commits that each take so long right after an optimize; false where an objective that
// can't be kept, or nothing at all, is known.
func (c *compaction) cycle(commitMS float64) (analysis.WriteCycle, bool) {
	w := analysis.WriteCycle{
		CommitMS: commitMS, SlopeMS: c.slows, OptimizeMS: c.took * 1000, OptimizeCommits: c.commits,
		MaxCommits: endless, MaxShare: maxOptimizeShare,
	}
	if c.under.Value != nil {
		w.MaxCommits = math.Min(*c.under.Value, endless)
	}
	return w, c.known && w.MaxCommits > 0
}

// String says what a cycle consists of, besides the commits themselves.
func (c *compaction) String() string {
	var words []string
	if c.took > 0 {
		words = append(words, "an optimize takes "+duration(c.took)+" after "+counted(int64(c.commits), "commit"))
	}
	if c.slows > 0 {
		words = append(words, "each commit makes every later one "+ms(c.slows)+" ms slower")
	}
	return joinWords(words)
}

// writePlan is how to write the rows wanted.
type writePlan struct {
	records    []*recorder.Record
	opts       PlanOptions
	compaction compaction
	ceiling    ceiling

	// best is the way to write, nil if nothing was measured or nothing fits; strongest is then the one that writes most.
	best, strongest *batch
	rows            float64 // per commit
	commits         float64 // per second
	// extrapolated: no measured number of rows suffices, so that more go into a commit than were measured.
	extrapolated bool
	// passed is a way of fewer rows that would write enough by itself.
	passed *batch
	// between is how many commits pass between two optimizes, NaN if not known.
	between float64
}

// maxExtrapolation is how many times the measured rows a plan puts into a commit at most: the sizes of batch-writes.js
// lie as far apart.
const maxExtrapolation = 8

// planWrites chooses the fewest rows per commit whose commits fit: fewer rows are quicker commits, and less is lost with
// one. What fits is decided by the way's own rate, by the rate that writers.js came to, and by the cycle of ever slower
// commits and optimizes.
func planWrites(records []*recorder.Record, opts PlanOptions) *writePlan {
	p := &writePlan{records: records, opts: opts, compaction: compactionOf(records, opts), ceiling: ceilingOf(records), between: math.NaN()}
	all := batches(records)
	for i := range all {
		b := &all[i]
		p.limit(b)
		if p.strongest == nil || b.rows*b.most > p.strongest.rows*p.strongest.most {
			p.strongest = b
		}
		if b.rows*b.most >= opts.WriteRows && (p.best == nil || b.rows < p.best.rows || b.rows == p.best.rows && b.most > p.best.most) {
			p.best = b
		}
	}
	if p.strongest == nil {
		return p
	}
	if p.best == nil {
		rows := math.Ceil(opts.WriteRows / p.strongest.most)
		if rows > maxExtrapolation*p.strongest.rows {
			return p
		}
		p.best, p.rows, p.extrapolated = p.strongest, rows, true
	} else {
		p.rows = p.best.rows
	}
	p.commits = opts.WriteRows / p.rows
	for i := range all {
		b := &all[i]
		if b.sure() >= opts.WriteRows && b.rows < p.best.rows && (p.passed == nil || b.rows < p.passed.rows) {
			p.passed = b
		}
	}
	if w, ok := p.compaction.cycle(p.commitMS(p.best)); ok {
		if longest, ok := w.Longest(p.commits); ok {
			p.between = longest
		}
	}
	return p
}

// limit finds how many commits a second of a way fit.
func (p *writePlan) limit(b *batch) {
	b.most, b.bound = b.sure()/b.rows, byItself
	if p.ceiling.over(b.rows) && lowest(p.ceiling.rate) < b.most {
		b.most, b.bound = lowest(p.ceiling.rate), byWriters
	}
	if w, ok := p.compaction.cycle(p.commitMS(b)); ok {
		if _, rate := w.Best(); rate < b.most {
			b.most, b.bound = rate, byCycle
		}
	}
}

// commitMS is what a commit takes right after an optimize, by the slower of the way's own rate and the writers': either
// without what the commits before it had added when it was measured.
func (p *writePlan) commitMS(b *batch) float64 {
	fresh := func(commitsPS, age float64) float64 {
		return math.Max(0, 1000/commitsPS-p.compaction.slows*age)
	}
	took := fresh(b.sure()/b.rows, b.age)
	if p.ceiling.over(b.rows) {
		took = math.Max(took, fresh(lowest(p.ceiling.rate), p.ceiling.age))
	}
	return took
}

// items are the plan's figures about writes.
func (p *writePlan) items() []PlanItem {
	out := []PlanItem{p.rowsPerCommit(), p.commitRate(), p.writers(), p.cadence()}
	if item := p.optimizing(); item != nil {
		out = append(out, *item)
	}
	return out
}

const nothingFits = "not known: nothing that was measured writes so many rows"

// unknown is why there is no figure: nothing measured, or nothing that fits. Empty where there is one.
func (p *writePlan) unknown(script string) string {
	switch {
	case p.strongest == nil:
		return "not known: no write was measured; run scripts/" + script
	case p.best == nil:
		return nothingFits
	}
	return ""
}

func (p *writePlan) rowsPerCommit() PlanItem {
	item := PlanItem{Name: "rows per commit", Unit: "rows", LimitedBy: byItself.String(), Basis: p.unknown("batch-writes.js")}
	if p.strongest != nil && p.best == nil {
		b := p.strongest
		item.LimitedBy = b.bound.String()
		item.Basis = fmt.Sprintf("nothing that was measured fits: %s comes to %s rows/s at most (%s); write fewer rows, or measure larger commits (BATCH_SIZES of scripts/batch-writes.js)",
			b.name, ms(b.rows*b.most), p.why(b))
	}
	if p.best == nil {
		return item
	}
	rows := math.Ceil(p.rows)
	item.Value = &rows
	item.Basis = fmt.Sprintf("%s wrote %s rows/s", p.best.name, msCI(&p.best.rowsPS, p.best.ci))
	switch {
	case p.extrapolated:
		item.LimitedBy = p.best.bound.String()
		item.Basis += fmt.Sprintf("; for %s rows/s at most %s commits/s fit (%s), so more rows must go into each commit: extrapolated at constant commits/s, verify it with scripts/batch-writes.js",
			ms(p.opts.WriteRows), ms(p.best.most), p.why(p.best))
	case p.passed != nil:
		limit, why := p.whyNot(p.passed)
		item.LimitedBy = limit.String()
		item.Basis += fmt.Sprintf("; %s a commit would write enough by itself, but %s", counted(int64(math.Ceil(p.passed.rows)), "row"), why)
	}
	return item
}

// why says what bounds a way's commits.
func (p *writePlan) why(b *batch) string {
	switch b.bound {
	case byWriters:
		return p.ceiling.String()
	case byCycle:
		return p.compaction.String()
	default:
		return "the commits' own duration"
	}
}

// whyNot says why a way does not fit, although its own rate would: what was measured first, then what follows from it.
func (p *writePlan) whyNot(b *batch) (bound, string) {
	commits := p.opts.WriteRows / b.rows
	takes := fmt.Sprintf("it takes %s commits/s", ms(commits))
	if p.ceiling.over(b.rows) && commits > lowest(p.ceiling.rate) {
		return byWriters, takes + ", and " + p.ceiling.String()
	}
	w, _ := p.compaction.cycle(p.commitMS(b))
	if share := w.Share(commits, w.MaxCommits); share > maxOptimizeShare {
		return byCycle, fmt.Sprintf("it takes an optimize every %s, %s of the time", duration(w.MaxCommits/commits), percent(share))
	}
	return byCycle, fmt.Sprintf("%s, and at most %s can be kept up: %s", takes, ms(b.most), p.compaction.String())
}

// commitRate is how many commits a second the rows become.
func (p *writePlan) commitRate() PlanItem {
	item := PlanItem{Name: "commits per second", Unit: "commits/s", LimitedBy: byItself.String(), Basis: p.unknown("batch-writes.js")}
	if p.best == nil {
		return item
	}
	v := p.commits
	item.Value, item.LimitedBy = &v, p.best.bound.String()
	item.Basis = fmt.Sprintf("at most %s fit: %s", ms(p.best.most), p.why(p.best))
	if !p.ceiling.known {
		item.Basis += "; how writers get on with each other is not weighed: run scripts/writers.js"
	}
	if !p.compaction.known {
		item.Basis += "; what compacting its fragments takes is not weighed: run scripts/fragmentation.js"
	}
	return item
}

// writers is how many writers to run: the level with the highest throughput, or the scalability law's peak.
func (p *writePlan) writers() PlanItem {
	item := PlanItem{Name: "writers", Unit: "writers", LimitedBy: "commits serialize in the server", Basis: p.unknown("writers.js")}
	if p.best == nil {
		return item
	}
	if c := p.ceiling; c.known {
		v := float64(c.workers)
		item.Basis = c.String() + " (the measured levels' best)"
		if c.peak.Value != nil {
			v = math.Max(1, math.Round(*c.peak.Value))
			item.Basis = "the scalability law's peak"
			if ci := c.peak.CI; ci != nil {
				item.CI = &analysis.Interval{math.Max(1, math.Floor(ci[0])), math.Ceil(ci[1])}
			}
		}
		item.Value = &v
		return item
	}
	for _, rec := range p.records {
		for _, g := range groupsOf(rec) {
			if !g.writes() || len(g.levels) < 2 || g.levels[0].rate != 0 {
				continue
			}
			lanes := g.lanes()
			if best := bestLevel(g, lanes[len(lanes)-1]); best != nil {
				v := float64(*best.Workers)
				item.Value = &v
				item.Basis = fmt.Sprintf("%s has the highest throughput of the measured levels, %s operations/s", best.Label(), ms(*best.OpsPerS))
				return item
			}
		}
	}
	if p.best.workers > 0 {
		v := float64(p.best.workers)
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

// byReads tells whether it is the reads that ask for the next optimize, and not the writes.
func (p *writePlan) byReads() bool {
	return p.compaction.under.Value != nil && p.between >= *p.compaction.under.Value
}

// cadence is how often optimize has to run, from a fragmentation model.
func (p *writePlan) cadence() PlanItem {
	item := PlanItem{Name: "optimize at least every", Unit: "s", LimitedBy: "reads slow down with every commit", Basis: p.unknown("batch-writes.js")}
	switch {
	case p.best == nil:
	case p.compaction.under.Value != nil && *p.compaction.under.Value == 0:
		zero := 0.0
		item.Value, item.Basis = &zero, p.compaction.note
	case math.IsNaN(p.between), p.between >= endless:
		item.Basis = p.compaction.note
	case p.byReads():
		every := scaled(p.compaction.under, 1/p.commits)
		item.Value, item.CI = every.Value, every.CI
		item.Basis = fmt.Sprintf("%s commits may pass (fragmentation run), %s are made each second", wholeEstimate(p.compaction.under), ms(p.commits))
	default:
		v := p.between / p.commits
		item.Value, item.LimitedBy = &v, "writes slow down with every commit"
		item.Basis = fmt.Sprintf("after %s %s commits/s can't be kept up any more (fragmentation run: %s)",
			counted(int64(p.between), "commit"), ms(p.commits), p.compaction.String())
	}
	return item
}

// optimizing is how much of the time optimizes take; nil where that is not known.
func (p *writePlan) optimizing() *PlanItem {
	c := p.compaction
	if p.best == nil || math.IsNaN(p.between) || p.between >= endless || c.took <= 0 {
		return nil
	}
	w, _ := c.cycle(p.commitMS(p.best))
	share := w.Share(p.commits, p.between)
	item := &PlanItem{
		Name: "share of the time that optimizes take", Unit: "share", Value: &share,
		LimitedBy: fmt.Sprintf("the plan's own bound of %.0f %%", maxOptimizeShare*100),
		Basis:     fmt.Sprintf("an optimize took %s after %s (fragmentation run); after more it is taken to take longer in proportion", duration(c.took), counted(int64(c.commits), "commit")),
	}
	// Of more commits than were measured the share is the same whatever their number.
	if ci := c.under.CI; p.byReads() && ci != nil && ci[0] > 0 && ci[0] < c.commits {
		item.CI = &analysis.Interval{w.Share(p.commits, ci[1]), w.Share(p.commits, ci[0])}
	}
	return item
}
