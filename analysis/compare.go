package analysis

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Significance is the level at which tests decide, after Holm's correction.
const Significance = 0.05

// Verdict is what a comparison of two cells says.
type Verdict int

// The verdicts of a comparison, from A to B.
const (
	Unknown  Verdict = iota // too few samples to tell
	NoEffect                // no detected effect: below the noise floor and margin, or not significant
	Slower                  // B is slower than A
	Faster                  // B is faster than A
)

// Sides are one cell's samples in two runs.
type Sides struct{ A, B Sample }

// CellComparison compares one cell of two runs. Changes are relative: 0.1 means that B is 10 % slower.
type CellComparison struct {
	P50, P95 Estimate
	// P is the rank test's p value, Holm's correction over all cells included; nil if a side is empty.
	P       *float64
	Verdict Verdict
	Note    string
}

// CompareCells compares every cell of run A with the same cell of run B. A cell is slower or faster if the rank test
// is significant after Holm's correction over all cells, the interval of its p50's change excludes 0, and the change
// is larger than floor + margin; otherwise there is no detected effect.
func CompareCells(cells []Sides, floor, margin float64, boot Bootstrap) []CellComparison {
	raw := make([]*float64, len(cells))
	out := make([]CellComparison, len(cells))
	for i, c := range cells {
		out[i].P50, _ = CompareMedians(c.A, c.B, boot)
		out[i].P95 = compareTail(c.A, c.B, 0.95, MinP95, MinP95CI, boot)
		if out[i].P50.CI != nil {
			raw[i] = MannWhitney(c.A, c.B)
		}
	}
	threshold := math.Max(floor, 0) + math.Max(margin, 0)
	for i, p := range Holm(raw) {
		out[i].P = p
		out[i].Verdict = judgeChange(out[i].P50, p, threshold)
		if out[i].Verdict == Unknown {
			out[i].Note = out[i].P50.Note
		}
	}
	return out
}

func judgeChange(change Estimate, p *float64, threshold float64) Verdict {
	switch {
	case change.Value == nil || change.CI == nil || p == nil:
		return Unknown
	case *p >= Significance || math.Abs(*change.Value) <= threshold:
		return NoEffect
	case change.CI[0] > 0:
		return Slower
	case change.CI[1] < 0:
		return Faster
	default:
		return NoEffect
	}
}

// compareTail is the relative change of a quantile beyond the median, with a bootstrap interval of the difference.
func compareTail(a, b Sample, q float64, minValue, minInterval int, boot Bootstrap) Estimate {
	short := min(a.Len(), b.Len())
	if short < minValue {
		return Estimate{Note: fmt.Sprintf("%s needs %d samples on either side, there are %d", levelName(q), minValue, short)}
	}
	va, vb := a.Quantile(q), b.Quantile(q)
	if va <= 0 {
		return Estimate{Note: "a quantile of 0 has no relative change"}
	}
	change := (vb - va) / va
	e := Estimate{Value: &change}
	if short < minInterval {
		e.Note = fmt.Sprintf("an interval of %s needs %d samples on either side, there are %d", levelName(q), minInterval, short)
		return e
	}
	rng := boot.rng()
	// The k-th smallest of a resample stands at a Beta(k, n+1-k) distributed position: see medianInterval.
	position := func(n int) distuv.Beta {
		k := float64(rankOf(q, n))
		return distuv.Beta{Alpha: k, Beta: float64(n) + 1 - k, Src: rng}
	}
	pa, pb := position(a.Len()), position(b.Len())
	changes := make([]float64, 0, boot.resamples())
	for range boot.resamples() {
		x := a.Rank(int(math.Ceil(pa.Rand() * float64(a.Len()))))
		y := b.Rank(int(math.Ceil(pb.Rand() * float64(b.Len()))))
		if x > 0 {
			changes = append(changes, (y-x)/x)
		}
	}
	if len(changes) > 0 {
		ci := percentileInterval(changes)
		e.CI = &ci
	}
	return e
}

// NoiseFloor is the A/A noise floor: the root mean square of the relative p50 differences between cells of the same
// variant in one session. 0 and false without a cell that has a difference.
func NoiseFloor(cells []Sides) (float64, bool) {
	var sum float64
	n := 0
	for _, c := range cells {
		if c.A.Len() == 0 || c.B.Len() == 0 {
			continue
		}
		ma, mb := c.A.Quantile(0.5), c.B.Quantile(0.5)
		if ma <= 0 {
			continue
		}
		d := (mb - ma) / ma
		sum += d * d
		n++
	}
	if n == 0 {
		return 0, false
	}
	return math.Sqrt(sum / float64(n)), true
}
