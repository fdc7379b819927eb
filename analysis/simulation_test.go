package analysis

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// simulatedRuns is the number of runs that a coverage is found from: the standard error of 95 % is then 0.5 points.
const simulatedRuns = 2000

// simulate makes the runs in parallel, each with its own seeded generator, so that the result does not depend on
// their order. It returns the share of runs for which each of the named conditions held.
func simulate(runs int, run func(rng *rand.Rand, boot Bootstrap) []bool) []float64 {
	if raceDetector {
		runs = 20
	}
	var held []atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	next := atomic.Int64{}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(runs) {
					return
				}
				rng := rand.New(rand.NewPCG(uint64(i), 42))
				got := run(rng, Bootstrap{Resamples: 2000, Seed: uint64(i)})
				once.Do(func() { held = make([]atomic.Int64, len(got)) })
				for c, ok := range got {
					if ok {
						held[c].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	shares := make([]float64, len(held))
	for i := range held {
		shares[i] = float64(held[i].Load()) / float64(runs)
	}
	return shares
}

func logNormals(rng *rand.Rand, n int, median, sigma float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = median * math.Exp(sigma*rng.NormFloat64())
	}
	return out
}

// assertCovers checks a coverage against the range that docs/statistics.md promises.
func assertCovers(t *testing.T, what string, share, low, high float64) {
	t.Helper()
	t.Logf("%s: %.1f %%", what, share*100)
	if raceDetector {
		return // too few runs to tell
	}
	assert.GreaterOrEqual(t, share, low, what)
	assert.LessOrEqual(t, share, high, what)
}

func TestMedianIntervalCovers(t *testing.T) {
	for _, sigma := range []float64{0.2, 0.5} {
		for _, n := range []int{20, 21, 22, 23, 24, 41, 200} {
			shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
				e := QuantileOf(NewSample(logNormals(rng, n, 10, sigma)), 0.5, boot)
				return []bool{e.CI.Contains(10)}
			})
			assertCovers(t, "p50", shares[0], 0.93, 0.97)
		}
	}
}

func TestOrderStatisticIntervalsCover(t *testing.T) {
	for _, sigma := range []float64{0.2, 0.5} {
		for _, tt := range []struct {
			n int
			q float64
			z float64
		}{{200, 0.95, 1.6448536}, {1000, 0.95, 1.6448536}, {1000, 0.99, 2.3263479}} {
			truth := 10 * math.Exp(sigma*tt.z)
			shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
				e := QuantileOf(NewSample(logNormals(rng, tt.n, 10, sigma)), tt.q, boot)
				return []bool{e.CI.Contains(truth)}
			})
			assertCovers(t, levelName(tt.q), shares[0], 0.95, 1)
		}
	}
}

func TestPairedIntervalsCover(t *testing.T) {
	// What both sides of a pair met together (the store's growth, competing load) is a common factor.
	for _, sigma := range []float64{0.2, 0.5} {
		draw := func(rng *rand.Rand, n int) (a, b []float64, first []bool) {
			for i := range n {
				common := math.Exp(sigma / 2 * rng.NormFloat64())
				a = append(a, 25*common*math.Exp(sigma*rng.NormFloat64()))
				b = append(b, 5*common*math.Exp(sigma*rng.NormFloat64()))
				first = append(first, i%2 == 0)
			}
			return a, b, first
		}
		// The difference of two log-normals has no closed-form median: it comes from one long simulation.
		a, b, _ := draw(rand.New(rand.NewPCG(7, 7)), 2_000_000)
		diff := make([]float64, len(a))
		for i := range a {
			diff[i] = a[i] - b[i]
		}
		truth := NewSample(diff).Quantile(0.5)
		for _, n := range []int{20, 21, 100} {
			shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
				x, y, first := draw(rng, n)
				r := ComparePairs(x, y, first, boot)
				return []bool{r.MedianDiff.CI.Contains(truth), r.Share.CI.Contains(0.8), *r.OrderP < 0.05}
			})
			assertCovers(t, "median difference", shares[0], 0.93, 0.97)
			assertCovers(t, "share", shares[1], 0.93, 0.97)
			assertCovers(t, "false order effects", shares[2], 0.02, 0.07)
		}
	}
}

func TestUSLIntervalsCover(t *testing.T) {
	truth := uslParams{100, 0.05, 0.01}
	for _, sigma := range []float64{0.2, 0.5} {
		shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
			var points []Throughput
			for _, n := range []float64{1, 2, 4, 8, 16, 32} {
				for range 16 {
					noise := math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2)
					points = append(points, Throughput{n, truth.at(n) * noise})
				}
			}
			f := FitUSL(points, boot)
			return []bool{f.Lambda.CI.Contains(truth.lambda), f.Sigma.CI.Contains(truth.sigma), f.Kappa.CI.Contains(truth.kappa)}
		})
		assertCovers(t, "lambda", shares[0], 0.93, 0.97)
		assertCovers(t, "sigma", shares[1], 0.93, 0.97)
		assertCovers(t, "kappa", shares[2], 0.93, 0.97)
	}
}

func TestFragmentationSlopeCovers(t *testing.T) {
	for _, sigma := range []float64{0.2, 0.5} {
		mean := math.Exp(sigma * sigma / 2)
		shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
			var reads []ReadAfter
			for c := range 200 {
				v := (8 + 0.1*float64(c)) * math.Exp(sigma*rng.NormFloat64())
				reads = append(reads, ReadAfter{float64(c), v})
			}
			f := FitFragmentation(reads)
			return []bool{f.Slope.CI.Contains(0.1 * mean), f.Base.CI.Contains(8 * mean)}
		})
		assertCovers(t, "slope", shares[0], 0.93, 0.97)
		assertCovers(t, "base", shares[1], 0.93, 0.97)
	}
}

func TestFragmentationSlopeCoversWhereRoundsShareTheirLoad(t *testing.T) {
	// As fragmentation.js reads: 31 rounds of 8 reads, four commits apart. What the machine does during a round hits all
	// of its reads. Resampling single reads would cover about 80 %.
	const rounds, each, sigma, shared, slo = 31, 8, 0.2, 0.1, 30
	mean := math.Exp((sigma*sigma + shared*shared) / 2)
	// The p95 of log-normal reads is their median times exp(1.645 sigma).
	commits := (slo/math.Exp(1.6448536*math.Hypot(sigma, shared)) - 4) / 0.2
	shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
		var reads []ReadAfter
		for r := range rounds {
			c := float64(4 * r)
			load := math.Exp(shared * rng.NormFloat64())
			for range each {
				reads = append(reads, ReadAfter{c, (4 + 0.2*c) * load * math.Exp(sigma*rng.NormFloat64())})
			}
		}
		f := FitFragmentation(reads)
		under := f.CommitsUnder(slo, boot)
		return []bool{f.Slope.CI.Contains(0.2 * mean), f.Base.CI.Contains(4 * mean), under.CI != nil && under.CI.Contains(commits)}
	})
	assertCovers(t, "slope over rounds", shares[0], 0.93, 0.97)
	assertCovers(t, "base over rounds", shares[1], 0.93, 0.97)
	assertCovers(t, "commits under an objective", shares[2], 0.92, 0.97)
}

func TestKneeIsFoundNearTheTruth(t *testing.T) {
	// An M/M/1 queue: the p95 of the time in the system is -ln(0.05)/(mu-lambda), so the true knee is known.
	const mu, slo = 100.0, 0.1
	truth := mu - math.Log(20)/slo
	shares := simulate(simulatedRuns, func(rng *rand.Rand, boot Bootstrap) []bool {
		var steps []LoadStep
		for _, rate := range []float64{30, 50, 60, 65, 70, 75, 80, 110} {
			s := LoadStep{Rate: rate}
			for range 5 {
				p95 := math.Inf(1)
				if rate < mu {
					p95 = math.Log(20) / (mu - rate) * math.Exp(0.1*rng.NormFloat64())
				}
				s.Latencies = append(s.Latencies, p95)
			}
			steps = append(steps, s)
		}
		k := FindKnee(steps, slo, boot)
		return []bool{math.Abs(*k.Rate.Value-truth) < 0.05*truth, k.Rate.CI.Contains(truth)}
	})
	assertCovers(t, "knee within 5 %", shares[0], 0.95, 1)
	assertCovers(t, "knee's interval", shares[1], 0.93, 1)
}

func TestChangesBetweenTwoRecordsCover(t *testing.T) {
	for _, n := range []int{200, 400} {
		shares := simulate(simulatedRuns/2, func(rng *rand.Rand, boot Bootstrap) []bool {
			sides := Sides{NewSample(logNormals(rng, n, 10, 0.5)), NewSample(logNormals(rng, n, 12, 0.5))}
			c := CompareCells([]Sides{sides}, 0, 0.03, boot)[0]
			return []bool{c.P50.CI.Contains(0.2), c.P95.CI.Contains(0.2)}
		})
		assertCovers(t, "change of p50", shares[0], 0.93, 0.98)
		assertCovers(t, "change of p95", shares[1], 0.93, 0.98)
	}
}

// comparedRuns makes two runs of six cells with 200 samples each, and an A/A floor measured in the same session.
func comparedRuns(rng *rand.Rand, change float64, boot Bootstrap) []CellComparison {
	const cells, n, sigma = 6, 200, 0.2
	var sides, same []Sides
	for range cells {
		sides = append(sides, Sides{
			NewSample(logNormals(rng, n, 10, sigma)), NewSample(logNormals(rng, n, 10*(1+change), sigma)),
		})
		same = append(same, Sides{NewSample(logNormals(rng, n, 10, sigma)), NewSample(logNormals(rng, n, 10, sigma))})
	}
	floor, _ := NoiseFloor(same)
	return CompareCells(sides, floor, 0.03, boot)
}

func TestCompareFindsTenPercentAndSeldomCriesWolf(t *testing.T) {
	power := simulate(500, func(rng *rand.Rand, boot Bootstrap) []bool {
		var found []bool
		for _, c := range comparedRuns(rng, 0.1, boot) {
			found = append(found, c.Verdict == Slower)
		}
		return found
	})
	for _, p := range power {
		assertCovers(t, "power for +10 %", p, 0.9, 1)
	}
	alarms := simulate(1000, func(rng *rand.Rand, boot Bootstrap) []bool {
		for _, c := range comparedRuns(rng, 0, boot) {
			if c.Verdict != NoEffect {
				return []bool{true}
			}
		}
		return []bool{false}
	})
	assertCovers(t, "runs with a false alarm", alarms[0], 0, 0.05)
}
