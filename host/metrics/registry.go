package metrics

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mstoykov/atlas"
)

const metricNamePattern = `^[a-zA-Z_][a-zA-Z0-9_]{1,128}$`

//nolint:gochecknoglobals // compiled once, never changed
var metricName = regexp.MustCompile(metricNamePattern)

var errInvalidMetricName = errors.New("invalid metric name")

// Registry makes the metrics of a test run and the root of all its tag sets. It is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	metrics map[string]*Metric
	root    *TagSet
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{metrics: make(map[string]*Metric), root: (*TagSet)(atlas.New())}
}

// NewMetric returns the metric of this name, making it if it's new. It is an error if the name is malformed, or if
// the metric exists with another type or value type, which is Default if none is given.
func (r *Registry) NewMetric(name string, typ MetricType, t ...ValueType) (*Metric, error) {
	contains := Default
	if len(t) > 0 {
		contains = t[0]
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.metrics[name]; ok {
		if old.Type != typ {
			return nil, fmt.Errorf("metric '%s' already exists but with type %s, instead of %s", name, old.Type, typ)
		}
		if old.Contains != contains {
			return nil, fmt.Errorf("metric '%s' already exists but with a value type %s, instead of %s",
				name, old.Contains, contains)
		}
		return old, nil
	}
	if !metricName.MatchString(name) {
		return nil, fmt.Errorf("%w: '%s', it has to match %s", errInvalidMetricName, name, metricNamePattern)
	}
	m := &Metric{Name: name, Type: typ, Contains: contains, Sink: NewSink(typ), registry: r}
	r.metrics[name] = m
	return m, nil
}

// MustNewMetric is NewMetric for names fixed in the code: it panics on an error.
func (r *Registry) MustNewMetric(name string, typ MetricType, t ...ValueType) *Metric {
	m, err := r.NewMetric(name, typ, t...)
	if err != nil {
		panic(err)
	}
	return m
}

// Get returns the metric of this name, or nil.
func (r *Registry) Get(name string) *Metric {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.metrics[name]
}

// All returns the metrics sorted by name.
func (r *Registry) All() []*Metric {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.metrics), func(a, b *Metric) int { return strings.Compare(a.Name, b.Name) })
}

// RootTagSet returns the empty set that all tag sets of the run are made from.
func (r *Registry) RootTagSet() *TagSet { return r.root }
