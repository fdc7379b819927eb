package output

import (
	"sync"

	"go.k6.io/k6/v2/metrics"
)

// SampleBuffer is an embeddable AddMetricSamples that only remembers. It is safe for concurrent use.
type SampleBuffer struct {
	sync.Mutex

	buffer   []metrics.SampleContainer
	lastSize int
}

// AddMetricSamples remembers the samples.
func (sb *SampleBuffer) AddMetricSamples(samples []metrics.SampleContainer) {
	if len(samples) == 0 {
		return
	}
	sb.Lock()
	defer sb.Unlock()
	if sb.buffer == nil {
		// What came in between the last two flushes is the best guess at what will come until the next.
		sb.buffer = make([]metrics.SampleContainer, 0, max(sb.lastSize, len(samples)))
	}
	sb.buffer = append(sb.buffer, samples...)
}

// GetBufferedSamples returns what was added since the last call.
func (sb *SampleBuffer) GetBufferedSamples() []metrics.SampleContainer {
	sb.Lock()
	defer sb.Unlock()
	taken := sb.buffer
	sb.buffer, sb.lastSize = nil, len(taken)
	return taken
}
