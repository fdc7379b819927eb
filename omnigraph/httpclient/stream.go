package httpclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"gopkg.in/guregu/null.v3"
)

// maxErrorBody bounds what is read of an answer that is no export.
const maxErrorBody = 1 << 20

// stream carries one export: its rows are handed on as they arrive, where MakeRequest would hold all of them in memory.
// It emits the samples that MakeRequest would.
func (c *Client) stream(ctx context.Context, state *lib.State, s *Session, op *wire.Operation, r *wire.Request, target *httpext.URL, api string, out *wire.Outcome) {
	limited, cancel := context.WithTimeout(ctx, op.Timeout)
	defer cancel()
	start := time.Now()
	if state.RPSLimit != nil {
		if err := state.RPSLimit.Wait(limited); err != nil {
			out.Err = wire.ClassifyFailure(wire.Failure{Kind: wire.KindCanceled, Message: "the operation ended while it waited for k6's rps limit"}, false)
			return
		}
		out.Timings.Queued += time.Since(start)
		start = time.Now()
	}
	tracer := &httpext.Tracer{}
	request := c.request(s, target, r, api).WithContext(httptrace.WithClientTrace(limited, tracer.Trace()))
	request.Body = io.NopCloser(bytes.NewReader(r.Body))
	request.ContentLength = int64(len(r.Body))
	lines := &wire.Lines{Each: op.Each}
	response, err := state.Transport.RoundTrip(request)
	if err == nil {
		err = c.readExport(out, op, s, response, lines)
	}
	trail := tracer.Done()
	out.Timings.Total = time.Since(start)
	failed := err
	if lines.Failed() != nil {
		failed = nil // the script had enough; the request itself went well
	}
	c.streamSamples(ctx, state, s, request, target, response, trail, failed, limited.Err() != nil && ctx.Err() == nil)
	out.Connected = trail.ConnRemoteAddr != nil
	out.ConnReused = trail.ConnReused
	out.Timings.Blocked, out.Timings.Connecting, out.Timings.TLSHandshaking = trail.Blocked, trail.Connecting, trail.TLSHandshaking
	out.Timings.Sending, out.Timings.Waiting, out.Timings.Receiving = trail.Sending, trail.Waiting, trail.Receiving
	switch {
	case out.Err != nil || err == nil:
	case lines.Failed() != nil:
		_, out.Err = lines.Finish(op)
	case limited.Err() != nil && ctx.Err() == nil:
		out.Err = wire.ClassifyFailure(timeoutFailure(op, out.Timings.Total, true), false, s.Token)
	default:
		out.Err = wire.ClassifyFailure(c.failure(ctx, err, op, out.Timings.Total, true), false, s.Token)
	}
}

// readExport reads the answer: rows from a 2xx, else the error.
func (c *Client) readExport(out *wire.Outcome, op *wire.Operation, s *Session, response *http.Response, lines *wire.Lines) error {
	defer response.Body.Close() //nolint:errcheck // the answer is read or given up
	out.Status = response.StatusCode
	if spoken := response.Header.Get(wire.HeaderAPI); spoken != "" && c.api == "" {
		c.contracts.set(c.base, spoken)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		if err != nil {
			return err
		}
		out.Err = wire.ClassifyStatus(wire.Answer{
			Status: response.StatusCode, Body: string(body), RetryAfter: response.Header.Get("Retry-After"), Date: response.Header.Get("Date"),
		}, false, s.Token)
		return nil
	}
	if _, err := io.Copy(lines, response.Body); err != nil {
		return err
	}
	out.Success, out.Err = lines.Finish(op)
	if out.Err != nil {
		out.Err.Status = response.StatusCode
	}
	return nil
}

// streamSamples pushes the http_req_* samples with the tags that MakeRequest gives them.
func (c *Client) streamSamples(ctx context.Context, state *lib.State, s *Session, request *http.Request, target *httpext.URL, response *http.Response, trail *httpext.Trail, err error, timedOut bool) {
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	enabled := state.Options.SystemTags
	tags := s.ownTags()
	set := func(tag metrics.SystemTag, value string) { tags.SetSystemTagOrMetaIfEnabled(enabled, tag, value) }
	name := target.Name
	if _, given := tags.Tags.Get(metrics.TagName.String()); !given {
		set(metrics.TagName, name)
		set(metrics.TagURL, name)
	}
	set(metrics.TagMethod, request.Method)
	set(metrics.TagStatus, strconv.Itoa(status))
	if response != nil {
		set(metrics.TagProto, response.Proto)
	}
	transportTags(enabled, &tags, response, trail, err, timedOut)
	ok := expected(status)
	set(metrics.TagExpectedResponse, strconv.FormatBool(ok))
	trail.Failed = null.BoolFrom(!ok)
	trail.SaveSamples(state.BuiltinMetrics, &tags)
	metrics.PushIfNotDone(ctx, state.Samples, trail)
	if !failedIn(trail, state.BuiltinMetrics) {
		metrics.PushIfNotDone(ctx, state.Samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.HTTPReqFailed, Tags: tags.Tags}, Time: trail.EndTime, Value: metrics.B(!ok), Metadata: tags.Metadata,
		})
	}
}

// failedIn tells whether a trail holds http_req_failed already: the contract promises the other eight samples only.
func failedIn(trail *httpext.Trail, builtin *metrics.BuiltinMetrics) bool {
	for _, sample := range trail.GetSamples() {
		if sample.Metric == builtin.HTTPReqFailed {
			return true
		}
	}
	return false
}
