package httpext_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// fixture is a server, a state to ask it with, and what came of it.
type fixture struct {
	*lib.State

	url     string
	samples chan metrics.SampleContainer
	log     *logtest.Hook
	mu      sync.Mutex
	seen    []*http.Request
	bodies  []string
}

func newFixture(t *testing.T, handle http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{}
	server := httptest.NewServer(f.noting(handle))
	t.Cleanup(server.Close)
	f.fill(t, server.URL)
	return f
}

// newFixtureOn makes a fixture whose server is on the wire, for a test in a bubble.
func newFixtureOn(t *testing.T, w *wire, handle http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{}
	server := w.serve(t, f.noting(handle))
	server.Start()
	f.fill(t, server.URL)
	f.Transport.(*http.Transport).DialContext = w.Dial //nolint:forcetypeassert // a test
	return f
}

// noting notes what a handler gets.
func (f *fixture) noting(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.seen = append(f.seen, r)
		f.bodies = append(f.bodies, string(body))
		f.mu.Unlock()
		handle(w, r)
	}
}

// fill makes the state for requests to the address.
func (f *fixture) fill(t *testing.T, address string) {
	t.Helper()
	f.url, f.samples = address, make(chan metrics.SampleContainer, 1000)
	registry := metrics.NewRegistry()
	logger, hook := logtest.NewNullLogger()
	f.log = hook
	dialer := netext.NewDialer(net.Dialer{}, netext.NewResolver(func(host string) ([]net.IP, error) {
		if host == "known.example.test" {
			return []net.IP{net.IPv4(127, 0, 0, 1)}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}, 0, types.DNSfirst, types.DNSpreferIPv4))
	transport := &http.Transport{DisableCompression: true, DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	f.State = &lib.State{
		Options: lib.Options{
			SystemTags: &metrics.DefaultSystemTagSet, MaxRedirects: null.NewInt(10, false), UserAgent: null.StringFrom("fixture"),
		},
		Transport: transport, Dialer: dialer, BufferPool: lib.NewBufferPool(), Samples: f.samples,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry), Logger: logger,
		Tags: lib.NewVUStateTags(registry.RootTagSet().With("scenario", "default")),
	}
}

// request prepares a GET request that change may alter.
func (f *fixture) request(t *testing.T, address string, change func(*httpext.ParsedHTTPRequest)) *httpext.ParsedHTTPRequest {
	t.Helper()
	u, err := httpext.NewURL(address, address)
	require.NoError(t, err)
	preq := newRequest(f.State, u)
	if change != nil {
		change(preq)
	}
	return preq
}

func (f *fixture) do(t *testing.T, path string, change func(*httpext.ParsedHTTPRequest)) *httpext.Response {
	t.Helper()
	if strings.HasPrefix(path, "/") {
		path = f.url + path
	}
	res, err := httpext.MakeRequest(context.Background(), f.State, f.request(t, path, change))
	require.NoError(t, err)
	return res
}

// trails returns what was emitted so far.
func (f *fixture) trails(t *testing.T) []*httpext.Trail {
	t.Helper()
	var trails []*httpext.Trail
	for _, container := range metrics.GetBufferedSamples(f.samples) {
		trail, ok := container.(*httpext.Trail)
		require.True(t, ok)
		trails = append(trails, trail)
	}
	return trails
}

func (f *fixture) tags(t *testing.T) []map[string]string {
	t.Helper()
	trails := f.trails(t)
	tags := make([]map[string]string, 0, len(trails))
	for _, trail := range trails {
		tags = append(tags, trail.Tags.Map())
	}
	return tags
}

func sampleValues(trail *httpext.Trail) map[string]float64 {
	values := make(map[string]float64)
	for _, sample := range trail.Samples {
		values[sample.Metric.Name] = sample.Value
	}
	return values
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

func TestMakeRequestFillsInTheResponse(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Many", "a")
		w.Header().Add("X-Many", "b")
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1", Path: "/", HttpOnly: true, MaxAge: 5})
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	res := f.do(t, "/pot?x=1", func(p *httpext.ParsedHTTPRequest) {
		p.Req.Method = http.MethodPost
		p.Body = bytes.NewBufferString("tea")
	})
	assert.Equal(t, http.StatusTeapot, res.Status)
	assert.Equal(t, "418 I'm a teapot", res.StatusText)
	assert.Equal(t, "HTTP/1.1", res.Proto)
	assert.Equal(t, "short and stout", res.Body)
	assert.Equal(t, "a, b", res.Headers["X-Many"])
	assert.Equal(t, []*httpext.HTTPCookie{{Name: "c", Value: "1", Path: "/", HTTPOnly: true, MaxAge: 5}}, res.Cookies["c"])
	assert.Equal(t, 1418, res.ErrorCode)
	assert.Empty(t, res.Error)
	assert.Equal(t, "127.0.0.1", res.RemoteIP)
	assert.Equal(t, strings.TrimPrefix(f.url, "http://127.0.0.1:"), strconv.Itoa(res.RemotePort))
	assert.Equal(t, f.url+"/pot?x=1", res.URL)
	assert.Equal(t, "POST", res.Request.Method)
	assert.Equal(t, "tea", res.Request.Body)
	assert.Equal(t, []string{"fixture"}, res.Request.Headers["User-Agent"])
	assert.Equal(t, []string{"tea"}, f.bodies)
	assert.Equal(t, int64(3), f.seen[0].ContentLength)
	assert.Greater(t, res.Timings.Duration, 0.0)
	assert.InDelta(t, res.Timings.Duration, res.Timings.Sending+res.Timings.Waiting+res.Timings.Receiving, 1e-9)
	assert.Greater(t, res.Timings.Blocked, 0.0)
	assert.Greater(t, res.Timings.Connecting, 0.0)
	assert.Zero(t, res.Timings.TLSHandshaking)
}

func TestSamplesOfAHopShareTagsAndTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWire()
		w.dialTime = time.Millisecond
		f := newFixtureOn(t, w, ok)
		f.do(t, "/a", func(p *httpext.ParsedHTTPRequest) { p.TagsAndMeta.SetMetadata("vu", "1") })
		f.do(t, "/a", func(p *httpext.ParsedHTTPRequest) { p.ResponseCallback = nil })
		trails := f.trails(t)
		require.Len(t, trails, 2)
		first, second := sampleValues(trails[0]), sampleValues(trails[1])
		require.Len(t, first, 9)
		assert.InDelta(t, 1, first["http_reqs"], 0)
		assert.InDelta(t, 0, first["http_req_failed"], 0)
		assert.Greater(t, first["http_req_connecting"], 0.0)
		assert.GreaterOrEqual(t, first["http_req_blocked"], first["http_req_connecting"])
		require.Len(t, second, 8)
		assert.NotContains(t, second, "http_req_failed")
		assert.Zero(t, second["http_req_connecting"])
		assert.True(t, trails[1].ConnReused)
		assert.Zero(t, trails[1].ConnDuration)
		for _, sample := range trails[0].Samples {
			assert.Same(t, trails[0].Tags, sample.Tags)
			assert.Equal(t, trails[0].EndTime, sample.Time)
			assert.Equal(t, map[string]string{"vu": "1"}, sample.Metadata)
		}
		assert.Equal(t, map[string]string{
			"scenario": "default", "name": f.url + "/a", "url": f.url + "/a", "method": "GET", "status": "200",
			"proto": "HTTP/1.1", "expected_response": "true",
		}, trails[0].Tags.Map())
		assert.NotContains(t, trails[1].Tags.Map(), "expected_response")
		assert.Equal(t, trails[0].GetTags(), trails[0].Tags)
		assert.Equal(t, trails[0].GetTime(), trails[0].EndTime)
		assert.Len(t, trails[0].GetSamples(), 9)
	})
}

func TestNameAndURLTags(t *testing.T) {
	f := newFixture(t, ok)
	withUser := strings.Replace(f.url, "http://", "http://me:secret@", 1)
	tests := map[string]struct {
		address, urlName, tag string
		want                  string
	}{
		"address":       {address: f.url + "/x?y=1#z", want: f.url + "/x?y=1#z"},
		"user masked":   {address: withUser + "/x", want: strings.Replace(f.url, "http://", "http://****:****@", 1) + "/x"},
		"template":      {address: f.url + "/x/5", urlName: f.url + "/x/${}", want: f.url + "/x/${}"},
		"tag wins":      {address: f.url + "/x/5", urlName: f.url + "/x/${}", tag: "named", want: "named"},
		"normal form":   {address: f.url + "/a b", want: f.url + "/a%20b"},
		"no path":       {address: f.url, want: f.url},
		"same name tag": {address: f.url, tag: f.url, want: f.url},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			urlName := tc.urlName
			if urlName == "" {
				urlName = tc.address
			}
			u, err := httpext.NewURL(tc.address, urlName)
			require.NoError(t, err)
			preq := newRequest(f.State, u)
			if tc.tag != "" {
				preq.TagsAndMeta.SetTag("name", tc.tag)
			}
			_, err = httpext.MakeRequest(context.Background(), f.State, preq)
			require.NoError(t, err)
			tags := f.tags(t)
			require.Len(t, tags, 1)
			assert.Equal(t, tc.want, tags[0]["name"])
			assert.Equal(t, tc.want, tags[0]["url"])
		})
	}
}

func TestSystemTagsAreLeftOutUnlessEnabled(t *testing.T) {
	f := newFixture(t, ok)
	f.Options.SystemTags = metrics.NewSystemTagSet(metrics.TagStatus, metrics.TagIP)
	f.do(t, "/", nil)
	assert.Equal(t, []map[string]string{{"scenario": "default", "status": "200", "ip": "127.0.0.1"}}, f.tags(t))
}

func TestTagSetsOfOneKindAreReusedAndOthersAreNot(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Query().Get("s"))
		w.WriteHeader(status)
	})
	for range 2 {
		for status := 200; status < 600; status += 50 {
			for _, method := range []string{"GET", "PUT"} {
				f.do(t, fmt.Sprintf("/?s=%d", status), func(p *httpext.ParsedHTTPRequest) {
					p.Req.Method = method
					p.TagsAndMeta.SetTag("mine", method+strconv.Itoa(status))
				})
			}
		}
	}
	byTag := make(map[string]*metrics.TagSet)
	for _, trail := range f.trails(t) {
		mine, _ := trail.Tags.Get("mine")
		method, _ := trail.Tags.Get("method")
		status, _ := trail.Tags.Get("status")
		assert.Equal(t, mine, method+status)
		if earlier := byTag[mine]; earlier != nil {
			assert.Same(t, earlier, trail.Tags)
		}
		byTag[mine] = trail.Tags
	}
	assert.Len(t, byTag, 16)
}

func TestResponseTypes(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if status := r.URL.Query().Get("s"); status != "" {
			code, _ := strconv.Atoi(status)
			w.WriteHeader(code)
			return
		}
		_, _ = io.WriteString(w, "fine")
	})
	for name, tc := range map[string]struct {
		path string
		kind httpext.ResponseType
		want any
	}{
		"text":         {"/", httpext.ResponseTypeText, "fine"},
		"binary":       {"/", httpext.ResponseTypeBinary, []byte("fine")},
		"none":         {"/", httpext.ResponseTypeNone, nil},
		"no content":   {"/?s=204", httpext.ResponseTypeText, nil},
		"not modified": {"/?s=304", httpext.ResponseTypeBinary, nil},
		"empty":        {"/?s=200", httpext.ResponseTypeText, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := f.do(t, tc.path, func(p *httpext.ParsedHTTPRequest) { p.ResponseType = tc.kind })
			assert.Equal(t, tc.want, res.Body)
		})
	}
	t.Run("bodies do not share memory", func(t *testing.T) {
		first := f.do(t, "/", func(p *httpext.ParsedHTTPRequest) { p.ResponseType = httpext.ResponseTypeBinary })
		f.do(t, "/?s=404", nil)
		assert.Equal(t, []byte("fine"), first.Body)
	})
}

func TestBodiesOfAnySizeAreWhole(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("n"))
		if r.URL.Query().Get("chunked") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
	})
	for _, size := range []int{0, 1, 511, 512, 513, 100_000, 1 << 20, 3 << 20} {
		for _, how := range []string{"", "&chunked=1"} {
			body, isText := f.do(t, fmt.Sprintf("/?n=%d%s", size, how), nil).Body.(string)
			require.True(t, isText)
			assert.Len(t, body, size)
			assert.Equal(t, size, strings.Count(body, "x"))
		}
	}
}

func TestDecompression(t *testing.T) {
	const text = "the same text in every encoding"
	pack := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			encoder, err := zstd.NewWriter(w)
			require.NoError(t, err)
			return encoder
		},
	}
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		encoding := r.URL.Query().Get("e")
		body = []byte(text)
		for name := range strings.SplitSeq(encoding, ", ") {
			if writer, known := pack[name]; known && r.URL.Query().Get("broken") == "" {
				var packed bytes.Buffer
				wc := writer(&packed)
				_, _ = wc.Write(body)
				_ = wc.Close()
				body = packed.Bytes()
			}
		}
		w.Header().Set("Content-Encoding", encoding)
		_, _ = w.Write(body)
	})
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, zstd", "unknown"} {
		t.Run(encoding, func(t *testing.T) {
			assert.Equal(t, text, f.do(t, "/?e="+url.QueryEscape(encoding), nil).Body)
		})
	}
	f.trails(t)
	t.Run("broken", func(t *testing.T) {
		res := f.do(t, "/?e=gzip&broken=1", nil)
		assert.Zero(t, res.Status)
		assert.Equal(t, 1701, res.ErrorCode)
		assert.Nil(t, res.Body)
		tags := f.tags(t)
		require.Len(t, tags, 1)
		assert.Equal(t, "1701", tags[0]["error_code"])
		assert.Equal(t, "false", tags[0]["expected_response"])
	})
}

func TestCompression(t *testing.T) {
	f := newFixture(t, ok)
	f.do(t, "/", func(p *httpext.ParsedHTTPRequest) {
		p.Req.Method = http.MethodPost
		p.Body = bytes.NewBufferString("packed")
		p.Compressions = []httpext.CompressionType{httpext.CompressionTypeGzip}
	})
	assert.Equal(t, "gzip", f.seen[0].Header.Get("Content-Encoding"))
	reader, err := gzip.NewReader(strings.NewReader(f.bodies[0]))
	require.NoError(t, err)
	text, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, "packed", string(text))
	assert.Equal(t, int64(len(f.bodies[0])), f.seen[0].ContentLength)
}

func redirecting(w http.ResponseWriter, r *http.Request) {
	if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/r/")); err == nil && n > 0 {
		w.Header().Set("Location", fmt.Sprintf("/r/%d", n-1))
		w.WriteHeader(http.StatusFound)
		return
	}
	if status := r.URL.Query().Get("to"); status != "" {
		code, _ := strconv.Atoi(status)
		w.Header().Set("Location", "/end")
		w.WriteHeader(code)
	}
}

func TestRedirects(t *testing.T) {
	f := newFixture(t, redirecting)
	for name, tc := range map[string]struct {
		path           string
		redirects      null.Int
		status, hops   int
		last           string
		expectsWarning bool
	}{
		"followed":            {"/r/3", null.NewInt(10, false), 200, 4, "/r/0", false},
		"exactly enough":      {"/r/3", null.NewInt(3, false), 200, 4, "/r/0", false},
		"too many":            {"/r/3", null.NewInt(2, false), 302, 3, "/r/1", true},
		"as many as asked":    {"/r/3", null.IntFrom(2), 302, 3, "/r/1", false},
		"none, as asked":      {"/r/3", null.IntFrom(0), 302, 1, "/r/3", false},
		"none by default":     {"/r/3", null.Int{}, 302, 1, "/r/3", true},
		"without a direction": {"/r/x?to=300", null.IntFrom(5), 300, 1, "/r/x?to=300", false},
	} {
		t.Run(name, func(t *testing.T) {
			f.log.Reset()
			res := f.do(t, tc.path, func(p *httpext.ParsedHTTPRequest) { p.Redirects = tc.redirects })
			assert.Equal(t, tc.status, res.Status)
			assert.Equal(t, f.url+tc.last, res.URL)
			tags := f.tags(t)
			assert.Len(t, tags, tc.hops)
			assert.Equal(t, f.url+tc.last, tags[len(tags)-1]["url"])
			assert.Equal(t, f.url+tc.path, tags[0]["url"])
			if tc.expectsWarning {
				require.NotNil(t, f.log.LastEntry())
				assert.Equal(t, logrus.WarnLevel, f.log.LastEntry().Level)
				assert.Contains(t, f.log.LastEntry().Message, fmt.Sprintf("Stopped after %d redirects", tc.hops))
			} else {
				assert.Nil(t, f.log.LastEntry())
			}
		})
	}
}

func TestRedirectsKeepOrDropMethodAndBody(t *testing.T) {
	for _, tc := range []struct {
		method string
		status int
		want   string
		body   string
	}{
		{"POST", 301, "GET", ""},
		{"POST", 302, "GET", ""},
		{"POST", 303, "GET", ""},
		{"PUT", 303, "GET", ""},
		{"HEAD", 303, "HEAD", ""},
		{"POST", 307, "POST", "payload"},
		{"PUT", 308, "PUT", "payload"},
	} {
		t.Run(fmt.Sprintf("%s %d", tc.method, tc.status), func(t *testing.T) {
			f := newFixture(t, redirecting)
			res := f.do(t, fmt.Sprintf("/?to=%d", tc.status), func(p *httpext.ParsedHTTPRequest) {
				p.Req.Method = tc.method
				p.Req.Header.Set("Content-Type", "text/plain")
				p.Req.Header.Set("Authorization", "Bearer x")
				if tc.method != http.MethodHead {
					p.Body = bytes.NewBufferString("payload")
				}
			})
			assert.Equal(t, 200, res.Status)
			require.Len(t, f.seen, 2)
			assert.Equal(t, tc.want, f.seen[1].Method)
			assert.Equal(t, tc.body, f.bodies[1])
			assert.Equal(t, "Bearer x", f.seen[1].Header.Get("Authorization"))
			if tc.body == "" {
				assert.Empty(t, f.seen[1].Header.Get("Content-Type"))
			}
			assert.Equal(t, f.seen[1].Header.Get("Referer"), fmt.Sprintf("%s/?to=%d", f.url, tc.status))
		})
	}
}

func TestRedirectsKeepABodyThatTheCallerSet(t *testing.T) {
	f := newFixture(t, redirecting)
	f.do(t, "/?to=307", func(p *httpext.ParsedHTTPRequest) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.URL.URL, strings.NewReader("payload"))
		require.NoError(t, err)
		p.Req = req
	})
	assert.Equal(t, []string{"payload", "payload"}, f.bodies)
}

func TestRedirectsToAnotherHostLoseCredentials(t *testing.T) {
	other := newFixture(t, ok)
	f := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", strings.Replace(other.url, "127.0.0.1", "known.example.test", 1))
		w.WriteHeader(http.StatusFound)
	})
	res := f.do(t, "/", func(p *httpext.ParsedHTTPRequest) {
		p.Req.Header.Set("Authorization", "Bearer x")
		p.Req.Header.Set("Cookie", "a=1")
		p.Req.Header.Set("X-Mine", "1")
	})
	assert.Equal(t, 200, res.Status)
	require.Len(t, other.seen, 1)
	assert.Empty(t, other.seen[0].Header.Get("Authorization"))
	assert.Empty(t, other.seen[0].Header.Get("Cookie"))
	assert.Equal(t, "1", other.seen[0].Header.Get("X-Mine"))
}

func TestCookiesAlongRedirects(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			http.SetCookie(w, &http.Cookie{Name: "new", Value: "2", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "old", Value: "", Path: "/", MaxAge: -1})
			w.Header().Set("Location", "/end")
			w.WriteHeader(http.StatusFound)
		}
	})
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	u, err := url.Parse(f.url)
	require.NoError(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "old", Value: "1"}, {Name: "kept", Value: "3"}, {Name: "hidden", Value: "4"}})
	f.do(t, "/start", func(p *httpext.ParsedHTTPRequest) {
		p.ActiveJar = jar
		p.Cookies = map[string]*httpext.HTTPRequestCookie{
			"own": {Name: "own", Value: "5"}, "hidden": {Name: "hidden", Value: "6", Replace: true},
		}
		httpext.SetRequestCookies(p.Req, p.ActiveJar, p.Cookies)
	})
	require.Len(t, f.seen, 2)
	cookies := func(r *http.Request) map[string]string {
		got := make(map[string]string)
		for _, c := range r.Cookies() {
			_, twice := got[c.Name]
			assert.False(t, twice, c.Name)
			got[c.Name] = c.Value
		}
		return got
	}
	assert.Equal(t, map[string]string{"old": "1", "kept": "3", "own": "5", "hidden": "6"}, cookies(f.seen[0]))
	assert.Equal(t, map[string]string{"new": "2", "kept": "3", "own": "5", "hidden": "6"}, cookies(f.seen[1]))
}

func TestFailures(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-r.Context().Done()
		case "/slow-body":
			w.(http.Flusher).Flush() //nolint:forcetypeassert // a test
			<-r.Context().Done()
		case "/close", "/cut":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			if r.URL.Path == "/cut" {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
			}
			_ = conn.Close()
		case "/switch":
			w.Header().Set("Upgrade", "x")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
	})
	// Nobody listens at the client's end of a connection, and nobody else gets its port while it is open.
	taken, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://")) //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	refusing := "http://" + taken.LocalAddr().String()
	dialer := f.Dialer.(*netext.Dialer) //nolint:forcetypeassert // a test
	blacklisted, err := lib.ParseCIDR("10.0.0.0/8")
	require.NoError(t, err)
	dialer.Blacklist = []*lib.IPNet{blacklisted}
	dialer.BlockedHostnames, err = types.NewHostnameTrie([]string{"*.blocked.test"})
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		address string
		code    int
		text    string
		logged  string
		k6Error bool
	}{
		"timeout":             {f.url + "/slow", 1050, "request timeout", "/slow\": request timeout", true},
		"timeout in the body": {f.url + "/slow-body", 1050, "request timeout", "request timeout", true},
		"refused":             {refusing, 1212, "dial: connection refused", "connect: connection refused", false},
		"closed":              {f.url + "/close", 1000, "EOF", "EOF", false},
		"cut off":             {f.url + "/cut", 1000, "unexpected EOF", "unexpected EOF", false},
		"no TLS":              {strings.Replace(f.url, "http:", "https:", 1), 1301, "", "", false},
		"unknown host":        {"http://unknown.example.test/", 1101, "lookup: no such host", "no such host", false},
		"blacklisted":         {"http://10.1.2.3/", 1110, "ip is blacklisted", "(10.0.0.0/8)", false},
		"blocked":             {"http://a.blocked.test/", 1111, "hostname is blocked", "blocked pattern (*.blocked.test)", false},
		"no scheme":           {"relative", 1000, `unsupported protocol scheme ""`, "", false},
		"switching":           {f.url + "/switch", 1000, "unsupported response status: 101 Switching Protocols", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f.log.Reset()
			f.trails(t)
			shorten := func(p *httpext.ParsedHTTPRequest) {
				if tc.code == 1050 {
					p.Timeout = 300 * time.Millisecond
				}
			}
			res := f.do(t, tc.address, shorten)
			assert.Zero(t, res.Status)
			assert.Nil(t, res.Body)
			assert.Equal(t, tc.code, res.ErrorCode)
			assert.NotNil(t, res.Headers)
			assert.NotNil(t, res.Cookies)
			if tc.text != "" {
				assert.Equal(t, tc.text, res.Error)
			}
			require.NotNil(t, f.log.LastEntry())
			assert.Equal(t, "Request Failed", f.log.LastEntry().Message)
			assert.Contains(t, f.log.LastEntry().Data["error"], tc.logged)
			trails := f.trails(t)
			require.Len(t, trails, 1)
			tags := trails[0].Tags.Map()
			assert.Equal(t, "0", tags["status"])
			assert.Equal(t, strconv.Itoa(tc.code), tags["error_code"])
			assert.Equal(t, res.Error, tags["error"])
			assert.Equal(t, "false", tags["expected_response"])
			assert.NotContains(t, tags, "proto")
			assert.Equal(t, null.BoolFrom(true), trails[0].Failed)

			f.log.Reset()
			_, err := httpext.MakeRequest(context.Background(), f.State, f.request(t, tc.address, func(p *httpext.ParsedHTTPRequest) {
				shorten(p)
				p.Throw = true
			}))
			var urlErr *url.Error
			require.ErrorAs(t, err, &urlErr)
			assert.Equal(t, "Get", urlErr.Op)
			var k6Error httpext.K6Error
			assert.Equal(t, tc.k6Error, errors.As(err, &k6Error))
			assert.Nil(t, f.log.LastEntry())
		})
	}
}

func TestZeroTimeoutIsOverAtOnce(t *testing.T) {
	f := newFixture(t, ok)
	res := f.do(t, "/", func(p *httpext.ParsedHTTPRequest) { p.Timeout = 0 })
	assert.Equal(t, 1050, res.ErrorCode)
}

func TestNothingIsEmittedOrLoggedOnceTheContextIsDone(t *testing.T) {
	f := newFixture(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	res, err := httpext.MakeRequest(ctx, f.State, f.request(t, f.url, nil))
	require.NoError(t, err)
	assert.Zero(t, res.Status)
	assert.Empty(t, f.trails(t))
	assert.Nil(t, f.log.LastEntry())
}

func TestTheCallersTraceRunsAsWell(t *testing.T) {
	for name, more := range map[string]bool{"only hooks of ours": false, "others too": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := newFixtureOn(t, newWire(), func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(time.Millisecond)
					ok(w, r)
				})
				var got, first, headers, idle int
				var reused []bool
				trace := &httptrace.ClientTrace{
					GotConn:              func(info httptrace.GotConnInfo) { got++; reused = append(reused, info.Reused) },
					GotFirstResponseByte: func() { first++ },
				}
				if more {
					trace.WroteHeaders = func() { headers++ }
					trace.PutIdleConn = func(error) { idle++ }
				}
				ctx := httptrace.WithClientTrace(context.Background(), trace)
				for range 3 {
					_, err := httpext.MakeRequest(ctx, f.State, f.request(t, f.url, nil))
					require.NoError(t, err)
				}
				assert.Equal(t, 3, got)
				assert.Equal(t, 3, first)
				assert.Equal(t, []bool{false, true, true}, reused)
				for _, trail := range f.trails(t) {
					assert.Equal(t, time.Millisecond, trail.Duration)
				}
				f.do(t, "/", nil)
				assert.Equal(t, 3, got, "the trace is not that of later requests")
				if more {
					assert.Equal(t, 3, headers)
					assert.Equal(t, 3, idle)
				}
			})
		})
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	f := newFixture(t, ok)

	res := f.do(t, server.URL, nil)
	assert.Equal(t, 1310, res.ErrorCode)
	assert.Equal(t, "x509: unknown authority", res.Error)
	f.trails(t)

	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	f.Transport = transport
	for i := range 3 {
		res = f.do(t, server.URL, nil)
		assert.Equal(t, "HTTP/2.0", res.Proto)
		assert.Equal(t, netext.TLS_1_3, res.TLSVersion)
		assert.NotEmpty(t, res.TLSCipherSuite)
		assert.Equal(t, "fine", res.Body)
		if i == 0 {
			assert.Greater(t, res.Timings.TLSHandshaking, 0.0)
		} else {
			assert.Zero(t, res.Timings.TLSHandshaking)
		}
	}
	for _, tags := range f.tags(t) {
		assert.Equal(t, "tls1.3", tags["tls_version"])
		assert.Equal(t, "HTTP/2.0", tags["proto"])
	}
}

func TestAResetHTTP2StreamHasItsOwnCode(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	f := newFixture(t, ok)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a test
	require.NoError(t, http2.ConfigureTransport(transport))
	t.Cleanup(transport.CloseIdleConnections)
	f.Transport = transport
	res := f.do(t, server.URL, nil)
	assert.Zero(t, res.Status)
	assert.Equal(t, 1630+1+int(http2.ErrCodeInternal), res.ErrorCode)
}

func TestBasicAuthFromTheAddress(t *testing.T) {
	f := newFixture(t, ok)
	f.do(t, strings.Replace(f.url, "http://", "http://user:pass@", 1), nil)
	user, password, set := f.seen[0].BasicAuth()
	assert.True(t, set)
	assert.Equal(t, "user pass", user+" "+password)
}

func TestRPSLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFixtureOn(t, newWire(), ok)
		f.RPSLimit = rate.NewLimiter(20, 1)
		began := time.Now()
		for range 3 {
			f.do(t, "/", nil)
		}
		assert.InDelta(t, 100*time.Millisecond, time.Since(began), float64(time.Microsecond))
		for _, trail := range f.trails(t) {
			assert.Zero(t, trail.Blocked+trail.Duration, "waiting for the limit is no part of a request")
		}
	})
}

func TestBatchLimits(t *testing.T) {
	for _, tc := range []struct{ global, perHost, want int }{{2, 0, 2}, {20, 3, 3}, {0, 0, 8}} {
		inBubble(t, func(t *testing.T) {
			var mu sync.Mutex
			now, most := 0, 0
			f := newFixtureOn(t, newWire(), func(http.ResponseWriter, *http.Request) {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(20 * time.Millisecond) // until all that may begin have begun
				mu.Lock()
				now--
				mu.Unlock()
			})
			var batch []httpext.BatchParsedHTTPRequest
			for range 8 {
				batch = append(batch, httpext.BatchParsedHTTPRequest{
					ParsedHTTPRequest: f.request(t, f.url, nil), Response: httpext.NewResponse(),
				})
			}
			errs := httpext.MakeBatchRequests(context.Background(), f.State, batch, len(batch), tc.global, tc.perHost)
			for range batch {
				require.NoError(t, <-errs)
			}
			for _, request := range batch {
				assert.Equal(t, 200, request.Response.Status)
			}
			assert.Equal(t, tc.want, most)
		})
	}
}

func TestMakeRequestAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations can't be counted with the race detector")
	}
	f := newFixture(t, ok)
	u, err := httpext.NewURL(f.url, "name")
	require.NoError(t, err)
	body := func() *http.Response {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("fine")),
		}
	}
	f.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("h")
		trace.GotConn(httptrace.GotConnInfo{Reused: true, WasIdle: true})
		trace.WroteRequest(httptrace.WroteRequestInfo{})
		trace.GotFirstResponseByte()
		return body(), nil
	})
	run := func() {
		_, err := httpext.MakeRequest(context.Background(), f.State, newRequest(f.State, u))
		require.NoError(t, err)
		<-f.samples
	}
	run()
	all := testing.AllocsPerRun(200, run)
	own := testing.AllocsPerRun(200, func() { body(); newRequest(f.State, u) })
	assert.LessOrEqual(t, all-own, 20.0)
}

// countingConn counts the writes to a connection.
type countingConn struct {
	net.Conn

	writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func TestABodyGoesOutTogetherWithTheHeaders(t *testing.T) {
	f := newFixture(t, ok)
	var writes atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return countingConn{Conn: conn, writes: &writes}, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	f.Transport = transport
	f.do(t, "/", func(p *httpext.ParsedHTTPRequest) {
		p.Req.Method = http.MethodPost
		p.Body = bytes.NewBufferString("payload")
	})
	assert.Equal(t, []string{"payload"}, f.bodies)
	assert.Equal(t, int64(1), writes.Load())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHTTPDebug(t *testing.T) {
	for mode, bodies := range map[string]bool{"full": true, "headers": false} {
		t.Run(mode, func(t *testing.T) {
			f := newFixture(t, ok)
			f.Options.HTTPDebug = null.StringFrom(mode)
			res := f.do(t, "/x", func(p *httpext.ParsedHTTPRequest) {
				p.Req.Method = http.MethodPost
				p.Body = bytes.NewBufferString("the payload")
			})
			assert.Equal(t, "fine", res.Body)
			assert.Equal(t, []string{"the payload"}, f.bodies)
			entries := f.log.AllEntries()
			require.Len(t, entries, 2)
			assert.Contains(t, entries[0].Message, "Request:\nPOST /x HTTP/1.1")
			assert.Contains(t, entries[1].Message, "Response:\nHTTP/1.1 200 OK")
			assert.Equal(t, bodies, strings.Contains(entries[0].Message, "the payload"))
			assert.Equal(t, bodies, strings.Contains(entries[1].Message, "fine"))
			assert.Equal(t, "http-debug", entries[0].Data["source"])
			assert.Equal(t, entries[0].Data["request_id"], entries[1].Data["request_id"])
			trails := f.trails(t)
			require.Len(t, trails, 1)
			assert.Greater(t, trails[0].Connecting, time.Duration(0))
		})
	}
}
