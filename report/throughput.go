package report

import (
	"fmt"
	"math"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// throughput is a cell's operations per second with its interval. In the closed model the time that n operations take
// is the sum of their durations, shared by the workers: its relative error is that of the sum over everything that the
// level's workers did, by the normal approximation. There is none below 20 operations, and in the open model, where
// the schedule decides.
func (g *group) throughput(l level, c *recorder.CellRecord) analysis.Estimate {
	e := analysis.Estimate{Value: c.OpsPerS}
	if c.OpsPerS == nil || l.rate != 0 {
		return e
	}
	if g.idle[l] > mostlyIdle {
		e.Note = idleNote(l, g.idle[l])
		return e
	}
	var sum, variance float64
	for _, other := range g.cells[l] {
		s, err := other.Sample()
		if err != nil || s.Len() < analysis.MinP50CI {
			if other == c {
				e.Note = fmt.Sprintf("an interval of operations/s needs %d samples, there are %d", analysis.MinP50CI, other.N)
			}
			continue
		}
		mean, half := meanWithHalf(s)
		n := float64(s.Len())
		sum += n * mean
		variance += n * half * n * half
	}
	if e.Note != "" || sum <= 0 {
		return e
	}
	relative := math.Min(math.Sqrt(variance)/sum, 0.99)
	e.CI = &analysis.Interval{*c.OpsPerS / (1 + relative), *c.OpsPerS / (1 - relative)}
	return e
}

// mostlyIdle is the share of the workers' time from which on their pauses, and not the operations, set the rate.
const mostlyIdle = 0.5

func idleNote(l level, share float64) string {
	return fmt.Sprintf("Operations/s%s are the script's own: its workers paused for %s of the time.", l.at(), percent(share))
}

// bounds are an estimate's interval, or the value itself where it has none.
func bounds(e analysis.Estimate) (low, high float64) {
	if e.CI == nil {
		return *e.Value, *e.Value
	}
	return e.CI[0], e.CI[1]
}
