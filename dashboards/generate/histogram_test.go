package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

// exactValues are values by trend and series: what a run is told to measure.
type exactValues map[string]map[string][]float64

// someValues are times as they occur, and what lies at the edges of buckets and of what a histogram can hold.
func someValues() exactValues {
	r := rand.New(rand.NewPCG(8, 3)) // #nosec G404 -- the same values in every run
	lognormal := func(n int, median, spread float64) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = median * math.Exp(spread*r.NormFloat64())
		}
		return all
	}
	edges := []float64{0, 1000, 2000, 500, 250, 125, 62.5, 1000, math.Nextafter(1000, 0), math.Nextafter(1000, 2000), 1e-6, 1e9, 86_400_000}
	return exactValues{
		"time":  {"fast": lognormal(997, 3, 0.4), "slow": lognormal(101, 400, 1), "edges": edges, "one": {42}},
		"plain": {"signed": append(lognormal(200, 1, 3), -1, -2.5, -1e-40, 1e-40, 0, -1e12), "one": {-7}},
	}
}

// measured runs k6 so that it measures these values and writes them to an address.
func measured(t *testing.T, url string, values exactValues, tags ...string) {
	t.Helper()
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := []string{"run", "--quiet", "--no-usage-report", "--no-color", "-o", "experimental-prometheus-rw"}
	for _, tag := range tags {
		args = append(args, "--tag", tag)
	}
	cmd := exec.CommandContext(ctx, os.Getenv("K6"), append(args, "testdata/exact.js")...) // #nosec G204 G702 -- the k6 under test
	cmd.Env = append(os.Environ(), "VALUES="+file, "K6_PROMETHEUS_RW_SERVER_URL="+url, "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM=true")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "Failed to write") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// written is the last histogram of each series that a receiver got, as Prometheus' own code reads the protocol.
func written(t *testing.T) (url string, series func() map[string]*histogram.Histogram) {
	t.Helper()
	var mu sync.Mutex
	all := map[string]*histogram.Histogram{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		var req prompb.WriteRequest
		plain, err := snappy.Decode(nil, packed)
		if err == nil {
			err = req.Unmarshal(plain)
		}
		if err != nil {
			t.Errorf("the message can't be read: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, ts := range req.Timeseries {
			labels := map[string]string{}
			for _, l := range ts.Labels {
				labels[l.Name] = l.Value
			}
			for _, h := range ts.Histograms {
				native := h.ToIntHistogram()
				if err := native.Validate(); err != nil {
					t.Errorf("%v: %v", labels, err)
				}
				all[labels["__name__"]+" "+labels["series"]] = native
			}
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() map[string]*histogram.Histogram {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(all)
	}
}

// byPrometheus is the histogram that Prometheus' own client library makes of values. Buckets at most 1.1 wide are those
// of the schema 3.
func byPrometheus(t *testing.T, values []float64) *histogram.Histogram {
	t.Helper()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Help: "h", NativeHistogramBucketFactor: 1.1})
	for _, v := range values {
		h.Observe(v)
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	spans := func(all []*dto.BucketSpan) []histogram.Span {
		var out []histogram.Span
		for _, s := range all {
			out = append(out, histogram.Span{Offset: s.GetOffset(), Length: s.GetLength()})
		}
		return out
	}
	d := m.GetHistogram()
	return &histogram.Histogram{
		Schema: d.GetSchema(), ZeroThreshold: d.GetZeroThreshold(), ZeroCount: d.GetZeroCount(), Count: d.GetSampleCount(), Sum: d.GetSampleSum(),
		PositiveSpans: spans(d.PositiveSpan), PositiveBuckets: d.PositiveDelta, NegativeSpans: spans(d.NegativeSpan), NegativeBuckets: d.NegativeDelta,
	}
}

// buckets are the counts of a histogram's buckets that hold something, by their upper or lower ends.
func buckets(h *histogram.Histogram) map[float64]uint64 {
	counts := map[float64]uint64{}
	for i := h.PositiveBucketIterator(); i.Next(); {
		if b := i.At(); b.Count > 0 {
			counts[b.Upper] = b.Count
		}
	}
	for i := h.NegativeBucketIterator(); i.Next(); {
		if b := i.At(); b.Count > 0 {
			counts[b.Lower] = b.Count
		}
	}
	return counts
}

func scaled(values []float64, by float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] /= by
	}
	return out
}

func TestNativeHistogramsAreWhatPrometheusOwnLibraryMakes(t *testing.T) {
	if os.Getenv("K6") == "" {
		t.Skip("make test-dashboards runs it: it needs k6 (K6)")
	}
	url, series := written(t)
	values := someValues()
	measured(t, url, values)
	got := series()
	compared := 0
	for trend, name := range map[string]string{"time": "k6_exact_time_seconds", "plain": "k6_exact_plain"} {
		for tag, all := range values[trend] {
			if trend == "time" {
				all = scaled(all, 1000) // k6 counts in milliseconds, Prometheus in seconds
			}
			want, has := byPrometheus(t, all), got[name+" "+tag]
			if has == nil {
				t.Errorf("%s %s was not written; there are %v", name, tag, slices.Sorted(maps.Keys(got)))
				continue
			}
			if has.Schema != want.Schema || has.ZeroThreshold != want.ZeroThreshold || has.ZeroCount != want.ZeroCount || has.Count != want.Count {
				t.Errorf("%s %s is %v, Prometheus makes %v", name, tag, has, want)
			}
			if math.Abs(has.Sum-want.Sum) > 1e-9*math.Max(1, math.Abs(want.Sum)) {
				t.Errorf("%s %s has the sum %g, Prometheus %g", name, tag, has.Sum, want.Sum)
			}
			if !maps.Equal(buckets(has), buckets(want)) {
				t.Errorf("%s %s has the buckets\n%v, Prometheus\n%v", name, tag, buckets(has), buckets(want))
			}
			compared++
		}
	}
	if compared != 6 {
		t.Errorf("%d histograms were compared", compared)
	}
}

// nearestRank is the exact quantile: the smallest value with at least the share q of all at or below it.
func nearestRank(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// TestPrometheusAnswersWithExactPercentiles asks Prometheus' own histogram_quantile, histogram_count, histogram_sum and
// histogram_fraction about values that are known, over all series of two processes together.
func TestPrometheusAnswersWithExactPercentiles(t *testing.T) {
	bin := os.Getenv("PROMETHEUS")
	if bin == "" || os.Getenv("K6") == "" {
		t.Skip("make test-dashboards runs it: it needs Prometheus and k6 (PROMETHEUS, K6)")
	}
	p := startPrometheus(t, bin)
	values := someValues()
	half := exactValues{"time": {"fast": values["time"]["fast"][:500]}}
	measured(t, p.url+"/api/v1/write", values, "testid=exact", "instance=one")
	measured(t, p.url+"/api/v1/write", half, "testid=exact", "instance=two")
	now := time.Now().Add(2 * time.Second) // queries have whole seconds
	ask := func(expr string) float64 {
		t.Helper()
		got, err := p.at(expr, now)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", expr, got, err)
		}
		for _, v := range got {
			return v[0]
		}
		return 0
	}
	pooled := scaled(slices.Concat(values["time"]["fast"], values["time"]["slow"], half["time"]["fast"]), 1000)
	slices.Sort(pooled)
	const all = `sum by (testid) (k6_exact_time_seconds{testid="exact",series=~"fast|slow"})`
	if n := ask("histogram_count(" + all + ")"); n != float64(len(pooled)) {
		t.Errorf("histogram_count is %g of %d", n, len(pooled))
	}
	sum := 0.0
	for _, v := range pooled {
		sum += v
	}
	if got := ask("histogram_sum(" + all + ")"); math.Abs(got/sum-1) > 1e-12 {
		t.Errorf("histogram_sum is %.15g of %.15g", got, sum)
	}
	width := math.Exp2(1.0 / 8) // of a bucket
	for _, q := range []float64{0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999} {
		exact := nearestRank(pooled, q)
		got := ask("histogram_quantile(" + strconv.FormatFloat(q, 'g', -1, 64) + ", " + all + ")")
		if got < exact/width || got > exact*width {
			t.Errorf("histogram_quantile(%g) is %g, exactly it is %g", q, got, exact)
		}
	}
	// At the ends of buckets there is nothing to interpolate.
	for _, bound := range []float64{0.001953125, 0.00390625, 0.25, 0.5, 1} {
		below := 0
		for _, v := range pooled {
			if v <= bound {
				below++
			}
		}
		got := ask("histogram_fraction(0, " + strconv.FormatFloat(bound, 'g', -1, 64) + ", " + all + ")")
		if want := float64(below) / float64(len(pooled)); math.Abs(got-want) > 1e-12 {
			t.Errorf("histogram_fraction(0, %g) is %g, exactly it is %g", bound, got, want)
		}
	}
	// One value alone, and a series with values below zero.
	if got := ask(`histogram_quantile(0.5, k6_exact_time_seconds{series="one"})`); got < 0.042/width || got > 0.042*width {
		t.Errorf("the median of one value of 42 ms is %g s", got)
	}
	if got := ask(`histogram_quantile(0.5, k6_exact_plain{series="one"})`); got > -7/width || got < -7*width {
		t.Errorf("the median of one value of -7 is %g", got)
	}
	answersOfPromtool(t, p, all, pooled, width)
}

// answersOfPromtool asks as someone at a terminal would.
func answersOfPromtool(t *testing.T, p *prometheusServer, all string, pooled []float64, width float64) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "query", "instant", "-o", "json", p.url, "histogram_quantile(0.95, "+all+")").Output() // #nosec G204 -- Prometheus' own program
	if err != nil {
		t.Fatal(err)
	}
	var answer []struct{ Value []any }
	if err := json.Unmarshal(out, &answer); err != nil || len(answer) != 1 || len(answer[0].Value) != 2 {
		t.Fatalf("promtool says %s (%v)", out, err)
	}
	text, _ := answer[0].Value[1].(string)
	got, err := strconv.ParseFloat(text, 64)
	if exact := nearestRank(pooled, 0.95); err != nil || got < exact/width || got > exact*width {
		t.Errorf("promtool says p95 is %s, exactly it is %g (%v)", text, exact, err)
	}
}
