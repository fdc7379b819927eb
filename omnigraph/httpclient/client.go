package httpclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"gopkg.in/guregu/null.v3"
)

// Config is what a client needs to know about its server.
type Config struct {
	// URL is the server's address, scheme http or https, without /graphs.
	URL string
	// Header holds further headers, sent with every request.
	Header map[string]string
	// API fixes the version of the HTTP contract; empty means to learn it from the server.
	API string
	// Pool is the process-wide connection pool, or nil for the VU's own transport.
	Pool *Pool
	// Contracts remembers what servers asked for. It is shared by the clients of a process; nil is an own memory.
	Contracts *Contracts
}

// Client sends operations to one server. It is used by one VU, from any number of goroutines.
type Client struct {
	base      string
	header    map[string]string
	api       string
	pool      *Pool
	contracts *Contracts
	targets   sync.Map // targetKey → httpext.URL
	size      atomic.Int32
}

type targetKey struct{ path, name string }

// maxTargets bounds the prepared URLs that a client keeps; paths grow only with what a script names.
const maxTargets = 256

// CheckURL reports what is wrong with a server's address: it has to be absolute, http or https, and carry no query.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		// The parser's text quotes the address, which may carry a password.
		return fmt.Errorf("is not a URL; it takes http://host:port or https://host:port")
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme != "http" && scheme != "https":
		return fmt.Errorf("has the scheme %q; it takes http://host:port or https://host:port", u.Scheme)
	case u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("has no host; it takes http://host:port or https://host:port")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("carries a query or fragment; it takes http://host:port or https://host:port")
	}
	return nil
}

// New makes a client. It does no I/O; a URL that [CheckURL] refuses is an error.
func New(cfg Config) (*Client, error) {
	if err := CheckURL(cfg.URL); err != nil {
		return nil, fmt.Errorf("url %w", err)
	}
	contracts := cfg.Contracts
	if contracts == nil {
		contracts = &Contracts{}
	}
	return &Client{
		base: strings.TrimRight(cfg.URL, "/"), header: cfg.Header, api: cfg.API, pool: cfg.Pool, contracts: contracts,
	}, nil
}

// Session is what one operation takes from the VU that asked for it. It is captured on the event loop, before the
// operation may leave it.
type Session struct {
	State *lib.State
	// Tags go to the http_req_* samples.
	Tags metrics.TagsAndMeta
	// Name is the value of the name tag.
	Name string
	// Token is sent as bearer token; empty sends none.
	Token string
}

// ownTags are tags for one request. It may add metadata of its own, and the session's map belongs to samples that outputs
// are reading already.
func (s *Session) ownTags() metrics.TagsAndMeta {
	return metrics.TagsAndMeta{Tags: s.Tags.Tags, Metadata: maps.Clone(s.Tags.Metadata)}
}

// Do carries one attempt and emits its http_req_* samples. It ends when ctx does, at the latest after op.Timeout.
func (c *Client) Do(ctx context.Context, s *Session, op *wire.Operation) *wire.Outcome {
	api := c.api
	if api == "" {
		api = c.contracts.get(c.base)
	}
	out := c.attempt(ctx, s, op, api)
	if out.Err == nil || out.Err.Kind != wire.KindVersionMismatch || out.Err.Status != http.StatusBadRequest || c.api != "" {
		return out
	}
	// The server refused the request before it did anything, and told which contract it speaks: ask once more.
	if wanted := c.contracts.get(c.base); wanted != "" && wanted != api {
		return c.attempt(ctx, s, op, wanted)
	}
	return out
}

func (c *Client) attempt(ctx context.Context, s *Session, op *wire.Operation, api string) *wire.Outcome {
	out := &wire.Outcome{ExitCode: -1}
	write := op.MayWrite()
	request, problem := wire.EncodeRequest(op, nil)
	if problem != nil {
		out.Err, out.Refused = problem, true
		return out
	}
	target, err := c.target(request.Path, s.Name)
	if err != nil {
		out.Err, out.Refused = wire.NewError(wire.KindBadRequest, "url: %s", err), true
		return out
	}
	state := s.State
	if c.pool != nil {
		waiting, cancel := op.WaitInQueue(ctx)
		shared, release, queued, err := c.pool.enter(ctx, waiting, state)
		cancel()
		out.Timings.Queued = queued
		if err != nil && ctx.Err() == nil {
			out.Err = wire.ClassifyFailure(wire.Failure{Kind: wire.KindTimeout, Message: fmt.Sprintf("no connection of the shared pool became free within %v: an export's callback holds one itself; raise maxConnections, or ask after the export", op.Timeout)}, write)
			return out
		}
		if err != nil {
			out.Err = wire.ClassifyFailure(wire.Failure{Kind: wire.KindCanceled, Message: "the iteration ended while the request waited for a connection of the shared pool"}, write)
			return out
		}
		defer release(s.Tags)
		state = shared
	}

	var lines *wire.Lines
	if op.Op == wire.OpExport {
		lines = &wire.Lines{Each: op.Each}
		state = streaming(state, lines)
	}
	if state.Options.HTTPDebug.String != "" && s.Token != "" {
		state = withoutSecrets(state, s.Token)
	}
	preq := &httpext.ParsedHTTPRequest{
		URL:              target,
		Req:              c.request(s, target, &request, api),
		Timeout:          op.Timeout,
		Throw:            true, // the error itself is worth more than its text; k6's samples are the same
		ResponseType:     httpext.ResponseTypeText,
		ResponseCallback: expected,
		Redirects:        null.IntFrom(0),
		TagsAndMeta:      s.ownTags(),
	}
	if request.Body != nil {
		preq.Body = bytes.NewBuffer(request.Body)
	}

	var probe *sendProbe
	if write || state.RPSLimit != nil || len(request.Body) >= earlyAnswerBody {
		probe = newSendProbe(ctx, len(request.Body))
		ctx = httptrace.WithClientTrace(ctx, probe.trace())
	}
	start := time.Now()
	response, err := httpext.MakeRequest(ctx, state, preq)
	end := time.Now()
	probe.done()
	if waited := probe.waited(start); waited > 0 && state.RPSLimit != nil {
		out.Timings.Queued += waited
		start = start.Add(waited)
	}
	if err != nil {
		out.Timings.Total = end.Sub(start)
		out.Err = wire.ClassifyFailure(c.failure(ctx, err, op, end.Sub(start), probe.sent(write)), write, s.Token)
		return out
	}
	c.decode(out, op, response, lines, write, s.Token)
	done := time.Now()
	out.Timings.Decode = done.Sub(end)
	out.Timings.Total = done.Sub(start)
	return out
}

// expected is k6/http's own rule for http_req_failed.
func expected(status int) bool { return status >= 200 && status < 400 }

// decode makes the outcome of an answer. lines took the rows of an export already; it is nil for other operations.
func (c *Client) decode(out *wire.Outcome, op *wire.Operation, r *httpext.Response, lines *wire.Lines, write bool, token string) {
	t := &r.Timings
	out.Status = r.Status
	out.Connected = true
	out.CostModel = r.Headers[wire.HeaderCostModel]
	out.ConnReused = t.Connecting == 0 && t.TLSHandshaking == 0
	out.Timings.Blocked = metrics.ToD(t.Blocked)
	out.Timings.Connecting = metrics.ToD(t.Connecting)
	out.Timings.TLSHandshaking = metrics.ToD(t.TLSHandshaking)
	out.Timings.Sending = metrics.ToD(t.Sending)
	out.Timings.Waiting = metrics.ToD(t.Waiting)
	out.Timings.Receiving = metrics.ToD(t.Receiving)
	if spoken := r.Headers[wire.HeaderAPI]; spoken != "" && c.api == "" {
		c.contracts.set(c.base, spoken)
	}
	body, _ := r.Body.(string)
	if !succeeded(r.Status) {
		out.Err = wire.ClassifyStatus(wire.Answer{
			Status: r.Status, Body: body, RetryAfter: r.Headers["Retry-After"], Date: r.Headers["Date"],
		}, write, token)
		if op.IfCommit != "" && out.Err.Kind == wire.KindUnsupported {
			out.Err.Message = "ifCommit: this server has no conditional mutations (0.10 and later have them)"
			out.Err.Indeterminate = false
		}
		return
	}
	success, problem := parse(op, body, lines)
	if problem != nil {
		problem.Status = r.Status
		out.Err = problem
		return
	}
	out.Success = success
}

func parse(op *wire.Operation, body string, lines *wire.Lines) (wire.Success, *wire.Error) {
	if lines != nil {
		return lines.Finish(op)
	}
	return wire.ParseSuccess(op, body)
}

func (c *Client) request(s *Session, target *httpext.URL, r *wire.Request, api string) *http.Request {
	u := *target.GetURL()
	header := make(http.Header, 6+len(c.header))
	for name, value := range c.header {
		header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	if s.State.Options.UserAgent.String != "" && header["User-Agent"] == nil {
		header["User-Agent"] = []string{s.State.Options.UserAgent.String}
	}
	if r.ContentType != "" {
		header["Content-Type"] = []string{r.ContentType}
	}
	switch {
	case s.Token != "":
		header["Authorization"] = []string{"Bearer " + s.Token}
	case u.User != nil && header["Authorization"] == nil:
		// As net/http's client does; k6 may go to the transport directly.
		password, _ := u.User.Password()
		header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))}
	}
	if api != "" {
		header[wire.HeaderAPI] = []string{api}
	}
	if r.HeaderName != "" {
		header[http.CanonicalHeaderKey(r.HeaderName)] = []string{r.HeaderValue}
	}
	// net/http takes the host from a field of its own, and would ignore the header.
	host := header.Get("Host")
	header.Del("Host")
	return &http.Request{Method: r.Method, URL: &u, Header: header, Host: host}
}

// target gives the parsed URL of a path, prepared once.
func (c *Client) target(path, name string) (*httpext.URL, error) {
	key := targetKey{path, name}
	if known, ok := c.targets.Load(key); ok {
		u, _ := known.(*httpext.URL)
		return u, nil
	}
	full := c.base + path
	label := name
	if label == "" {
		label = full
	}
	u, err := httpext.NewURL(full, label)
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	if c.size.Add(1) <= maxTargets {
		c.targets.Store(key, &u)
	}
	return &u, nil
}
