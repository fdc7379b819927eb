package event

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func newSystem(buffer int) *System {
	logger, _ := test.NewNullLogger()
	return NewSystem(buffer, logger)
}

func TestTypesKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	for number, name := range map[Type]string{
		1: "Init", 2: "TestStart", 3: "TestEnd", 4: "IterStart", 5: "IterEnd", 6: "Exit", 7: "Type(7)",
	} {
		assert.Equal(t, name, number.String())
	}
}

func TestEmitWaitsForEverySubscriber(t *testing.T) {
	t.Parallel()
	s := newSystem(10)
	id, first := s.Subscribe(TestStart, Exit)
	_, second := s.Subscribe(Exit)
	assert.True(t, s.Wanted(Exit))
	assert.False(t, s.Wanted(IterStart))
	wait := s.Emit(&Event{Type: Exit, Data: &ExitData{}})

	e := <-first
	assert.Equal(t, Exit, e.Type)
	assert.IsType(t, &ExitData{}, e.Data)
	e.Done()
	e.Done() // once too often
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, wait(soon), context.DeadlineExceeded, "the second hasn't called Done")

	(<-second).Done()
	require.NoError(t, wait(t.Context()))

	require.NoError(t, s.Emit(&Event{Type: IterEnd})(t.Context()), "nobody wants it")
	s.Unsubscribe(id)
	s.Unsubscribe(id)
	_, open := <-first
	assert.False(t, open)
	s.UnsubscribeAll()
	_, open = <-second
	assert.False(t, open)
	assert.False(t, s.Wanted(Exit))
}

func TestLeavingFreesASenderThatWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(1)
		id, events := s.Subscribe(IterStart)
		first := s.Emit(&Event{Type: IterStart})
		sent := make(chan func(context.Context) error)
		go func() { sent <- s.Emit(&Event{Type: IterStart}) }()
		synctest.Wait()
		select {
		case <-sent:
			t.Fatal("the channel is full")
		default:
		}
		s.Unsubscribe(id)
		wait := <-sent
		require.NoError(t, wait(t.Context()))
		(<-events).Done()
		require.NoError(t, first(t.Context()))
	})
}
