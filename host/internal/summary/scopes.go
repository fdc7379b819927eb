package summary

import (
	"maps"
	"slices"
	"strings"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// Scopes aggregates the samples of each scenario and of each group apart, for full mode. Its AddMetricSamples is
// what an output's is: called with all samples, never concurrently.
type Scopes struct {
	root      *scope            // its groups are those of the whole test
	scenarios map[string]*scope // all but the default one
	byTags    map[*metrics.TagSet][]*scope
}

// scope is a scenario or a group with its own sinks and checks.
type scope struct {
	name   string
	sinks  map[*metrics.Metric]*scopeMetric
	checks *lib.Group // only its own checks are used
	groups map[string]*scope
	order  []string // of the groups' appearance
}

// scopeMetric is a metric's part in a scope.
type scopeMetric struct {
	sink metrics.Sink
	subs map[*metrics.Submetric]metrics.Sink
}

// maxCachedTagSets bounds the memory for tag sets whose scopes are known.
const maxCachedTagSets = 100_000

// NewScopes returns empty scopes.
func NewScopes() *Scopes {
	return &Scopes{
		root:      newScope(""),
		scenarios: make(map[string]*scope),
		byTags:    make(map[*metrics.TagSet][]*scope),
	}
}

func newScope(name string) *scope {
	return &scope{
		name:   name,
		sinks:  make(map[*metrics.Metric]*scopeMetric),
		checks: &lib.Group{Checks: make(map[string]*lib.Check)},
		groups: make(map[string]*scope),
	}
}

// AddMetricSamples takes samples in.
func (s *Scopes) AddMetricSamples(containers []metrics.SampleContainer) {
	for _, container := range containers {
		if sample, ok := container.(metrics.Sample); ok {
			s.add(&sample)
			continue
		}
		samples := container.GetSamples()
		for i := range samples {
			s.add(&samples[i])
		}
	}
}

func (s *Scopes) add(sample *metrics.Sample) {
	scopes, ok := s.byTags[sample.Tags]
	if !ok {
		scopes = s.find(sample.Tags)
		if len(s.byTags) >= maxCachedTagSets {
			clear(s.byTags)
		}
		s.byTags[sample.Tags] = scopes
	}
	for _, sc := range scopes {
		sc.add(sample)
	}
}

// find returns the scopes that samples with these tags belong to: their scenario, and in it and in the whole test
// every group on the way to theirs.
func (s *Scopes) find(tags *metrics.TagSet) []*scope {
	var found []*scope
	names := groupNames(tags)
	descend := func(from *scope) {
		for _, name := range names {
			from = from.group(name)
			found = append(found, from)
		}
	}
	descend(s.root)
	if name, ok := tags.Get(metrics.TagScenario.String()); ok && name != lib.DefaultScenarioName {
		scenario, ok := s.scenarios[name]
		if !ok {
			scenario = newScope(name)
			s.scenarios[name] = scenario
		}
		found = append(found, scenario)
		descend(scenario)
	}
	return found
}

func groupNames(tags *metrics.TagSet) []string {
	path, _ := tags.Get(metrics.TagGroup.String())
	if path == lib.RootGroupPath {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, lib.GroupSeparator), lib.GroupSeparator)
}

func (sc *scope) group(name string) *scope {
	inner, ok := sc.groups[name]
	if !ok {
		inner = newScope(name)
		sc.groups[name] = inner
		sc.order = append(sc.order, name)
	}
	return inner
}

func (sc *scope) add(sample *metrics.Sample) {
	m, ok := sc.sinks[sample.Metric]
	if !ok {
		m = &scopeMetric{sink: metrics.NewSink(sample.Metric.Type)}
		sc.sinks[sample.Metric] = m
	}
	m.sink.Add(*sample)
	for _, sub := range sample.Metric.Submetrics {
		if !sample.Tags.Contains(sub.Tags) {
			continue
		}
		sink, ok := m.subs[sub]
		if !ok {
			if m.subs == nil {
				m.subs = make(map[*metrics.Submetric]metrics.Sink)
			}
			sink = metrics.NewSink(sample.Metric.Type)
			m.subs[sub] = sink
		}
		sink.Add(*sample)
	}
	if sample.Metric.Name == metrics.ChecksName {
		sc.addCheck(sample)
	}
}

func (sc *scope) addCheck(sample *metrics.Sample) {
	name, ok := sample.Tags.Get(metrics.TagCheck.String())
	if !ok {
		return
	}
	check, ok := sc.checks.Checks[name]
	if !ok {
		check = &lib.Check{Name: name}
		sc.checks.Checks[name] = check
		sc.checks.OrderedChecks = append(sc.checks.OrderedChecks, check)
	}
	if sample.Value != 0 {
		check.Passes++
	} else {
		check.Fails++
	}
}

func (s *Scopes) sortedScenarios() []*scope {
	sorted := make([]*scope, 0, len(s.scenarios))
	for _, name := range slices.Sorted(maps.Keys(s.scenarios)) {
		sorted = append(sorted, s.scenarios[name])
	}
	return sorted
}

// rows returns what the scope has measured, in the order of a list.
func (sc *scope) rows() []row {
	var rows []row
	for m, part := range sc.sinks {
		rows = append(rows, row{metric: m, sink: part.sink})
		for sub, sink := range part.subs {
			rows = append(rows, row{metric: sub.Metric, sink: sink})
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}
