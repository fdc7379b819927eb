package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	boot := analysis.DefaultBootstrap()
	var all []noise
	for name := range rec.Extra {
		var n noise
		if strings.HasPrefix(name, noisePrefix) && extra(rec, name, &n) && len(n.Differences) > 0 {
			n.name = strings.TrimPrefix(name, noisePrefix)
			n.floor = rootMeanSquare(n.Differences, boot)
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
		f.Next = fmt.Sprintf("Give the other scenarios of this session NOISE_FLOOR=%.3f.", rec.Limits.NoiseFloor)
	}
	out := answer{findings: []Finding{f}, sections: []Section{{Title: "Noise floor", Tables: []Table{t}, Notes: []string{
		"The floor is the root mean square of the blocks' differences; its interval resamples the blocks.",
	}}}}
	for _, g := range groups {
		if slices.ContainsFunc(all, func(n noise) bool { return n.name == g.family }) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

// rootMeanSquare is the size of differences whose sign says nothing. Its interval comes from a bootstrap of their
// squares' mean, and takes as many as a median's does.
func rootMeanSquare(differences []float64, boot analysis.Bootstrap) analysis.Estimate {
	var sum float64
	for _, d := range differences {
		sum += d * d
	}
	v := math.Sqrt(sum / float64(len(differences)))
	return analysis.Estimate{Value: &v}
}
