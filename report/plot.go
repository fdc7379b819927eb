package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report/internal/chart"
)

// Plot is a figure of a section. It is drawn when a form that shows figures asks for it.
type Plot struct {
	// Caption says what is to be seen.
	Caption string
	draw    func(id string) string // SVG
}

// groupPlots are the figures of one kind of operation.
func groupPlots(rec *recorder.Record, g *group) []Plot {
	var plots []Plot
	for _, p := range []*Plot{
		spectrumPlot(g), differencePlot(g), levelPlot(g), throughputPlot(g), decompositionPlot(g), timePlot(rec, g),
	} {
		if p != nil {
			plots = append(plots, *p)
		}
	}
	return plots
}

// colorOf gives a lane the same color in every figure: the CLI the first, HTTP the second.
func colorOf(lanes []lane, ln lane) int { return slices.Index(lanes, ln) }

// seriesName names a lane at a level.
func (g *group) seriesName(ln lane, l level) string {
	if len(g.levels) == 1 {
		return ln.String()
	}
	return ln.String() + l.at()
}

// spectrumPlot shows latency over the percentile on a logarithmic scale of what lies beyond it, as far as the sample
// reaches.
func spectrumPlot(g *group) *Plot {
	f := chart.Figure{
		Title: "Latency spectrum of " + g.title(),
		X: chart.Axis{Label: "percentile", Log: true, Ticks: []chart.Tick{
			{At: 1, Label: "0"}, {At: 2, Label: "50"}, {At: 4, Label: "75"}, {At: 10, Label: "90"}, {At: 20, Label: "95"},
			{At: 100, Label: "99"}, {At: 1000, Label: "99.9"}, {At: 10000, Label: "99.99"}, {At: 100000, Label: "99.999"},
		}},
		Y: chart.Axis{Label: "latency, ms", Log: true},
	}
	lanes := g.lanes()
	for _, ln := range lanes {
		for i, l := range g.levels {
			c := g.cell(l, ln)
			if c == nil || c.N < analysis.MinP50CI {
				continue
			}
			s, err := c.Sample()
			if err != nil {
				continue
			}
			line := chart.Series{Name: g.seriesName(ln, l), Color: colorOf(lanes, ln), Dash: i}
			for x := 1.0; x <= float64(s.Len()); x *= 1.12 {
				line.X = append(line.X, x)
				line.Y = append(line.Y, s.Quantile(max(1-1/x, 1/float64(s.Len()))))
			}
			f.Series = append(f.Series, line)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	f.Desc = "Latency of successful operations by percentile, one line for each variant and level; lower is faster."
	return &Plot{Caption: "Latency by percentile; lower is faster. Each line ends where its sample does.", draw: withID(f)}
}

func withID(f chart.Figure) func(string) string {
	return func(id string) string {
		f.ID = id
		return f.SVG()
	}
}

// differencePlot shows the distribution of the paired differences.
func differencePlot(g *group) *Plot {
	names := g.pairNames()
	if len(names) == 0 {
		return nil
	}
	name := names[0]
	f := chart.Figure{
		Title: fmt.Sprintf("Paired differences, %s - %s, of %s", g.variantName(name[0]), g.variantName(name[1]), g.title()),
		X:     chart.Axis{Label: fmt.Sprintf("%s - %s in one iteration, ms", g.variantName(name[0]), g.variantName(name[1]))},
		Y:     chart.Axis{Label: "share of pairs, %", Zero: true},
		Marks: []chart.Mark{{At: 0, Label: "no difference"}},
		Desc:  "Share of the pairs whose difference is at most the value on the x axis; left of 0 the first variant was faster.",
	}
	for i, l := range g.levels {
		p := g.pair(l, name)
		if p == nil {
			continue
		}
		var diffs []float64
		for _, rows := range p.Raw {
			for k := range min(len(rows.A), len(rows.B)) {
				diffs = append(diffs, rows.A[k]-rows.B[k])
			}
		}
		if len(diffs) < analysis.MinP50CI {
			continue
		}
		s := analysis.NewSample(diffs)
		label := ""
		if len(g.levels) > 1 {
			label = l.String()
		}
		line := chart.Series{Name: label, Color: i, Dash: i}
		for q := 1; q <= 99; q++ {
			line.X = append(line.X, s.Quantile(float64(q)/100))
			line.Y = append(line.Y, float64(q))
		}
		f.Series = append(f.Series, line)
	}
	if len(f.Series) == 0 {
		return nil
	}
	return &Plot{Caption: "Differences within one iteration: how many pairs stay below each value. Right of 0 the first variant was slower.", draw: withID(f)}
}

// levelPlot shows the p50 with its interval over the levels.
func levelPlot(g *group) *Plot {
	if len(g.levels) < 2 {
		return nil
	}
	f := chart.Figure{
		Title: "p50 over the level of " + g.title(),
		X:     chart.Axis{Label: g.levelLabel(), Ticks: g.levelTicks()},
		Y:     chart.Axis{Label: "p50, ms", Zero: true},
		Desc:  "Median latency of every variant over the level, with 95 % intervals.",
	}
	lanes := g.lanes()
	for _, ln := range lanes {
		s := chart.Series{Name: ln.String(), Kind: chart.Intervals, Color: colorOf(lanes, ln), Dash: colorOf(lanes, ln)}
		for _, l := range g.levels {
			c := g.cell(l, ln)
			if c == nil || c.P50 == nil {
				continue
			}
			lo, hi := math.NaN(), math.NaN()
			if c.P50CI != nil {
				lo, hi = c.P50CI[0], c.P50CI[1]
			}
			s.X, s.Y = append(s.X, l.value()), append(s.Y, *c.P50)
			s.Low, s.High = append(s.Low, lo), append(s.High, hi)
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return &Plot{Caption: "Median latency over the level, with 95 % intervals.", draw: withID(f)}
}

func (l level) value() float64 {
	if l.rate != 0 {
		return l.rate
	}
	return float64(l.workers)
}

func (g *group) levelLabel() string {
	if g.levels[0].rate != 0 {
		return "rate, 1/s"
	}
	return "workers"
}

func (g *group) levelTicks() []chart.Tick {
	ticks := make([]chart.Tick, 0, len(g.levels))
	for _, l := range g.levels {
		ticks = append(ticks, chart.Tick{At: l.value(), Label: fmt.Sprintf("%g", l.value())})
	}
	return ticks
}

// throughputPlot shows operations per second over the level, with the scalability law's curve where there are enough
// levels for it.
func throughputPlot(g *group) *Plot {
	if len(g.levels) < 2 || g.levels[0].rate != 0 {
		return nil
	}
	f := chart.Figure{
		Title: "Throughput over the level of " + g.title(),
		X:     chart.Axis{Label: g.levelLabel(), Ticks: g.levelTicks()},
		Y:     chart.Axis{Label: "operations/s", Zero: true},
		Desc:  "Successful operations per second of every variant over the level.",
	}
	lanes := g.lanes()
	fitted := false
	for _, ln := range lanes {
		color := colorOf(lanes, ln)
		s := chart.Series{Name: ln.String(), Kind: chart.Intervals, Color: color, Dash: color}
		for _, l := range g.levels {
			if c := g.cell(l, ln); c != nil && c.OpsPerS != nil {
				s.X, s.Y = append(s.X, l.value()), append(s.Y, *c.OpsPerS)
			}
		}
		if len(s.X) == 0 {
			continue
		}
		fit := g.scaling(ln)
		if fit.Lambda.Value == nil {
			f.Series = append(f.Series, s)
			continue
		}
		fitted = true
		s.Kind = chart.Points
		curve := chart.Series{Name: ln.String() + ", USL", Color: color, Dash: color}
		first, last := g.levels[0].value(), g.levels[len(g.levels)-1].value()
		for i := range 61 {
			n := first + (last-first)*float64(i)/60
			curve.X, curve.Y = append(curve.X, n), append(curve.Y, fit.At(n))
		}
		f.Series = append(f.Series, s, curve)
	}
	if len(f.Series) == 0 {
		return nil
	}
	caption := "Successful operations per second over the level."
	if fitted {
		caption = "Successful operations per second over the level, with the fitted Universal Scalability Law."
	}
	return &Plot{Caption: caption, draw: withID(f)}
}

// scaling fits the scalability law to a lane's throughput over the levels.
func (g *group) scaling(ln lane) analysis.USLFit {
	var points []analysis.Throughput
	for _, l := range g.levels {
		if c := g.cell(l, ln); c != nil && c.OpsPerS != nil && l.workers > 0 {
			points = append(points, analysis.Throughput{N: float64(l.workers), X: *c.OpsPerS})
		}
	}
	return analysis.FitUSL(points, analysis.DefaultBootstrap())
}

// decompositionPlot shows what the mean wall time is made of.
func decompositionPlot(g *group) *Plot {
	b := chart.Bars{
		Title: "What an operation of " + g.title() + " spends its time on",
		Desc:  "Mean wall time split into its parts, one bar for each variant and level.",
		Label: "mean, ms",
		Parts: g.partNames(),
	}
	for _, ln := range g.lanes() {
		for _, l := range g.levels {
			c := g.cell(l, ln)
			if c == nil || c.Decomposition == nil {
				continue
			}
			bar := chart.Bar{Name: g.seriesName(ln, l), Values: make([]float64, len(b.Parts)), Text: ms(c.Decomposition.WallMS)}
			for _, p := range c.Decomposition.Parts {
				if i := slices.Index(b.Parts, p.Part); i >= 0 {
					bar.Values[i] = p.MeanMS
				}
			}
			b.Bars = append(b.Bars, bar)
		}
	}
	if len(b.Bars) == 0 {
		return nil
	}
	return &Plot{Caption: "What an operation's time is made of: means, which add up to the wall time.", draw: func(id string) string {
		b.ID = id
		return b.SVG()
	}}
}

// partNames lists the parts that occur in the group, in the order in which an operation goes through them.
func (g *group) partNames() []string {
	var names []string
	for _, l := range g.levels {
		for _, c := range g.cells[l] {
			if c.Decomposition == nil {
				continue
			}
			for _, p := range c.Decomposition.Parts {
				if !slices.Contains(names, p.Part) {
					names = append(names, p.Part)
				}
			}
		}
	}
	order := recorder.PartNames()
	slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return names
}

// timePlot shows single operations over the run, with optimizes and outages as marks.
func timePlot(rec *recorder.Record, g *group) *Plot {
	f := chart.Figure{
		Title: "Latency over time of " + g.title(),
		X:     chart.Axis{Label: "time since the start, s"},
		Y:     chart.Axis{Label: "latency, ms", Log: true},
		Desc:  "Single operations over the run's time.",
	}
	lanes := g.lanes()
	from, to := math.Inf(1), math.Inf(-1)
	for _, ln := range lanes {
		s := chart.Series{Name: ln.String(), Kind: chart.Points, Color: colorOf(lanes, ln)}
		for _, l := range g.levels {
			c := g.cell(l, ln)
			if c == nil {
				continue
			}
			for _, rows := range c.Raw {
				// A figure of many thousand dots is heavy and shows no more than an even sample of them.
				const most = 400
				step := len(rows.MS)/most + 1
				for i := 0; i < min(len(rows.MS), len(rows.AtS)); i += step {
					s.X, s.Y = append(s.X, rows.AtS[i]), append(s.Y, rows.MS[i])
					from, to = min(from, rows.AtS[i]), max(to, rows.AtS[i])
				}
			}
		}
		if len(s.X) >= 5 {
			f.Series = append(f.Series, s)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	for _, e := range rec.Events {
		if e.AtS >= from && e.AtS <= to {
			f.Marks = append(f.Marks, chart.Mark{At: e.AtS, Label: e.Kind + ": " + e.Text})
		}
	}
	caption := "Single operations over the run."
	if len(f.Marks) > 0 {
		caption = "Single operations over the run; vertical lines are " + eventWords(rec.Events) + "."
	}
	return &Plot{Caption: caption, draw: withID(f)}
}

func eventWords(events []recorder.Event) string {
	var kinds []string
	for _, e := range events {
		if !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	return joinWords(kinds)
}

// errorPlot shows failed operations by kind.
func errorPlot(groups []*group) *Plot {
	byKind := map[string]uint64{}
	var kinds []string
	for _, g := range groups {
		for _, cells := range g.cells {
			for _, c := range cells {
				for kind, n := range c.Errors {
					if byKind[kind] == 0 {
						kinds = append(kinds, kind)
					}
					byKind[kind] += n
				}
			}
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	slices.SortStableFunc(kinds, func(a, b string) int {
		switch {
		case byKind[a] > byKind[b]:
			return -1
		case byKind[a] < byKind[b]:
			return 1
		}
		return 0
	})
	b := chart.Bars{
		Title: "Failed operations by kind", Desc: "Failed operations of the whole run by error kind.",
		Label: "operations", Parts: []string{"failed"},
	}
	for _, kind := range kinds {
		b.Bars = append(b.Bars, chart.Bar{Name: kind, Values: []float64{float64(byKind[kind])}, Text: count(byKind[kind])})
	}
	return &Plot{Caption: "Failed operations by kind.", draw: func(id string) string {
		b.ID = id
		return b.SVG()
	}}
}
