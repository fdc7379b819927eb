package report

import (
	"fmt"
	"slices"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// decompositionTable shows the mean of every part of an operation's wall time; nil if nothing is known of them. Means
// stand here, and not medians, because only means add up to the whole.
func (g *group) decompositionTable() *Table {
	names := g.partNames()
	if len(names) == 0 {
		return nil
	}
	caption := "What an operation's wall time is made of (means, ms)"
	if slices.Contains(names, recorder.PartCLI.String()) {
		caption += "; cli is the CPU time that the process itself used, and what it waited for (the network, the server, a free CPU) is in the residual"
	}
	if g.retried() {
		caption += "; of an operation that was repeated the parts are those of its last attempt, and the attempts before it with the waits between are in the residual"
	}
	t := Table{Caption: caption, Header: append([]string{"variant"}, names...), Detail: true}
	t.Header = append(t.Header, "wall")
	for _, ln := range g.lanes() {
		for _, l := range g.levels {
			c := g.cell(l, ln)
			if c == nil || c.Decomposition == nil {
				continue
			}
			row := []string{g.seriesName(ln, l)}
			for _, name := range names {
				i := slices.IndexFunc(c.Decomposition.Parts, func(p recorder.PartRecord) bool { return p.Part == name })
				if i < 0 {
					row = append(row, none)
					continue
				}
				row = append(row, partText(c.Decomposition.Parts[i]))
			}
			t.Rows = append(t.Rows, append(row, ms(c.Decomposition.WallMS)))
		}
	}
	return &t
}

func partText(p recorder.PartRecord) string {
	if p.MeanCI == nil {
		return ms(p.MeanMS)
	}
	return fmt.Sprintf("%s ±%s", ms(p.MeanMS), ms((p.MeanCI[1]-p.MeanCI[0])/2))
}

// scalingTable shows the fitted scalability law, nil with too few levels.
func (g *group) scalingTable() *Table {
	if len(g.levels) < analysis.MinUSLLevels || g.levels[0].rate != 0 {
		return nil
	}
	t := Table{
		Caption: "Universal Scalability Law, X(N) = λN / (1 + σ(N-1) + κN(N-1))",
		Header:  []string{"variant", "λ, operations/s", "σ, contention", "κ, coherency", "peak at N workers", "peak operations/s"},
	}
	for _, ln := range g.lanes() {
		fit := g.scaling(ln)
		if fit.Lambda.Value == nil {
			continue
		}
		peakN, peakX := msCI(fit.PeakN.Value, fit.PeakN.CI), msCI(fit.PeakX.Value, fit.PeakX.CI)
		if fit.PeakN.Value == nil {
			peakN, peakX = "beyond", none
		}
		t.Rows = append(t.Rows, []string{
			ln.String(), msCI(fit.Lambda.Value, fit.Lambda.CI), small(fit.Sigma), small(fit.Kappa), peakN, peakX,
		})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return &t
}

// small writes a parameter that may be far below 1.
func small(e analysis.Estimate) string {
	if e.Value == nil {
		return none
	}
	if e.CI == nil {
		return fmt.Sprintf("%.3g", *e.Value)
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", *e.Value, e.CI[0], e.CI[1])
}

// littleNotes check the closed model's counts with Little's law: more operations in flight than workers can't be.
func (g *group) littleNotes() []string {
	var notes []string
	for _, l := range g.levels {
		if l.workers == 0 {
			continue
		}
		busy, from, to := 0.0, 0.0, 0.0
		for i, c := range g.cells[l] {
			busy += c.BusyS
			if i == 0 || c.StartS < from {
				from = c.StartS
			}
			to = max(to, c.StartS+c.SpanS)
		}
		if check := analysis.CheckLittle(busy, to-from, l.workers); !check.Holds {
			notes = append(notes, fmt.Sprintf("Little's law does not hold%s: %s operations were in flight on average. "+
				"The operations of several runs overlap here, or the workers tag is wrong.", l.at(), ms(check.InFlight)))
		}
	}
	return notes
}
