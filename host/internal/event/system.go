package event

import (
	"context"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
)

// System delivers events to its subscribers. All methods are safe for concurrent use.
type System struct {
	buffer int
	logger logrus.FieldLogger

	mu     sync.RWMutex
	lastID uint64
	subs   map[uint64]*subscription
}

type subscription struct {
	types []Type
	ch    chan *Event
}

var _ Subscriber = (*System)(nil)

// NewSystem returns a system whose subscribers' channels hold buffer events.
func NewSystem(buffer int, logger logrus.FieldLogger) *System {
	return &System{buffer: buffer, logger: logger, subs: make(map[uint64]*subscription)}
}

// Subscribe implements Subscriber. Without a type it never delivers anything.
func (s *System) Subscribe(events ...Type) (uint64, <-chan *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	sub := &subscription{types: slices.Clone(events), ch: make(chan *Event, s.buffer)}
	s.subs[s.lastID] = sub
	return s.lastID, sub.ch
}

// Wanted says whether anybody subscribed to the type, so that a hot path can skip making events.
func (s *System) Wanted(t Type) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sub := range s.subs {
		if slices.Contains(sub.types, t) {
			return true
		}
	}
	return false
}

// Emit sends the event to the subscribers of its type, blocking while a channel is full, and returns a function
// that waits until all of them called Done or the context ends.
func (s *System) Emit(event *Event) (wait func(context.Context) error) {
	s.mu.RLock()
	var receivers []*subscription
	for _, sub := range s.subs {
		if slices.Contains(sub.types, event.Type) {
			receivers = append(receivers, sub)
		}
	}
	if len(receivers) == 0 {
		s.mu.RUnlock()
		return func(context.Context) error { return nil }
	}

	var pending sync.WaitGroup
	pending.Add(len(receivers))
	for _, sub := range receivers {
		// Each receiver may call Done once; a second call must not end the wait for another receiver.
		once := sync.OnceFunc(pending.Done)
		sub.ch <- &Event{Type: event.Type, Data: event.Data, Done: once}
	}
	s.mu.RUnlock()

	done := make(chan struct{})
	go func() {
		pending.Wait()
		close(done)
	}()
	return func(ctx context.Context) error {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Unsubscribe implements Subscriber.
func (s *System) Unsubscribe(subID uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub, ok := s.subs[subID]; ok {
		close(sub.ch)
		delete(s.subs, subID)
	}
}

// UnsubscribeAll closes all channels.
func (s *System) UnsubscribeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, sub := range s.subs {
		close(sub.ch)
		delete(s.subs, id)
	}
}
