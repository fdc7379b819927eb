package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report/internal/chart"
)

// aging is what fragmentation.js keeps: reads and single-row inserts, each with the commits made since the last
// optimize.
type aging struct {
	Commits       []float64 `json:"commits"`
	MS            []float64 `json:"ms"`
	InsertCommits []float64 `json:"insertCommits"`
	InsertMS      []float64 `json:"insertMS"`
	Start         float64   `json:"start"`
	Optimizes     bool      `json:"optimizes"`
	Goal          struct {
		SLOP95        float64 `json:"sloP95"`
		WritesPerHour float64 `json:"writesPerHour"`
	} `json:"goal"`
}

// agingOptimize is the optimize that ended the aging.
type agingOptimize struct {
	MS      float64 `json:"ms"`
	Commits float64 `json:"commits"`
}

func pointsOf(x, y []float64) []analysis.ReadAfter {
	points := make([]analysis.ReadAfter, 0, len(x))
	for i := range min(len(x), len(y)) {
		points = append(points, analysis.ReadAfter{Commits: x[i], MS: y[i]})
	}
	return points
}

// agingAnswer says what a commit costs every later read, and what follows for the optimize job.
func agingAnswer(rec *recorder.Record, groups []*group) answer {
	var a aging
	if !extra(rec, "aging", &a) {
		return answer{}
	}
	var opt agingOptimize
	extra(rec, "aging_optimize", &opt)
	reads := analysis.FitFragmentation(pointsOf(a.Commits, a.MS))
	inserts := analysis.FitFragmentation(pointsOf(a.InsertCommits, a.InsertMS))

	var off []string
	s := Section{Title: "Reads and writes on an aging store"}
	t := Table{
		Caption: "Latency = base + slope × single-row commits since optimize (point reads and inserts over HTTP, one worker)",
		Header:  []string{"operation", "base, ms", "slope, ms a commit", "after 100 commits, ms", "n"},
	}
	for _, line := range []struct {
		name string
		fit  analysis.Fragmentation
	}{{"point read", reads}, {"single-row insert", inserts}} {
		if line.fit.Slope.Value == nil {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s.", line.name, line.fit.Note))
			continue
		}
		t.Rows = append(t.Rows, []string{
			line.name, msCI(line.fit.Base.Value, line.fit.Base.CI), msCI(line.fit.Slope.Value, line.fit.Slope.CI),
			ms(line.fit.At(100)), count(line.fit.N),
		})
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if reads.Slope.Value != nil {
		s.Tables = append(s.Tables, cadenceTable(reads, a, opt))
		s.Notes = append(s.Notes, fmt.Sprintf("The line was measured up to %.0f commits; counts beyond that are extrapolated.", maxOf(a.Commits)))
		off = lineOff(reads, maxOf(a.Commits), groups)
		for _, miss := range off {
			s.Notes = append(s.Notes, "The line against reads timed apart from it: "+miss+".")
		}
	}
	if p := agingPlot(a, reads); p != nil {
		s.Plots = append(s.Plots, *p)
	}
	out := answer{sections: []Section{s}, findings: agingFindings(reads, a, opt)}
	if len(off) > 0 {
		out.findings[0].Text += " The straight line holds roughly only: " + strings.Join(off, "; ") + "."
		for i := range out.findings[1:] {
			out.findings[1+i].Text = "By that line: " + out.findings[1+i].Text
		}
	}
	for _, g := range groups {
		if g.family == "aging" {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

// lineMisses is how far, as a share, reads that were timed apart from the line's own may lie from it before the report
// says so.
const lineMisses = 0.25

// lineOff holds the fitted line against the reads that were made after the aging: on the store with all its commits, and
// on the optimized one. The line is of means, so means are compared.
func lineOff(fit analysis.Fragmentation, commits float64, groups []*group) []string {
	var out []string
	for _, at := range []struct {
		family, state string
		commits       float64
	}{{"optimized_read", "right after an optimize", 0}, {"fragmented_read", fmt.Sprintf("after %.0f commits", commits), commits}} {
		for _, g := range groups {
			if g.family != at.family {
				continue
			}
			for _, l := range g.levels {
				for _, c := range g.cells[l] {
					if c.N < analysis.MinFragmentationReads || c.Op != "query" {
						continue
					}
					mean, line := c.BusyS*1000/float64(c.N), fit.At(at.commits)
					if math.Abs(mean-line) > lineMisses*mean {
						out = append(out, fmt.Sprintf("%s it gives %s ms, and %s made there took %s ms on average",
							at.state, ms(line), counted(c.N, "read"), ms(mean)))
					}
				}
			}
		}
	}
	return out
}

func maxOf(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v)
	}
	return most
}

// cadenceTable says how often the store has to be optimized, for objectives around the one that was asked for.
func cadenceTable(fit analysis.Fragmentation, a aging, opt agingOptimize) Table {
	t := Table{
		Caption: fmt.Sprintf("How often to optimize at %s single-row commits an hour", count(int64(a.Goal.WritesPerHour))),
		Header:  []string{"read p95 to keep, ms", "commits between two optimizes", "hours between two", "reads until an optimize pays"},
	}
	for _, slo := range []float64{a.Goal.SLOP95 / 2, a.Goal.SLOP95, a.Goal.SLOP95 * 2} {
		commits := fit.CommitsUnder(slo, analysis.DefaultBootstrap())
		row := []string{ms(slo), wholeEstimate(commits), none, none}
		if commits.Value != nil && a.Goal.WritesPerHour > 0 {
			row[2] = estimate(scaled(commits, 1/a.Goal.WritesPerHour))
			if opt.MS > 0 && *commits.Value > 0 {
				row[3] = wholeEstimate(fit.PaybackReads(opt.MS, *commits.Value))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// scaled is an estimate in another unit.
func scaled(e analysis.Estimate, by float64) analysis.Estimate {
	out := analysis.Estimate{Note: e.Note}
	if e.Value != nil {
		v := *e.Value * by
		out.Value = &v
	}
	if e.CI != nil {
		out.CI = &analysis.Interval{e.CI[0] * by, e.CI[1] * by}
	}
	return out
}

// estimate writes an estimate with its interval or, where it has none, why.
func estimate(e analysis.Estimate) string {
	switch {
	case e.Value == nil:
		return none
	case e.CI == nil && *e.Value == 0:
		return "0"
	}
	return msCI(e.Value, e.CI)
}

// wholeEstimate writes an estimate of a count.
func wholeEstimate(e analysis.Estimate) string {
	switch {
	case e.Value == nil:
		return none
	case e.CI == nil:
		return whole(*e.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", whole(*e.Value), whole(e.CI[0]), whole(e.CI[1]))
}

func agingFindings(fit analysis.Fragmentation, a aging, opt agingOptimize) []Finding {
	if fit.Slope.Value == nil {
		return []Finding{{Text: "What a commit costs reads can't be said: " + fit.Note + "."}}
	}
	if fit.Slope.CI == nil || fit.Slope.CI[0] <= 0 {
		return []Finding{{Text: fmt.Sprintf("No detected effect of single-row commits on point reads: %s ms a commit.",
			msCI(fit.Slope.Value, fit.Slope.CI))}}
	}
	const many = 100
	f := Finding{Text: fmt.Sprintf("Every single-row commit makes each later point read %s ms slower: %s ms right after an optimize, %s ms %d commits later.",
		msCI(fit.Slope.Value, fit.Slope.CI), ms(*fit.Base.Value), ms(fit.At(many)), many)}
	out := []Finding{f}
	under := fit.CommitsUnder(a.Goal.SLOP95, analysis.DefaultBootstrap())
	switch {
	case under.Value == nil:
		out[0].Next = "Put several rows into one commit, and optimize by schedule."
	case *under.Value == 0:
		out = append(out, Finding{
			Text: fmt.Sprintf("A read p95 of %s ms can't be kept by optimizing: %s.", ms(a.Goal.SLOP95), under.Note),
			Next: "Choose an objective above the optimized store's own p95.",
		})
	default:
		text := fmt.Sprintf("A read p95 of %s ms is kept for %s commits after an optimize", ms(a.Goal.SLOP95), wholeEstimate(under))
		next := fmt.Sprintf("Optimize at least every %s commits", count(int64(lowest(under))))
		if a.Goal.WritesPerHour > 0 {
			hours := lowest(under) / a.Goal.WritesPerHour
			next += fmt.Sprintf(": at %s commits an hour, every %s", count(int64(a.Goal.WritesPerHour)), span(hours))
		}
		if opt.MS > 0 {
			text += fmt.Sprintf("; an optimize (%s ms) has paid for itself after %s reads by then", ms(opt.MS), wholeEstimate(fit.PaybackReads(opt.MS, *under.Value)))
		}
		out = append(out, Finding{Text: text + ".", Next: next + "."})
	}
	return out
}

// lowest is the cautious end of an estimate.
func lowest(e analysis.Estimate) float64 {
	if e.CI != nil {
		return e.CI[0]
	}
	return *e.Value
}

// span writes a number of hours in the unit that suits it.
func span(hours float64) string {
	switch {
	case hours >= 48:
		return ms(hours/24) + " days"
	case hours >= 1:
		return ms(hours) + " hours"
	case hours*60 >= 1:
		return ms(hours*60) + " minutes"
	default:
		return ms(hours*3600) + " seconds"
	}
}

func agingPlot(a aging, fit analysis.Fragmentation) *Plot {
	f := chart.Figure{
		Title: "Point reads on an aging store",
		X:     chart.Axis{Label: "single-row commits since optimize"},
		Y:     chart.Axis{Label: "latency, ms", Zero: true},
		Desc:  "Single point reads over the number of commits since the last optimize, with the fitted line.",
	}
	dots := chart.Series{Name: "point read", Kind: chart.Points}
	const most = 600
	step := len(a.MS)/most + 1
	for i := 0; i < min(len(a.MS), len(a.Commits)); i += step {
		dots.X, dots.Y = append(dots.X, a.Commits[i]), append(dots.Y, a.MS[i])
	}
	if len(dots.X) < 5 {
		return nil
	}
	f.Series = append(f.Series, dots)
	if fit.Slope.Value != nil {
		last := maxOf(a.Commits)
		f.Series = append(f.Series, chart.Series{
			Name: "fitted line", Color: 1, X: []float64{a.Start, last}, Y: []float64{fit.At(a.Start), fit.At(last)},
		})
	}
	return &Plot{Caption: "Point reads over the commits since the last optimize, with the fitted line.", draw: withID(f)}
}
