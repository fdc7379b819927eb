package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// What it takes to say that a server was gone: so many failures, and a time without a success that is so long, so large
// a share of the load's time, and so many times what usually lies between two of the successes that the record keeps.
const (
	deathFailures = 3
	deathSeconds  = 1.0
	deathShare    = 0.05
	deathGaps     = 20
)

// deathAnswer says from when on nothing succeeded any more: whatever else the run shows is of the time before.
func deathAnswer(rec *recorder.Record, _ []*group) answer {
	if len(rec.MergedFrom) > 1 {
		return answer{} // one of several servers, or repetitions: their times are not one
	}
	first, last, end := math.Inf(1), math.Inf(-1), math.Inf(-1)
	kept, failed := 0, uint64(0)
	errors := map[string]uint64{}
	var times []cellTimes
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if !c.Measured() || c.Maintenance() || c.N+c.Failed == 0 {
			continue
		}
		if c.N > 0 && len(c.Raw) == 0 {
			return answer{} // when its successes were is not known
		}
		of := cellTimes{start: c.StartS, success: math.Inf(-1), end: c.StartS + c.SpanS}
		for _, rows := range c.Raw {
			kept += len(rows.AtS)
			for _, at := range rows.AtS {
				of.success = max(of.success, at)
			}
		}
		first, last, end = min(first, of.start), max(last, of.success), max(end, of.end)
		failed += c.Failed
		for kind, n := range c.Errors {
			errors[kind] += n
		}
		times = append(times, of)
	}
	if kept == 0 || failed < deathFailures {
		return answer{}
	}
	silence := max(deathSeconds, deathShare*(end-first), deathGaps*(last-first)/float64(kept))
	if !slices.ContainsFunc(times, func(of cellTimes) bool { return of.died(last, silence) }) {
		return answer{}
	}
	return answer{observed: []Finding{{
		Text: fmt.Sprintf("From about %s after the run's start on every operation failed, until the last at %s (the run's failures: %s).",
			duration(last), duration(end), recorder.ErrorWords(errors)),
		Next: "See whether the server was still up, and what its log says: percentiles are of the time before, and operations/s count the time without any.",
	}}}
}

// cellTimes are when a cell began, last succeeded (-Inf: never) and ended, in seconds since the run's start.
type cellTimes struct{ start, success, end float64 }

// died tells whether a cell shows that the server was gone: it went on in silence after the run's last success, and had
// succeeded until then, or begun only then. One that had failed long before, while others succeeded, shows nothing.
func (c cellTimes) died(last, silence float64) bool {
	alive := max(c.start, c.success)
	return c.end-last >= silence && last-alive < silence
}
