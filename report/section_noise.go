package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// noise is what noise-floor.js keeps of one operation run against itself: the relative difference of the medians of
// each block.
type noise struct {
	Pairs       float64   `json:"pairs"` // in a block
	Differences []float64 `json:"differences"`

	name  string
	floor analysis.Estimate
}

const noisePrefix = "noise:"

// noiseAnswer says how large a difference has to be to mean anything.
func noiseAnswer(rec *recorder.Record, groups []*group) answer {
	var all []noise
	for name := range rec.Extra {
		var n noise
		if strings.HasPrefix(name, noisePrefix) && extra(rec, name, &n) && len(n.Differences) > 0 {
			n.name = strings.TrimPrefix(name, noisePrefix)
			n.floor = rootMeanSquare(n.Differences)
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return answer{}
	}
	slices.SortFunc(all, func(a, b noise) int { return cmp.Compare(*a.floor.Value, *b.floor.Value) })
	t := Table{
		Caption: "The same operation against itself: differences between the medians of a and b in each block",
		Header:  []string{"operation", "floor", "largest difference", "blocks", "pairs in a block"},
	}
	var words []string
	for _, n := range all {
		largest := 0.0
		for _, d := range n.Differences {
			largest = math.Max(largest, math.Abs(d))
		}
		t.Rows = append(t.Rows, []string{
			n.name, percentCI(n.floor.Value, n.floor.CI), percent(largest), count(len(n.Differences)), count(int64(n.Pairs)),
		})
		words = append(words, fmt.Sprintf("%s %s", n.name, percentCI(n.floor.Value, n.floor.CI)))
	}
	f := Finding{
		Text: fmt.Sprintf("A/A noise floor: %s. A difference below that plus the margin of %s is no detected effect here.",
			strings.Join(words, ", "), percent(rec.Limits.Margin)),
	}
	if rec.Limits.NoiseFloor > 0 {
		f.Next = floorAdvice(all, rec.Limits.NoiseFloor)
	}
	out := answer{findings: []Finding{f}, sections: []Section{{Title: "Noise floor", Tables: []Table{t}, Notes: []string{
		"The floor is the root mean square of the blocks' differences; its interval takes them as normal around 0.",
	}}}}
	for _, g := range groups {
		if slices.ContainsFunc(all, func(n noise) bool { return n.name == g.family }) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

// floorAdvice says for what the record's one floor stands, and which operations need a larger one.
func floorAdvice(all []noise, floor float64) string {
	text := fmt.Sprintf("Give the other scenarios of the day NOISE_FLOOR=%.3f", floor)
	of := slices.MinFunc(all, func(a, b noise) int {
		return cmp.Compare(math.Abs(*a.floor.Value-floor), math.Abs(*b.floor.Value-floor))
	})
	var larger []string
	for _, n := range all {
		if *n.floor.Value > 2*floor {
			larger = append(larger, fmt.Sprintf("%s %.3f", n.name, *n.floor.Value))
		}
	}
	if len(larger) == 0 {
		return text + "."
	}
	return fmt.Sprintf("%s, the floor of %s. Runs about what is noisier take its own: %s.", text, of.name, joinWords(larger))
}

// rootMeanSquare is the size of differences whose sign says nothing. Its interval takes them as normal around 0: the
// sum of their squares over the variance then has a chi-squared distribution.
func rootMeanSquare(differences []float64) analysis.Estimate {
	var sum float64
	for _, d := range differences {
		sum += d * d
	}
	n := float64(len(differences))
	v := math.Sqrt(sum / n)
	e := analysis.Estimate{Value: &v}
	if len(differences) >= minNoiseBlocks {
		chi := distuv.ChiSquared{K: n}
		e.CI = &analysis.Interval{math.Sqrt(sum / chi.Quantile(0.975)), math.Sqrt(sum / chi.Quantile(0.025))}
	}
	return e
}

// minNoiseBlocks is how many blocks an interval of the floor takes: with fewer it spans more than a factor of three.
const minNoiseBlocks = 5
