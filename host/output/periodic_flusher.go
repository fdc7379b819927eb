package output

import (
	"fmt"
	"sync"
	"time"
)

// PeriodicFlusher calls a function again and again, never twice at once.
type PeriodicFlusher struct {
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// NewPeriodicFlusher starts calling flushCallback once per period.
func NewPeriodicFlusher(period time.Duration, flushCallback func()) (*PeriodicFlusher, error) {
	if period <= 0 {
		return nil, fmt.Errorf("the flush period has to be more than 0, but is %s", period)
	}
	pf := &PeriodicFlusher{stop: make(chan struct{}), stopped: make(chan struct{})}
	go pf.run(period, flushCallback)
	return pf, nil
}

func (pf *PeriodicFlusher) run(period time.Duration, flush func()) {
	defer close(pf.stopped)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			flush()
		case <-pf.stop:
			flush()
			return
		}
	}
}

// Stop flushes one last time and returns when that is done. It may be called more than once.
func (pf *PeriodicFlusher) Stop() {
	pf.once.Do(func() { close(pf.stop) })
	<-pf.stopped
}
