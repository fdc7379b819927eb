package analysis

import "fmt"

// CompareMedians compares two samples that were not measured in pairs: the relative change (p50 of b - p50 of a) / p50
// of a, and the ratio p50 of a / p50 of b. The intervals resample each sample on its own and exist from 20
// observations on either side.
func CompareMedians(a, b Sample, boot Bootstrap) (change, ratio Estimate) {
	if a.Len() == 0 || b.Len() == 0 {
		none := Estimate{Note: "one side has no successful operation"}
		return none, none
	}
	ma, mb := a.Quantile(0.5), b.Quantile(0.5)
	if ma <= 0 || mb <= 0 {
		none := Estimate{Note: "a p50 of 0 has no ratio"}
		return none, none
	}
	c, r := (mb-ma)/ma, ma/mb
	change.Value, ratio.Value = &c, &r
	if short := min(a.Len(), b.Len()); short < MinP50CI {
		note := fmt.Sprintf("an interval needs %d samples on either side, there are %d", MinP50CI, short)
		change.Note, ratio.Note = note, note
		return change, ratio
	}
	rng := boot.rng()
	drawA, drawB := newMedianDraw(a.Len(), rng), newMedianDraw(b.Len(), rng)
	changes := make([]float64, 0, boot.resamples())
	ratios := make([]float64, 0, boot.resamples())
	for range boot.resamples() {
		x, y := drawA.median(a), drawB.median(b)
		if x <= 0 || y <= 0 {
			continue
		}
		changes = append(changes, (y-x)/x)
		ratios = append(ratios, x/y)
	}
	if len(changes) > 0 {
		ciC, ciR := percentileInterval(changes), percentileInterval(ratios)
		change.CI, ratio.CI = &ciC, &ciR
	}
	return change, ratio
}
