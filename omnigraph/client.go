package omnigraph

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"sync"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/cliclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/httpclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// transport carries one attempt. It is the whole of what the JS face knows about HTTP and the CLI.
type transport interface {
	do(ctx context.Context, s *httpclient.Session, op *wire.Operation) *wire.Outcome
}

// client is what a script holds: one server or store over one transport. It belongs to one VU.
type client struct {
	mi        *instance
	transport string
	settings  settings
	// where names the constructor in errors.
	where string

	once    sync.Once
	carrier transport
	problem *wire.Error
	warned  bool

	// catalogVia asks the server of a CLI client for its stored queries, over HTTP.
	catalogOnce sync.Once
	catalogVia  transport

	texts  map[string]*preparedText
	labels map[string]bool
	series map[seriesKey]*series
}

type viaHTTP struct{ *httpclient.Client }

func (t viaHTTP) do(ctx context.Context, s *httpclient.Session, op *wire.Operation) *wire.Outcome {
	return t.Do(ctx, s, op)
}

// viaCLI holds one CLI client for each token in use.
type viaCLI struct {
	make    func(token string) (*cliclient.Client, error)
	mu      sync.Mutex
	byToken map[string]*cliclient.Client
}

func (t *viaCLI) do(ctx context.Context, s *httpclient.Session, op *wire.Operation) *wire.Outcome {
	t.mu.Lock()
	c := t.byToken[s.Token]
	if c == nil {
		var err error
		if c, err = t.make(s.Token); err != nil {
			t.mu.Unlock()
			return &wire.Outcome{ExitCode: -1, Err: wire.NewError(wire.KindBadRequest, "%s", err), Refused: true}
		}
		t.byToken[s.Token] = c
	}
	t.mu.Unlock()
	return c.Do(ctx, op)
}

// hostPort is what a server's address looks like when its scheme was forgotten. No store is called so.
var hostPort = regexp.MustCompile(`^(localhost|[0-9]+(\.[0-9]+){3}|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+):[0-9]{1,5}(/|$)`)

// connect makes the client that an address calls for: connect(uri, options).
func (mi *instance) connect(call sobek.FunctionCall) sobek.Value {
	uri := call.Argument(0)
	address := ""
	if !common.IsNullish(uri) {
		text, ok := uri.Export().(string)
		if !ok {
			mi.throw(fmt.Errorf("connect: uri got %s; it takes a server's http(s):// address, a local path, or an s3:// address", describe(uri)))
		}
		address = text
	}
	if hostPort.MatchString(address) {
		mi.throw(fmt.Errorf("connect: uri got %q; a server's address begins with http:// or https://, a path of this shape with ./", address))
	}
	options := call.Argument(1)
	if address != "" && transportOf(address) == wire.TransportCLI {
		return mi.makeClient(wire.TransportCLI, "connect", mi.prototype(wire.TransportCLI), options, func(s *settings) error { s.store = address; return nil })
	}
	return mi.makeClient(wire.TransportHTTP, "connect", mi.prototype(wire.TransportHTTP), options, func(s *settings) error {
		s.url = address
		return nil
	})
}

// newClient is the constructor of a class: new HTTPClient(options), new CLIClient(options).
func (mi *instance) newClient(transport string) func(sobek.ConstructorCall) *sobek.Object {
	where := className(transport)
	return func(call sobek.ConstructorCall) *sobek.Object {
		return mi.makeClient(transport, where, call.This.Prototype(), call.Argument(0), nil)
	}
}

func className(transport string) string {
	if transport == wire.TransportCLI {
		return "CLIClient"
	}
	return "HTTPClient"
}

func (mi *instance) makeClient(transport, where string, proto *sobek.Object, options sobek.Value, address func(*settings) error) *sobek.Object {
	rt := mi.vu.Runtime()
	mi.installMethods(proto)
	c := &client{mi: mi, transport: transport, where: where, settings: defaultSettings()}
	if err := c.settings.apply(rt, scope{where: where, transport: transport}, options); err != nil {
		mi.throw(err)
	}
	if address != nil {
		if err := address(&c.settings); err != nil {
			mi.throw(err)
		}
	}
	if err := c.check(); err != nil {
		mi.throw(err)
	}
	if err := c.readTokensFile(); err != nil {
		mi.throw(err)
	}
	if transport == wire.TransportCLI && c.settings.maxProcesses > 0 {
		if err := mi.root.limitProcesses(c.settings.maxProcesses); err != nil {
			mi.throw(fmt.Errorf("%s: %w", where, err))
		}
	}
	object, _ := rt.ToValue(&handle{c}).(*sobek.Object)
	if err := object.SetPrototype(proto); err != nil {
		mi.throw(err)
	}
	return object
}

// handle hides the client's fields and methods from scripts.
type handle struct{ c *client }

// check refuses at once what can't work whatever the environment: malformed addresses. What is merely absent fails at
// the first operation, since k6 inspect and k6 archive run without the environment.
func (c *client) check() error {
	s := &c.settings
	for _, a := range []struct{ option, value string }{{"url", s.url}, {"server", s.server}} {
		if a.value == "" {
			continue
		}
		if err := httpclient.CheckURL(a.value); err != nil {
			return &optionError{where: c.where, name: a.option, reason: err.Error()}
		}
	}
	if s.sized && !s.shared {
		return &optionError{where: c.where, name: "maxConnections", reason: "sizes the shared pool only: give pool: 'shared' beside it"}
	}
	if err := checkStore(s.store); err != nil {
		if c.where == "connect" {
			return fmt.Errorf("connect: uri %w", err)
		}
		return &optionError{where: c.where, name: "store", reason: err.Error()}
	}
	// Over HTTP a user and password go into the Authorization header; other users could read a process's arguments.
	if u, err := url.Parse(s.server); err == nil && u.User != nil {
		return &optionError{where: c.where, name: "server", reason: "holds a user or password, which the CLI has no safe way to take; use the option token"}
	}
	if s.server != "" && s.store != "" && c.where == "connect" {
		return &optionError{where: c.where, name: "server", reason: "can't be combined with the address of a store"}
	}
	return nil
}

// open builds the transport at the first operation; no constructor does I/O.
func (c *client) open() (transport, *wire.Error) {
	c.once.Do(func() {
		c.mi.root.recording.sawTarget(c.transport, &c.settings)
		if c.transport == wire.TransportCLI {
			c.carrier, c.problem = c.openCLI()
		} else {
			c.carrier, c.problem = c.openHTTP()
		}
	})
	return c.carrier, c.problem
}

func (c *client) openHTTP() (transport, *wire.Error) {
	s := &c.settings
	if s.url == "" {
		return nil, wire.NewError(wire.KindBadRequest, "%s has no address: give url the server's http:// or https:// address (is OMNIGRAPH_URI set?)", c.where)
	}
	cfg := httpclient.Config{URL: s.url, Header: s.headers, API: s.apiVersion, Contracts: c.mi.root.contracts}
	if s.shared {
		pool, err := c.mi.root.pool(s.url, s.maxConnections)
		if err != nil {
			return nil, wire.NewError(wire.KindBadRequest, "%s", err)
		}
		cfg.Pool = pool
	}
	h, err := httpclient.New(cfg)
	if err != nil {
		return nil, wire.NewError(wire.KindBadRequest, "%s: %s", c.where, err)
	}
	return viaHTTP{h}, nil
}

func (c *client) openCLI() (transport, *wire.Error) {
	s := &c.settings
	slots := c.mi.root.processSlots()
	t := &viaCLI{byToken: map[string]*cliclient.Client{}}
	t.make = func(token string) (*cliclient.Client, error) {
		client, err := cliclient.New(cliclient.Config{
			Bin: s.bin, Server: s.server, Store: s.store, Token: token, Home: s.home, Args: s.args, Env: s.env,
			Slots: slots, Catalog: c.mi.root.catalog, MaxOutputBytes: s.maxOutputBytes,
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.where, err)
		}
		return client, nil
	}
	return t, nil
}

// pool gives the process-wide pool for a server. Clients that ask for different sizes contradict each other.
func (r *rootModule) pool(server string, size int) (*httpclient.Pool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pools == nil {
		r.pools = map[string]*httpclient.Pool{}
	}
	p := r.pools[server]
	if p == nil {
		p = httpclient.NewPool(size)
		r.pools[server] = p
	}
	if p.MaxConnections() != size {
		return nil, fmt.Errorf("maxConnections: the shared pool of this server has %d already, got %d; give every client the same", p.MaxConnections(), size)
	}
	return p, nil
}

// limitProcesses sets the number of process slots; the first client decides and the others have to agree.
func (r *rootModule) limitProcesses(n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slotCount != 0 && r.slotCount != n {
		return fmt.Errorf("option maxProcesses is %d in another client of this k6, got %d; give every client the same", r.slotCount, n)
	}
	if r.slots != nil && r.slotCount == 0 && n != defaultMaxProcesses {
		return fmt.Errorf("option maxProcesses got %d after processes were started with the default of %d; set it in every client", n, defaultMaxProcesses)
	}
	r.slotCount = n
	return nil
}

func (r *rootModule) processSlots() *cliclient.Slots {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil {
		n := r.slotCount
		if n == 0 {
			n = defaultMaxProcesses
		} else {
			r.recording.processesLimited()
		}
		r.slots = cliclient.NewSlots(n)
	}
	return r.slots
}

// tokenFor gives the token of a VU: of several, each VU takes its own.
func (s *settings) tokenFor(vu uint64) string {
	switch len(s.tokens) {
	case 0:
		return ""
	case 1:
		return s.tokens[0]
	}
	if vu > 0 {
		vu--
	}
	return s.tokens[vu%uint64(len(s.tokens))]
}

// envToken is the CLI's own variable, used where a script gives no token.
func envToken() string { return os.Getenv("OMNIGRAPH_BEARER_TOKEN") }
