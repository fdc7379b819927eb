package httpext_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
)

const pause = 30 * time.Millisecond

// slowly waits before the response, and in the middle of its body.
func slowly(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(pause)
	_, _ = io.WriteString(w, "first half, ")
	_ = http.NewResponseController(w).Flush()
	time.Sleep(2 * pause)
	_, _ = io.WriteString(w, "second half")
}

func TestStepsOfAnExchange(t *testing.T) {
	f := newFixture(t, slowly)
	for _, reused := range []bool{false, true} {
		res := f.do(t, "/", nil)
		assert.Equal(t, "first half, second half", res.Body)
		trails := f.trails(t)
		require.Len(t, trails, 1)
		trail := trails[0]
		assert.Equal(t, reused, trail.ConnReused)
		assert.GreaterOrEqual(t, trail.Waiting, pause)
		assert.GreaterOrEqual(t, trail.Receiving, 2*pause)
		assert.Equal(t, trail.Duration, trail.Sending+trail.Waiting+trail.Receiving)
		assert.Equal(t, trail.ConnDuration, trail.Connecting+trail.TLSHandshaking)
		assert.GreaterOrEqual(t, trail.Blocked, trail.ConnDuration)
		assert.Equal(t, reused, trail.ConnDuration == 0)
		assert.InDelta(t, metrics.D(trail.Waiting), res.Timings.Waiting, 1e-9)
		assert.InDelta(t, metrics.D(trail.Receiving), res.Timings.Receiving, 1e-9)
	}
}

func TestADialThatAnotherRequestSparedIsNotCounted(t *testing.T) {
	tracer := new(httpext.Tracer)
	tracer.GetConn("h")
	tracer.ConnectStart("tcp", "h")
	tracer.ConnectDone("tcp", "h", nil)
	tracer.GotConn(httptrace.GotConnInfo{Reused: true})
	tracer.WroteRequest(httptrace.WroteRequestInfo{})
	tracer.GotFirstResponseByte()
	trail := tracer.Done()
	assert.True(t, trail.ConnReused)
	assert.Zero(t, trail.Connecting)
	assert.Zero(t, trail.ConnDuration)
}

func TestAResponseBeforeTheRequestWasWritten(t *testing.T) {
	tracer := new(httpext.Tracer)
	tracer.GetConn("h")
	tracer.GotConn(httptrace.GotConnInfo{})
	time.Sleep(time.Millisecond)
	tracer.GotFirstResponseByte()
	time.Sleep(time.Millisecond)
	tracer.WroteRequest(httptrace.WroteRequestInfo{})
	trail := tracer.Done()
	assert.GreaterOrEqual(t, trail.Sending, time.Millisecond)
	assert.Zero(t, trail.Waiting)
	assert.GreaterOrEqual(t, trail.Receiving, time.Millisecond)
}

func TestNothingHappened(t *testing.T) {
	trail := new(httpext.Tracer).Done()
	assert.Zero(t, trail.Blocked+trail.Duration+trail.ConnDuration)
	assert.Nil(t, trail.ConnRemoteAddr)
	assert.False(t, trail.EndTime.IsZero())
}

// TestATracerOfOnesOwn is how a module measures a response that it streams.
func TestATracerOfOnesOwn(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(slowly))
	defer server.Close()
	client := server.Client()
	tracer := new(httpext.Tracer)
	ctx := httptrace.WithClientTrace(context.Background(), tracer.Trace())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	res, err := client.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	client.CloseIdleConnections()
	trail := tracer.Done()
	assert.Positive(t, trail.TLSHandshaking)
	assert.GreaterOrEqual(t, trail.Blocked, trail.Connecting+trail.TLSHandshaking)
	assert.GreaterOrEqual(t, trail.Waiting, pause)
	assert.GreaterOrEqual(t, trail.Receiving, 2*pause)

	registry := metrics.NewRegistry()
	tm := metrics.TagsAndMeta{Tags: registry.RootTagSet().With("mine", "1"), Metadata: map[string]string{"vu": "1"}}
	trail.SaveSamples(metrics.RegisterBuiltinMetrics(registry), &tm)
	require.Len(t, trail.GetSamples(), 8)
	for _, sample := range trail.GetSamples() {
		assert.Equal(t, map[string]string{"mine": "1"}, sample.Tags.Map())
		assert.Equal(t, trail.EndTime, sample.Time)
	}
	assert.Same(t, tm.Tags, trail.GetTags())
	assert.Equal(t, tm.Metadata, trail.Metadata)
}
