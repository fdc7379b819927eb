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
	Rate     float64 `json:"rate"`       // reads per second
	SLOP95MS float64 `json:"slo_p95_ms"` // of reads
	// WriteRows are rows to be written per second; 0 if none.
	WriteRows float64 `json:"write_rows"`
	// Query and Transport choose the read to plan with; empty stands for HTTP and the query that was read most.
	Query     string `json:"query"`
	Transport string `json:"transport"`
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
		p.Items = append(p.Items, planWrites(records, opts).items()...)
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
	switch unit {
	case "s":
		return duration(v)
	case "commits/s":
		return ms(v)
	}
	return count(int64(v))
}
