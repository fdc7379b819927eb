package lib

import "sync"

// SlotLimiter lets a limited number of things happen at once. A nil one has no limit.
type SlotLimiter chan struct{}

// NewSlotLimiter returns a limiter with this many slots; 0 or less means no limit.
func NewSlotLimiter(slots int) SlotLimiter {
	if slots <= 0 {
		return nil
	}
	return make(SlotLimiter, slots)
}

// Begin takes a slot, waiting for one to be free.
func (sl SlotLimiter) Begin() {
	if sl != nil {
		sl <- struct{}{}
	}
}

// End gives a slot back.
func (sl SlotLimiter) End() {
	if sl != nil {
		<-sl
	}
}

// MultiSlotLimiter has a SlotLimiter for each key. It is safe for concurrent use.
type MultiSlotLimiter struct {
	slots int
	mu    sync.Mutex
	byKey map[string]SlotLimiter
}

// NewMultiSlotLimiter returns a limiter with this many slots per key.
func NewMultiSlotLimiter(slots int) *MultiSlotLimiter {
	return &MultiSlotLimiter{slots: slots, byKey: make(map[string]SlotLimiter)}
}

// Slot returns the key's limiter, nil if there is no limit.
func (l *MultiSlotLimiter) Slot(s string) SlotLimiter {
	if l.slots <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.byKey[s]
	if !ok {
		limiter = NewSlotLimiter(l.slots)
		l.byKey[s] = limiter
	}
	return limiter
}
