package metrics

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetricNames(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	for _, name := range []string{"ab", "_a", "A1_b", strings.Repeat("x", 129)} {
		_, err := registry.NewMetric(name, Counter)
		require.NoError(t, err, name)
	}
	for _, name := range []string{"", "a", "1a", "a-b", "a b", "é1", strings.Repeat("x", 130), "a\n"} {
		_, err := registry.NewMetric(name, Counter)
		require.ErrorIs(t, err, errInvalidMetricName, name)
	}
}

func TestAMetricIsRegisteredOnce(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	first, err := registry.NewMetric("cc", Counter, Time)
	require.NoError(t, err)
	again, err := registry.NewMetric("cc", Counter, Time)
	require.NoError(t, err)
	assert.Same(t, first, again)
	assert.Same(t, first, registry.Get("cc"))
	assert.Nil(t, registry.Get("dd"))

	_, err = registry.NewMetric("cc", Trend, Time)
	require.EqualError(t, err, "metric 'cc' already exists but with type counter, instead of trend")
	_, err = registry.NewMetric("cc", Counter, Data)
	require.EqualError(t, err, "metric 'cc' already exists but with a value type time, instead of data")
	_, err = registry.NewMetric("cc", Counter)
	require.EqualError(t, err, "metric 'cc' already exists but with a value type time, instead of default")
	assert.Panics(t, func() { registry.MustNewMetric("cc", Gauge) })
}

func TestVUsMayRegisterAtOnce(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			assert.Equal(t, HTTPReqsName, RegisterBuiltinMetrics(registry).HTTPReqs.Name)
			registry.MustNewMetric("mine", Trend, Time)
			assert.NotNil(t, registry.Get("mine"))
			assert.NotEmpty(t, registry.All())
		})
	}
	all.Wait()
	names := registry.All()
	assert.Len(t, names, 26)
	assert.Equal(t, "checks", names[0].Name)
}

func TestSubmetrics(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	metric := registry.MustNewMetric("http_reqs", Counter, Data)
	root := registry.RootTagSet()
	for selector, want := range map[string]*TagSet{
		"scenario:calm": root.With("scenario", "calm"), " scenario: wild , status: 200 ": root.With("status", "200").With("scenario", "wild"),
		"group:::inside": root.With("group", "::inside"), "name:quoted name": root.With("name", "quoted name"),
		`name:"a,b"`: root.With("name", "a,b"), "name:'x:y'": root.With("name", "x:y"), "name:it's": root.With("name", "it's"),
		"url:http://a.test/b?c={d}": root.With("url", "http://a.test/b?c={d}"),
	} {
		sub, err := metric.AddSubmetric(selector)
		require.NoError(t, err, selector)
		assert.Same(t, want, sub.Tags, selector)
		assert.Equal(t, "http_reqs{"+strings.TrimSpace(selector)+"}", sub.Name)
		assert.Equal(t, strings.TrimSpace(selector), sub.Suffix)
		assert.Same(t, sub, sub.Metric.Sub)
		assert.Same(t, metric, sub.Parent)
		assert.Equal(t, Data, sub.Metric.Contains)
	}
	known := len(metric.Submetrics)
	again, err := metric.AddSubmetric("status:200,scenario:wild")
	require.NoError(t, err)
	assert.Contains(t, metric.Submetrics, again)
	assert.Len(t, metric.Submetrics, known, "equal selectors are one submetric")

	for _, selector := range []string{"", " ", "a", "a:", ":b", "a:b,", "a:b,c", `a:"b`, "a: "} {
		_, err := metric.AddSubmetric(selector)
		require.Error(t, err, selector)
	}
}

func TestParseMetricName(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		"metric": {"metric"}, "metric{}": {"metric"}, "m{a:b}": {"m", "a:b"}, "m{ a : b , c:d}": {"m", "a:b", "c:d"},
		`m{a:"b,c"}`: {"m", `a:"b,c"`},
	} {
		name, pairs, err := ParseMetricName(source)
		require.NoError(t, err, source)
		assert.Equal(t, want, append([]string{name}, pairs...))
	}
	for source, text := range map[string]string{
		"m{a:b": "curly brace", "m}": "curly brace", "m{a:b}c": "curly brace", "}m{": "curly brace", "m{a}": "malformed", "m{a:}": "malformed",
	} {
		_, _, err := ParseMetricName(source)
		require.ErrorIs(t, err, errMetricNameParsing, source)
		assert.Contains(t, err.Error(), text)
	}
}

func TestEqualTagSetsAreOnePointer(t *testing.T) {
	t.Parallel()
	root := NewRegistry().RootTagSet()
	assert.True(t, root.IsEmpty())
	ab := root.With("b", "2").With("a", "1")
	assert.Same(t, ab, root.WithTagsFromMap(map[string]string{"a": "1", "b": "2"}))
	assert.Same(t, ab, root.With("a", "0").With("b", "2").With("a", "1"))
	assert.Same(t, root.With("b", "2"), ab.Without("a"))
	assert.Same(t, ab, ab.Without("c"))
	assert.Equal(t, map[string]string{"a": "1", "b": "2"}, ab.Map())
	assert.True(t, ab.Contains(root.With("a", "1")))
	assert.False(t, ab.Contains(root.With("a", "2")))
	value, ok := ab.Get("b")
	assert.Equal(t, "2", value)
	assert.True(t, ok)
	encoded, err := json.Marshal(ab)
	require.NoError(t, err)
	assert.Equal(t, `{"a":"1","b":"2"}`, string(encoded))
}

func TestTheTagPathOfASampleAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	registry := NewRegistry()
	metric := registry.MustNewMetric("mm", Trend)
	base := registry.RootTagSet().With("scenario", "s").With("group", "")
	enabled := NewSystemTagSet(TagMethod, TagStatus)
	base.With("method", "GET").With("status", "200")
	output := make(chan SampleContainer, 1)
	ctx := context.Background()
	tags := testing.AllocsPerRun(100, func() {
		tm := TagsAndMeta{Tags: base}
		tm.SetSystemTagOrMetaIfEnabled(enabled, TagMethod, "GET")
		tm.SetSystemTagOrMetaIfEnabled(enabled, TagStatus, "200")
		tm.SetSystemTagOrMetaIfEnabled(enabled, TagURL, "off")
		if _, ok := tm.Tags.Get("url"); ok {
			t.Error("the url tag is off")
		}
	})
	// The index of the sets made before is a sync.Map, whose keys become interfaces: one allocation per tag at most.
	assert.LessOrEqual(t, tags, 2.0)

	push := testing.AllocsPerRun(100, func() {
		PushIfNotDone(ctx, output, Sample{TimeSeries: TimeSeries{Metric: metric, Tags: base}, Value: 1})
		<-output
	})
	assert.LessOrEqual(t, push, 1.0)
}

func TestMetadataIsCopied(t *testing.T) {
	t.Parallel()
	tm := TagsAndMeta{Tags: NewRegistry().RootTagSet()}
	tm.SetSystemTagOrMeta(TagVU, "7")
	tm.SetSystemTagOrMeta(TagIP, "::1")
	clone := tm.Clone()
	clone.SetMetadata("trace", "x")
	clone.DeleteMetadata("vu")
	clone.SetTag("a", "b")
	clone.DeleteTag("ip")
	assert.Equal(t, map[string]string{"vu": "7"}, tm.Metadata)
	assert.Equal(t, map[string]string{"ip": "::1"}, tm.Tags.Map())
	assert.Equal(t, map[string]string{"trace": "x"}, clone.Metadata)
	assert.Equal(t, map[string]string{"a": "b"}, clone.Tags.Map())
}

func TestSystemTagSets(t *testing.T) {
	t.Parallel()
	assert.Len(t, DefaultSystemTagSet.Map(), 14)
	for _, off := range []SystemTag{TagIter, TagVU, TagOCSPStatus, TagIP} {
		assert.False(t, DefaultSystemTagSet.Has(off), off.String())
	}
	var none *SystemTagSet
	assert.False(t, none.Has(TagURL))
	assert.Equal(t, "error_code", TagErrorCode.String())
	assert.Equal(t, "ip", TagIP.String())
	assert.Equal(t, "invalid", (TagIP << 1).String())

	set := ToSystemTagSet([]string{"url", " vu", "nonsense"})
	assert.Equal(t, NewSystemTagSet(TagURL, TagVU), set)
	encoded, err := json.Marshal(set)
	require.NoError(t, err)
	assert.Equal(t, `["url","vu"]`, string(encoded))
	var again SystemTagSet
	require.NoError(t, json.Unmarshal(encoded, &again))
	assert.Equal(t, *set, again)
	require.NoError(t, again.UnmarshalText([]byte("status,proto")))
	text, err := again.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "proto,status", string(text))
}

func TestSamplesAreDroppedOnceTheContextIsDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	output := make(chan SampleContainer, 3)
	assert.True(t, PushIfNotDone(ctx, output, Sample{Value: 1}))
	assert.True(t, PushIfNotDone(ctx, output, Samples{{Value: 2}, {Value: 3}}))
	cancel()
	assert.False(t, PushIfNotDone(ctx, output, Sample{Value: 4}))
	taken := GetBufferedSamples(output)
	require.Len(t, taken, 2)
	assert.Len(t, taken[1].GetSamples(), 2)
	assert.Empty(t, GetBufferedSamples(output))
	close(output)
	assert.Empty(t, GetBufferedSamples(output))
}

func TestUnits(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 1.5, D(1500*time.Microsecond), 0)
	assert.Equal(t, 1500*time.Microsecond, ToD(1.5))
	assert.InDelta(t, 1, B(true), 0)
	assert.InDelta(t, 0, B(false), 0)
	for _, typ := range []MetricType{Counter, Gauge, Trend, Rate} {
		text, err := typ.MarshalText()
		require.NoError(t, err)
		var again MetricType
		require.NoError(t, again.UnmarshalText(text))
		assert.Equal(t, typ, again)
	}
	for _, typ := range []ValueType{Default, Time, Data} {
		text, err := typ.MarshalText()
		require.NoError(t, err)
		var again ValueType
		require.NoError(t, again.UnmarshalText(text))
		assert.Equal(t, typ, again)
	}
	var typ MetricType
	require.ErrorIs(t, typ.UnmarshalText([]byte("histogram")), ErrInvalidMetricType)
	_, err := json.Marshal(MetricType(9))
	require.ErrorIs(t, err, ErrInvalidMetricType)
}

func TestTrendColumns(t *testing.T) {
	t.Parallel()
	columns, err := GetResolversForTrendColumns([]string{"avg", "min", "med", "max", "count", "p(99.9)", "p(0)"})
	require.NoError(t, err)
	sink := sinkOf(1, 2, 3)
	assert.InDelta(t, 3, columns["count"](sink), 0)
	assert.InDelta(t, 2, columns["med"](sink), 0)
	assert.InDelta(t, 2.998, columns["p(99.9)"](sink), 1e-12)
	for _, bad := range []string{"mode", "p(101)", "p(x)", "p95", ""} {
		_, err := GetResolversForTrendColumns([]string{"avg", bad})
		require.Error(t, err)
		assert.Contains(t, err.Error(), "'"+bad+"'")
	}
}
