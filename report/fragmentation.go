package report

import (
	"fmt"
	"regexp"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// fragmentedName and optimizedName tell by a scenario's name what state the store was in. "defragmented" is not
// fragmented.
var (
	fragmentedName = regexp.MustCompile(`(?i)(^|[^e])frag`)
	optimizedName  = regexp.MustCompile(`(?i)optimi[sz]ed|compacted|defrag`)
)

// beforeAfter is one query read over one lane on the fragmented store and after optimize.
type beforeAfter struct {
	query         string
	lane          lane
	level         level
	before, after *recorder.CellRecord
	ratio         analysis.Estimate // p50 before / p50 after
}

// fragmentationEffects pairs the cells of scenarios whose names say "fragmented" with those of "optimized".
func fragmentationEffects(groups []*group) []beforeAfter {
	var out []beforeAfter
	for _, f := range groups {
		if !fragmentedName.MatchString(f.family) || optimizedName.MatchString(f.family) || f.writes() {
			continue
		}
		for _, o := range groups {
			if !optimizedName.MatchString(o.family) || o.op != f.op || o.query != f.query {
				continue
			}
			for _, l := range f.levels {
				for _, ln := range f.lanes() {
					before, after := f.cell(l, ln), o.cell(l, ln)
					if before == nil || after == nil {
						continue
					}
					e := beforeAfter{query: f.query, lane: ln, level: l, before: before, after: after}
					e.ratio = medianRatio(before, after)
					out = append(out, e)
				}
			}
			break
		}
	}
	return out
}

// medianRatio is p50 of a / p50 of b with its interval.
func medianRatio(a, b *recorder.CellRecord) analysis.Estimate {
	sa, errA := a.Sample()
	sb, errB := b.Sample()
	if errA != nil || errB != nil {
		return analysis.Estimate{Note: "a histogram can't be read"}
	}
	_, ratio := analysis.CompareMedians(sa, sb, analysis.DefaultBootstrap())
	return ratio
}

func fragmentationSection(groups []*group) *Section {
	effects := fragmentationEffects(groups)
	if len(effects) == 0 {
		return nil
	}
	t := Table{
		Caption: "The same rows, fragmented by single-row commits and after omnigraph optimize (p50, ms)",
		Header:  []string{"read", "level", "fragmented", "optimized", "times slower", "n"},
	}
	for _, e := range effects {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%s over %s", e.query, e.lane), e.level.String(),
			msCI(e.before.P50, e.before.P50CI), msCI(e.after.P50, e.after.P50CI), ratioCI(e.ratio),
			fmt.Sprintf("%s / %s", samples(e.before), samples(e.after)),
		})
	}
	return &Section{Title: "Fragments", Tables: []Table{t}}
}

func ratioCI(e analysis.Estimate) string {
	switch {
	case e.Value == nil:
		return none
	case e.CI == nil:
		return times(*e.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", times(*e.Value), times(e.CI[0]), times(e.CI[1]))
}
