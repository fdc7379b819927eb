package analysis

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactRankLimit is the largest sum of two samples' sizes for which the rank test counts arrangements instead of
// using the normal approximation.
const exactRankLimit = 24

// MannWhitney is the two-sided p value of the rank-sum test that two samples come from one distribution (Mann and
// Whitney, 1947): exact for small samples without ties, else the normal approximation with tie and continuity
// correction. It is nil if a side is empty, and 1 if all values are equal.
func MannWhitney(a, b Sample) *float64 {
	na, nb := a.Len(), b.Len()
	if na == 0 || nb == 0 {
		return nil
	}
	u, ties, tied := rankSum(a, b)
	var p float64
	if !tied && na+nb <= exactRankLimit {
		p = exactRankP(na, nb, u)
	} else {
		p = normalRankP(float64(na), float64(nb), u, ties)
	}
	return &p
}

// rankSum gives U of a, the sum of t^3 - t over groups of equal values, and whether there are such groups.
func rankSum(a, b Sample) (u, ties float64, tied bool) {
	type group struct{ value, a, b float64 }
	var groups []group
	for _, bin := range a.Bins() {
		groups = append(groups, group{value: bin.Value, a: float64(bin.Count)})
	}
	for _, bin := range b.Bins() {
		groups = append(groups, group{value: bin.Value, b: float64(bin.Count)})
	}
	slices.SortFunc(groups, func(x, y group) int { return cmp.Compare(x.value, y.value) })
	var below float64 // values of b below the group
	for i := 0; i < len(groups); {
		g := groups[i]
		for i++; i < len(groups) && groups[i].value == g.value; i++ {
			g.a += groups[i].a
			g.b += groups[i].b
		}
		u += g.a * (below + g.b/2)
		below += g.b
		if t := g.a + g.b; t > 1 {
			tied = true
			ties += t*t*t - t
		}
	}
	return u, ties, tied
}

func normalRankP(na, nb, u, ties float64) float64 {
	n := na + nb
	variance := na * nb / 12 * ((n + 1) - ties/(n*(n-1)))
	if variance <= 0 {
		return 1
	}
	z := (math.Abs(u-na*nb/2) - 0.5) / math.Sqrt(variance)
	if z <= 0 {
		return 1
	}
	return math.Min(1, 2*distuv.UnitNormal.Survival(z))
}

// exactRankP counts the arrangements of na and nb values by their U: f(i, j, u) = f(i-1, j, u-j) + f(i, j-1, u).
func exactRankP(na, nb int, u float64) float64 {
	size := na*nb + 1
	prev := make([][]float64, nb+1)
	for j := range prev {
		prev[j] = make([]float64, size)
		prev[j][0] = 1
	}
	for range na {
		next := make([][]float64, nb+1)
		next[0] = make([]float64, size)
		next[0][0] = 1
		for j := 1; j <= nb; j++ {
			next[j] = slices.Clone(next[j-1])
			for v := j; v < size; v++ {
				next[j][v] += prev[j][v-j]
			}
		}
		prev = next
	}
	var total, tail float64
	extreme := math.Min(u, float64(na*nb)-u)
	for v, count := range prev[nb] {
		total += count
		if float64(v) <= extreme {
			tail += count
		}
	}
	return math.Min(1, 2*tail/total)
}

// Holm adjusts p values for their number (Holm, 1979), in the given order. A nil stands for a test that could not be
// made: it stays nil and does not count.
func Holm(p []*float64) []*float64 {
	order := make([]int, 0, len(p))
	for i, v := range p {
		if v != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(*p[x], *p[y]) })
	out := make([]*float64, len(p))
	var atLeast float64
	for rank, i := range order {
		adjusted := math.Min(1, *p[i]*float64(len(order)-rank))
		atLeast = math.Max(atLeast, adjusted)
		v := atLeast
		out[i] = &v
	}
	return out
}
