package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// MinUSLLevels is the number of distinct levels that a scalability fit takes.
const MinUSLLevels = 6

// Throughput is one repetition's throughput at one level of concurrency.
type Throughput struct {
	N float64 // workers
	X float64 // operations per second
}

// USLFit is a fit of Gunther's Universal Scalability Law, X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)):
// lambda is the throughput of one worker, sigma the share of serialized work (contention), kappa the cost of keeping
// workers consistent with each other (Gunther, Guerrilla Capacity Planning, 2007, chapter 4).
type USLFit struct {
	Lambda, Sigma, Kappa Estimate
	// PeakN is the concurrency beyond which throughput falls, PeakX the throughput there. Both have no value where
	// kappa is 0: then throughput never falls.
	PeakN, PeakX Estimate
	Levels       int
	// Note says why there is no fit.
	Note string
}

// At is the fitted throughput at a concurrency, 0 without a fit.
func (f USLFit) At(n float64) float64 {
	if f.Lambda.Value == nil {
		return 0
	}
	return uslParams{*f.Lambda.Value, *f.Sigma.Value, *f.Kappa.Value}.at(n)
}

type uslParams struct{ lambda, sigma, kappa float64 }

func (p uslParams) at(n float64) float64 { return p.lambda * uslShape(n, p.sigma, p.kappa) }

func uslShape(n, sigma, kappa float64) float64 {
	return n / (1 + sigma*(n-1) + kappa*n*(n-1))
}

func (p uslParams) peak() (n, x float64, ok bool) {
	if p.kappa <= 0 || p.sigma >= 1 {
		return 0, 0, false
	}
	n = math.Max(1, math.Sqrt((1-p.sigma)/p.kappa))
	return n, p.at(n), true
}

// uslLevel is what was seen at one level.
type uslLevel struct {
	n    float64
	x    []float64
	mean float64
}

// FitUSL fits the law by unweighted least squares on X(N) with lambda free, 0 <= sigma <= 1 and kappa >= 0. It takes
// at least six distinct levels. Intervals come from a bootstrap over the repetitions of each level, or over the
// residuals where a level has one repetition only.
func FitUSL(points []Throughput, boot Bootstrap) USLFit {
	levels := uslLevels(points)
	fit := USLFit{Levels: len(levels)}
	if len(levels) < MinUSLLevels {
		fit.Note = fmt.Sprintf("a scalability fit needs %d distinct levels, there are %d", MinUSLLevels, len(levels))
		return fit
	}
	p := fitLevels(levels, uslStart(levels))
	if p.lambda <= 0 {
		fit.Note = "throughput is 0 at every level"
		return fit
	}
	fit.Lambda.Value, fit.Sigma.Value, fit.Kappa.Value = &p.lambda, &p.sigma, &p.kappa
	if n, x, ok := p.peak(); ok {
		fit.PeakN.Value, fit.PeakX.Value = &n, &x
	} else {
		fit.PeakN.Note = "kappa is 0: throughput does not fall with more workers"
		fit.PeakX.Note = fit.PeakN.Note
	}
	fit.intervals(levels, p, boot)
	return fit
}

func (f *USLFit) intervals(levels []uslLevel, p uslParams, boot Bootstrap) {
	var lambda, sigma, kappa, peakN, peakX []float64
	draw := uslResampler(levels, p, boot.rng())
	for range boot.resamples() {
		q := fitLevels(draw(), p)
		lambda, sigma, kappa = append(lambda, q.lambda), append(sigma, q.sigma), append(kappa, q.kappa)
		if n, x, ok := q.peak(); ok {
			peakN, peakX = append(peakN, n), append(peakX, x)
		}
	}
	set := func(e *Estimate, values []float64) {
		if e.Value != nil && len(values) == boot.resamples() {
			ci := percentileInterval(values)
			e.CI = &ci
		}
	}
	set(&f.Lambda, lambda)
	set(&f.Sigma, sigma)
	set(&f.Kappa, kappa)
	set(&f.PeakN, peakN)
	set(&f.PeakX, peakX)
	if f.PeakN.Value != nil && f.PeakN.CI == nil {
		note := "the data does not show where throughput peaks: in part of the resamples it never falls"
		f.PeakN.Note, f.PeakX.Note = note, note
	}
}

func uslLevels(points []Throughput) []uslLevel {
	byN := map[float64]*uslLevel{}
	for _, p := range points {
		if !isFinite(p.N) || !isFinite(p.X) || p.N < 1 || p.X < 0 {
			continue
		}
		l := byN[p.N]
		if l == nil {
			l = &uslLevel{n: p.N}
			byN[p.N] = l
		}
		l.x = append(l.x, p.X)
	}
	levels := make([]uslLevel, 0, len(byN))
	for _, l := range byN {
		l.mean = meanOf(l.x)
		levels = append(levels, *l)
	}
	slices.SortFunc(levels, func(a, b uslLevel) int { return cmp.Compare(a.n, b.n) })
	return levels
}

func meanOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// uslResampler gives a function that makes the levels of one resample. They share memory: use one before the next.
func uslResampler(levels []uslLevel, p uslParams, rng *rand.Rand) func() []uslLevel {
	out := slices.Clone(levels)
	repeated := true
	for _, l := range levels {
		repeated = repeated && len(l.x) > 1
	}
	if repeated {
		return func() []uslLevel {
			for i, l := range levels {
				sum := resampledSum(l.x, rng)
				r := float64(len(l.x))
				// A resample of r values spreads by (r-1)/r too little; the factor mends that.
				out[i].mean = math.Max(0, l.mean+(sum/r-l.mean)*math.Sqrt(r/(r-1)))
			}
			return out
		}
	}
	var residuals []float64
	for _, l := range levels {
		for _, x := range l.x {
			residuals = append(residuals, x-p.at(l.n))
		}
	}
	const parameters = 3
	n := float64(len(residuals))
	spread := math.Sqrt(n / math.Max(n-parameters, 1))
	center := meanOf(residuals)
	return func() []uslLevel {
		for i, l := range levels {
			var sum float64
			for range l.x {
				sum += (residuals[rng.IntN(len(residuals))] - center) * spread
			}
			out[i].mean = math.Max(0, p.at(l.n)+sum/float64(len(l.x)))
		}
		return out
	}
}

// resampledSum is the sum of one resample, two draws with each random number: see resample.
func resampledSum(values []float64, rng *rand.Rand) float64 {
	n := uint64(len(values))
	var sum float64
	for i := uint64(0); i < n; i += 2 {
		r := rng.Uint64()
		sum += values[(r>>32)*n>>32]
		if i+1 < n {
			sum += values[(r&math.MaxUint32)*n>>32]
		}
	}
	return sum
}

// uslStart solves the law's linear form, N/X = a + b (N-1) + c N (N-1) with a = 1/lambda, b = sigma/lambda and
// c = kappa/lambda, by least squares; negative results start at 0.
func uslStart(levels []uslLevel) uslParams {
	var m [3][4]float64
	for _, l := range levels {
		if l.mean <= 0 {
			continue
		}
		row := [4]float64{1, l.n - 1, l.n * (l.n - 1), l.n / l.mean}
		for i := range 3 {
			for j := range 4 {
				m[i][j] += row[i] * row[j]
			}
		}
	}
	v, ok := solve3(m)
	if !ok || v[0] <= 0 {
		return uslParams{sigma: 0.1, kappa: 0.001}
	}
	return uslParams{sigma: clamp01(v[1] / v[0]), kappa: math.Max(0, v[2]/v[0])}
}

func clamp01(v float64) float64 { return math.Min(1, math.Max(0, v)) }

// solve3 solves three linear equations by elimination with pivoting.
func solve3(m [3][4]float64) ([3]float64, bool) {
	for c := range 3 {
		pivot := c
		for r := c + 1; r < 3; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		if m[pivot][c] == 0 {
			return [3]float64{}, false
		}
		m[c], m[pivot] = m[pivot], m[c]
		for r := range 3 {
			if r == c {
				continue
			}
			f := m[r][c] / m[c][c]
			for k := c; k < 4; k++ {
				m[r][k] -= f * m[c][k]
			}
		}
	}
	return [3]float64{m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]}, true
}

// uslTolerance is the relative step at which the search ends, far below what any data can tell.
const uslTolerance = 1e-8

// fitLevels minimizes the sum of squares over sigma and kappa by Levenberg and Marquardt's method with projection on
// the bounds. Lambda enters linearly, so its best value for given sigma and kappa is known and it needs no search
// (variable projection, Golub and Pereyra, 1973).
func fitLevels(levels []uslLevel, start uslParams) uslParams {
	sigma, kappa := start.sigma, start.kappa
	lambda, best := projectLambda(levels, sigma, kappa)
	damping := 1e-3
	for range 200 {
		g, h := uslGradient(levels, lambda, sigma, kappa)
		step, ok := uslStep(g, h, damping, sigma, kappa)
		if !ok {
			break
		}
		s, k := clamp01(sigma+step[0]), math.Max(0, kappa+step[1])
		if math.Abs(s-sigma) <= uslTolerance*(sigma+1e-6) && math.Abs(k-kappa) <= uslTolerance*(kappa+1e-9) {
			break
		}
		l, sum := projectLambda(levels, s, k)
		if sum < best {
			gain := (best - sum) / math.Max(best, 1e-300)
			lambda, sigma, kappa, best = l, s, k, sum
			damping = math.Max(damping/10, 1e-12)
			if gain < 1e-12 {
				break
			}
			continue
		}
		damping *= 10
		if damping > 1e9 {
			break
		}
	}
	return uslParams{lambda, sigma, kappa}
}

// projectLambda is the best lambda for a shape, with the sum of squares that it leaves.
func projectLambda(levels []uslLevel, sigma, kappa float64) (lambda, sum float64) {
	var xf, ff, xx float64
	for _, l := range levels {
		w := float64(len(l.x))
		f := uslShape(l.n, sigma, kappa)
		xf += w * l.mean * f
		ff += w * f * f
		xx += w * l.mean * l.mean
	}
	if ff == 0 {
		return 0, xx
	}
	lambda = xf / ff
	for _, l := range levels {
		r := l.mean - lambda*uslShape(l.n, sigma, kappa)
		sum += float64(len(l.x)) * r * r
	}
	return lambda, sum
}

// uslGradient is J'r and J'J of the projected residuals in sigma and kappa.
func uslGradient(levels []uslLevel, lambda, sigma, kappa float64) (g [2]float64, h [3]float64) {
	// The derivative of the model in (sigma, kappa), with the part along the model itself taken out: lambda makes up
	// for that.
	var ff, fs, fk float64
	for _, l := range levels {
		w := float64(len(l.x))
		f, ds, dk := uslDerivatives(l.n, lambda, sigma, kappa)
		ff += w * f * f
		fs += w * f * ds
		fk += w * f * dk
	}
	if ff == 0 {
		return g, h
	}
	for _, l := range levels {
		w := float64(len(l.x))
		f, ds, dk := uslDerivatives(l.n, lambda, sigma, kappa)
		r := l.mean - lambda*f
		ds -= f * fs / ff
		dk -= f * fk / ff
		g[0] += w * r * ds
		g[1] += w * r * dk
		h[0] += w * ds * ds
		h[1] += w * ds * dk
		h[2] += w * dk * dk
	}
	return g, h
}

func uslDerivatives(n, lambda, sigma, kappa float64) (f, ds, dk float64) {
	f = uslShape(n, sigma, kappa)
	slope := -lambda * f * f / n
	return f, slope * (n - 1), slope * n * (n - 1)
}

// uslStep solves the damped normal equations. A parameter that sits on a bound and would leave it is held there.
func uslStep(g [2]float64, h [3]float64, damping, sigma, kappa float64) ([2]float64, bool) {
	holdS := sigma <= 0 && g[0] <= 0 || sigma >= 1 && g[0] >= 0
	holdK := kappa <= 0 && g[1] <= 0
	a, b, d := h[0]*(1+damping), h[1], h[2]*(1+damping)
	switch {
	case holdS && holdK:
		return [2]float64{}, false
	case holdS:
		if d == 0 {
			return [2]float64{}, false
		}
		return [2]float64{0, g[1] / d}, true
	case holdK:
		if a == 0 {
			return [2]float64{}, false
		}
		return [2]float64{g[0] / a, 0}, true
	}
	det := a*d - b*b
	if det <= 0 {
		return [2]float64{}, false
	}
	return [2]float64{(g[0]*d - g[1]*b) / det, (g[1]*a - g[0]*b) / det}, true
}
