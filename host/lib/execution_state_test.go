package lib

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/metrics"
)

func TestVUsAreNumberedInTheWholeTest(t *testing.T) {
	t.Parallel()
	es := NewExecutionState(nil, newTuple(t, "1/4:1/2", "0,1/4,1/2,3/4,1"))
	for want := uint64(1); want <= 3; want++ {
		local, global := es.NextVUIDs()
		assert.Equal(t, want, local)
		assert.Equal(t, 4*(want-1)+2, global)
	}
}

func TestTheClockRunsFromStartToEnd(t *testing.T) {
	t.Parallel()
	es := NewExecutionState(nil, nil)
	assert.Zero(t, es.GetCurrentTestRunDuration())
	assert.False(t, es.HasStarted())
	es.MarkStarted()
	assert.True(t, es.HasStarted())
	es.MarkEnded()
	assert.True(t, es.HasEnded())
	total := es.GetCurrentTestRunDuration()
	es.MarkStarted()
	es.MarkEnded()
	assert.Equal(t, total, es.GetCurrentTestRunDuration())
	assert.Equal(t, ExecutionStatusCreated, es.SetExecutionStatus(ExecutionStatusRunning))
	assert.Equal(t, "running", es.GetCurrentExecutionStatus().String())
	assert.Equal(t, "unknown", ExecutionStatus(99).String())
}

func TestCountersAreSafe(t *testing.T) {
	t.Parallel()
	es := NewExecutionState(nil, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			es.ModInitializedVUsCount(1)
			es.ModCurrentlyActiveVUsCount(2)
			es.ModCurrentlyActiveVUsCount(-1)
			es.AddFullIterations(3)
			es.AddInterruptedIterations(1)
		})
	}
	all.Wait()
	assert.EqualValues(t, 8, es.GetInitializedVUsCount())
	assert.EqualValues(t, 8, es.GetCurrentlyActiveVUsCount())
	assert.EqualValues(t, 24, es.GetFullIterationCount())
	assert.EqualValues(t, 8, es.GetPartialIterationCount())
}

func TestContextsCarryTheStates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	assert.Nil(t, GetScenarioState(ctx))
	assert.Nil(t, GetExecutionState(ctx))
	scenario, execution := &ScenarioState{Name: "s", StartTime: time.Unix(1, 0)}, NewExecutionState(nil, nil)
	ctx = WithExecutionState(WithScenarioState(ctx, scenario), execution)
	assert.Same(t, scenario, GetScenarioState(ctx))
	assert.Same(t, execution, GetExecutionState(ctx))

	require.NoError(t, ContextErr(ctx))
	why := errors.New("why")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(why)
	require.ErrorIs(t, ContextErr(ended), why)
}

func TestTagsOfAVU(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { NewVUStateTags(nil) })
	root := metrics.NewRegistry().RootTagSet()
	tags := NewVUStateTags(root)
	tags.Modify(func(tm *metrics.TagsAndMeta) {
		tm.SetTag("a", "1")
		tm.SetMetadata("m", "1")
	})
	got := tags.GetCurrentValues()
	assert.Same(t, root.With("a", "1"), got.Tags)
	got.Metadata["m"] = "2"
	assert.Equal(t, "1", tags.GetCurrentValues().Metadata["m"])
}

func TestReadingTheTagsOfAVUAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	tags := NewVUStateTags(metrics.NewRegistry().RootTagSet().With("a", "b"))
	var seen metrics.TagsAndMeta
	assert.Zero(t, testing.AllocsPerRun(100, func() { seen = tags.GetCurrentValues() }))
	assert.NotNil(t, seen.Tags)
}

func TestSlotLimiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unlimited := NewSlotLimiter(0)
		unlimited.Begin()
		unlimited.End()
		multi := NewMultiSlotLimiter(1)
		multi.Slot("a").Begin()
		multi.Slot("b").Begin() // another key has its own slots
		taken := make(chan struct{})
		go func() {
			multi.Slot("a").Begin()
			close(taken)
		}()
		synctest.Wait()
		select {
		case <-taken:
			t.Fatal("there is one slot")
		default:
		}
		multi.Slot("a").End()
		<-taken
		assert.Nil(t, NewMultiSlotLimiter(0).Slot("a"))
	})
}

func TestBuffersComeBackEmpty(t *testing.T) {
	t.Parallel()
	pool := NewBufferPool()
	b := pool.Get()
	b.WriteString("x")
	pool.Put(b)
	assert.Zero(t, pool.Get().Len())
	status := NewTestStatus()
	assert.False(t, status.Failed())
	status.MarkFailed()
	assert.True(t, status.Failed())
}
