package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func TestSlotIntervals(t *testing.T) {
	t.Parallel()
	up := []Stage{{ms(1000), 3}, {ms(500), 3}, {ms(500), 0}}
	tests := map[string]struct {
		start  int64
		stages []Stage
		k      int64
		want   []Interval
	}{
		"the first VU stays to the last moment":      {1, up, 1, []Interval{{0, ms(2000)}}},
		"the second comes half way":                  {1, up, 2, []Interval{{ms(500), 1500*time.Millisecond + 333333333*time.Nanosecond}}},
		"the third comes at the top and goes first":  {1, up, 3, []Interval{{ms(1000), ms(1500) + 166666666*time.Nanosecond}}},
		"a fourth never":                             {1, up, 4, nil},
		"a stage of no length jumps":                 {0, []Stage{{0, 5}, {ms(1000), 5}}, 5, []Interval{{0, ms(1000)}}},
		"a jump down and up at once is no pause":     {5, []Stage{{ms(10), 5}, {0, 0}, {0, 5}, {ms(10), 5}}, 5, []Interval{{0, ms(20)}}},
		"two hills are two intervals":                {0, []Stage{{ms(10), 1}, {ms(10), 0}, {ms(10), 1}}, 1, []Interval{{ms(10), ms(20)}}},
		"reached only at the very end is never":      {0, []Stage{{ms(10), 1}}, 1, nil},
		"the level is kept from the stage before":    {2, []Stage{{ms(10), 2}}, 2, []Interval{{0, ms(10)}}},
		"down from many, the highest number at once": {10, []Stage{{ms(1000), 0}}, 10, []Interval{{0, ms(100)}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, SlotIntervals(tc.start, tc.stages, tc.k))
		})
	}
}

func TestSlotsAddUpToTheLevel(t *testing.T) {
	t.Parallel()
	start, stages := int64(2), []Stage{{ms(700), 9}, {ms(300), 4}, {0, 6}, {ms(400), 6}, {ms(100), 1}}
	level := func(at time.Duration) float64 {
		from, begin := float64(start), time.Duration(0)
		for _, s := range stages {
			if at < begin+s.Duration {
				return from + (float64(s.Target)-from)*float64(at-begin)/float64(s.Duration)
			}
			begin += s.Duration
			from = float64(s.Target)
		}
		return from
	}
	slots := make([][]Interval, Peak(start, stages))
	for k := range slots {
		slots[k] = SlotIntervals(start, stages, int64(k+1))
	}
	for at := time.Duration(0); at < Total(stages); at += 777 * time.Microsecond {
		running := 0
		for _, intervals := range slots {
			for _, i := range intervals {
				if i.From <= at && at < i.To {
					running++
				}
			}
		}
		assert.InDelta(t, level(at), float64(running), 1, "at %s", at)
	}
}

func TestConstantArrivalsAreEvenAndExact(t *testing.T) {
	t.Parallel()
	a := ConstantArrivals(40, 2*time.Second, time.Second)
	for i := range uint64(20) {
		at, ok := a.Start(i)
		require.True(t, ok)
		assert.Equal(t, time.Duration(i)*ms(50), at)
	}
	_, ok := a.Start(20)
	assert.False(t, ok)
	assert.InDelta(t, 20.0, a.Rate(0), 1e-9)

	long := ConstantArrivals(3, time.Hour, math.MaxInt64)
	at, ok := long.Start(3_000_000)
	assert.True(t, ok)
	assert.Equal(t, 1_000_000*time.Hour, at)
	_, ok = long.Start(math.MaxUint64)
	assert.False(t, ok, "beyond any duration")
}

func TestRampingArrivalsFollowTheIntegral(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		start  int64
		stages []Stage
		n      uint64 // iterations altogether
	}{
		"from nothing":  {0, []Stage{{ms(1000), 40}, {ms(500), 40}}, 40},
		"down to none":  {10, []Stage{{ms(2000), 0}}, 10},
		"constant":      {10, []Stage{{ms(1000), 10}}, 10},
		"with a jump":   {0, []Stage{{0, 100}, {ms(100), 100}}, 10},
		"with a pause":  {0, []Stage{{ms(1000), 0}, {ms(1000), 10}}, 5},
		"never":         {0, []Stage{{ms(1000), 0}}, 0},
		"hardly a ramp": {1000, []Stage{{ms(1000), 1001}}, 1000},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := RampingArrivals(tc.start, time.Second, tc.stages)
			integral := func(t time.Duration) float64 {
				area, from, begin := 0.0, float64(tc.start), time.Duration(0)
				for _, s := range tc.stages {
					x := min(t-begin, s.Duration).Seconds()
					if x > 0 {
						area += from*x + (float64(s.Target)-from)*x*x/(2*s.Duration.Seconds())
					}
					begin += s.Duration
					from = float64(s.Target)
				}
				return area
			}
			var last time.Duration
			for i := range tc.n {
				at, ok := a.Start(i)
				require.True(t, ok, "iteration %d", i)
				assert.GreaterOrEqual(t, at, last)
				assert.InDelta(t, float64(i+1), integral(at), 1e-3)
				last = at
			}
			_, ok := a.Start(tc.n)
			assert.False(t, ok)
		})
	}
	assert.InDelta(t, 20.0, RampingArrivals(0, time.Second, []Stage{{ms(1000), 40}}).Rate(ms(500)), 1e-9)
}

func TestNeedsOfConcurrentScenariosAddUp(t *testing.T) {
	t.Parallel()
	a := []Need{{At: 0, Planned: 2}, {At: ms(30), Planned: 0}}
	b := []Need{{At: ms(10), Planned: 3, Unplanned: 4}, {At: ms(30), Planned: 0}}
	c := []Need{{At: ms(30), Planned: 1}, {At: ms(40), Planned: 0}}
	sum := Sum(a, b, c)
	assert.Equal(t, []Need{
		{At: 0, Planned: 2}, {At: ms(10), Planned: 5, Unplanned: 4}, {At: ms(30), Planned: 1}, {At: ms(40)},
	}, sum)
	planned, all, end := Maxima(sum)
	assert.Equal(t, []any{int64(5), int64(9), ms(40)}, []any{planned, all, end})
}

func TestRampNeedsCountOverlaps(t *testing.T) {
	t.Parallel()
	assert.Equal(t,
		[]Need{{At: 0, Planned: 1}, {At: ms(5), Planned: 2}, {At: ms(20), Planned: 0}},
		RampNeeds([]Interval{{0, ms(20)}, {ms(5), ms(10)}, {ms(10), ms(20)}}))
}
