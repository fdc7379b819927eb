package report

import (
	"fmt"
	"strings"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// findings are a run's answers in the order of what they are worth to the user: the state of the store first, then
// the transport for reads, then the writers.
func findings(rec *recorder.Record, groups []*group) []Finding {
	if rec.Verdict == recorder.Invalid {
		return nil
	}
	var out []Finding
	if f := fragmentationFinding(groups); f != nil {
		out = append(out, *f)
	}
	aged := len(out) > 0
	for _, g := range groups {
		if aged && (fragmentedName.MatchString(g.family) || optimizedName.MatchString(g.family)) {
			continue // they were measured for the finding above; the transports' own steps say more about transports
		}
		for _, name := range g.pairNames() {
			out = append(out, pairFinding(rec, g, name)...)
		}
	}
	for _, g := range groups {
		if f := writerFinding(g); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// withoutRepeats leaves an advice at the first finding that gives it.
func withoutRepeats(list []Finding) []Finding {
	said := map[string]bool{}
	for i := range list {
		if said[list[i].Next] {
			list[i].Next = ""
		}
		said[list[i].Next] = true
	}
	return list
}

// fragmentationFinding takes the effect over HTTP where there is one, since the CLI's start hides part of it.
func fragmentationFinding(groups []*group) *Finding {
	effects := fragmentationEffects(groups)
	var best *beforeAfter
	for i := range effects {
		e := &effects[i]
		if e.ratio.Value == nil {
			continue
		}
		if best == nil || best.lane.transport != "http" && e.lane.transport == "http" {
			best = e
		}
	}
	if best == nil {
		return nil
	}
	text := fmt.Sprintf("Optimizing the store took %s over %s%s from %s to %s ms at p50, %s",
		best.query, best.lane, best.level.at(), ms(*best.before.P50), ms(*best.after.P50), ratioCI(best.ratio)+" times faster")
	switch ci := best.ratio.CI; {
	case ci == nil:
		return &Finding{
			Text: text + " (too few samples for an interval).",
			Next: "Repeat with at least 20 reads in either state before acting on it.",
		}
	case ci.Contains(1):
		return &Finding{Text: fmt.Sprintf("No detected effect of optimize on %s over %s (%s to %s times).",
			best.query, best.lane, times(ci[0]), times(ci[1]))}
	case ci[1] < 1:
		return &Finding{
			Text: text + ": the optimized store was the slower one.",
			Next: "Look at what else changed between the two measurements before trusting either.",
		}
	default:
		return &Finding{
			Text: text + ".",
			Next: "First verify that the scheduled omnigraph optimize really runs: until it does, the transport hardly matters.",
		}
	}
}

// pairFinding says what a comparison found: one finding for the lowest and, if there are several levels, the highest.
func pairFinding(rec *recorder.Record, g *group, name [2]string) []Finding {
	var shown []*recorder.PairRecord
	for _, l := range g.levels {
		if p := g.pair(l, name); p != nil && p.Share != nil {
			shown = append(shown, p)
		}
	}
	a, b := g.variantName(name[0]), g.variantName(name[1])
	if len(shown) == 0 {
		return []Finding{{
			Text: fmt.Sprintf("%s: %s and %s can't be compared, since no pair has two successes.", g.title(), a, b),
			Next: "See the errors below.",
		}}
	}
	threshold := rec.Limits.NoiseFloor + rec.Limits.Margin
	var words []string
	above, below, faster := 0, 0, 0
	for _, p := range shown {
		at := level{workers: p.Key().Workers}.at()
		switch effectOf(p, threshold) {
		case noEffect:
			below++
			words = append(words, "no detected effect"+at)
			continue
		case unsure:
			words = append(words, fmt.Sprintf("%s%s (too few pairs for an interval)", percent(*p.Share), at))
			continue
		case aSlower:
			above++
		case aFaster:
			faster++
		}
		words = append(words, fmt.Sprintf("%s%s", percentCI(p.Share, p.ShareCI), at))
	}
	f := Finding{Text: fmt.Sprintf("%s: %s instead of %s saves, as a share of p50, %s.", g.title(), b, a, strings.Join(words, ", "))}
	switch {
	case above == 0 && faster == 0 && below == len(shown):
		f.Text = fmt.Sprintf("%s: no detected effect between %s and %s (below %s).", g.title(), a, b, percent(threshold))
	case above == 0 && faster == 0 && below == 0:
		f.Next = "Repeat with at least 20 pairs before acting on it."
	case !g.subprocess(name):
	case g.writes():
		f.Next = "A pooled HTTP client won't lift the writers' ceiling, which is the server's commit path: put several rows into one mutation."
	case above > 0 && !fragmentedName.MatchString(g.family):
		f.Next = "Read over one pooled HTTP client for http(s):// stores; keep the CLI for local paths and s3://."
	}
	return []Finding{f}
}

type effect int

const (
	unsure effect = iota
	noEffect
	aSlower
	aFaster
)

// effectOf judges a share by its interval and by what the session's noise floor and the margin ask of an effect.
func effectOf(p *recorder.PairRecord, threshold float64) effect {
	switch {
	case p.ShareCI == nil:
		return unsure
	case p.ShareCI[0] > 0 && *p.Share > threshold:
		return aSlower
	case p.ShareCI[1] < 0 && *p.Share < -threshold:
		return aFaster
	default:
		return noEffect
	}
}

// writerFinding says what more writers brought: over HTTP, or over what there is.
func writerFinding(g *group) *Finding {
	if !g.writes() || len(g.levels) < 2 || g.levels[0].rate != 0 {
		return nil
	}
	lanes := g.lanes()
	ln := lanes[len(lanes)-1]
	first, last := g.cell(g.levels[0], ln), g.cell(g.levels[len(g.levels)-1], ln)
	if first == nil || last == nil || first.OpsPerS == nil || last.OpsPerS == nil {
		return nil
	}
	from, to := g.throughput(g.levels[0], first), g.throughput(g.levels[len(g.levels)-1], last)
	text := fmt.Sprintf("%s over %s: %s operations/s with %s, %s with %s", g.title(), ln,
		msCI(from.Value, from.CI), g.levels[0], msCI(to.Value, to.CI), g.levels[len(g.levels)-1])
	fromLow, fromHigh := bounds(from)
	_, toHigh := bounds(to)
	switch {
	case g.paces[g.levels[0]].own() || g.paces[g.levels[len(g.levels)-1]].own():
		return &Finding{Text: text + ": a schedule, pauses or failures filled most of the workers' time, so these rates are the script's own."}
	case from.CI == nil || to.CI == nil:
		return &Finding{
			Text: text + " (too few samples for an interval).",
			Next: "Repeat with at least 20 operations at either level before acting on it.",
		}
	case toHigh < fromLow:
		return &Finding{
			Text: text + ": adding writers slows the system down, since commits serialize in the server.",
			Next: "Write from few workers and put several rows into one mutation: that lifts the ceiling and makes fewer fragments.",
		}
	case toHigh < fromHigh*1.5:
		return &Finding{
			Text: text + ": more writers hardly bring more.",
			Next: "Put several rows into one mutation.",
		}
	default:
		return &Finding{Text: text + "."}
	}
}
