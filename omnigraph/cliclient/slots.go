package cliclient

import (
	"context"
	"time"
)

// Slots limits how many CLI processes run at once. It may be shared by any number of clients and goroutines.
type Slots struct{ taken chan struct{} }

// NewSlots makes a limit of n processes; n below 1 is no limit.
func NewSlots(n int) *Slots {
	if n < 1 {
		return &Slots{}
	}
	return &Slots{taken: make(chan struct{}, n)}
}

// acquire waits for a slot and says for how long it had to; it is exactly 0 if a slot was free. An error is ctx's.
func (s *Slots) acquire(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s == nil || s.taken == nil {
		return 0, nil
	}
	select {
	case s.taken <- struct{}{}:
		return 0, nil
	default:
	}
	began := time.Now()
	select {
	case s.taken <- struct{}{}:
		return time.Since(began), nil
	case <-ctx.Done():
		return time.Since(began), ctx.Err()
	}
}

func (s *Slots) release() {
	if s != nil && s.taken != nil {
		<-s.taken
	}
}
