package engine

import (
	"sync"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// batchLimit is the most containers that are handed on together.
const batchLimit = 1000

// Pump takes samples from the channel that VUs send to and hands them to the aggregator, the tree of groups and
// checks, and other receivers, in order.
type Pump struct {
	in         chan metrics.SampleContainer
	aggregator *Aggregator
	builtin    *metrics.BuiltinMetrics
	groups     *lib.GroupSummary
	receivers  []func([]metrics.SampleContainer)
	failed     func(error)
	done       sync.WaitGroup
}

// maxBuffer bounds the channel of samples, which takes memory even while it's empty.
const maxBuffer = 1 << 20

// NewPump starts a pump whose channel holds buffer containers, a million at most. Each receiver gets all samples in batches, never
// two at once. failed is told about samples that don't fit into the tree of groups.
func NewPump(
	buffer int64, aggregator *Aggregator, state *lib.TestRunState, receivers []func([]metrics.SampleContainer),
	failed func(error),
) *Pump {
	p := &Pump{
		in:         make(chan metrics.SampleContainer, min(max(buffer, 1), maxBuffer)),
		aggregator: aggregator,
		builtin:    state.BuiltinMetrics,
		groups:     state.GroupSummary,
		receivers:  receivers,
		failed:     failed,
	}
	p.done.Go(p.run)
	return p
}

// Samples is where VUs send their samples. A full channel makes them wait.
func (p *Pump) Samples() chan<- metrics.SampleContainer { return p.in }

// Close waits until all samples have been handed on. Nothing may be sent any more.
func (p *Pump) Close() {
	close(p.in)
	p.done.Wait()
}

func (p *Pump) run() {
	var batch []metrics.SampleContainer
	for first := range p.in {
		if len(p.receivers) > 0 {
			batch = make([]metrics.SampleContainer, 0, min(len(p.in)+1, batchLimit)) // receivers keep theirs
		}
		batch = append(batch[:0], first)
	fill:
		for len(batch) < batchLimit {
			select {
			case container, ok := <-p.in:
				if !ok {
					break fill
				}
				batch = append(batch, container)
			default:
				break fill
			}
		}
		p.handOn(batch)
	}
}

func (p *Pump) handOn(batch []metrics.SampleContainer) {
	p.aggregator.Add(batch)
	if p.groups != nil {
		p.addToGroups(batch)
	}
	for _, receive := range p.receivers {
		receive(batch)
	}
}

func (p *Pump) addToGroups(batch []metrics.SampleContainer) {
	add := func(sample *metrics.Sample) {
		if sample.Metric != p.builtin.Checks && sample.Metric != p.builtin.GroupDuration {
			return
		}
		if err := p.groups.AddSample(sample); err != nil {
			p.failed(err)
		}
	}
	for _, container := range batch {
		if sample, ok := container.(metrics.Sample); ok {
			add(&sample)
			continue
		}
		samples := container.GetSamples()
		for i := range samples {
			add(&samples[i])
		}
	}
}
