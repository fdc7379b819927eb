package omnigraph

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/httpclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// storedQueries remembers the catalogs of stored queries that the servers of a process gave, so that only the first
// invoke of a graph with a token reads one. It is safe for concurrent use.
type storedQueries struct {
	mu       sync.Mutex
	catalogs map[catalogKey]*catalog
}

// catalogKey tells catalogs apart: what a token may see is its own.
type catalogKey struct{ server, graph, token string }

// catalog is a server's answer, or the place of one that is under way.
type catalog struct {
	ready   chan struct{}
	queries map[string]wire.StoredQuery
	// canceled says that the iteration which asked ended before the answer came.
	canceled bool
}

// get gives the catalog of key, which the first caller reads and all others wait for. A nil map means that there is
// none: the token may not read it, or the server failed. One failure is enough, so that a catalog puts no load on a
// server that is in trouble.
func (s *storedQueries) get(ctx context.Context, key catalogKey, read func() (map[string]wire.StoredQuery, bool)) map[string]wire.StoredQuery {
	for {
		s.mu.Lock()
		c := s.catalogs[key]
		if c == nil {
			c = &catalog{ready: make(chan struct{})}
			if s.catalogs == nil {
				s.catalogs = map[catalogKey]*catalog{}
			}
			s.catalogs[key] = c
			s.mu.Unlock()
			queries, canceled := read()
			s.mu.Lock()
			c.queries, c.canceled = queries, canceled
			if canceled {
				delete(s.catalogs, key)
			}
			s.mu.Unlock()
			close(c.ready)
			return queries
		}
		s.mu.Unlock()
		select {
		case <-c.ready:
			if !c.canceled {
				return c.queries
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// unseen is room for the samples of a request that nobody is to see: an answer and a repetition for the API version.
const unseen = 32

// catalogPatience bounds how long an operation waits for the catalog: a server that takes longer gets no check.
const catalogPatience = 10 * time.Second

// consultCatalog holds an invoke against the server's catalog: its parameters, and whether it writes, which decides about
// retries and over the CLI about the command. It runs before the operation begins, so that it counts in no measurement.
// The CLI lists the queries of a cluster's files alone, so that its client, too, asks the server over HTTP.
func (inv *invocation) consultCatalog() {
	if inv.op.Op != wire.OpInvoke || !inv.checkParams || inv.problem != nil {
		return
	}
	carrier := inv.c.catalogCarrier()
	if carrier == nil {
		return
	}
	key := catalogKey{server: inv.c.serverAddress(), graph: inv.op.Graph, token: inv.session.Token}
	stored, known := inv.c.mi.root.storedQueries.get(inv.ctx, key, func() (map[string]wire.StoredQuery, bool) {
		return inv.readCatalog(carrier)
	})[inv.op.Name]
	if !known {
		return
	}
	inv.op.Mutation = &stored.Mutation
	inv.problem = wire.CheckParams(&stored.Header, inv.op.Params)
}

// serverAddress is the client's server in one form for both transports, or empty.
func (c *client) serverAddress() string {
	address := c.settings.url
	if c.transport == wire.TransportCLI {
		address = c.settings.server
	}
	scheme, rest, _ := strings.Cut(address, "://")
	return strings.ToLower(scheme) + "://" + strings.TrimRight(rest, "/")
}

// catalogCarrier is what asks for the catalog: the client's own transport over HTTP, and one beside the CLI's. It is nil
// where there is no server to ask.
func (c *client) catalogCarrier() transport {
	if c.transport == wire.TransportHTTP {
		carrier, _ := c.open()
		return carrier
	}
	if c.settings.server == "" {
		return nil
	}
	c.catalogOnce.Do(func() {
		if h, err := httpclient.New(httpclient.Config{URL: c.settings.server, Contracts: c.mi.root.contracts}); err == nil {
			c.catalogVia = viaHTTP{h}
		}
	})
	return c.catalogVia
}

// readCatalog asks the server for its stored queries, with a copy of the VU's state whose samples go nowhere and which
// k6's rps limit does not hold back.
func (inv *invocation) readCatalog(carrier transport) (queries map[string]wire.StoredQuery, canceled bool) {
	state := *inv.state
	state.Samples = make(chan metrics.SampleContainer, unseen)
	state.RPSLimit = nil
	session := &httpclient.Session{
		State: &state, Name: string(wire.OpQueries), Token: inv.session.Token,
		Tags: metrics.TagsAndMeta{Tags: inv.series.request, Metadata: inv.meta},
	}
	out := carrier.do(inv.ctx, session, &wire.Operation{Op: wire.OpQueries, Graph: inv.op.Graph, Timeout: min(inv.op.Timeout, catalogPatience)})
	inv.c.mi.root.recording.sawAnswer(out)
	if out.Err != nil {
		return nil, inv.ctx.Err() != nil
	}
	return wire.ParseCatalog(out.Success.Rows), false
}
