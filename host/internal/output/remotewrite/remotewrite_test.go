package remotewrite

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// field is one field of a message, read without knowing the message.
type field struct {
	number uint64
	varint uint64
	bytes  []byte
}

func fields(t *testing.T, b []byte) []field {
	t.Helper()
	var all []field
	take := func() uint64 {
		value, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		return value
	}
	for len(b) > 0 {
		tag := take()
		f := field{number: tag >> 3}
		switch tag & 7 {
		case 0:
			f.varint = take()
		case 1:
			require.GreaterOrEqual(t, len(b), 8)
			f.varint = binary.LittleEndian.Uint64(b)
			b = b[8:]
		case 2:
			length := take()
			require.GreaterOrEqual(t, uint64(len(b)), length)
			f.bytes, b = b[:length], b[length:]
		default:
			require.Fail(t, "an unknown wire type", tag)
		}
		all = append(all, f)
	}
	return all
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) } //nolint:gosec // as encoded

// written is a time series as it arrived.
type written struct {
	labels    map[string]string
	names     []string
	value     float64
	time      int64
	histogram *writtenHistogram
}

type writtenHistogram struct {
	count, zeros  uint64
	sum, zeroEdge float64
	schema, time  int64
	buckets       map[int64]int64 // negative ones are left out
	negative      int
}

func decode(t *testing.T, body []byte) []written {
	t.Helper()
	message, err := snappy.Decode(nil, body)
	require.NoError(t, err)
	var all []written
	for _, f := range fields(t, message) {
		require.Equal(t, uint64(1), f.number)
		w := written{labels: make(map[string]string)}
		for _, f := range fields(t, f.bytes) {
			switch f.number {
			case 1:
				label := fields(t, f.bytes)
				require.Len(t, label, 2)
				w.labels[string(label[0].bytes)] = string(label[1].bytes)
				w.names = append(w.names, string(label[0].bytes))
			case 2:
				sample := fields(t, f.bytes)
				require.Len(t, sample, 2)
				w.value, w.time = math.Float64frombits(sample[0].varint), int64(sample[1].varint) //nolint:gosec // a test
			case 4:
				w.histogram = decodeHistogram(t, f.bytes)
			}
		}
		all = append(all, w)
	}
	return all
}

func decodeHistogram(t *testing.T, b []byte) *writtenHistogram {
	t.Helper()
	h := &writtenHistogram{buckets: make(map[int64]int64)}
	var indices []int64
	next := int64(0)
	for _, f := range fields(t, b) {
		switch f.number {
		case 1:
			h.count = f.varint
		case 3:
			h.sum = math.Float64frombits(f.varint)
		case 4:
			h.schema = zigzag(f.varint)
		case 5:
			h.zeroEdge = math.Float64frombits(f.varint)
		case 6:
			h.zeros = f.varint
		case 8:
			h.negative++
		case 11:
			span := fields(t, f.bytes)
			next += zigzag(span[0].varint)
			for range span[1].varint {
				indices = append(indices, next)
				next++
			}
		case 12:
			count := int64(0)
			for i := 0; len(f.bytes) > 0; i++ {
				delta, n := binary.Varint(f.bytes)
				require.Positive(t, n)
				f.bytes = f.bytes[n:]
				count += delta
				h.buckets[indices[i]] = count
			}
			require.Len(t, h.buckets, len(indices))
		case 15:
			h.time = int64(f.varint) //nolint:gosec // a test
		}
	}
	return h
}

// receiver is a remote-write endpoint.
type receiver struct {
	url string

	mu       sync.Mutex
	status   int
	requests []*http.Request
	bodies   [][]byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, req)
		r.bodies = append(r.bodies, body)
		w.WriteHeader(r.status)
		if r.status >= 400 {
			_, _ = io.WriteString(w, "no room\n")
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/api/v1/write"
	return r
}

// series returns what arrived last, by name.
func (r *receiver) series(t *testing.T) map[string]written {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(t, r.bodies)
	byName := make(map[string]written)
	for _, w := range decode(t, r.bodies[len(r.bodies)-1]) {
		byName[w.labels["__name__"]] = w
	}
	return byName
}

func newOutput(t *testing.T, environment map[string]string) (*Output, *logtest.Hook) {
	t.Helper()
	return newOutputFrom(t, output.Params{Environment: environment})
}

// newOutputFrom makes an output that writes when it is told to and waits for a slow receiver, unless the variables say
// otherwise.
func newOutputFrom(t *testing.T, params output.Params) (*Output, *logtest.Hook) {
	t.Helper()
	variables := map[string]string{"K6_PROMETHEUS_RW_PUSH_INTERVAL": "1h"}
	maps.Copy(variables, params.Environment)
	logger, hook := logtest.NewNullLogger()
	params.Logger, params.Environment = logger, variables
	made, err := New(params)
	require.NoError(t, err)
	o, ok := made.(*Output)
	require.True(t, ok)
	o.timeout = time.Minute
	return o, hook
}

type testMetrics struct {
	registry                         *metrics.Registry
	counter, gauge, rate             *metrics.Metric
	timeTrend, dataTrend, plainTrend *metrics.Metric
	tags                             *metrics.TagSet
	start                            time.Time
}

func newTestMetrics() *testMetrics {
	r := metrics.NewRegistry()
	return &testMetrics{
		registry: r, counter: r.MustNewMetric("my_counter", metrics.Counter), gauge: r.MustNewMetric("my_gauge", metrics.Gauge, metrics.Time),
		rate: r.MustNewMetric("my_rate", metrics.Rate), timeTrend: r.MustNewMetric("my_time", metrics.Trend, metrics.Time),
		dataTrend: r.MustNewMetric("my_data", metrics.Trend, metrics.Data), plainTrend: r.MustNewMetric("my_trend", metrics.Trend),
		tags: r.RootTagSet().With("scenario", "s").With("group", "").With("Zone", "z"), start: time.UnixMilli(1_800_000_000_000),
	}
}

func (m *testMetrics) samples(metric *metrics.Metric, values ...float64) metrics.Samples {
	samples := make(metrics.Samples, 0, len(values))
	for i, value := range values {
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: m.tags}, Value: value,
			Time: m.start.Add(time.Duration(i) * time.Millisecond), Metadata: map[string]string{"vu": "1"},
		})
	}
	return samples
}

func TestSeriesOfEachType(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	o, hook := newOutput(t, map[string]string{
		"K6_PROMETHEUS_RW_SERVER_URL":  r.url,
		"K6_PROMETHEUS_RW_TREND_STATS": "avg, min,med,max,count,sum,p(99.9)",
	})
	require.NoError(t, o.Start())
	o.AddMetricSamples([]metrics.SampleContainer{
		m.samples(m.counter, 1, 2), m.samples(m.gauge, 5000, 3000), m.samples(m.rate, 1, 0, 1, 1),
		m.samples(m.timeTrend, 1000, 2000, 3000, 6000), m.samples(m.plainTrend, 1, 3), m.samples(m.dataTrend, 7),
	})
	require.NoError(t, o.Stop())
	assert.Empty(t, hook.AllEntries())
	got := r.series(t)
	for name, want := range map[string]float64{
		"k6_my_counter_total": 3, "k6_my_gauge": 3000, "k6_my_rate_rate": 0.75,
		"k6_my_time_avg": 3, "k6_my_time_min": 1, "k6_my_time_med": 2.5, "k6_my_time_max": 6, "k6_my_time_count": 0.004,
		"k6_my_time_sum": 12, "k6_my_time_p999": 5.991, "k6_my_trend_avg": 2, "k6_my_trend_count": 2, "k6_my_data_max": 7,
	} {
		require.Contains(t, got, name)
		assert.InDelta(t, want, got[name].value, 1e-9, name)
	}
	assert.Len(t, got, 3+3*7)
	assert.Equal(t, map[string]string{"__name__": "k6_my_counter_total", "scenario": "s", "Zone": "z"}, got["k6_my_counter_total"].labels)
	assert.Equal(t, m.start.UnixMilli()+1, got["k6_my_counter_total"].time)
	for _, w := range got {
		assert.True(t, slices.IsSorted(w.names), w.names)
	}
	req := r.requests[0]
	for name, want := range map[string]string{
		"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "User-Agent": "k6-prometheus-rw-output",
		"X-Prometheus-Remote-Write-Version": "0.1.0", "Authorization": "",
	} {
		assert.Equal(t, want, req.Header.Get(name))
	}
	assert.Equal(t, http.MethodPost, req.Method)
}

func TestDefaultTrendStatIsTheLastPercentile(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	o, _ := newOutput(t, map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url})
	assert.Equal(t, "Prometheus remote write ("+r.url+")", o.Description())
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.timeTrend, 1000)})
	o.flush()
	got := r.series(t)
	require.Len(t, got, 1)
	assert.InDelta(t, 1, got["k6_my_time_p99"].value, 1e-9)
	o.client.CloseIdleConnections()
}

func TestValuesAddUpAndOnlyWhatChangedIsWritten(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	o, _ := newOutput(t, map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url})
	defer o.client.CloseIdleConnections()
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 1, 2), m.samples(m.gauge, 1)})
	o.flush()
	first := r.series(t)
	o.flush()
	assert.Len(t, r.bodies, 1, "nothing changed, nothing is sent")
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 4)})
	o.flush()
	second := r.series(t)
	assert.Len(t, second, 1)
	assert.InDelta(t, 7, second["k6_my_counter_total"].value, 0)
	assert.Greater(t, second["k6_my_counter_total"].time, first["k6_my_counter_total"].time, "times rise whatever the samples' order")
}

func TestStaleMarkers(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	o, _ := newOutput(t, map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url, "K6_PROMETHEUS_RW_STALE_MARKERS": "true"})
	require.NoError(t, o.Start())
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 1)})
	require.NoError(t, o.Stop())
	require.Len(t, r.bodies, 2)
	got := r.series(t)["k6_my_counter_total"]
	assert.Equal(t, uint64(staleBits), math.Float64bits(got.value))
}

func TestNativeHistograms(t *testing.T) {
	m := newTestMetrics()
	write := func(params output.Params, values ...float64) map[string]written {
		r := newReceiver(t)
		params.Environment["K6_PROMETHEUS_RW_SERVER_URL"] = r.url
		made, _ := newOutputFrom(t, params)
		require.NoError(t, made.Start())
		made.AddMetricSamples([]metrics.SampleContainer{
			m.samples(m.timeTrend, values...), m.samples(m.dataTrend, values...), m.samples(m.plainTrend, values...), m.samples(m.counter, 1),
		})
		require.NoError(t, made.Stop())
		return r.series(t)
	}
	byVariable := output.Params{Environment: map[string]string{"K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true"}}
	byFeature := output.Params{Environment: map[string]string{}, Features: &features.Flags{NativeHistograms: true}}
	for name, params := range map[string]output.Params{"variable": byVariable, "feature": byFeature} {
		t.Run(name, func(t *testing.T) {
			got := write(params, 1000, 2000, 2000, 64000, 0, -1000)
			require.Len(t, got, 4)
			assert.InDelta(t, 1, got["k6_my_counter_total"].value, 0)
			require.Contains(t, got, "k6_my_data_bytes")
			require.Contains(t, got, "k6_my_trend")
			h := got["k6_my_time_seconds"].histogram
			require.NotNil(t, h)
			assert.Equal(t, uint64(6), h.count)
			assert.Equal(t, uint64(1), h.zeros)
			assert.InDelta(t, 68, h.sum, 1e-9)
			assert.Equal(t, int64(3), h.schema)
			assert.InDelta(t, math.Exp2(-128), h.zeroEdge, 0)
			assert.Equal(t, 1, h.negative)
			// 1 = 2^(0/8), 2 = 2^(8/8), 64 = 2^(48/8): each is the upper bound of its bucket.
			assert.Equal(t, map[int64]int64{0: 1, 8: 2, 48: 1}, h.buckets)
			assert.Equal(t, m.start.UnixMilli()+5, h.time)
		})
	}
	t.Run("neighbours share a span", func(t *testing.T) {
		h := write(byVariable, 1000, 1090, 1500, 1e6)["k6_my_time_seconds"].histogram
		assert.Equal(t, map[int64]int64{0: 1, 1: 1, 5: 1, 80: 1}, h.buckets)
		h = write(byVariable, 1000, 1290)["k6_my_time_seconds"].histogram
		assert.Equal(t, map[int64]int64{0: 1, 1: 0, 2: 0, 3: 1}, h.buckets)
	})
}

func TestEveryValueLiesWithinItsBucket(t *testing.T) {
	h := newHistogram()
	base := math.Exp2(1.0 / bucketsPerOctave)
	for value := 1e-9; value < 1e9; value *= 1.013 {
		i := float64(h.bucket(value))
		assert.LessOrEqual(t, value, math.Pow(base, i)*(1+1e-12))
		assert.Greater(t, value, math.Pow(base, i-1)*(1-1e-12))
	}
	assert.NotPanics(t, func() { h.add(math.Inf(1)); h.add(math.NaN()); h.add(math.Inf(-1)) })
	assert.Equal(t, uint64(3), h.count)
}

func TestCredentialsAndHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		environment map[string]string
		want        map[string]string
	}{
		"basic":  {map[string]string{"USERNAME": "u", "PASSWORD": "p"}, map[string]string{"Authorization": "Basic dTpw"}},
		"bearer": {map[string]string{"BEARER_TOKEN": "t"}, map[string]string{"Authorization": "Bearer t"}},
		"headers": {
			map[string]string{"HTTP_HEADERS": "X-A: 1,X-B:2", "HEADERS_X-B": "3"},
			map[string]string{"X-A": "1", "X-B": "3"},
		},
		"signed": {
			map[string]string{"SIGV4_REGION": "eu-1", "SIGV4_ACCESS_KEY": "a", "SIGV4_SECRET_KEY": "s"},
			map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, m := newReceiver(t), newTestMetrics()
			environment := map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url}
			for key, value := range tc.environment {
				environment[variablePrefix+key] = value
			}
			o, _ := newOutput(t, environment)
			require.NoError(t, o.Start())
			o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 1)})
			require.NoError(t, o.Stop())
			require.Len(t, r.requests, 1)
			for header, want := range tc.want {
				assert.Equal(t, want, r.requests[0].Header.Get(header))
			}
			if name == "signed" {
				assert.Regexp(t, `^AWS4-HMAC-SHA256 Credential=a/\d{8}/eu-1/aps/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$`,
					r.requests[0].Header.Get("Authorization"))
			}
		})
	}
}

func TestSigningKey(t *testing.T) {
	// The worked example of AWS's documentation of Signature Version 4.
	key := signingKey("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
	assert.Equal(t, "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d", hex.EncodeToString(key))
}

func TestRefusalsAreLoggedAndTheRunGoesOn(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	r.status = http.StatusInsufficientStorage
	o, hook := newOutput(t, map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url})
	require.NoError(t, o.Start())
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 1)})
	require.NoError(t, o.Stop())
	require.NotNil(t, hook.LastEntry())
	assert.Equal(t, "the endpoint answered 507 Insufficient Storage: no room", hook.LastEntry().Data["error"])
}

func TestSlowWritesWarn(t *testing.T) {
	r, m := newReceiver(t), newTestMetrics()
	o, hook := newOutput(t, map[string]string{"K6_PROMETHEUS_RW_SERVER_URL": r.url, "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1ns"})
	defer o.client.CloseIdleConnections()
	o.AddMetricSamples([]metrics.SampleContainer{m.samples(m.counter, 1)})
	o.flush()
	require.NotNil(t, hook.LastEntry())
	assert.Contains(t, hook.LastEntry().Message, "longer than the push interval")
}

func TestConfiguration(t *testing.T) {
	notAKey := filepath.Join(t.TempDir(), "pem")
	require.NoError(t, os.WriteFile(notAKey, []byte("no"), 0o600))
	for variable, value := range map[string]string{
		"SERVER_URL": "localhost:9090", "PUSH_INTERVAL": "soon", "STALE_MARKERS": "perhaps", "INSECURE_SKIP_TLS_VERIFY": "maybe",
		"TLS_MINIMUM_VERSION": "1.4", "HTTP_HEADERS": "no colon", "TREND_STATS": "p(101)", "CLIENT_CERTIFICATE": notAKey,
		"SIGV4_REGION": "eu-1", "TREND_AS_NATIVE_HISTOGRAM": "x",
	} {
		t.Run(variable, func(t *testing.T) {
			_, err := New(output.Params{Environment: map[string]string{variablePrefix + variable: value}})
			require.ErrorContains(t, err, variablePrefix+variable)
		})
	}
	_, err := New(output.Params{ConfigArgument: "http://localhost:9090"})
	require.ErrorIs(t, err, errOnlyVariables)
	c, err := readConfig(output.Params{Environment: map[string]string{"K6_PROMETHEUS_RW_PUSH_INTERVAL": "250ms", "K6_PROMETHEUS_RW_TLS_MINIMUM_VERSION": "tls1.2"}})
	require.NoError(t, err)
	assert.Equal(t, defaultServerURL, c.serverURL)
	assert.Equal(t, 250*time.Millisecond, c.pushInterval)
	assert.Equal(t, uint16(0x0303), c.tls.MinVersion)
	assert.Equal(t, []string{"p(99)"}, c.trendStats)
}

func FuzzHistogram(f *testing.F) {
	f.Add(1.0, 2.0, -3.0)
	f.Add(0.0, math.SmallestNonzeroFloat64, math.MaxFloat64)
	f.Fuzz(func(t *testing.T, a, b, c float64) {
		h := newHistogram()
		for _, value := range []float64{a, b, c} {
			h.add(value)
		}
		got := decodeHistogram(t, h.appendMessage(nil, 1))
		sum := int64(got.zeros) //nolint:gosec // at most three
		for _, count := range got.buckets {
			sum += count
		}
		if sum > 3 || got.count != 3 {
			t.Fatalf("%v %v %v gave %d in %+v", a, b, c, sum, got)
		}
	})
}
