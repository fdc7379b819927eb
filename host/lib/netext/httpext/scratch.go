package httpext

import (
	"context"
	"net"
	"net/http/httptrace"
	"strconv"
	"sync"

	"go.k6.io/k6/v2/metrics"
)

// scratch is what one request after another can use again: a tracer with its hooks, the tag sets made lately, and
// the text form of the last remote address. It serves one MakeRequest at a time.
type scratch struct {
	tracer *boundTracer // nil if the last one may still be called

	tagSets map[tagKey]*metrics.TagSet

	addr net.Addr
	ip   string
	port int
}

//nolint:gochecknoglobals // a pool has to outlive the requests; it holds nothing that one could observe
var scratchPool = sync.Pool{New: func() any {
	return &scratch{tagSets: make(map[tagKey]*metrics.TagSet)}
}}

// boundTracer is a tracer with its hooks already in a context, so that using it again allocates nothing.
type boundTracer struct {
	Tracer

	hooks context.Context //nolint:containedctx // only carries the hooks
}

func newBoundTracer() *boundTracer {
	t := new(boundTracer)
	t.hooks = httptrace.WithClientTrace(context.Background(), t.Trace())
	return t
}

// takeTracer hands out a tracer together with a context that carries its hooks, and those of outer.
func (s *scratch) takeTracer(outer *httptrace.ClientTrace) (*boundTracer, context.Context) {
	tracer := s.tracer
	if tracer == nil {
		tracer = newBoundTracer()
	}
	s.tracer = nil
	if outer == nil {
		return tracer, tracer.hooks
	}
	tracer.outer = outer
	if onlyTracerHooks(outer) {
		return tracer, tracer.hooks
	}
	both := *outer
	ours := tracer.Trace()
	both.GetConn, both.GotConn = ours.GetConn, ours.GotConn
	both.ConnectStart, both.ConnectDone = ours.ConnectStart, ours.ConnectDone
	both.TLSHandshakeStart, both.TLSHandshakeDone = ours.TLSHandshakeStart, ours.TLSHandshakeDone
	both.WroteRequest, both.GotFirstResponseByte = ours.WroteRequest, ours.GotFirstResponseByte
	return tracer, httptrace.WithClientTrace(context.Background(), &both)
}

// giveTracer takes a tracer back. One whose hooks may still be called is left to the garbage collector.
func (s *scratch) giveTracer(tracer *boundTracer, http1 bool) {
	if http1 && tracer.quiet() {
		tracer.reset()
		s.tracer = tracer
	}
}

// onlyTracerHooks says whether a trace has no hooks but those that a Tracer passes on.
func onlyTracerHooks(t *httptrace.ClientTrace) bool {
	return t.PutIdleConn == nil && t.Got100Continue == nil && t.Got1xxResponse == nil && t.DNSStart == nil &&
		t.DNSDone == nil && t.Wait100Continue == nil && t.WroteHeaderField == nil && t.WroteHeaders == nil
}

// remote returns the parts of a remote address; connections are kept, so it is mostly the one of last time.
func (s *scratch) remote(addr net.Addr) (string, int) {
	if addr == nil {
		return "", 0
	}
	if addr != s.addr {
		s.addr = addr
		if tcp, ok := addr.(*net.TCPAddr); ok {
			s.ip, s.port = tcp.IP.String(), tcp.Port
		} else {
			host, port, err := net.SplitHostPort(addr.String())
			if err != nil {
				host, port = addr.String(), ""
			}
			s.ip = host
			s.port, _ = strconv.Atoi(port) //nolint:errcheck // no number is no port
		}
	}
	return s.ip, s.port
}

// maxTagSets bounds the memory that addresses which never come back can take.
const maxTagSets = 512

// tagKey holds all that the tags of a hop depend on.
type tagKey struct {
	base     *metrics.TagSet
	enabled  metrics.SystemTagSet
	name     string // URL.Name where it differs from the address
	target   string
	method   string
	status   int
	expected expectation
	proto    string
	tls      string
	ocsp     string
	ip       string
	code     errCode
	err      string
}

// expectation is what the response callback said.
type expectation uint8

const (
	notAsked expectation = iota
	asExpected
	notExpected
)

// tags returns the set for a hop. The sets made lately are remembered: making one anew takes a lookup for each tag.
func (s *scratch) tags(key tagKey) *metrics.TagSet {
	if set, ok := s.tagSets[key]; ok {
		return set
	}
	set := key.build()
	if len(s.tagSets) >= maxTagSets {
		clear(s.tagSets)
	}
	s.tagSets[key] = set
	return set
}

func (k *tagKey) build() *metrics.TagSet {
	tm := metrics.TagsAndMeta{Tags: k.base}
	set := func(tag metrics.SystemTag, value string) {
		tm.SetSystemTagOrMetaIfEnabled(&k.enabled, tag, value)
	}
	setIfAny := func(tag metrics.SystemTag, value string) {
		if value != "" {
			set(tag, value)
		}
	}
	name := k.target
	if given, ok := k.base.Get(metrics.TagName.String()); ok {
		name = given
	} else if k.name != "" {
		name = k.name
	}
	set(metrics.TagName, name)
	set(metrics.TagURL, name)
	set(metrics.TagMethod, k.method)
	set(metrics.TagStatus, strconv.Itoa(k.status))
	setIfAny(metrics.TagProto, k.proto)
	setIfAny(metrics.TagError, k.err)
	if k.code != 0 {
		set(metrics.TagErrorCode, strconv.FormatUint(uint64(k.code), 10))
	}
	setIfAny(metrics.TagTLSVersion, k.tls)
	setIfAny(metrics.TagOCSPStatus, k.ocsp)
	setIfAny(metrics.TagIP, k.ip)
	switch k.expected {
	case asExpected:
		set(metrics.TagExpectedResponse, "true")
	case notExpected:
		set(metrics.TagExpectedResponse, "false")
	case notAsked:
	}
	return tm.Tags
}
