package report

import (
	"strconv"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// pace is what set the rate of a level's operations: their durations, unless a schedule or pauses did.
type pace struct {
	scheduled bool // an open model's schedule did
	// idle is the share of the workers' time in which they waited for no operation that succeeded: what a script sleeps,
	// mostly.
	idle float64
	// failed tells that operations failed, whose time is not known and counts as idle.
	failed bool
	// alone tells that nothing says how many workers there were, so that idle is that of a single one: the share of the
	// time in which no operation was in flight is at least that.
	alone bool
}

// mostlyIdle is the share of the workers' time from which on their pauses, and not the operations, set the rate.
const mostlyIdle = 0.5

// own tells whether something other than the operations' durations set the rate.
func (p pace) own() bool { return p.scheduled || p.idle > mostlyIdle }

// or is the pace of a level that several scenarios share: what holds of one of them.
func (p pace) or(q pace) pace {
	if q.scheduled || !p.scheduled && q.idle > p.idle {
		return q
	}
	return p
}

// note says of a level whose rate has no interval what set it.
func (p pace) note(l level) string {
	text := "Operations/s" + l.at() + " are the "
	share := percent(p.idle)
	switch {
	case p.scheduled:
		return text + "schedule's: the scenario is in the open model."
	case p.alone && p.failed:
		return text + "script's own: for at least " + share + " of the time no operation was in flight that succeeded."
	case p.alone:
		return text + "script's own: for at least " + share + " of the time no operation was in flight."
	case p.failed:
		return text + "script's own: its workers paused, or waited for operations that failed, for " + share + " of the time."
	}
	return text + "script's own: its workers paused for " + share + " of the time."
}

// stretch is a scenario at one number of workers, 0 where its cells don't say.
type stretch struct {
	scenario string
	workers  int
}

// pacesOf finds what set the rates of each scenario, by the time that its operations took of the time that its workers
// were there. Where cells don't say how many there were, the run's description may; else it was one, at least.
func pacesOf(rec *recorder.Record) map[stretch]pace {
	type use struct{ busy, from, to float64 }
	uses := map[stretch]*use{}
	out := map[stretch]pace{}
	loaded := map[string]bool{}
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if !c.Measured() {
			continue
		}
		loaded[c.Scenario] = true
		at := stretch{c.Scenario, c.Key().Workers}
		p := out[at]
		p.failed = p.failed || c.Failed+c.Canceled > 0
		out[at] = p
		u := uses[at]
		if u == nil {
			u = &use{from: c.StartS, to: c.StartS + c.SpanS}
			uses[at] = u
		}
		u.busy += c.BusyS
		u.from, u.to = min(u.from, c.StartS), max(u.to, c.StartS+c.SpanS)
	}
	open := map[string]bool{}
	for _, s := range rec.Scenarios {
		open[s.Name] = s.Model == "open"
	}
	declared, err := strconv.Atoi(rec.Run.Workload["clients"])
	known := err == nil && declared > 0 && len(loaded) == 1
	for at, u := range uses {
		p := out[at]
		p.scheduled = open[at.scenario]
		workers := at.workers
		switch {
		case workers > 0:
		case known:
			workers = declared
		default:
			workers, p.alone = 1, true
		}
		if there := (u.to - u.from) * float64(workers); there > 0 {
			p.idle = 1 - min(u.busy/there, 1)
		}
		out[at] = p
	}
	return out
}
