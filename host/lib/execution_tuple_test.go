package lib

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newTuple(t testing.TB, segment, sequence string) *ExecutionTuple {
	t.Helper()
	s, err := NewExecutionSegmentFromString(segment)
	require.NoError(t, err)
	seq, err := NewExecutionSegmentSequenceFromString(sequence)
	require.NoError(t, err)
	et, err := NewExecutionTuple(s, seq)
	require.NoError(t, err)
	return et
}

func firstGlobals(et *ExecutionTuple, n uint64) []uint64 {
	var globals []uint64
	for i := range n {
		globals = append(globals, et.Global(i))
	}
	return globals
}

func TestItemsAreDealtInStripes(t *testing.T) {
	t.Parallel()
	const quarters = "0,1/4,1/2,3/4,1"
	for _, tc := range []struct {
		segment, sequence string
		want              []uint64
	}{
		{"0:1", "", []uint64{0, 1, 2}},
		{"0:1/4", quarters, []uint64{0, 4, 8}},
		{"25%:50%", quarters, []uint64{1, 5, 9}},
		{"0.5:0.75", quarters, []uint64{2, 6, 10}},
		{"3/4:1", quarters, []uint64{3, 7, 11}},
		{"0:1/2", "0,1/2,3/4,1", []uint64{0, 2, 4}},
		{"1/2:3/4", "0,1/2,3/4,1", []uint64{1, 5, 9}},
		{"3/4:1", "0,1/2,3/4,1", []uint64{3, 7, 11}},
		// The half comes first wherever it lies.
		{"1/4:3/4", "0,1/4,3/4,1", []uint64{0, 2, 4}},
		{"0:1/4", "0,1/4,3/4,1", []uint64{1, 5, 9}},
		{"3/4:1", "0,1/4,3/4,1", []uint64{3, 7, 11}},
		{"1/2:1", "0,1/4,1/2,1", []uint64{0, 2, 4}},
		// Without a sequence the rest is taken as the missing segments.
		{"1/2:1", "", []uint64{1, 3, 5}},
		{"1/4", "", []uint64{3, 7, 11}},
	} {
		t.Run(tc.segment+" in "+tc.sequence, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, firstGlobals(newTuple(t, tc.segment, tc.sequence), 3))
		})
	}
}

func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	shares := func(sequence string, total int64) []int64 {
		seq, err := NewExecutionSegmentSequenceFromString(sequence)
		require.NoError(t, err)
		var got []int64
		for _, segment := range seq.segments {
			et, err := NewExecutionTuple(segment, seq)
			require.NoError(t, err)
			got = append(got, et.Share(total))
		}
		return got
	}
	assert.Equal(t, []int64{3, 3, 2, 2}, shares("0,1/4,1/2,3/4,1", 10))
	assert.Equal(t, []int64{2, 2, 1, 1}, shares("0,1/4,1/2,3/4,1", 6))
	assert.Equal(t, []int64{1, 0, 0, 0}, shares("0,1/4,1/2,3/4,1", 1))
	assert.Equal(t, []int64{0, 0}, shares("0,1/2,1", 0))
	assert.Equal(t, []int64{0, 0}, shares("0,1/2,1", -3))
}

// Whatever the segments, each item belongs to exactly one process, Share says how many, and Global is ascending.
func TestEveryItemBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	for _, sequence := range []string{
		"0,1", "0,1/3,1/2,1", "0,0.1,0.35,0.36,1", "0,1/7,1/6,1/5,1/4,1/3,1/2,1", "0,13%,14%,99%,1", "1/5,2/5,1/2",
	} {
		t.Run(sequence, func(t *testing.T) {
			t.Parallel()
			checkPartition(t, sequence, 4321)
		})
	}
}

func checkPartition(t *testing.T, sequence string, total uint64) {
	t.Helper()
	seq, err := NewExecutionSegmentSequenceFromString(sequence)
	require.NoError(t, err)
	owners := make([]int, total)
	for _, segment := range completeSegments(seq.segments[0], seq) {
		et, err := NewExecutionTuple(segment, &ExecutionSegmentSequence{completeSegments(seq.segments[0], seq)})
		require.NoError(t, err)
		var mine []uint64
		for i := uint64(0); et.Global(i) < total; i++ {
			mine = append(mine, et.Global(i))
			owners[et.Global(i)]++
		}
		require.True(t, slices.IsSorted(mine))
		require.EqualValues(t, len(mine), et.Share(int64(total)), segment)
		require.InDelta(t, et.Fraction(), float64(len(mine))/float64(total), 0.1)
	}
	for item, n := range owners {
		require.Equal(t, 1, n, "item %d", item)
	}
}

func TestBadSegmentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, segment := range []string{
		"", "1/2:1/4", "1/4:1/4", "0:1.1", "-1/4:1", "0:2", "a:b", "0:1e9", "0:1/0", "0:", "0:1:2", "0:110%",
	} {
		_, err := NewExecutionSegmentFromString(segment)
		require.Error(t, err, segment)
		assert.Contains(t, err.Error(), "segment", segment)
	}
	for _, sequence := range []string{"1/2", "0,1/2,1/4", "0,0", "0,x", "0,2"} {
		_, err := NewExecutionSegmentSequenceFromString(sequence)
		require.Error(t, err, sequence)
	}
	segment, err := NewExecutionSegmentFromString("0:1/3")
	require.NoError(t, err)
	sequence, err := NewExecutionSegmentSequenceFromString("0,1/2,1")
	require.NoError(t, err)
	_, err = NewExecutionTuple(segment, sequence)
	require.ErrorIs(t, err, errSegmentNotInSequence)

	fine, err := NewExecutionSegmentFromString("0:1/123456789")
	require.NoError(t, err)
	_, err = NewExecutionTuple(fine, nil)
	require.ErrorIs(t, err, errSegmentsTooFine)
}

func TestNoSegmentIsTheWholeTest(t *testing.T) {
	t.Parallel()
	et, err := NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	assert.True(t, et.IsFull())
	assert.EqualValues(t, 17, et.Share(17))
	assert.EqualValues(t, 17, et.Global(17))
	assert.InDelta(t, 1, et.Fraction(), 0)

	var none *ExecutionTuple
	assert.True(t, none.IsFull())
	assert.EqualValues(t, 17, none.Share(17))
}

func FuzzExecutionTuple(f *testing.F) {
	f.Add("0:1/4", "0,1/4,1/2,3/4,1")
	f.Add("1/3", "")
	f.Add("5%:7%", "0,0.05,7/100,1")
	f.Add("0:1e5", "0,,1")
	f.Fuzz(func(t *testing.T, segment, sequence string) {
		s, err := NewExecutionSegmentFromString(segment)
		if err != nil {
			return
		}
		again, err := NewExecutionSegmentFromString(s.String())
		require.NoError(t, err)
		require.True(t, s.equal(again))
		seq, err := NewExecutionSegmentSequenceFromString(sequence)
		if err != nil {
			return
		}
		et, err := NewExecutionTuple(s, seq)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, et.Share(1000), int64(0))
		require.LessOrEqual(t, et.Share(1000), int64(1000))
		if n := et.Share(1000); n > 0 {
			require.Less(t, et.Global(uint64(n-1)), uint64(1000))
			require.GreaterOrEqual(t, et.Global(uint64(n)), uint64(1000))
		}
	})
}
