package lib

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/metrics"
)

func TestGroupsAndChecksAreIdentifiedByTheirPath(t *testing.T) {
	t.Parallel()
	root, err := NewGroup("", nil)
	require.NoError(t, err)
	assert.Equal(t, "d41d8cd98f00b204e9800998ecf8427e", root.ID)
	g, err := root.Group("g")
	require.NoError(t, err)
	assert.Equal(t, "::g", g.Path)
	assert.Equal(t, "652e756c89643c3ada0b451cbd88a9d3", g.ID)
	inner, err := g.Check("inner")
	require.NoError(t, err)
	assert.Equal(t, "::g::inner", inner.Path)
	assert.Equal(t, "5157206065e9632517003a48b73d87aa", inner.ID)
	again, err := root.Group("g")
	require.NoError(t, err)
	assert.Same(t, g, again)
	check, err := g.Check("inner")
	require.NoError(t, err)
	assert.Same(t, inner, check)

	_, err = root.Group("a::b")
	require.ErrorIs(t, err, ErrNameContainsGroupSeparator)
	_, err = root.Check("a::b")
	require.ErrorIs(t, err, ErrNameContainsGroupSeparator)
}

func TestGroupSummaryFollowsTheTags(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry()
	builtin := metrics.RegisterBuiltinMetrics(registry)
	summary, err := NewGroupSummary()
	require.NoError(t, err)
	add := func(m *metrics.Metric, value float64, tags map[string]string) {
		require.NoError(t, summary.AddSample(&metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: m, Tags: registry.RootTagSet().WithTagsFromMap(tags)}, Value: value,
		}))
	}
	add(builtin.Checks, 1, map[string]string{"check": "ok", "group": "::b::a"})
	add(builtin.Checks, 0, map[string]string{"check": "ok", "group": "::b::a", "scenario": "other"})
	add(builtin.Checks, 1, map[string]string{"check": "ok", "group": ""})
	add(builtin.Checks, 1, map[string]string{"group": ""}) // the check tag is off
	add(builtin.GroupDuration, 5, map[string]string{"group": "::a"})
	add(builtin.Iterations, 1, map[string]string{"group": "::no"})

	root := summary.Root()
	require.Len(t, root.OrderedGroups, 2)
	assert.Equal(t, "b", root.OrderedGroups[0].Name, "in the order of appearance")
	assert.Equal(t, "::a", root.OrderedGroups[1].Path)
	check := root.Groups["b"].Groups["a"].Checks["ok"]
	assert.EqualValues(t, 1, check.Passes)
	assert.EqualValues(t, 1, check.Fails)
	require.Len(t, root.OrderedChecks, 1)
	assert.EqualValues(t, 1, root.OrderedChecks[0].Passes)
}

func TestChecksWithTagsOfTheirOwnAreStillOneCheck(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry()
	builtin := metrics.RegisterBuiltinMetrics(registry)
	summary, err := NewGroupSummary()
	require.NoError(t, err)
	const samples = maxKnownTagSets + 100
	base := registry.RootTagSet().With("check", "ok").With("group", "::g")
	for i := range samples {
		tags := base.With("zid", strconv.Itoa(i))
		for _, metric := range []*metrics.Metric{builtin.Checks, builtin.GroupDuration} {
			require.NoError(t, summary.AddSample(&metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Value: 1}))
		}
	}
	require.Len(t, summary.Checks(), 1)
	assert.EqualValues(t, samples, summary.Checks()[0].Passes)
	assert.LessOrEqual(t, len(summary.checks), maxKnownTagSets)
	assert.LessOrEqual(t, len(summary.known), maxKnownTagSets)
}
