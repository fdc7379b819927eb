package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// LoadStep is what one step of an open-model capacity run showed: the rate offered, and the latency in question (a
// p95, say) of each of its repetitions. A repetition that could not be completed at that rate, because the schedule
// broke or everything failed, is infinitely slow.
type LoadStep struct {
	Rate      float64
	Latencies []float64
}

// Knee is the highest rate that keeps the latency under an objective.
type Knee struct {
	Rate Estimate
	// Bracket are the highest rate seen to keep it and the lowest seen to miss it; one is nil where no step did.
	Kept, Missed *float64
	Note         string
}

// FindKnee finds where latency over rate crosses the objective. Latency can only grow with the rate, so the steps'
// medians are first made monotone (isotonic regression by pooling adjacent violators, Barlow et al., 1972); between
// the last step that keeps the objective and the first that misses it, the crossing is interpolated on a logarithmic
// latency scale. The interval resamples the repetitions of every step, and needs three of them at each.
func FindKnee(steps []LoadStep, objective float64, boot Bootstrap) Knee {
	sorted := kneeSteps(steps)
	if len(sorted) == 0 || !(objective > 0) {
		return Knee{Note: "a knee needs steps with a rate and an objective above 0"}
	}
	medians := make([]float64, len(sorted))
	repeated := true
	for i, s := range sorted {
		medians[i] = medianWithInf(s.Latencies)
		repeated = repeated && len(s.Latencies) >= minKneeRepeats
	}
	rates := make([]float64, len(sorted))
	for i, s := range sorted {
		rates[i] = s.Rate
	}
	monotone := isotonic(medians)
	k := Knee{}
	for i, m := range monotone {
		r := rates[i]
		if m <= objective {
			k.Kept = &r
		} else if k.Missed == nil {
			k.Missed = &r
		}
	}
	switch {
	case k.Kept == nil:
		k.Note = fmt.Sprintf("even the lowest rate, %g/s, misses the objective", rates[0])
		return k
	case k.Missed == nil:
		k.Note = fmt.Sprintf("the highest rate, %g/s, still keeps the objective: the knee lies beyond it", rates[len(rates)-1])
		return k
	}
	v := crossing(rates, monotone, objective)
	k.Rate.Value = &v
	if !repeated {
		k.Rate.Note = fmt.Sprintf("an interval needs %d repetitions of every step", minKneeRepeats)
		return k
	}
	ci := kneeInterval(sorted, rates, objective, boot)
	k.Rate.CI = &ci
	return k
}

const minKneeRepeats = 3

func kneeInterval(steps []LoadStep, rates []float64, objective float64, boot Bootstrap) Interval {
	rng := boot.rng()
	found := make([]float64, 0, boot.resamples())
	medians := make([]float64, len(steps))
	var drawn []float64
	for range boot.resamples() {
		for i, s := range steps {
			drawn = drawn[:0]
			for range s.Latencies {
				drawn = append(drawn, s.Latencies[rng.IntN(len(s.Latencies))])
			}
			medians[i] = medianInPlace(drawn)
		}
		found = append(found, crossing(rates, isotonic(medians), objective))
	}
	return percentileInterval(found)
}

func kneeSteps(steps []LoadStep) []LoadStep {
	var out []LoadStep
	for _, s := range steps {
		if !isFinite(s.Rate) || s.Rate <= 0 {
			continue
		}
		var kept []float64
		for _, l := range s.Latencies {
			if !math.IsNaN(l) {
				kept = append(kept, l)
			}
		}
		if len(kept) == 0 {
			continue
		}
		if i := slices.IndexFunc(out, func(o LoadStep) bool { return o.Rate == s.Rate }); i >= 0 {
			out[i].Latencies = append(out[i].Latencies, kept...)
			continue
		}
		out = append(out, LoadStep{s.Rate, kept})
	}
	slices.SortFunc(out, func(a, b LoadStep) int { return cmp.Compare(a.Rate, b.Rate) })
	return out
}

// medianWithInf is the median of values of which some may be infinite; of two middle values with an infinite one it
// is infinite.
func medianWithInf(values []float64) float64 { return medianInPlace(slices.Clone(values)) }

// medianInPlace sorts its argument.
func medianInPlace(sorted []float64) float64 {
	slices.Sort(sorted)
	n := len(sorted)
	lo, hi := sorted[(n-1)/2], sorted[n/2]
	if math.IsInf(hi, 1) {
		return hi
	}
	return (lo + hi) / 2
}

// isotonic is the nearest non-decreasing sequence, on a logarithmic scale; infinite values stay so, and end the
// sequence, since what follows can't be faster.
func isotonic(values []float64) []float64 {
	type block struct {
		sum float64
		n   int
	}
	blocks := make([]block, 0, len(values))
	out := make([]float64, 0, len(values))
	finite := len(values)
	if i := slices.IndexFunc(values, func(v float64) bool { return math.IsInf(v, 1) }); i >= 0 {
		finite = i
	}
	for _, v := range values[:finite] {
		blocks = append(blocks, block{math.Log(math.Max(v, 1e-9)), 1})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.sum/float64(a.n) <= b.sum/float64(b.n) {
				break
			}
			blocks = append(blocks[:len(blocks)-2], block{a.sum + b.sum, a.n + b.n})
		}
	}
	for _, b := range blocks {
		for range b.n {
			out = append(out, math.Exp(b.sum/float64(b.n)))
		}
	}
	for len(out) < len(values) {
		out = append(out, math.Inf(1))
	}
	return out
}

// crossing is the rate at which a monotone latency reaches the objective; the ends of the range where it does not
// cross within it.
func crossing(rates, latencies []float64, objective float64) float64 {
	for i, l := range latencies {
		if l <= objective {
			continue
		}
		if i == 0 {
			return rates[0]
		}
		below := math.Log(latencies[i-1])
		above := math.Log(l)
		if math.IsInf(above, 1) {
			// Beyond the last rate that was kept nothing is known but that the next one failed.
			return rates[i-1]
		}
		share := (math.Log(objective) - below) / (above - below)
		return rates[i-1] + share*(rates[i]-rates[i-1])
	}
	return rates[len(rates)-1]
}
