package analysis

import (
	"fmt"
	"math"
)

// MinFragmentationReads and minCommitLevels are what a fragmentation model takes.
const (
	MinFragmentationReads = 20
	minCommitLevels       = 3
)

// ReadAfter is one read's latency with the number of commits made since the last optimize.
type ReadAfter struct {
	Commits float64
	MS      float64
}

// Fragmentation is the line latency = Base + Slope * commits, fitted to reads on an aging store. Its errors are taken
// as proportional to the latency, as latencies' mostly are: reads are weighted by 1/fitted^2.
type Fragmentation struct {
	N     int
	Base  Estimate // ms, right after an optimize
	Slope Estimate // ms for each commit
	// tail is the ratio of the p95 to the line, nil with fewer than MinP95 reads.
	tail *float64
	Note string
}

// FitFragmentation fits the line by weighted least squares; the intervals come from a bootstrap that resamples reads.
// It takes 20 reads at three distinct numbers of commits.
func FitFragmentation(reads []ReadAfter, boot Bootstrap) Fragmentation {
	var pts []ReadAfter
	distinct := map[float64]bool{}
	for _, r := range reads {
		if isFinite(r.Commits) && isFinite(r.MS) && r.Commits >= 0 && r.MS >= 0 {
			pts = append(pts, r)
			distinct[r.Commits] = true
		}
	}
	f := Fragmentation{N: len(pts)}
	if len(pts) < MinFragmentationReads || len(distinct) < minCommitLevels {
		f.Note = fmt.Sprintf("a fragmentation model needs %d reads at %d distinct numbers of commits, there are %d at %d",
			MinFragmentationReads, minCommitLevels, len(pts), len(distinct))
		return f
	}
	weights := make([]float64, len(pts))
	for i := range weights {
		weights[i] = 1
	}
	base, slope, ok := weightedLine(pts, weights, nil)
	for range 3 {
		if !ok {
			break
		}
		lineWeights(pts, weights, base, slope)
		base, slope, ok = weightedLine(pts, weights, nil)
	}
	if !ok {
		f.Note = "the reads do not determine a line"
		return f
	}
	f.Base.Value, f.Slope.Value = &base, &slope
	f.tail = tailRatio(pts, base, slope)
	bases := make([]float64, 0, boot.resamples())
	slopes := make([]float64, 0, boot.resamples())
	times := make([]uint32, len(pts))
	rng := boot.rng()
	for range boot.resamples() {
		resample(times, rng)
		if b, s, ok := weightedLine(pts, weights, times); ok {
			bases, slopes = append(bases, b), append(slopes, s)
		}
	}
	if len(slopes) >= boot.resamples()/2 {
		ciB, ciS := percentileInterval(bases), percentileInterval(slopes)
		f.Base.CI, f.Slope.CI = &ciB, &ciS
	}
	return f
}

// lineWeights sets 1/fitted^2, with fitted values kept away from 0: a line that dips below it says nothing about the
// spread there.
func lineWeights(pts []ReadAfter, weights []float64, base, slope float64) {
	var mean float64
	for _, p := range pts {
		mean += p.MS / float64(len(pts))
	}
	least := math.Max(mean*0.05, 1e-9)
	for i, p := range pts {
		fitted := math.Max(base+slope*p.Commits, least)
		weights[i] = 1 / (fitted * fitted)
	}
}

// weightedLine is weighted least squares of MS on Commits; times counts repeated points, nil for once each.
func weightedLine(pts []ReadAfter, weights []float64, times []uint32) (base, slope float64, ok bool) {
	var w, x, y float64
	at := func(i int) float64 {
		if times == nil {
			return weights[i]
		}
		return weights[i] * float64(times[i])
	}
	for i, p := range pts {
		v := at(i)
		w += v
		x += v * p.Commits
		y += v * p.MS
	}
	if w <= 0 {
		return 0, 0, false
	}
	mx, my := x/w, y/w
	var sxx, sxy float64
	for i, p := range pts {
		v := at(i)
		d := p.Commits - mx
		sxx += v * d * d
		sxy += v * d * (p.MS - my)
	}
	if sxx <= 0 {
		return 0, 0, false
	}
	slope = sxy / sxx
	return my - slope*mx, slope, true
}

func tailRatio(pts []ReadAfter, base, slope float64) *float64 {
	if len(pts) < MinP95 {
		return nil
	}
	var ratios []float64
	for _, p := range pts {
		if fitted := base + slope*p.Commits; fitted > 0 {
			ratios = append(ratios, p.MS/fitted)
		}
	}
	if len(ratios) < MinP95 {
		return nil
	}
	r := NewSample(ratios).Quantile(0.95)
	return &r
}

// At is the fitted mean latency after so many commits; 0 without a fit.
func (f Fragmentation) At(commits float64) float64 {
	if f.Base.Value == nil {
		return 0
	}
	return *f.Base.Value + *f.Slope.Value*commits
}

// PaybackReads is how many reads an optimize that took optimizeMS pays for itself with, if it is made after so many
// commits: each later read saves Slope * commits. It has no value where the slope is not above 0.
func (f Fragmentation) PaybackReads(optimizeMS, commits float64) Estimate {
	if f.Slope.Value == nil {
		return Estimate{Note: f.Note}
	}
	if *f.Slope.Value <= 0 || commits <= 0 || optimizeMS < 0 {
		return Estimate{Note: "reads do not get slower with commits, so an optimize saves them nothing"}
	}
	v := optimizeMS / (*f.Slope.Value * commits)
	e := Estimate{Value: &v}
	if ci := f.Slope.CI; ci != nil {
		if ci[0] <= 0 {
			e.Note = "the slope's interval contains 0: the payback has no upper bound"
			return e
		}
		e.CI = &Interval{optimizeMS / (ci[1] * commits), optimizeMS / (ci[0] * commits)}
	}
	return e
}

// CommitsUnder is how many commits may pass between two optimizes while the read p95 stays under the objective. Its
// value is 0 if even a fresh store misses it, and it has none where reads do not get slower or the p95 is not known.
func (f Fragmentation) CommitsUnder(sloP95MS float64) Estimate {
	switch {
	case f.Slope.Value == nil:
		return Estimate{Note: f.Note}
	case f.tail == nil:
		return Estimate{Note: fmt.Sprintf("a p95 needs %d reads, there are %d", MinP95, f.N)}
	case *f.Slope.Value <= 0:
		return Estimate{Note: "reads do not get slower with commits: no optimize is needed for this objective"}
	}
	room := sloP95MS / *f.tail - *f.Base.Value
	if room <= 0 {
		zero := 0.0
		return Estimate{Value: &zero, Note: "even right after an optimize the p95 is above the objective"}
	}
	v := room / *f.Slope.Value
	e := Estimate{Value: &v}
	if ci := f.Slope.CI; ci != nil {
		if ci[0] <= 0 {
			e.Note = "the slope's interval contains 0: there is no upper bound"
			return e
		}
		e.CI = &Interval{room / ci[1], room / ci[0]}
	}
	return e
}
