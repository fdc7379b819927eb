package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// TimeSeries is a metric with one set of tags. It can be compared and used as a map key.
type TimeSeries struct {
	Metric *Metric
	Tags   *TagSet
}

// Sample is one value of a time series. Once emitted it must not change.
type Sample struct {
	TimeSeries
	Time     time.Time
	Value    float64
	Metadata map[string]string
}

// SampleContainer is anything that samples can be taken from. The samples may be shared: readers don't change them.
type SampleContainer interface {
	GetSamples() []Sample
}

// ConnectedSampleContainer holds samples that belong together, such as those of one request.
type ConnectedSampleContainer interface {
	SampleContainer
	GetTags() *TagSet
	GetTime() time.Time
}

var (
	_ SampleContainer          = Samples(nil)
	_ ConnectedSampleContainer = ConnectedSamples{}
	_ ConnectedSampleContainer = Sample{}
)

// GetSamples returns the sample itself.
func (s Sample) GetSamples() []Sample { return []Sample{s} }

// GetTags returns the sample's tags.
func (s Sample) GetTags() *TagSet { return s.Tags }

// GetTime returns the sample's time.
func (s Sample) GetTime() time.Time { return s.Time }

// Samples are independent samples.
type Samples []Sample

// GetSamples returns them.
func (s Samples) GetSamples() []Sample { return s }

// ConnectedSamples are samples with common tags and time.
type ConnectedSamples struct {
	Samples []Sample
	Tags    *TagSet
	Time    time.Time
}

// GetSamples returns the samples.
func (cs ConnectedSamples) GetSamples() []Sample { return cs.Samples }

// GetTags returns the common tags.
func (cs ConnectedSamples) GetTags() *TagSet { return cs.Tags }

// GetTime returns the common time.
func (cs ConnectedSamples) GetTime() time.Time { return cs.Time }

// PushIfNotDone sends the sample, waiting while the channel is full, unless the context is done already: then the
// sample is dropped and the answer is false.
func PushIfNotDone(ctx context.Context, output chan<- SampleContainer, sample SampleContainer) bool {
	if ctx.Err() != nil {
		return false
	}
	output <- sample
	return true
}

// GetBufferedSamples takes what is in the channel at the moment, without waiting.
func GetBufferedSamples(input <-chan SampleContainer) []SampleContainer {
	var taken []SampleContainer
	for {
		select {
		case container, ok := <-input:
			if !ok {
				return taken
			}
			taken = append(taken, container)
		default:
			return taken
		}
	}
}

// D converts a duration to the milliseconds of a Time metric.
func D(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ToD converts milliseconds to a duration.
func ToD(d float64) time.Duration { return time.Duration(d * float64(time.Millisecond)) }

// B converts a bool to the value of a Rate sample.
func B(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
