package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/metrics"
)

// seriesWarning is the number of distinct time series at which a warning is logged; each further one comes when
// the number has doubled.
const seriesWarning = 100_000

// Aggregator feeds samples to the sinks of their metrics and evaluates thresholds on them. It is safe for
// concurrent use.
type Aggregator struct {
	logger logrus.FieldLogger

	mu         sync.Mutex
	judged     []*metrics.Metric // metrics and sub-metrics with thresholds, by name
	series     map[metrics.TimeSeries]struct{}
	warnSeries int
	// recent are series known to be in the map, by the place of their samples in a container: the containers of
	// one kind have the same series at the same place, so that most samples need no look into the map.
	recent [16]metrics.TimeSeries
}

// NewAggregator makes the sub-metrics that thresholds name and those that exist by default, and prepares the
// thresholds, which have been validated before, for evaluation. A nil map means that there is none to evaluate.
func NewAggregator(
	registry *metrics.Registry, thresholds map[string]metrics.Thresholds, systemTags *metrics.SystemTagSet,
	logger logrus.FieldLogger,
) (*Aggregator, error) {
	a := &Aggregator{
		logger: logger, series: make(map[metrics.TimeSeries]struct{}), warnSeries: seriesWarning,
	}
	names := make([]string, 0, len(thresholds))
	for name := range thresholds {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		metric, err := metricFor(registry, name)
		if err != nil {
			return nil, errext.WithExitCodeIfNone(
				fmt.Errorf("invalid threshold defined on %s; reason: %w", name, err), exitcodes.InvalidConfig)
		}
		list := thresholds[name]
		if len(list.Thresholds) == 0 {
			continue
		}
		metric.Thresholds.Thresholds = append(metric.Thresholds.Thresholds, list.Thresholds...)
		metric.Observed = true
		if !slices.Contains(a.judged, metric) {
			a.judged = append(a.judged, metric)
		}
	}
	slices.SortStableFunc(a.judged, func(x, y *metrics.Metric) int { return strings.Compare(x.Name, y.Name) })

	if duration := registry.Get(metrics.HTTPReqDurationName); duration != nil && systemTags.Has(metrics.TagExpectedResponse) {
		if _, err := duration.AddSubmetric("expected_response:true"); err != nil {
			return nil, fmt.Errorf("sub-metric of %s: %w", duration.Name, err)
		}
	}
	return a, nil
}

// metricFor returns the metric, or makes the sub-metric, that a threshold's name stands for.
func metricFor(registry *metrics.Registry, name string) (*metrics.Metric, error) {
	base, pairs, err := metrics.ParseMetricName(name)
	if err != nil {
		return nil, err
	}
	metric := registry.Get(base)
	if metric == nil {
		return nil, fmt.Errorf("no metric name %q found", base)
	}
	if len(pairs) == 0 {
		return metric, nil
	}
	selector := name[strings.IndexByte(name, '{')+1 : len(name)-1]
	sub, err := metric.AddSubmetric(selector)
	if err != nil {
		return nil, err
	}
	return sub.Metric, nil
}

// Add takes samples in.
func (a *Aggregator) Add(containers []metrics.SampleContainer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, container := range containers {
		if sample, ok := container.(metrics.Sample); ok {
			a.add(0, &sample)
			continue
		}
		samples := container.GetSamples()
		for i := range samples {
			a.add(i, &samples[i])
		}
	}
}

func (a *Aggregator) add(place int, sample *metrics.Sample) {
	metric := sample.Metric
	metric.Sink.Add(*sample)
	metric.Observed = true
	for _, sub := range metric.Submetrics {
		if sample.Tags.Contains(sub.Tags) {
			sub.Metric.Sink.Add(*sample)
			sub.Metric.Observed = true
		}
	}
	recent := &a.recent[place%len(a.recent)]
	if *recent == sample.TimeSeries {
		return
	}
	*recent = sample.TimeSeries
	if _, known := a.series[sample.TimeSeries]; known {
		return
	}
	a.series[sample.TimeSeries] = struct{}{}
	if len(a.series) == a.warnSeries {
		a.logger.Warnf("The test has generated metrics with %d unique time series, which is more than the suggested"+
			" limit of %d: memory use and outputs may suffer. Keep tags to few values; group the URLs of requests"+
			" with the `name` tag.", len(a.series), seriesWarning)
		a.warnSeries *= 2
	}
}

// Locked calls f while no sample can be added, for reading the sinks.
func (a *Aggregator) Locked(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// Judge evaluates the thresholds after the test has run for the given time. It returns the names of the metrics
// whose thresholds are crossed, and whether one of them wants the test to stop. Unless final, metrics without
// samples are left out.
func (a *Aggregator) Judge(elapsed time.Duration, final bool) (crossed []string, abort bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, metric := range a.judged {
		if !final && metric.Sink.IsEmpty() {
			continue
		}
		metric.Thresholds.Abort = false
		ok, err := metric.Thresholds.Run(metric.Sink, elapsed)
		if err != nil {
			a.logger.WithError(err).WithField("metric", metric.Name).Error("could not evaluate the thresholds")
			continue
		}
		metric.Tainted = null.BoolFrom(!ok)
		if !ok {
			crossed = append(crossed, metric.Name)
			abort = abort || metric.Thresholds.Abort
		}
	}
	return crossed, abort
}

// HasThresholds says whether there is anything to judge.
func (a *Aggregator) HasThresholds() bool { return len(a.judged) > 0 }
