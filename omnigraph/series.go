package omnigraph

import (
	"context"
	"maps"
	"math"
	"strconv"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// series is what all operations of one kind share: their tag sets and their cell in the recorder, prepared once.
type series struct {
	// request are the tags of the http_req_* samples, name their name.
	request *metrics.TagSet
	name    string
	// plain, succeeded and failed are the tags of the extension's samples; the durations carry ok.
	plain, succeeded, failed *metrics.TagSet
	cell                     *recorder.Cell
	key                      recorder.CellKey
}

// seriesKey tells series apart. Tag sets of one registry are equal exactly if their pointers are.
type seriesKey struct {
	base    *metrics.TagSet
	op      wire.Op
	label   string
	graph   string
	variant string
	// scenario is empty where the tags tell it already.
	scenario string
}

// maxSeries bounds what a client remembers; scripts that change their tags all the time start over.
const maxSeries = 512

func (c *client) seriesFor(inv *invocation, base *metrics.TagSet, extra map[string]string) *series {
	key := seriesKey{base: base, op: inv.op.Op, label: inv.label, graph: inv.op.Graph}
	if inv.variant != nil {
		key.variant = inv.variant.name
	}
	if !inv.state.Options.SystemTags.Has(metrics.TagScenario) {
		key.scenario = runningScenario(inv.ctx, base)
	}
	// A client's own tags are always the same; only tags given to one call make a series of their own.
	cacheable := maps.Equal(extra, c.settings.tags)
	if cacheable {
		if s := c.series[key]; s != nil {
			return s
		}
	}
	s := c.newSeries(inv, key, base, extra)
	if cacheable {
		if c.series == nil || len(c.series) >= maxSeries {
			c.series = make(map[seriesKey]*series)
		}
		c.series[key] = s
	}
	return s
}

func (c *client) newSeries(inv *invocation, key seriesKey, base *metrics.TagSet, extra map[string]string) *series {
	s := &series{name: key.label}
	if s.name == "" {
		s.name = string(key.op)
	}
	s.request = base.WithTagsFromMap(extra)
	tags := s.request.With("transport", c.transport).With("op", string(key.op))
	if key.label != "" {
		tags = tags.With("query", key.label)
	}
	if key.graph != "" {
		tags = tags.With("graph", key.graph)
	}
	if key.variant != "" {
		tags = tags.With("variant", key.variant)
	}
	s.plain = tags
	s.succeeded = tags.With("ok", "true")
	s.failed = tags.With("ok", "false")
	s.key = recorder.CellKey{
		Scenario: runningScenario(inv.ctx, base), Variant: key.variant, Transport: c.transport, Op: string(key.op), Query: key.label,
		Workers: levelOf(base, "workers"), Rate: rateOf(base), Phase: tagOf(base, "phase"),
	}
	c.mi.root.recording.sawScenario(inv.ctx, inv.state)
	s.cell = c.mi.root.recording.recorder.Cell(s.key)
	return s
}

// runningScenario is the scenario of an iteration: its tag's value, or its name where k6's option systemTags leaves that tag out.
func runningScenario(ctx context.Context, tags *metrics.TagSet) string {
	if name := tagOf(tags, "scenario"); name != "" {
		return name
	}
	if s := lib.GetScenarioState(ctx); s != nil {
		return s.Name
	}
	return ""
}

func tagOf(tags *metrics.TagSet, name string) string {
	v, _ := tags.Get(name)
	return v
}

func levelOf(tags *metrics.TagSet, name string) int {
	n, err := strconv.Atoi(tagOf(tags, name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// rateOf is the rate that an open-model step declares in its tag rate, in iterations per second; 0 if it declares none.
func rateOf(tags *metrics.TagSet) float64 {
	v, err := strconv.ParseFloat(tagOf(tags, "rate"), 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	return v
}
