package report

import (
	"fmt"
	"math"

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
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if !c.Measured() || c.Maintenance() || c.N+c.Failed == 0 {
			continue
		}
		first, end = min(first, c.StartS), max(end, c.StartS+c.SpanS)
		failed += c.Failed
		for kind, n := range c.Errors {
			errors[kind] += n
		}
		if c.N > 0 && len(c.Raw) == 0 {
			return answer{} // when its successes were is not known
		}
		for _, rows := range c.Raw {
			kept += len(rows.AtS)
			for _, at := range rows.AtS {
				last = max(last, at)
			}
		}
	}
	silent := end - last
	if kept == 0 || failed < deathFailures || silent < deathSeconds || silent < deathShare*(end-first) ||
		silent < deathGaps*(last-first)/float64(kept) {
		return answer{}
	}
	return answer{observed: []Finding{{
		Text: fmt.Sprintf("From about %s after the run's start on every operation failed, until the last at %s (the run's failures: %s).",
			duration(last), duration(end), recorder.ErrorWords(errors)),
		Next: "See whether the server was still up, and what its log says: percentiles are of the time before, and operations/s count the time without any.",
	}}}
}
