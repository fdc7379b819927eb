package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
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

	pts     []ReadAfter
	weights []float64
}

// FitFragmentation fits the line by weighted least squares. It takes 20 reads at three distinct numbers of commits. The
// intervals come from the jackknife over rounds, which are the reads at one number of commits or, where there are many
// numbers, at neighbouring ones: reads made at about the same time share what the machine did just then, and are no
// independent witnesses (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 11). With few rounds every
// read stands for itself.
func FitFragmentation(reads []ReadAfter) Fragmentation {
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
	f.pts, f.weights = pts, weights
	f.intervals(pts, weights)
	return f
}

// The number of rounds that intervals are resampled from: at least so many, or single reads are; at most so many, or
// neighbours are joined.
const (
	minRounds = 10
	maxRounds = 40
)

// rounds gives every read the number of its round, with how many rounds there are.
func rounds(pts []ReadAfter) (of []int, n int) {
	distinct := map[float64]bool{}
	for _, p := range pts {
		distinct[p.Commits] = true
	}
	of = make([]int, len(pts))
	if len(distinct) < minRounds {
		for i := range of {
			of[i] = i
		}
		return of, len(pts)
	}
	counts := slices.Sorted(maps.Keys(distinct))
	n = min(len(counts), maxRounds)
	round := make(map[float64]int, len(counts))
	for i, c := range counts {
		round[c] = i * n / len(counts)
	}
	for i, p := range pts {
		of[i] = round[p.Commits]
	}
	return of, n
}

// intervals are found by the jackknife over rounds: from how much the line moves when each round in turn is left out.
func (f *Fragmentation) intervals(pts []ReadAfter, weights []float64) {
	of, n := rounds(pts)
	times := make([]uint32, len(pts))
	bases, slopes := make([]float64, n), make([]float64, n)
	for out := range n {
		for i, r := range of {
			times[i] = 1
			if r == out {
				times[i] = 0
			}
		}
		b, s, ok := weightedLine(pts, weights, times)
		if !ok {
			return
		}
		bases[out], slopes[out] = b, s
	}
	onBase, onSlope := roundVariances(pts, weights, of, n)
	f.Base.CI = jackknifeInterval(*f.Base.Value, bases, onBase)
	f.Slope.CI = jackknifeInterval(*f.Slope.Value, slopes, onSlope)
}

// roundVariances gives what each round adds to the variance of base and slope, up to a common factor: its reads' part
// in either, with errors proportional to the latency and shared by the round.
func roundVariances(pts []ReadAfter, weights []float64, of []int, n int) (base, slope []float64) {
	var w, mx, sxx float64
	for i, p := range pts {
		w += weights[i]
		mx += weights[i] * p.Commits
	}
	mx /= w
	for i, p := range pts {
		sxx += weights[i] * (p.Commits - mx) * (p.Commits - mx)
	}
	base, slope = make([]float64, n), make([]float64, n)
	for i, p := range pts {
		scale := 1 / math.Sqrt(weights[i]) // of its error
		onSlope := weights[i] * (p.Commits - mx) / sxx
		slope[of[i]] += onSlope * scale
		base[of[i]] += (weights[i]/w - mx*onSlope) * scale
	}
	for r := range n {
		base[r] *= base[r]
		slope[r] *= slope[r]
	}
	return base, slope
}

// jackknifeInterval is the interval around a figure whose values without each of n rounds are given: its standard error
// by the jackknife, with Student's distribution. The degrees of freedom are those of Satterthwaite (1946): few where few
// rounds decide, as the first ones do on the base.
func jackknifeInterval(at float64, without, variances []float64) *Interval {
	n := float64(len(without))
	mean := meanOf(without)
	var sq, sum, squares float64
	for i, v := range without {
		sq += (v - mean) * (v - mean)
		sum += variances[i]
		squares += variances[i] * variances[i]
	}
	freedom := n - 2
	if squares > 0 {
		freedom = math.Max(1, math.Min(freedom, sum*sum/squares))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975)
	half := t * math.Sqrt(sq*(n-1)/n)
	return &Interval{at - half, at + half}
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
// value is 0 if even a fresh store misses it, and it has none where reads do not get slower or the p95 is not known. Its
// interval is a bootstrap of rounds (see [FitFragmentation]): of the line, and of how far the p95 lies above it.
func (f Fragmentation) CommitsUnder(sloP95MS float64, boot Bootstrap) Estimate {
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
	if ci := f.Slope.CI; ci == nil || ci[0] <= 0 {
		e.Note = "the slope's interval contains 0: there is no upper bound"
		return e
	}
	e.CI = f.commitsInterval(sloP95MS, v, boot)
	return e
}

func (f Fragmentation) commitsInterval(sloP95MS, at float64, boot Bootstrap) *Interval {
	of, n := rounds(f.pts)
	drawn, times := make([]uint32, n), make([]uint32, len(f.pts))
	rng := boot.rng()
	found := make([]float64, 0, boot.resamples())
	for range boot.resamples() {
		resample(drawn, rng)
		for i, r := range of {
			times[i] = drawn[r]
		}
		base, slope, ok := weightedLine(f.pts, f.weights, times)
		if !ok {
			continue
		}
		if slope <= 0 {
			return nil // in this resample reads do not get slower: there is no upper bound
		}
		if tail := resampledTail(f.pts, times, base, slope); tail > 0 {
			found = append(found, (sloP95MS/tail-base)/slope)
		}
	}
	if len(found) < boot.resamples()/2 {
		return nil
	}
	ci := percentileInterval(found)
	// Resamples of n rounds spread too little by the two parameters that each line takes from them, and with few rounds
	// their spread is itself uncertain: the factor is that of Student's interval over the normal one.
	spread := math.Sqrt(float64(n)/float64(n-2)) * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Quantile(0.975) / 1.96
	return &Interval{math.Max(0, at+(ci[0]-at)*spread), at + (ci[1]-at)*spread}
}

// resampledTail is the p95 of the reads' ratios to a line, each read as often as it was drawn. It keeps the few largest
// only, which is quicker than sorting all.
func resampledTail(pts []ReadAfter, times []uint32, base, slope float64) float64 {
	total := 0
	for _, t := range times {
		total += int(t)
	}
	beyond := total - rankOf(0.95, total) + 1
	top := make([]float64, 0, beyond) // ascending
	for i, p := range pts {
		fitted := base + slope*p.Commits
		if times[i] == 0 || fitted <= 0 {
			continue
		}
		ratio := p.MS / fitted
		for range times[i] {
			if len(top) == beyond {
				if ratio <= top[0] {
					break
				}
				top = slices.Delete(top, 0, 1)
			}
			at, _ := slices.BinarySearch(top, ratio)
			top = slices.Insert(top, at, ratio)
		}
	}
	if len(top) == 0 {
		return 0
	}
	return top[0]
}
