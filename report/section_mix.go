package report

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// mixture is what mix.js keeps: its weights and how keys were chosen.
type mixture struct {
	Workload string             `json:"workload"`
	Mix      map[string]float64 `json:"mix"`
	Keys     string             `json:"keys"`
}

// mixAnswer shows the operations of a mix side by side, with what each contributed to the whole.
func mixAnswer(rec *recorder.Record, groups []*group) answer {
	var m mixture
	if !extra(rec, "mix", &m) {
		return answer{}
	}
	var cells []*recorder.CellRecord
	var total, busy float64
	for _, g := range groups {
		if g.family != "mix" {
			continue
		}
		for _, l := range g.levels {
			for _, c := range g.cells[l] {
				cells = append(cells, c)
				total += float64(c.N + c.Failed)
				busy += c.BusyS
			}
		}
	}
	if len(cells) == 0 {
		return answer{}
	}
	sort.Slice(cells, func(i, j int) bool { return cells[i].N > cells[j].N })
	t := Table{Caption: mixCaption(m), Header: []string{"operation", "share of operations", "share of the successes' time", "per second", "p50, ms", "p95, ms", "conflicts repeated", "n"}}
	var rate, writes, writeBusy float64
	for _, c := range cells {
		t.Rows = append(t.Rows, []string{
			c.Query, percent(float64(c.N+c.Failed) / math.Max(total, 1)), percent(c.BusyS / math.Max(busy, 1e-9)), msOr(c.OpsPerS),
			msCI(c.P50, c.P50CI), msCI(c.P95, c.P95CI), count(c.Retries), samples(c),
		})
		if c.OpsPerS != nil {
			rate += *c.OpsPerS
		}
		if c.Op == "mutate" {
			writes += float64(c.N + c.Failed)
			writeBusy += c.BusyS
		}
	}
	out := answer{sections: []Section{{Title: "Mix", Tables: []Table{t}}}}
	text := fmt.Sprintf("The mix did %s operations/s (%s; %s)", ms(rate), counted(int64(total), "operation"), modelOf(rec, cells[0].Scenario))
	if writes > 0 && writes < total {
		text += fmt.Sprintf("; writes are %s of the operations and take %s of the clients' time", percent(writes/total), percent(writeBusy/math.Max(busy, 1e-9)))
	}
	f := Finding{Text: text + "."}
	if writeBusy > busy/2 && writes < total/2 {
		f.Next = "The writes decide how fast the mix is: put several rows into one commit before anything else."
	}
	out.findings = []Finding{f}
	return out
}

// modelOf says under which load a scenario ran: a rate of the closed model is what its workers got, not what the server
// stands.
func modelOf(rec *recorder.Record, scenario string) string {
	for _, s := range rec.Scenarios {
		if s.Name == scenario && s.Model == "open" {
			return "open model: the schedule sets the rate"
		}
	}
	return "closed model: what these workers got, not what the server stands"
}

func mixCaption(m mixture) string {
	names := make([]string, 0, len(m.Mix))
	for name := range m.Mix {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return m.Mix[names[i]] > m.Mix[names[j]] || m.Mix[names[i]] == m.Mix[names[j]] && names[i] < names[j]
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %g", name, m.Mix[name])
	}
	text := "The mix " + strings.Join(names, ", ")
	if m.Workload != "" {
		text = "Workload " + m.Workload + ": " + strings.Join(names, ", ")
	}
	return text + "; keys " + m.Keys
}

// soakData is what soak.js keeps.
type soakData struct {
	Rate          float64 `json:"rate"`
	Duration      string  `json:"duration"`
	OptimizeEvery float64 `json:"optimizeEvery"`
}

// soakAnswer fits each operation's latency over time.
func soakAnswer(rec *recorder.Record, groups []*group) answer {
	var about soakData
	if !extra(rec, "soak", &about) {
		return answer{}
	}
	t := Table{Caption: "Latency over time", Header: []string{"operation", "at the start, ms", "change over the run, ms", "first tenth p50, ms", "last tenth p50, ms", "n"}}
	var drifting, steady []string
	var stopped []Finding
	for _, g := range groups {
		if g.family != "soak" {
			continue
		}
		for _, l := range g.levels {
			for _, c := range g.cells[l] {
				points := overTime(c)
				fit := analysis.FitFragmentation(points)
				first, last := tenths(points)
				row := []string{c.Query, none, none, msOr(first), msOr(last), samples(c)}
				if fit.Slope.Value != nil {
					row[1], row[2] = msCI(fit.Base.Value, fit.Base.CI), msCI(fit.Slope.Value, fit.Slope.CI)
				}
				if at := lastSuccess(c, points); at < 1 {
					stopped = append(stopped, about.stopped(c, at))
				} else if fit.Slope.Value != nil {
					switch {
					case fit.Slope.CI == nil || fit.Slope.CI.Contains(0):
						steady = append(steady, c.Query)
					default:
						drifting = append(drifting, fmt.Sprintf("%s by %s ms", c.Query, msCI(fit.Slope.Value, fit.Slope.CI)))
					}
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	if len(t.Rows) == 0 {
		return answer{}
	}
	out := answer{sections: []Section{{Title: "Drift", Tables: []Table{t}, Notes: []string{
		"The change is of a straight line through single operations; with optimizes in between it is what they leave. " +
			"A short run shows chance as much as drift.",
	}}}}
	out.findings = append(out.findings, stopped...)
	if len(drifting) > 0 {
		f := Finding{Text: fmt.Sprintf("Latency drifts over the run of %s: %s.", about.Duration, strings.Join(drifting, "; "))}
		if about.OptimizeEvery == 0 {
			f.Next = "Optimize by schedule (SOAK_OPTIMIZE_EVERY), and see whether the drift stays."
		} else {
			f.Next = "Optimize more often, or look at what else grows: the store's section shows rows, commits and data files."
		}
		out.findings = append(out.findings, f)
	}
	if len(steady) > 0 {
		out.findings = append(out.findings, Finding{Text: fmt.Sprintf("No detected drift of %s over %s.", joinWords(steady), about.Duration)})
	}
	return out
}

// stopped tells of an operation that no longer succeeded from a share of its time on.
func (s soakData) stopped(c *recorder.CellRecord, at float64) Finding {
	f := Finding{
		Text: fmt.Sprintf("%s no longer succeeded after the first %s of %s, so that nothing is said of its drift; of %s operations %s failed (%s).",
			c.Query, duration(at*c.SpanS), duration(c.SpanS), count(c.N+c.Failed), count(c.Failed), recorder.ErrorWords(c.Errors)),
		Next: "See what the errors say.",
	}
	if s.OptimizeEvery > 0 {
		f.Next = "See what the errors say. An optimize beside writes may leave a table of omnigraph 0.8 that refuses all further ones: " +
			"docs/troubleshooting.md, needs_repair."
	}
	return f
}

// lastSuccess is the share of a cell's time in which its successes lie. It is 1 unless operations failed and the rest of
// the time is too long to be chance: of n successes at any times, none falls behind the share x with probability x^n.
func lastSuccess(c *recorder.CellRecord, points []analysis.ReadAfter) float64 {
	const chance = 0.001
	if c.Failed == 0 || len(points) == 0 {
		return 1
	}
	at := points[len(points)-1].Commits
	if math.Pow(at, float64(len(points))) >= chance {
		return 1
	}
	return at
}

// overTime are a cell's raw values over the run, from 0 at its begin to 1 at its end: a slope is the change over the run.
func overTime(c *recorder.CellRecord) []analysis.ReadAfter {
	var points []analysis.ReadAfter
	for _, rows := range c.Raw {
		for i := range min(len(rows.AtS), len(rows.MS)) {
			points = append(points, analysis.ReadAfter{Commits: math.Max(0, rows.AtS[i]-c.StartS) / math.Max(c.SpanS, 1e-9), MS: rows.MS[i]})
		}
	}
	sort.Slice(points, func(i, j int) bool { return points[i].Commits < points[j].Commits })
	return points
}

// tenths are the medians of the first and of the last tenth of the values in time; nil with fewer than 5 in each.
func tenths(points []analysis.ReadAfter) (first, last *float64) {
	n := len(points) / 10
	if n < 5 {
		return nil, nil
	}
	p50 := func(part []analysis.ReadAfter) *float64 {
		values := make([]float64, len(part))
		for i, p := range part {
			values[i] = p.MS
		}
		v := analysis.NewSample(values).Quantile(0.5)
		return &v
	}
	return p50(points[:n]), p50(points[len(points)-n:])
}
