package recorder

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHistogramIsWhatHdrHistogramWouldBe(t *testing.T) {
	var h histogram
	want := newHDR()
	for v := int64(1); v <= maxMicros; v += v/97 + 1 {
		h.record(time.Duration(v) * time.Microsecond)
		require.NoError(t, want.RecordValue(v))
	}
	got, err := h.export()
	require.NoError(t, err)
	assert.Equal(t, want.TotalCount(), got.TotalCount())
	assert.Equal(t, want.Distribution(), got.Distribution())
}

func TestEveryValueHasOnePlace(t *testing.T) {
	last := int64(-1)
	for chunk := range chunkCount {
		for slot := range halfSlots {
			v := lowest(chunk, slot)
			require.Greater(t, v, last)
			last = v
			c, s := locate(v)
			require.Equal(t, [2]int{chunk, slot}, [2]int{c, s})
		}
	}
	assert.GreaterOrEqual(t, last, maxMicros)
}

func TestDurationsOutOfRangeAreCountedAtItsEnds(t *testing.T) {
	rec := New(Config{})
	cell := rec.Cell(CellKey{Scenario: "s"})
	for _, d := range []time.Duration{-time.Second, 0, time.Nanosecond, 25 * time.Hour} {
		cell.Record(d, OK)
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	c := got.Cells[0]
	assert.EqualValues(t, 4, c.N)
	assert.EqualValues(t, 1, c.Over)
	s, err := c.Sample()
	require.NoError(t, err)
	assert.InEpsilon(t, 3_600_000, s.Max(), 0.001)
	assert.InDelta(t, 0.001, s.Min(), 1e-9)
}
