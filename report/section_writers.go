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

// writersFamily are the scenarios of writers.js without their level: the contention and the round.
var writersFamily = regexp.MustCompile(`^(distinct|same)_r(\d+)$`)

// writerLevel is what one number of writers came to, over all rounds.
type writerLevel struct {
	workers int
	rates   []float64      // operations per second of each round
	took    []analysis.Bin // every success of all rounds, ms
	ok      uint64
	failed  uint64
	retries uint64
	errors  map[string]uint64
	message string // of one failure
}

// writerLevels collects the levels of one kind of contention.
func writerLevels(groups []*group, contention string) []*writerLevel {
	found := map[int]*writerLevel{}
	for _, g := range groups {
		m := writersFamily.FindStringSubmatch(g.family)
		if m == nil || m[1] != contention {
			continue
		}
		for l, cells := range g.cells {
			for _, c := range cells {
				w := found[l.workers]
				if w == nil {
					w = &writerLevel{workers: l.workers, errors: map[string]uint64{}}
					found[l.workers] = w
				}
				w.add(c)
			}
		}
	}
	out := make([]*writerLevel, 0, len(found))
	for _, w := range found {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *writerLevel) int { return cmp.Compare(a.workers, b.workers) })
	return out
}

func (w *writerLevel) add(c *recorder.CellRecord) {
	if c.OpsPerS != nil {
		w.rates = append(w.rates, *c.OpsPerS)
	}
	w.took = append(w.took, bins(c)...)
	w.ok += c.N
	w.failed += c.Failed
	w.retries += c.Retries
	for kind, n := range c.Errors {
		w.errors[kind] += n
		if w.message == "" {
			w.message = firstMessage(c.Messages[kind])
		}
	}
}

func (w *writerLevel) rate() float64 {
	var sum float64
	for _, r := range w.rates {
		sum += r
	}
	return sum / math.Max(1, float64(len(w.rates)))
}

// throughput is the mean rate of the rounds, with the interval that the durations give: see [group.throughput].
func (w *writerLevel) throughput() analysis.Estimate {
	v := w.rate()
	e := analysis.Estimate{Value: &v}
	s := analysis.FromBins(w.took)
	if s.Len() < analysis.MinP50CI || s.Sum() <= 0 {
		e.Note = fmt.Sprintf("an interval needs %d samples, there are %d", analysis.MinP50CI, s.Len())
		return e
	}
	mean, half := meanWithHalf(s)
	relative := math.Min(half/mean, 0.99)
	e.CI = &analysis.Interval{v / (1 + relative), v / (1 - relative)}
	return e
}

// writersAnswer says how the store takes more writers.
func writersAnswer(_ *recorder.Record, groups []*group) answer {
	distinct, same := writerLevels(groups, "distinct"), writerLevels(groups, "same")
	if len(distinct)+len(same) == 0 {
		return answer{}
	}
	boot := analysis.DefaultBootstrap()
	s := Section{Title: "Writers"}
	var out answer
	silent := func(text string) {
		s.Text = append(s.Text, text)
		out.findings = append(out.findings, Finding{Text: text, Next: "Mend what the errors name, and run it again."})
	}
	if text := nothingThrough("insert of a distinct key", distinct); text != "" {
		silent(text)
	} else if len(distinct) > 0 {
		fit := analysis.FitUSL(throughputs(distinct), boot)
		s.Tables = append(s.Tables, writersTable("Single-row inserts of distinct keys, over HTTP", distinct, boot))
		s.Notes = append(s.Notes, uslNote(fit, rounds(distinct)))
		out.findings = append(out.findings, distinctFinding(distinct, fit))
		if p := writersPlot(distinct, same, fit); p != nil {
			s.Plots = append(s.Plots, *p)
		}
	}
	if text := nothingThrough("update of the contested row", same); text != "" {
		silent(text)
	} else if len(same) > 0 {
		s.Tables = append(s.Tables, writersTable("Updates of one and the same row over HTTP; a duration runs from the first attempt to the success, with every conflict and wait between", same, boot))
		out.findings = append(out.findings, sameFinding(same)...)
	}
	s.Notes = append(s.Notes, writerNotes(distinct, same, boot)...)
	out.sections = []Section{s}
	for _, g := range groups {
		if writersFamily.MatchString(g.family) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

// nothingThrough says that none of a contention's writes succeeded, and why; empty where one did, or none was sent.
func nothingThrough(what string, levels []*writerLevel) string {
	errors := map[string]uint64{}
	var ok, failed uint64
	message := ""
	for _, w := range levels {
		ok += w.ok
		failed += w.failed
		for kind, n := range w.errors {
			errors[kind] += n
		}
		message = firstOf(message, w.message)
	}
	if len(levels) == 0 || ok > 0 {
		return ""
	}
	if failed == 0 {
		return fmt.Sprintf("No %s got through: the run ended before one did.", what)
	}
	text := fmt.Sprintf("No %s got through: all %s failed (%s)", what, count(failed), recorder.ErrorWords(errors))
	if message != "" {
		text += fmt.Sprintf(", for example: %s", strings.TrimSuffix(message, "."))
	}
	return text + ". There is no throughput to show."
}

func throughputs(levels []*writerLevel) []analysis.Throughput {
	var points []analysis.Throughput
	for _, w := range levels {
		for _, r := range w.rates {
			points = append(points, analysis.Throughput{N: float64(w.workers), X: r})
		}
	}
	return points
}

func writersTable(caption string, levels []*writerLevel, boot analysis.Bootstrap) Table {
	t := Table{Caption: caption, Header: []string{
		"writers", "commits/s", "p50, ms", "p95, ms", "conflicts a commit", "n",
	}}
	for _, w := range levels {
		sample := analysis.FromBins(w.took)
		conflicts := none
		if w.ok > 0 {
			conflicts = ms(float64(w.retries) / float64(w.ok))
		}
		n := count(w.ok)
		if w.failed > 0 {
			n += fmt.Sprintf(" + %s failed", count(w.failed))
		}
		t.Rows = append(t.Rows, []string{
			count(w.workers), w.ratesText(),
			estimate(analysis.QuantileOf(sample, 0.5, boot)), estimate(analysis.QuantileOf(sample, 0.95, boot)), conflicts, n,
		})
	}
	return t
}

// writerNotes say why figures of the tables have no interval, or are missing, each reason once.
func writerNotes(distinct, same []*writerLevel, boot analysis.Bootstrap) []string {
	short := map[float64]int{}
	least := map[float64]int{}
	for _, levels := range [][]*writerLevel{distinct, same} {
		for _, w := range levels {
			sample := analysis.FromBins(w.took)
			for _, q := range []float64{0.5, 0.95} {
				if e := analysis.QuantileOf(sample, q, boot); w.ok > 0 && e.CI == nil {
					if short[q] == 0 || sample.Len() < least[q] {
						least[q] = sample.Len()
					}
					short[q]++
				}
			}
		}
	}
	var out []string
	for _, q := range []float64{0.5, 0.95} {
		if short[q] > 0 {
			needs := map[float64]int{0.5: analysis.MinP50CI, 0.95: analysis.MinP95CI}[q]
			out = append(out, fmt.Sprintf("An interval of p%g needs %d samples: %s had fewer, the least %d.", q*100, needs, counted(short[q], "level"), least[q]))
		}
	}
	return out
}

// ratesText shows the one round's rate with its interval, or that of every round.
func (w *writerLevel) ratesText() string {
	if len(w.rates) == 1 {
		return estimate(w.throughput())
	}
	return ratesText(w.rates)
}

// ratesText shows every round's rate: their spread is what the reader needs.
func ratesText(rates []float64) string {
	if len(rates) == 0 {
		return none
	}
	words := make([]string, len(rates))
	for i, r := range rates {
		words[i] = ms(r)
	}
	return strings.Join(words, " / ")
}

// uslNote puts the fitted law into words, with what it was fitted to. At a bound of its parameters the law only says that
// the data asks for more than it can express.
func uslNote(fit analysis.USLFit, rounds int) string {
	if fit.Lambda.Value == nil {
		return "No scalability fit: " + fit.Note + "."
	}
	text := fmt.Sprintf("Universal Scalability Law, fitted to %d levels of %s each: one writer λ = %s commits/s, serialized share σ = %s, cost of consistency κ = %s",
		fit.Levels, counted(rounds, "round"), estimate(fit.Lambda), percentCI(fit.Sigma.Value, fit.Sigma.CI), tiny(fit.Kappa))
	switch {
	case *fit.Sigma.Value >= 0.9995:
		text += "; σ is at its bound: throughput does not rise from the first level on, and the law tells no more than that"
	case fit.PeakN.Value != nil && fit.PeakN.CI == nil:
		text += fmt.Sprintf("; throughput peaks near %s writers at %s commits/s, but %s", estimate(fit.PeakN), estimate(fit.PeakX), fit.PeakN.Note)
	case fit.PeakN.Value != nil:
		text += fmt.Sprintf("; throughput peaks near %s writers at %s commits/s", estimate(fit.PeakN), estimate(fit.PeakX))
	}
	return text + "."
}

// rounds is how often each level was measured, the least of them.
func rounds(levels []*writerLevel) int {
	least := len(levels[0].rates)
	for _, w := range levels {
		least = min(least, len(w.rates))
	}
	return least
}

// tiny writes an estimate far below 1, such as the law's kappa.
func tiny(e analysis.Estimate) string {
	if e.CI == nil {
		return fmt.Sprintf("%.2g", *e.Value)
	}
	return fmt.Sprintf("%.2g [%.2g, %.2g]", *e.Value, e.CI[0], e.CI[1])
}

// hardlyMore is the gain from the first level to the best below which more writers are not worth having.
const hardlyMore = 1.2

func distinctFinding(levels []*writerLevel, fit analysis.USLFit) Finding {
	first, last := levels[0], levels[len(levels)-1]
	best := slices.MaxFunc(levels, func(a, b *writerLevel) int { return cmp.Compare(a.rate(), b.rate()) })
	from, to := first.throughput(), last.throughput()
	f := Finding{Text: fmt.Sprintf("Single-row inserts: %s commits/s with %s, %s with %s", estimate(from),
		counted(first.workers, "writer"), estimate(to), counted(last.workers, "writer"))}
	if best != first && best != last {
		f.Text += fmt.Sprintf(", at best %s with %s", estimate(best.throughput()), counted(best.workers, "writer"))
	}
	f.Text += "." + failureWords(levels)
	capped := uint64(0)
	for _, w := range levels {
		capped += w.errors["admission_capped"]
	}
	fromLow, _ := bounds(from)
	_, toHigh := bounds(to)
	switch {
	case len(levels) < 2:
		f.Next = "Measure more levels."
	case capped > 0:
		f.Text += fmt.Sprintf(" %s were refused by the admission cap: the highest levels show a policy, not a capacity.", counted(capped, "commit"))
		f.Next = "Spread the writers over several actors (WRITERS_ACTORS) to see the store's own limit."
	case from.CI == nil || to.CI == nil:
		f.Text += fmt.Sprintf(" That is too few for an interval, which takes %d commits at a level.", analysis.MinP50CI)
		f.Next = "Repeat with longer levels (WRITERS_SECONDS) before acting on it."
	case toHigh < fromLow:
		f.Text += " Adding writers slows the system down: commits are made one after the other, and each waits for all."
		f.Next = fmt.Sprintf("Write from at most %s, and put several rows into one commit (batch-writes.js says how many).", counted(best.workers, "writer"))
	case best == first:
		f.Text += " More writers bring no more."
		f.Next = "Put several rows into one commit (batch-writes.js says how many)."
	case best.rate() < first.rate()*hardlyMore:
		f.Text += " More writers bring hardly more."
		f.Next = "Put several rows into one commit (batch-writes.js says how many)."
	case fit.PeakN.CI != nil:
		f.Next = fmt.Sprintf("Stay at or below %s: more than that may slow the system down.", counted(int64(math.Max(1, fit.PeakN.CI[0])), "writer"))
	}
	return f
}

// failureWords says how many writes of all levels failed, and how; empty where none did.
func failureWords(levels []*writerLevel) string {
	errors := map[string]uint64{}
	var ok, failed uint64
	for _, w := range levels {
		ok += w.ok
		failed += w.failed
		for kind, n := range w.errors {
			errors[kind] += n
		}
	}
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf(" %s of %s failed (%s).", count(failed), count(ok+failed), recorder.ErrorWords(errors))
}

func sameFinding(levels []*writerLevel) []Finding {
	last := levels[len(levels)-1]
	if last.ok == 0 {
		return []Finding{{Text: fmt.Sprintf("%s of one row got nothing through.", counted(last.workers, "writer"))}}
	}
	f := Finding{Text: fmt.Sprintf("%s of one row: %s commits/s, and %s conflicts for every commit that got through.",
		counted(last.workers, "writer"), estimate(last.throughput()), ms(float64(last.retries)/float64(last.ok)))}
	if last.failed > 0 {
		f.Text += fmt.Sprintf(" %s gave up.", counted(last.failed, "update"))
	}
	if last.retries > last.ok {
		f.Next = "Let one writer own a row that many want to change, or collect their changes into one commit."
	}
	return []Finding{f}
}

func writersPlot(distinct, same []*writerLevel, fit analysis.USLFit) *Plot {
	f := chart.Figure{
		Title: "Commits per second over writers",
		X:     chart.Axis{Label: "writers", Zero: true},
		Y:     chart.Axis{Label: "commits/s", Zero: true},
		Desc:  "Commits per second over the number of concurrent writers, with the fitted Universal Scalability Law.",
	}
	most := 0
	for i, set := range []struct {
		name   string
		levels []*writerLevel
	}{{"distinct keys", distinct}, {"one row", same}} {
		s := chart.Series{Name: set.name, Kind: chart.Points, Color: i}
		for _, w := range set.levels {
			for _, r := range w.rates {
				s.X, s.Y = append(s.X, float64(w.workers)), append(s.Y, r)
			}
			most = max(most, w.workers)
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if fit.Lambda.Value != nil {
		line := chart.Series{Name: "fitted law", Color: 0, Dash: 1}
		for n := 1.0; n <= float64(most); n += float64(most) / 60 {
			line.X, line.Y = append(line.X, n), append(line.Y, fit.At(n))
		}
		f.Series = append(f.Series, line)
	}
	if len(f.Series) == 0 {
		return nil
	}
	return &Plot{Caption: "Commits per second over the number of writers.", draw: withID(f)}
}
