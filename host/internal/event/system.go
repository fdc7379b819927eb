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

var _ Subscriber = (*System)(nil)

// NewSystem returns a system whose subscribers' channels hold buffer events.
func NewSystem(buffer int, logger logrus.FieldLogger) *System {
	return &System{buffer: buffer, logger: logger, subs: make(map[uint64]*subscription)}
}

// subscription is one subscriber's channel.
type subscription struct {
	types []Type
	ch    chan *Event
	gone  chan struct{} // closed when the subscriber leaves, so that senders stop waiting
	mu    sync.RWMutex  // held for reading while sending: the channel is closed when nobody does
}

// send waits for room in the channel. It returns false if the subscriber left.
func (s *subscription) send(e *Event) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	select {
	case <-s.gone:
		return false
	default:
	}
	select {
	case s.ch <- e:
		return true
	case <-s.gone:
		return false
	}
}

func (s *subscription) leave() {
	close(s.gone)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
}

// Subscribe implements Subscriber. Without a type it never delivers anything.
func (s *System) Subscribe(events ...Type) (uint64, <-chan *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	sub := &subscription{
		types: slices.Clone(events), ch: make(chan *Event, s.buffer), gone: make(chan struct{}),
	}
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

func (s *System) subscribers(t Type) []*subscription {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []*subscription
	for _, sub := range s.subs {
		if slices.Contains(sub.types, t) {
			found = append(found, sub)
		}
	}
	return found
}

// Emit sends the event to the subscribers of its type, blocking while a channel is full, and returns a function
// that waits until all of them called Done or the context ends.
func (s *System) Emit(event *Event) (wait func(context.Context) error) {
	receivers := s.subscribers(event.Type)
	if len(receivers) == 0 {
		return func(context.Context) error { return nil }
	}
	s.logger.WithField("event", event.Type.String()).Debug("Emitting an event")

	var pending sync.WaitGroup
	pending.Add(len(receivers))
	for _, sub := range receivers {
		// Each receiver may call Done once; a second call must not end the wait for another receiver.
		done := sync.OnceFunc(pending.Done)
		if !sub.send(&Event{Type: event.Type, Data: event.Data, Done: done}) {
			done()
		}
	}
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
	sub, ok := s.subs[subID]
	delete(s.subs, subID)
	s.mu.Unlock()
	if ok {
		sub.leave()
	}
}

// UnsubscribeAll closes all channels.
func (s *System) UnsubscribeAll() {
	s.mu.Lock()
	subs := s.subs
	s.subs = make(map[uint64]*subscription)
	s.mu.Unlock()
	for _, sub := range subs {
		sub.leave()
	}
}
