package report

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report/internal/chart"
)

// The sections of a record's extra member that any script may fill; docs/reports.md describes them. The shipped
// scenarios have sections of their own besides (answerOf).
const (
	extraFindings = "findings" // []Finding
	extraSections = "sections" // []Section
	extraCapacity = "capacity" // capacityData
)

// capacityData are the steps of an open-model capacity run.
type capacityData struct {
	Query    string         `json:"query"`
	SLOP95MS float64        `json:"slo_p95_ms"`
	Steps    []capacityStep `json:"steps"`
}

type capacityStep struct {
	Rate float64 `json:"rate"`
	// P95MS are the repetitions' p95; null where the step could not be completed at its rate.
	P95MS []*float64 `json:"p95_ms"`
	// LimitedBy is "policy" where the admission cap refused operations, "generator" where the generator was the one
	// that could not keep up, else empty.
	LimitedBy string `json:"limited_by"`
}

// extraSection reads one section of a record's extra member; false if it is absent. A section of another form is an error.
func extraSection[T any](rec *recorder.Record, section string) (T, bool, error) {
	var out T
	v, ok := rec.Extra[section]
	if !ok {
		return out, false, nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		var none T // not what could be read before it went wrong
		return none, false, fmt.Errorf("the record's extra section %q has not the form that a report expects: %w", section, err)
	}
	return out, true, nil
}

// addExtras adds what scripts put into the record for their own sections. What can't be read becomes a note.
func (d *Document) addExtras(rec *recorder.Record) {
	var problems []string
	note := func(err error) {
		if err != nil {
			problems = append(problems, err.Error()+".")
		}
	}
	if rec.Verdict != recorder.Invalid {
		own, _, err := extraSection[[]Finding](rec, extraFindings)
		note(err)
		d.Findings = append(d.Findings, own...)
	}
	capacity, ok, err := extraSection[capacityData](rec, extraCapacity)
	note(err)
	if ok {
		s, finding := capacity.section()
		d.Sections = append(d.Sections, s)
		if rec.Verdict != recorder.Invalid {
			d.Findings = append(d.Findings, finding)
		}
	}
	sections, _, err := extraSection[[]Section](rec, extraSections)
	note(err)
	d.Sections = append(d.Sections, sections...)
	if len(problems) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Not shown", Notes: problems})
	}
}

// duration writes seconds in the unit that a schedule is written in.
func duration(seconds float64) string {
	switch {
	case seconds < 120:
		return ms(seconds) + " s"
	case seconds < 7200:
		return ms(seconds/60) + " min"
	case seconds < 48*3600:
		return ms(seconds/3600) + " h"
	default:
		return ms(seconds/86400) + " days"
	}
}

// steps gives the capacity run's steps as the analysis takes them: a repetition without a p95 is infinitely slow.
// Steps that the generator could not drive say nothing about the server and are left out.
func (c capacityData) steps() []analysis.LoadStep {
	var out []analysis.LoadStep
	for _, s := range c.Steps {
		if s.LimitedBy == "generator" {
			continue
		}
		step := analysis.LoadStep{Rate: s.Rate}
		for _, v := range s.P95MS {
			if v == nil {
				step.Latencies = append(step.Latencies, math.Inf(1))
			} else {
				step.Latencies = append(step.Latencies, *v)
			}
		}
		out = append(out, step)
	}
	return out
}

func (c capacityData) knee() analysis.Knee {
	return analysis.FindKnee(c.steps(), c.SLOP95MS, analysis.DefaultBootstrap())
}

func (c capacityData) section() (Section, Finding) {
	s := Section{Title: "Capacity"}
	t := Table{
		Caption: fmt.Sprintf("%s in the open model; the objective is a p95 of %s ms", c.Query, ms(c.SLOP95MS)),
		Header:  []string{"rate, 1/s", "p95 of each repetition, ms", "limited by"},
	}
	f := chart.Figure{
		Title: "p95 over the rate", Desc: "The p95 of every repetition over the offered rate.",
		X: chart.Axis{Label: "rate, 1/s", Zero: true}, Y: chart.Axis{Label: "p95, ms", Log: true},
	}
	points := chart.Series{Name: "repetitions", Kind: chart.Points, Color: 1}
	policy, generator := math.Inf(1), math.Inf(1)
	for _, step := range c.Steps {
		text := ""
		for i, v := range step.P95MS {
			if i > 0 {
				text += ", "
			}
			if v == nil {
				text += "not kept"
				continue
			}
			text += ms(*v)
			points.X, points.Y = append(points.X, step.Rate), append(points.Y, *v)
		}
		by := step.LimitedBy
		switch by {
		case "policy":
			policy = math.Min(policy, step.Rate)
			by = "policy (admission cap)"
		case "generator":
			generator = math.Min(generator, step.Rate)
		case "":
			by = none
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%g", step.Rate), text, by})
	}
	knee := c.knee()
	f.Series = []chart.Series{points}
	if c.SLOP95MS > 0 && len(points.X) > 0 {
		f.Series = append(f.Series, chart.Series{
			Name: "objective", Color: 5, Dash: 1, X: []float64{0, points.X[len(points.X)-1]}, Y: []float64{c.SLOP95MS, c.SLOP95MS},
		})
	}
	if knee.Rate.Value != nil {
		f.Marks = []chart.Mark{{At: *knee.Rate.Value, Label: "knee"}}
	}
	s.Tables = []Table{t}
	s.Plots = []Plot{{Caption: "p95 over the offered rate; the vertical line is the knee.", draw: withID(f)}}
	if knee.Note != "" {
		s.Notes = append(s.Notes, knee.Note+".")
	}
	return s, c.finding(knee, policy, generator)
}

// finding tells the server's own knee apart from the admission cap and from the generator's limit.
func (c capacityData) finding(knee analysis.Knee, policy, generator float64) Finding {
	switch {
	case knee.Rate.Value != nil && policy <= *knee.Rate.Value:
		return Finding{
			Text: fmt.Sprintf("%s is capped by policy at about %g/s: the per-actor admission cap refuses operations before the server is busy.", c.Query, policy),
			Next: "Spread the load over several actors, or raise the cap, and measure again for the server's own knee.",
		}
	case knee.Rate.Value != nil:
		text := fmt.Sprintf("%s keeps a p95 of %s ms up to %s/s", c.Query, ms(c.SLOP95MS), msCI(knee.Rate.Value, knee.Rate.CI))
		return Finding{Text: text + ".", Next: "Plan for less than the interval's lower end."}
	case knee.Kept != nil && !math.IsInf(generator, 1):
		return Finding{
			Text: fmt.Sprintf("%s kept a p95 of %s ms at %g/s; beyond, at %g/s, the generator could not keep up, so the server's knee is not known.", c.Query, ms(c.SLOP95MS), *knee.Kept, generator),
			Next: "Use a larger or a second generator.",
		}
	case knee.Kept != nil:
		return Finding{
			Text: fmt.Sprintf("%s still keeps a p95 of %s ms at the highest rate, %g/s.", c.Query, ms(c.SLOP95MS), *knee.Kept),
			Next: "Offer higher rates to find the knee.",
		}
	case knee.Missed != nil:
		return Finding{
			Text: fmt.Sprintf("%s misses a p95 of %s ms even at the lowest rate, %g/s.", c.Query, ms(c.SLOP95MS), *knee.Missed),
			Next: "Optimize the store, or offer lower rates.",
		}
	}
	return Finding{Text: "The capacity run has no step that can be judged."}
}
