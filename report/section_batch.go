package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report/internal/chart"
)

// batchSize is what batch-writes.js keeps of one form and size.
type batchSize struct {
	Form   string    `json:"form"`
	Rows   float64   `json:"rows"`
	MS     []float64 `json:"ms"` // of each commit
	Failed int       `json:"failed"`
	Before []float64 `json:"before"` // reads
	After  []float64 `json:"after"`
	// Optimizes: the store was optimized before this size.
	Optimizes bool `json:"optimizes"`

	rate analysis.Estimate // rows per second
}

// batchFamily are the scenarios of batch-writes.js; a size of one row looks like a level and is gone from its name.
var batchFamily = regexp.MustCompile(`^(mutate|load)(_\d+)?$`)

const batchPrefix = "batch:"

// batchSizes reads the sizes of a record, by form and size.
func batchSizes(rec *recorder.Record, boot analysis.Bootstrap) []batchSize {
	var out []batchSize
	for name := range rec.Extra {
		var b batchSize
		if strings.HasPrefix(name, batchPrefix) && extra(rec, name, &b) && b.Rows > 0 {
			b.rate = rowsPerSecond(b, boot)
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b batchSize) int {
		return cmp.Or(-strings.Compare(a.Form, b.Form), cmp.Compare(a.Rows, b.Rows))
	})
	return out
}

// rowsPerSecond is the rate of the median commit: one slow commit says little about the size.
func rowsPerSecond(b batchSize, boot analysis.Bootstrap) analysis.Estimate {
	p50 := analysis.QuantileOf(analysis.NewSample(b.MS), 0.5, boot)
	if p50.Value == nil || *p50.Value <= 0 {
		return analysis.Estimate{Note: p50.Note}
	}
	v := b.Rows * 1000 / *p50.Value
	e := analysis.Estimate{Value: &v, Note: p50.Note}
	if ci := p50.CI; ci != nil && ci[0] > 0 {
		e.CI = &analysis.Interval{b.Rows * 1000 / ci[1], b.Rows * 1000 / ci[0]}
	}
	return e
}

// batchAnswer says how many rows a commit should carry.
func batchAnswer(rec *recorder.Record, groups []*group) answer {
	boot := analysis.DefaultBootstrap()
	sizes := batchSizes(rec, boot)
	if len(sizes) == 0 {
		return answer{}
	}
	t := Table{
		Caption: "Rows per commit, one writer over HTTP",
		Header:  []string{"form", "rows a commit", "commit p50, ms", "rows/s", "ms a row", "read p50 before, ms", "read p50 after, ms", "n, commits"},
	}
	for _, b := range sizes {
		p50 := analysis.QuantileOf(analysis.NewSample(b.MS), 0.5, boot)
		row := []string{b.Form, count(int64(b.Rows)), estimate(p50), estimate(b.rate), none,
			estimate(analysis.QuantileOf(analysis.NewSample(b.Before), 0.5, boot)),
			estimate(analysis.QuantileOf(analysis.NewSample(b.After), 0.5, boot)),
			commitsOf(b)}
		if p50.Value != nil {
			row[4] = ms(*p50.Value / b.Rows)
		}
		t.Rows = append(t.Rows, row)
	}
	s := Section{Title: "Rows per commit", Tables: []Table{t}}
	begins := "The store was optimized before each size."
	if !sizes[0].Optimizes {
		begins = "The store was never optimized: each size begins on what the one before left."
	}
	s.Notes = append(s.Notes, "Rows/s is of the median commit. "+readsWords(sizes)+begins)
	if p := batchPlot(sizes); p != nil {
		s.Plots = []Plot{*p}
	}
	out := answer{sections: []Section{s}, findings: append(batchFailures(sizes, groups), batchFindings(sizes)...)}
	for _, g := range groups {
		if batchFamily.MatchString(g.family) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

// readsWords says how many reads stand behind the figures before and after a size.
func readsWords(sizes []batchSize) string {
	least, most := math.MaxInt, 0
	for _, b := range sizes {
		least, most = min(least, len(b.Before), len(b.After)), max(most, len(b.Before), len(b.After))
	}
	switch {
	case most == 0:
		return "No read before or after a size succeeded. "
	case least == most:
		return fmt.Sprintf("The reads before and after a size are of the same keys, %s each time. ", counted(most, "read"))
	default:
		return fmt.Sprintf("The reads before and after a size are of the same keys, %s to %s each time. ", count(least), counted(most, "read"))
	}
}

func commitsOf(b batchSize) string {
	if b.Failed > 0 {
		return fmt.Sprintf("%s + %s failed", count(len(b.MS)), count(b.Failed))
	}
	return count(len(b.MS))
}

// batchFailures says of each form of which no commit got through, and why.
func batchFailures(sizes []batchSize, groups []*group) []Finding {
	var out []Finding
	for _, form := range []string{"mutate", "load"} {
		commits, failed := 0, 0
		for _, b := range sizes {
			if b.Form == form {
				commits += len(b.MS)
				failed += b.Failed
			}
		}
		if commits > 0 || failed == 0 {
			continue
		}
		errors := map[string]uint64{}
		message := ""
		for _, g := range groups {
			if !strings.HasPrefix(g.family, form) || !g.writes() {
				continue
			}
			for _, cells := range g.cells {
				for _, c := range cells {
					for kind, n := range c.Errors {
						errors[kind] += n
						message = firstOf(message, firstMessage(c.Messages[kind]))
					}
				}
			}
		}
		text := fmt.Sprintf("No commit by %s got through: all %s failed", form, count(failed))
		if len(errors) > 0 {
			text += " (" + recorder.ErrorWords(errors) + ")"
		}
		if message != "" {
			text += ", for example: " + strings.TrimSuffix(message, ".")
		}
		out = append(out, Finding{Text: text + ".", Next: "Mend what the errors name, and run it again."})
	}
	return out
}

// enoughShare is the share of the best rate at which more rows in a commit are no longer worth the memory and the
// latency that they cost.
const enoughShare = 0.8

func batchFindings(sizes []batchSize) []Finding {
	var out []Finding
	for _, form := range []string{"mutate", "load"} {
		var of []batchSize
		for _, b := range sizes {
			if b.Form == form && b.rate.Value != nil {
				of = append(of, b)
			}
		}
		if len(of) < 2 {
			continue
		}
		best := slices.MaxFunc(of, func(a, b batchSize) int { return cmp.Compare(*a.rate.Value, *b.rate.Value) })
		enough := of[slices.IndexFunc(of, func(b batchSize) bool { return *b.rate.Value >= enoughShare**best.rate.Value })]
		first := of[0]
		ratio := *enough.rate.Value / *first.rate.Value
		name := map[string]string{"mutate": "one mutation", "load": "one load"}[form]
		if enough.Rows == first.Rows || !apart(first.rate, enough.rate) {
			out = append(out, Finding{Text: fmt.Sprintf("No detected effect of more rows in %s on rows/s.", name)})
			continue
		}
		f := Finding{Text: fmt.Sprintf("%s rows in %s are written at %s rows/s, %s in one at %s: %s times as many.",
			count(int64(enough.Rows)), name, estimate(enough.rate), count(int64(first.Rows)), estimate(first.rate), times(ratio))}
		if enough.Rows < best.Rows {
			f.Text += fmt.Sprintf(" Larger commits bring at most %s more.", percent(*best.rate.Value / *enough.rate.Value - 1))
		}
		f.Next = fmt.Sprintf("Put about %s rows into %s: where single-row commits make %s fragments, it makes one.",
			count(int64(enough.Rows)), name, count(int64(enough.Rows)))
		out = append(out, f)
	}
	return out
}

// apart tells whether two estimates' intervals do not meet; without intervals nothing is told apart.
func apart(a, b analysis.Estimate) bool {
	return a.CI != nil && b.CI != nil && (a.CI[1] < b.CI[0] || b.CI[1] < a.CI[0])
}

func batchPlot(sizes []batchSize) *Plot {
	f := chart.Figure{
		Title: "Rows per second over rows in a commit",
		X:     chart.Axis{Label: "rows in a commit", Log: true},
		Y:     chart.Axis{Label: "rows/s", Log: true},
		Desc:  "Rows written per second by one writer, over the rows in each commit, with 95 % intervals.",
	}
	for i, form := range []string{"mutate", "load"} {
		s := chart.Series{Name: form, Kind: chart.Intervals, Color: i, Dash: i}
		for _, b := range sizes {
			if b.Form == form && b.rate.Value != nil && b.rate.CI != nil {
				s.X, s.Y = append(s.X, b.Rows), append(s.Y, *b.rate.Value)
				s.Low, s.High = append(s.Low, b.rate.CI[0]), append(s.High, b.rate.CI[1])
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return &Plot{Caption: "Rows per second over the rows in a commit, with 95 % intervals.", draw: withID(f)}
}
