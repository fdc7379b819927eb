package httpext

import (
	"net"
	"time"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/metrics"
)

// Trail is what one HTTP exchange took, step by step, and its samples. It is a metrics.ConnectedSampleContainer.
type Trail struct {
	EndTime time.Time

	// ConnDuration is Connecting + TLSHandshaking.
	ConnDuration time.Duration
	// Duration is Sending + Waiting + Receiving.
	Duration time.Duration

	// Blocked runs from asking for a connection to having it, dial and handshake of a new one included.
	Blocked        time.Duration
	Connecting     time.Duration
	TLSHandshaking time.Duration
	// Sending runs from having the connection to the request being written.
	Sending time.Duration
	// Waiting runs from there to the first byte of the response.
	Waiting time.Duration
	// Receiving runs from there to the end of the body.
	Receiving time.Duration

	// ConnReused says that the connection had served another request before.
	ConnReused     bool
	ConnRemoteAddr net.Addr

	// Failed is set if there was a callback to judge the response.
	Failed null.Bool

	Tags     *metrics.TagSet
	Metadata map[string]string
	Samples  []metrics.Sample
}

// samplesPerTrail counts http_reqs, the seven durations and http_req_failed.
const samplesPerTrail = 9

// trailWithSamples lets a trail and its samples live in one allocation.
type trailWithSamples struct {
	Trail

	space [samplesPerTrail]metrics.Sample
}

// SaveSamples makes the samples of the exchange, all with the tags and metadata given.
func (tr *Trail) SaveSamples(builtinMetrics *metrics.BuiltinMetrics, ctm *metrics.TagsAndMeta) {
	tr.saveSamples(make([]metrics.Sample, 0, samplesPerTrail), builtinMetrics, ctm)
}

func (tr *Trail) saveSamples(
	samples []metrics.Sample, builtin *metrics.BuiltinMetrics, ctm *metrics.TagsAndMeta,
) {
	tr.Tags = ctm.Tags
	tr.Metadata = ctm.Metadata
	add := func(metric *metrics.Metric, value float64) {
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: ctm.Tags},
			Time:       tr.EndTime,
			Value:      value,
			Metadata:   ctm.Metadata,
		})
	}
	add(builtin.HTTPReqs, 1)
	add(builtin.HTTPReqDuration, metrics.D(tr.Duration))
	add(builtin.HTTPReqBlocked, metrics.D(tr.Blocked))
	add(builtin.HTTPReqConnecting, metrics.D(tr.Connecting))
	add(builtin.HTTPReqTLSHandshaking, metrics.D(tr.TLSHandshaking))
	add(builtin.HTTPReqSending, metrics.D(tr.Sending))
	add(builtin.HTTPReqWaiting, metrics.D(tr.Waiting))
	add(builtin.HTTPReqReceiving, metrics.D(tr.Receiving))
	if tr.Failed.Valid {
		add(builtin.HTTPReqFailed, metrics.B(tr.Failed.Bool))
	}
	tr.Samples = samples
}

// GetSamples returns the samples that SaveSamples made.
func (tr *Trail) GetSamples() []metrics.Sample { return tr.Samples }

// GetTags returns the tags of all the samples.
func (tr *Trail) GetTags() *metrics.TagSet { return tr.Tags }

// GetTime returns when the exchange ended.
func (tr *Trail) GetTime() time.Time { return tr.EndTime }
