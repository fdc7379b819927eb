package analysis

import "math"

// WriteCycle is the steady work on a store that ages and is optimized again and again: so many commits, each slower than
// the one before, then an optimize during which nothing is written.
type WriteCycle struct {
	// CommitMS is what a commit takes right after an optimize, SlopeMS what every commit since then adds to it.
	CommitMS, SlopeMS float64
	// OptimizeMS is what an optimize took after OptimizeCommits commits. After more it is taken to take longer in
	// proportion, after fewer as long; 0 if not known.
	OptimizeMS, OptimizeCommits float64
	// MaxCommits is how many commits may pass between two optimizes, MaxShare the share of the time that optimizes may
	// take.
	MaxCommits, MaxShare float64
}

// optimizeMS is what an optimize takes after so many commits.
func (w WriteCycle) optimizeMS(commits float64) float64 {
	if w.OptimizeCommits <= 0 {
		return w.OptimizeMS
	}
	return w.OptimizeMS * math.Max(1, commits/w.OptimizeCommits)
}

// Share is the part of the time that optimizes take at a rate of commits a second, with so many between two of them.
func (w WriteCycle) Share(rate, commits float64) float64 {
	if commits <= 0 {
		return math.Inf(1)
	}
	return rate * w.optimizeMS(commits) / 1000 / commits
}

// Rate is how many commits a second can be kept up with so many commits between two optimizes: the cycle's commits over
// the time that they and the optimize take, and no more than lets the optimizes have their share of the time only.
func (w WriteCycle) Rate(commits float64) float64 {
	if commits <= 0 {
		return 0
	}
	each := w.CommitMS + w.SlopeMS*commits/2 + w.optimizeMS(commits)/commits
	rate := math.Inf(1)
	if each > 0 {
		rate = 1000 / each
	}
	if took := w.optimizeMS(commits); took > 0 {
		rate = math.Min(rate, w.MaxShare*1000*commits/took)
	}
	return rate
}

// searchSteps halve (or cut by a third) a range of at most twelve orders of magnitude to less than a commit.
const searchSteps = 120

// Best gives the number of commits between two optimizes at which the most commits a second can be kept up, and how many
// that are. The rate first rises with the number, as fewer optimizes are made, and then falls, as commits get slower, so
// that a search by thirds finds the top.
func (w WriteCycle) Best() (commits, rate float64) {
	low, high := math.Min(1, w.MaxCommits), w.MaxCommits
	if low <= 0 {
		return 0, 0
	}
	low, high = math.Log(low), math.Log(high)
	for range searchSteps {
		a, b := low+(high-low)/3, high-(high-low)/3
		if w.Rate(math.Exp(a)) < w.Rate(math.Exp(b)) {
			low = a
		} else {
			high = b
		}
	}
	commits = math.Min(math.Exp((low+high)/2), w.MaxCommits)
	return commits, w.Rate(commits)
}

// Longest is the largest number of commits between two optimizes at which a rate can be kept up; false if there is none.
func (w WriteCycle) Longest(rate float64) (commits float64, ok bool) {
	best, most := w.Best()
	switch {
	case most < rate*(1-1e-9):
		return 0, false
	case w.Rate(w.MaxCommits) >= rate:
		return w.MaxCommits, true
	}
	low, high := math.Log(best), math.Log(w.MaxCommits)
	for range searchSteps {
		if mid := (low + high) / 2; w.Rate(math.Exp(mid)) >= rate {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp(low), true
}
