package httpext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	ntlmssp "github.com/Azure/go-ntlmssp"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// MakeRequest makes a request, follows redirections, reads the body to its end, and emits the samples of every hop.
// A transport failure is an error if preq.Throw is set; else it is a response with Status 0, and a warning in the
// log. Once ctx is done no samples are emitted. It may be called by several goroutines with one state, each with a
// preq of its own.
func MakeRequest(ctx context.Context, state *lib.State, preq *ParsedHTTPRequest) (*Response, error) {
	response := describeRequest(preq)
	body, err := prepareBody(preq, response)
	if err != nil {
		return nil, err
	}
	if state.RPSLimit != nil {
		if err := state.RPSLimit.Wait(ctx); err != nil {
			return fail(ctx, state, preq, response, err)
		}
	}

	reqCtx, cancel := context.WithTimeout(ctx, preq.Timeout)
	defer cancel()
	s := scratchPool.Get().(*scratch) //nolint:forcetypeassert,errcheck // the pool holds nothing else
	defer scratchPool.Put(s)
	x := &exchange{
		ctx: ctx, reqCtx: reqCtx, state: state, preq: preq, scratch: s, outer: httptrace.ContextClientTrace(ctx),
		target: preq.URL.target,
	}
	if err := x.run(response, body); err != nil {
		return fail(ctx, state, preq, response, x.urlError(err))
	}
	return response, nil
}

// describeRequest begins a response with what was asked for.
func describeRequest(preq *ParsedHTTPRequest) *Response {
	both := new(struct { // one allocation
		response Response
		request  Request
	})
	both.request = Request{
		Method:  preq.Req.Method,
		Headers: preq.Req.Header,
		Cookies: describeCookies(preq.Cookies),
	}
	if u := preq.Req.URL; u == preq.URL.u && u.User == nil {
		both.request.URL = preq.URL.target // the same text, already made
	} else {
		both.request.URL = u.String()
	}
	both.response = Response{URL: preq.URL.URL, Request: &both.request}
	return &both.response
}

// fail ends a request that got no response.
func fail(ctx context.Context, state *lib.State, preq *ParsedHTTPRequest, response *Response, err error) (*Response, error) {
	if preq.Throw {
		return nil, err
	}
	code, text := errorCodeForError(err)
	response.Error, response.ErrorCode = text, int(code)
	response.Status, response.StatusText, response.Proto, response.Body = 0, "", "", nil
	if response.Headers == nil {
		response.Headers = make(map[string]string)
	}
	if response.Cookies == nil {
		response.Cookies = make(map[string][]*HTTPCookie)
	}
	if ctx.Err() == nil {
		state.Logger.WithField("error", err.Error()).Warn("Request Failed")
	}
	return response, nil
}

// prepareBody compresses the body if asked to and gives it to the request.
func prepareBody(preq *ParsedHTTPRequest, response *Response) ([]byte, error) {
	if preq.Req.Header == nil {
		preq.Req.Header = make(http.Header)
		response.Request.Headers = preq.Req.Header
	}
	if preq.Body == nil {
		return nil, nil
	}
	response.Request.Body = preq.Body.String()
	if len(preq.Compressions) > 0 {
		packed, encoding, err := compressBody(preq.Compressions, preq.Body)
		if err != nil {
			return nil, err
		}
		preq.Body = packed
		if preq.Req.Header.Get("Content-Encoding") == "" {
			preq.Req.Header.Set("Content-Encoding", encoding)
		}
	}
	body := preq.Body.Bytes()
	setBody(preq.Req, body)
	return body, nil
}

func describeCookies(cookies map[string]*HTTPRequestCookie) map[string][]*HTTPRequestCookie {
	described := make(map[string][]*HTTPRequestCookie, len(cookies))
	for name, cookie := range cookies {
		described[name] = []*HTTPRequestCookie{cookie}
	}
	return described
}

// exchange is one call of MakeRequest: the hops it takes, one open at a time. As a RoundTripper it lets the
// authentication schemes send what they need; each of those is a hop with samples of its own.
type exchange struct {
	ctx     context.Context //nolint:containedctx // the caller's; the exchange ends with the call
	reqCtx  context.Context //nolint:containedctx // ctx with the timeout
	state   *lib.State
	preq    *ParsedHTTPRequest
	scratch *scratch
	outer   *httptrace.ClientTrace

	// The current hop.
	req    *http.Request
	target string // its address, user info masked
	res    *http.Response
	tracer *boundTracer      // nil if no hop is being timed
	trail  *trailWithSamples // nil if no hop waits for its samples
}

// run makes the hops and fills in the response.
func (x *exchange) run(response *Response, body []byte) error {
	req := x.preq.Req
	method := req.Method
	var jarCookies []*http.Cookie
	if x.preq.ActiveJar != nil && x.preq.Redirects.Int64 > 0 {
		if _, sent := req.Header["Cookie"]; sent {
			jarCookies = x.preq.ActiveJar.Cookies(req.URL)
		}
	}
	for followed := int64(0); ; followed++ {
		x.req = req
		res, err := x.send(req) //nolint:bodyclose // complete and drop close it
		if err != nil {
			return x.abandon(response, err)
		}
		if jar := x.preq.ActiveJar; jar != nil {
			if cookies := res.Cookies(); len(cookies) > 0 {
				jar.SetCookies(req.URL, cookies)
			}
		}
		next, keepBody := redirectMethod(method, res.StatusCode)
		location := ""
		if next != "" {
			location = res.Header.Get("Location")
		}
		if location == "" {
			return x.complete(response, res)
		}
		if followed >= x.preq.Redirects.Int64 {
			if !x.preq.Redirects.Valid {
				x.state.Logger.WithField("url", x.target).Warnf("Stopped after %d redirects and returned the last one; "+
					"set the redirects parameter or the maxRedirects option to choose how many to follow", followed+1)
			}
			return x.complete(response, res)
		}
		if err := x.drop(response, res); err != nil {
			return err
		}
		to, err := redirectTarget(req.URL, location)
		if err != nil {
			return err
		}
		method = next
		if !keepBody {
			body = nil
		}
		hop, err := nextHop(req, res, to, method, keepBody, body)
		if err != nil {
			return err
		}
		renewCookies(hop, req, res, x.preq.ActiveJar, jarCookies)
		if x.preq.ActiveJar != nil {
			jarCookies = x.preq.ActiveJar.Cookies(to)
		}
		req = hop
		response.URL = to.String()
		x.target = cleanURL(to)
	}
}

// send makes a hop with whatever authentication it needs.
func (x *exchange) send(req *http.Request) (*http.Response, error) {
	switch x.preq.Auth {
	case "digest":
		return x.sendDigest(req)
	case "ntlm":
		setBasicAuth(req)
		return ntlmssp.Negotiator{RoundTripper: x}.RoundTrip(req.WithContext(x.reqCtx))
	}
	setBasicAuth(req)
	return x.RoundTrip(req)
}

// setBasicAuth sends the user info of an address along, unless the script has set a header for that.
func setBasicAuth(req *http.Request) {
	user := req.URL.User
	if user == nil || req.Header.Get("Authorization") != "" {
		return
	}
	password, _ := user.Password()
	req.SetBasicAuth(user.Username(), password)
}

// RoundTrip sends one request of an exchange and times it.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if x.tracer != nil {
		// A leg of the authentication before this one: its body was read by whoever asked for it.
		x.stop()
		x.report(nil, x.res != nil && x.res.StatusCode == http.StatusUnauthorized)
	}
	tracer, hooks := x.scratch.takeTracer(x.outer)
	x.tracer, x.res = tracer, nil
	traced := req.WithContext(&tracedContext{Context: x.reqCtx, hooks: hooks})
	var debug *debugLog
	if mode := x.state.Options.HTTPDebug.String; mode != "" {
		debug = newDebugLog(x.state.Logger, mode)
		debug.request(traced)
	}
	res, err := x.state.Transport.RoundTrip(traced)
	if err != nil {
		return nil, x.explain(err)
	}
	x.res = res
	if debug != nil {
		debug.response(res)
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		closeBody(res)
		return nil, fmt.Errorf("unsupported response status: %s", res.Status)
	}
	return res, nil
}

// explain turns the errors that the request's own time limit leads to into one that says so.
func (x *exchange) explain(err error) error {
	if errors.Is(x.reqCtx.Err(), context.DeadlineExceeded) && x.ctx.Err() == nil {
		return NewK6Error(requestTimeoutCode, requestTimeoutMsg, err)
	}
	return err
}

// urlError says in which request an error happened.
func (x *exchange) urlError(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return err
	}
	method := x.req.Method
	if method == "" {
		method = http.MethodGet
	}
	return &url.Error{Op: method[:1] + strings.ToLower(method[1:]), URL: x.target, Err: err}
}

// stop ends the timing of the hop.
func (x *exchange) stop() {
	if x.tracer == nil {
		return
	}
	x.trail = new(trailWithSamples)
	x.tracer.done(&x.trail.Trail)
	x.scratch.giveTracer(x.tracer, x.res != nil && x.res.ProtoMajor == 1)
	x.tracer = nil
}

// report emits the samples of the hop that was stopped. challenge says that its status is a step of the
// authentication and thus as expected.
func (x *exchange) report(failure error, challenge bool) {
	trail := x.trail
	if trail == nil {
		return
	}
	x.trail = nil
	key := tagKey{base: x.preq.TagsAndMeta.Tags, target: x.target, method: x.req.Method}
	if key.method == "" {
		key.method = http.MethodGet
	}
	if enabled := x.state.Options.SystemTags; enabled != nil {
		key.enabled = *enabled
	}
	if x.preq.URL.Name != x.preq.URL.CleanURL {
		key.name = x.preq.URL.Name
	}
	switch {
	case failure != nil:
		key.code, key.err = errorCodeForError(failure)
	case x.res != nil:
		key.status, key.proto = x.res.StatusCode, x.res.Proto
		if key.status >= http.StatusBadRequest {
			key.code = statusErrorCodeOffset + errCode(key.status) // #nosec G115 -- a status has three digits
		}
		x.describeTLS(&key)
	}
	if key.enabled&metrics.SystemTagSet(metrics.TagIP) != 0 {
		key.ip, _ = x.scratch.remote(trail.ConnRemoteAddr)
	}
	if expects := x.preq.ResponseCallback; expects != nil {
		key.expected = notExpected
		if challenge || expects(key.status) {
			key.expected = asExpected
		}
		trail.Failed = null.BoolFrom(key.expected == notExpected)
	}
	tags := metrics.TagsAndMeta{Tags: x.scratch.tags(key), Metadata: x.preq.TagsAndMeta.Metadata}
	trail.saveSamples(trail.space[:0], x.state.BuiltinMetrics, &tags)
	metrics.PushIfNotDone(x.ctx, x.state.Samples, &trail.Trail)
}

func (x *exchange) describeTLS(key *tagKey) {
	if x.res.TLS == nil {
		return
	}
	var described Response
	described.setTLSInfo(x.res)
	key.tls, key.ocsp = described.TLSVersion, described.OCSP.Status
}

// complete reads the body of the last hop and fills in the response.
func (x *exchange) complete(response *Response, res *http.Response) error {
	body, err := x.readBody(res)
	if err != nil {
		return x.abandon(response, x.explain(err))
	}
	response.Status, response.StatusText, response.Proto = res.StatusCode, res.Status, res.Proto
	response.Body = body
	response.Headers = joinedHeaders(res.Header)
	response.setCookies(res)
	response.setTLSInfo(res)
	if res.StatusCode >= http.StatusBadRequest {
		response.ErrorCode = int(statusErrorCodeOffset) + res.StatusCode
	}
	x.describeTrail(response)
	x.report(nil, false)
	return nil
}

// abandon ends a hop that failed.
func (x *exchange) abandon(response *Response, failure error) error {
	x.stop()
	if x.trail != nil {
		x.describeTrail(response)
	}
	x.report(failure, false)
	return failure
}

// drop reads and forgets the body of a redirection, so that its connection can serve the next hop.
func (x *exchange) drop(response *Response, res *http.Response) error {
	_, err := io.Copy(io.Discard, res.Body)
	closeBody(res)
	if err != nil {
		return x.abandon(response, x.explain(err))
	}
	x.stop()
	x.report(nil, false)
	return nil
}

// describeTrail copies what was timed into the response.
func (x *exchange) describeTrail(response *Response) {
	trail := &x.trail.Trail
	response.RemoteIP, response.RemotePort = x.scratch.remote(trail.ConnRemoteAddr)
	response.Timings = ResponseTimings{
		Duration:       metrics.D(trail.Duration),
		Blocked:        metrics.D(trail.Blocked),
		Connecting:     metrics.D(trail.Connecting),
		TLSHandshaking: metrics.D(trail.TLSHandshaking),
		Sending:        metrics.D(trail.Sending),
		Waiting:        metrics.D(trail.Waiting),
		Receiving:      metrics.D(trail.Receiving),
	}
}

// readBody reads a body to its end, stops the clock, and returns it in the form asked for.
func (x *exchange) readBody(res *http.Response) (any, error) {
	defer closeBody(res)
	if x.preq.ResponseType == ResponseTypeNone {
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return nil, err
		}
		x.stop()
		return nil, nil
	}
	buffer := x.getBuffer()
	defer x.putBuffer(buffer)
	if 0 < res.ContentLength && res.ContentLength <= maxKeptBuffer {
		buffer.Grow(int(res.ContentLength) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(res.Body); err != nil {
		return nil, err
	}
	x.stop()
	if hasNoBody(res.StatusCode) {
		return nil, nil
	}
	body := buffer.Bytes()
	if encodings, ok := res.Header["Content-Encoding"]; ok && len(body) > 0 {
		unpacked, err := decompressBody(strings.Join(encodings, ","), body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	if x.preq.ResponseType == ResponseTypeBinary {
		return bytes.Clone(body), nil
	}
	return string(body), nil
}

// hasNoBody lists the statuses whose responses never have one (RFC 9110, section 6.4.1).
func hasNoBody(status int) bool {
	return status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified
}

func (x *exchange) getBuffer() *bytes.Buffer {
	if x.state.BufferPool == nil {
		return new(bytes.Buffer)
	}
	return x.state.BufferPool.Get()
}

// maxKeptBuffer is the size up to which a buffer is made at once and kept for other bodies.
const maxKeptBuffer = 1 << 20

func (x *exchange) putBuffer(buffer *bytes.Buffer) {
	if x.state.BufferPool != nil && buffer.Cap() <= maxKeptBuffer+2*bytes.MinRead {
		x.state.BufferPool.Put(buffer)
	}
}

// closeBody closes a body whose end was seen or no longer matters, so that its error says nothing.
func closeBody(res *http.Response) {
	_ = res.Body.Close() //nolint:errcheck // see above
}
