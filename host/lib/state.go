package lib

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/cookiejar"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/metrics"
)

// DialContexter opens connections.
type DialContexter interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// AddrResolver resolves "host:port" as the dialer would.
type AddrResolver interface {
	ResolveAddr(addr string) (net.IP, int, error)
}

// TracerProvider makes tracers.
type TracerProvider interface {
	Tracer(name string, options ...trace.TracerOption) trace.Tracer
}

// State is what a module may use of its VU outside the init context. The pointer stays the same for the life of the
// VU; Iteration, Tags and CookieJar change with every iteration. It belongs to the VU's goroutine.
type State struct {
	Options        Options
	BuiltinMetrics *metrics.BuiltinMetrics
	Logger         logrus.FieldLogger

	Dialer     DialContexter
	Transport  http.RoundTripper
	CookieJar  *cookiejar.Jar
	TLSConfig  *tls.Config
	RPSLimit   *rate.Limiter // nil without a limit
	Samples    chan<- metrics.SampleContainer
	BufferPool *BufferPool

	VUID, VUIDGlobal uint64 // from 1; 0 in setup, teardown and handleSummary
	Iteration        int64  // from 0, over all scenarios

	Tags *VUStateTags

	// The VU's iteration counters in its scenario, nil outside one; all count from 0.
	GetScenarioVUIter       func() uint64 // of this VU
	GetScenarioLocalVUIter  func() uint64 // of all VUs in this process
	GetScenarioGlobalVUIter func() uint64 // of all VUs in all processes

	TracerProvider TracerProvider
	Usage          *usage.Usage
	TestStatus     *TestStatus
}

// GetAddrResolver returns the dialer as a resolver, or nil if it is none.
func (s *State) GetAddrResolver() AddrResolver {
	resolver, _ := s.Dialer.(AddrResolver)
	return resolver
}
