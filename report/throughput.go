package report

import (
	"fmt"
	"math"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// throughput is a cell's operations per second with its interval. In the closed model the time that n operations take
// is the sum of their durations, shared by the workers: its relative error is that of the sum over everything that the
// level's workers did, by the normal approximation. There is none below 20 operations, nor where
// something other than the durations set the rate: see [pace].
func (g *group) throughput(l level, c *recorder.CellRecord) analysis.Estimate {
	e := analysis.Estimate{Value: c.OpsPerS}
	if c.OpsPerS == nil || l.rate != 0 {
		return e
	}
	if p := g.paces[l]; p.own() {
		e.Note = p.note(l)
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

// bounds are an estimate's interval, or the value itself where it has none.
func bounds(e analysis.Estimate) (low, high float64) {
	if e.CI == nil {
		return *e.Value, *e.Value
	}
	return e.CI[0], e.CI[1]
}
