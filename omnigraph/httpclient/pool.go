package httpclient

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// Pool is one set of kept connections for the whole process, as a service would have, instead of one set per VU. It is
// safe for concurrent use.
type Pool struct {
	max   int
	slots chan struct{}

	mu        sync.Mutex
	transport *http.Transport
	dialer    *netext.Dialer
}

// The dialer's times are those that k6 gives its own, as are the defaults of its resolver.
const (
	dialTimeout   = 30 * time.Second
	dialKeepAlive = 30 * time.Second
	resolverTTL   = 5 * time.Minute
)

// NewPool makes a pool of at most maxConnections connections. It opens none.
func NewPool(maxConnections int) *Pool {
	return &Pool{max: maxConnections, slots: make(chan struct{}, maxConnections)}
}

// MaxConnections is the pool's size.
func (p *Pool) MaxConnections() int { return p.max }

// Close closes the connections that are idle; the others follow once they are.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
}

// enter waits for a free connection, until waiting is over at the latest, and gives a copy of the VU's state that uses the
// pool. release frees the connection and pushes the bytes that went over it, which no VU's own counters see.
func (p *Pool) enter(ctx, waiting context.Context, state *lib.State) (*lib.State, func(metrics.TagsAndMeta), time.Duration, error) {
	var queued time.Duration
	select {
	case p.slots <- struct{}{}:
	default:
		start := time.Now()
		select {
		case p.slots <- struct{}{}:
			queued = time.Since(start)
		case <-waiting.Done():
			return nil, nil, time.Since(start), waiting.Err()
		}
	}
	transport, dialer := p.open(state)
	shared := *state
	shared.Transport = transport
	shared.Dialer = dialer
	release := func(tags metrics.TagsAndMeta) {
		<-p.slots
		if ctx.Err() != nil {
			return // k6 would drop the samples; the counts stay for the next request's
		}
		metrics.PushIfNotDone(ctx, state.Samples, dialer.IOSamples(time.Now(), tags, state.BuiltinMetrics))
	}
	return &shared, release, queued, nil
}

// dialerLike makes a dialer that counts its own bytes and otherwise follows the network options as k6's own does. That
// of the first VU stands for all: their options are the same but for the local address of --local-ips.
func dialerLike(of lib.DialContexter) *netext.Dialer {
	own, ok := of.(*netext.Dialer)
	if !ok || own == nil {
		return netext.NewDialer(
			net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive},
			netext.NewResolver(net.LookupIP, resolverTTL, types.DNSrandom, types.DNSpreferIPv4),
		)
	}
	d := netext.NewDialer(own.Dialer, own.Resolver)
	d.Blacklist, d.BlockedHostnames, d.Hosts = own.Blacklist, own.BlockedHostnames, own.Hosts
	return d
}

// open builds the transport at the first request, from the options that all VUs of a test share.
func (p *Pool) open(state *lib.State) (*http.Transport, *netext.Dialer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport != nil {
		return p.transport, p.dialer
	}
	p.dialer = dialerLike(state.Dialer)
	p.transport = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         p.dialer.DialContext,
		DisableCompression:  true,
		MaxIdleConns:        p.max,
		MaxIdleConnsPerHost: p.max,
		MaxConnsPerHost:     p.max,
		ForceAttemptHTTP2:   true,
		// noVUConnectionReuse asks for no kept connection beyond an iteration. Connections of a shared pool belong to
		// no iteration, so the pool keeps none at all then.
		DisableKeepAlives: state.Options.NoConnectionReuse.Bool || state.Options.NoVUConnectionReuse.Bool,
	}
	if state.TLSConfig != nil {
		p.transport.TLSClientConfig = state.TLSConfig.Clone()
	}
	return p.transport, p.dialer
}
