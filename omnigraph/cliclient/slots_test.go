package cliclient

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

func TestSlotsLimitAndMeasure(t *testing.T) {
	t.Parallel()
	s := NewSlots(2)
	for range 2 {
		_, err := s.acquire(t.Context())
		require.NoError(t, err)
	}
	var running, most atomic.Int64
	var waited atomic.Int64
	var wg, queue sync.WaitGroup
	queue.Add(20)
	for range 20 {
		wg.Go(func() {
			queued, err := s.acquire(whenAsked{t.Context(), queue.Done})
			if err != nil {
				t.Error(err)
				return
			}
			if queued > 0 {
				waited.Add(1)
			}
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				continue
			}
			time.Sleep(time.Millisecond)
			running.Add(-1)
			s.release()
		})
	}
	queue.Wait()
	s.release()
	s.release()
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(2))
	require.Equal(t, int64(20), waited.Load())
}

func TestFreeSlotCostsNoWait(t *testing.T) {
	t.Parallel()
	for _, s := range []*Slots{nil, NewSlots(0), NewSlots(-1), NewSlots(1)} {
		queued, err := s.acquire(t.Context())
		require.NoError(t, err)
		require.Zero(t, queued)
		s.release()
	}
}

func TestCanceledInTheQueue(t *testing.T) {
	t.Parallel()
	slots := NewSlots(1)
	_, err := slots.acquire(t.Context())
	require.NoError(t, err)
	c := fake(t, "answer", func(c *Config) { c.Slots = slots })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := c.Do(whenAsked{ctx, cancel}, singleWrite())
	require.Equal(t, wire.KindCanceled, out.Err.Kind)
	require.Contains(t, out.Err.Message, "in the queue for a process slot")
	require.False(t, out.Err.Indeterminate)
	require.Positive(t, out.Timings.Queued)
	require.Zero(t, out.Timings.Total)

	// Time in the queue counts neither against the timeout nor as part of the attempt.
	op := pointRead()
	op.Timeout = patience
	out = c.Do(whenAsked{t.Context(), sync.OnceFunc(func() {
		time.Sleep(100 * time.Millisecond)
		slots.release()
	})}, op)
	require.Nil(t, out.Err)
	require.GreaterOrEqual(t, out.Timings.Queued, 100*time.Millisecond)
	queued, err := slots.acquire(t.Context())
	require.NoError(t, err)
	require.Zero(t, queued, "the slot is free again")
}
