package httpext_test

import (
	"context"
	"io"
	"net/http"
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
	inBubble(t, func(t *testing.T) {
		w := newWire()
		w.dialTime = pause / 2
		f := newFixtureOn(t, w, slowly)
		for _, reused := range []bool{false, true} {
			res := f.do(t, "/", nil)
			assert.Equal(t, "first half, second half", res.Body)
			trails := f.trails(t)
			require.Len(t, trails, 1)
			trail := trails[0]
			assert.Equal(t, reused, trail.ConnReused)
			assert.Zero(t, trail.Sending)
			assert.Equal(t, pause, trail.Waiting)
			assert.Equal(t, 2*pause, trail.Receiving)
			assert.Equal(t, 3*pause, trail.Duration)
			dialled := w.dialTime
			if reused {
				dialled = 0
			}
			assert.Equal(t, dialled, trail.Connecting)
			assert.Equal(t, dialled, trail.ConnDuration)
			assert.Equal(t, dialled, trail.Blocked)
			assert.InDelta(t, metrics.D(pause), res.Timings.Waiting, 1e-9)
			assert.InDelta(t, metrics.D(2*pause), res.Timings.Receiving, 1e-9)
		}
	})
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
	inBubble(t, func(t *testing.T) {
		w := newWire()
		w.dialTime, w.writeTime = 2*time.Millisecond, time.Millisecond
		server := w.serve(t, http.HandlerFunc(slowly))
		server.StartTLS()
		client := server.Client()
		client.Transport.(*http.Transport).DialContext = w.Dial //nolint:forcetypeassert // a test
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
		assert.Equal(t, w.dialTime, trail.Connecting)
		assert.Positive(t, trail.TLSHandshaking)
		assert.Equal(t, trail.Blocked, trail.Connecting+trail.TLSHandshaking)
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
	})
}

// TestATracerIsUsedAgainWhileTheRequestsWriterReturns is for the race detector: the goroutine that writes a request may
// still be in the hook when the exchange is over.
func TestATracerIsUsedAgainWhileTheRequestsWriterReturns(t *testing.T) {
	f := newFixture(t, ok)
	f.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("h")
		trace.GotConn(httptrace.GotConnInfo{Reused: true, WasIdle: true})
		go trace.WroteRequest(httptrace.WroteRequestInfo{})
		time.Sleep(time.Millisecond) // unlike all else, it does not tell the detector that one comes after the other
		trace.GotFirstResponseByte()
		return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}, nil
	})
	for range 20 {
		f.do(t, "/", nil)
	}
	assert.Len(t, f.trails(t), 20)
}
