package metrics

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reference is the plain way to do it.
func reference(sorted []float64, pct float64) float64 {
	rank := pct * float64(len(sorted)-1)
	lower := int(rank)
	if lower == len(sorted)-1 {
		return sorted[lower]
	}
	return sorted[lower] + (sorted[lower+1]-sorted[lower])*(rank-float64(lower))
}

func sinkOf(values ...float64) *TrendSink {
	sink := NewTrendSink()
	for _, v := range values {
		sink.Add(Sample{Value: v})
	}
	return sink
}

func TestPercentilesAreExactHoweverManyValues(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(random *rand.Rand, i int) float64{
		"durations":           func(random *rand.Rand, _ int) float64 { return D(time.Duration(random.ExpFloat64() * 5e6)) },
		"few distinct values": func(random *rand.Rand, _ int) float64 { return float64(random.IntN(7)) },
		"arbitrary floats":    func(random *rand.Rand, _ int) float64 { return random.NormFloat64() * 1e9 },
		"both signs":          func(random *rand.Rand, _ int) float64 { return float64(random.IntN(2000) - 1000) },
		"extremes": func(random *rand.Rand, _ int) float64 {
			return []float64{-math.MaxFloat64, math.Inf(-1), 0, 5e-324, math.MaxFloat64, math.Inf(1)}[random.IntN(6)]
		},
		"durations, then others": func(random *rand.Rand, i int) float64 {
			if i < 12_000 {
				return D(time.Duration(random.IntN(1e9)))
			}
			return random.Float64() * 1000
		},
		"ascending":  func(_ *rand.Rand, i int) float64 { return float64(i) },
		"descending": func(_ *rand.Rand, i int) float64 { return -float64(i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible on purpose
			sink := NewTrendSink()
			var values []float64
			for i := range 20_000 {
				v := next(random, i)
				values = append(values, v)
				sink.Add(Sample{Value: v})
				if i%4973 == 0 { // in all states of merging
					assertPercentiles(t, values, sink)
				}
			}
			assertPercentiles(t, values, sink)
			assert.Equal(t, slices.Min(values), sink.Min())
			assert.Equal(t, slices.Max(values), sink.Max())
			assert.EqualValues(t, len(values), sink.Count())
		})
	}
}

func assertPercentiles(t *testing.T, values []float64, sink *TrendSink) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(values))
	for _, pct := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.9999, 1} {
		want, got := reference(sorted, pct), sink.P(pct)
		if math.IsNaN(want) {
			continue // between two infinities
		}
		require.Equal(t, want, got, "p(%v) of %d", pct*100, len(values))
	}
}

func TestTrendSinkWithFewValues(t *testing.T) {
	t.Parallel()
	empty := NewTrendSink()
	assert.True(t, empty.IsEmpty())
	for _, v := range []float64{empty.P(0.5), empty.Min(), empty.Max(), empty.Avg(), empty.Total()} {
		assert.Zero(t, v)
	}
	one := sinkOf(7)
	for _, pct := range []float64{0, 0.3, 1} {
		assert.InDelta(t, 7, one.P(pct), 0)
	}
	many := sinkOf(10, 20, 0)
	assert.InDelta(t, 18, many.P(0.9), 1e-12)
	assert.InDelta(t, 19.998, many.P(0.9999), 1e-12)
	assert.InDelta(t, 10, many.Avg(), 0)
	assert.InDelta(t, 30, many.Total(), 0)
	assert.Equal(t, map[string]float64{"min": 0, "max": 20, "avg": 10, "med": 10, "p(90)": 18, "p(95)": 19}, many.Format(0))
	negative := sinkOf(-5, -3)
	assert.InDelta(t, -3, negative.Max(), 0)
	assert.InDelta(t, -5, negative.Min(), 0)
}

func TestValuesThatAreNoNumbersComeLast(t *testing.T) {
	t.Parallel()
	sink := sinkOf(3, math.NaN(), 1)
	assert.InDelta(t, 3, sink.P(0.5), 0)
	assert.True(t, math.IsNaN(sink.P(1)))
	for i := range 10_000 {
		sink.Add(Sample{Value: float64(i)})
	}
	assert.True(t, math.IsNaN(sink.P(1)))
	assert.InDelta(t, 0, sink.P(0), 0)
}

func TestDurationsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	const values = 300_000
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // reproducible on purpose
	sink := NewTrendSink()
	for range values {
		sink.Add(Sample{Value: D(5*time.Millisecond + time.Duration(random.ExpFloat64()*float64(20*time.Millisecond)))})
	}
	held := 8 * cap(sink.values.pending)
	for _, b := range sink.values.blocks {
		held += binary.Size(b.first) + 32 + cap(b.data)
	}
	assert.Less(t, held, 6*values, "bytes for %d values, of 8 bytes each", values)
}

func TestAddingToATrendHardlyAllocates(t *testing.T) { //nolint:paralleltest // counts allocations
	sink := NewTrendSink()
	for range 3 * minPending {
		sink.Add(Sample{Value: 1})
	}
	per1000 := testing.AllocsPerRun(50, func() {
		for i := range 1000 {
			sink.Add(Sample{Value: float64(i % 300)})
		}
	})
	assert.LessOrEqual(t, per1000, 4.0)
}

func TestSortKeys(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // reproducible on purpose
	for _, mask := range []uint64{0, 1, 0xff, 0x7ff000, 1<<34 - 1, 1 << 63, 1<<63 | 1, ^uint64(0)} {
		for _, n := range []int{0, 1, 2, fewestKeys - 1, fewestKeys, 5000} {
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = random.Uint64() & mask
			}
			want := slices.Sorted(slices.Values(keys))
			require.Equal(t, want, append([]uint64(nil), sortKeys(keys)...), "%d keys of %x", n, mask)
		}
	}
}

func FuzzDistribution(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(50), uint16(1))
	f.Add([]byte("sixteen bytes ok"), uint8(99), uint16(600))
	f.Fuzz(func(t *testing.T, data []byte, percent uint8, repeat uint16) {
		sink := NewTrendSink()
		var values []float64
		for range int(repeat)%1000 + 1 {
			for rest := data; len(rest) >= 8; rest = rest[8:] {
				v := math.Float64frombits(binary.LittleEndian.Uint64(rest)) + float64(len(values)%17)
				if math.IsNaN(v) || math.IsInf(v, 0) {
					continue
				}
				values = append(values, v)
				sink.Add(Sample{Value: v})
			}
		}
		if len(values) == 0 {
			return
		}
		pct := float64(percent%101) / 100
		want, got := reference(slices.Sorted(slices.Values(values)), pct), sink.P(pct)
		if !math.IsNaN(want) {
			require.Equal(t, want, got)
		}
	})
}

func BenchmarkTrendSinkAdd(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // reproducible on purpose
	values := make([]float64, 1<<16)
	for i := range values {
		values[i] = D(time.Duration(random.ExpFloat64() * 5e6))
	}
	b.ReportAllocs()
	sink := NewTrendSink()
	for i := 0; b.Loop(); i++ {
		sink.Add(Sample{Value: values[i&(len(values)-1)] + float64(i>>16)})
	}
}
