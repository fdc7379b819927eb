package omnigraph

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/httpclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// invocation is one call of a client's method, from its arguments to its result. All that it needs from the VU is
// captured while it is prepared, so that it may run on while the script changes what it passed in.
type invocation struct {
	c      *client
	op     wire.Operation
	label  string
	header *wire.QueryHeader
	// checkParams says that parameters are held against what the query declares.
	checkParams bool
	throws      bool
	retry       *retryPolicy
	ctx         context.Context
	state       *lib.State
	session     httpclient.Session
	meta        map[string]string
	series      *series
	variant     *variantScope
	// onRow gets an export's rows, or is nil; opCtx ends the operation before the iteration does, or is nil.
	onRow sobek.Callable
	opCtx context.Context //nolint:containedctx // an invocation is one call, and lives no longer
	// handedOn says that rows of an export are on their way to the callback.
	handedOn bool
	// problem is a failure that is known before anything is sent.
	problem *wire.Error

	begin    time.Time
	attempts int
	samples  []metrics.Sample
	out      *wire.Outcome
	took     time.Duration
}

// prepare turns a call's arguments into an invocation. It runs on the event loop.
func (mi *instance) prepare(v *verb, call sobek.FunctionCall, method string) (*invocation, error) {
	c := mi.clientOf(call.This, method)
	state := mi.vu.State()
	if state == nil {
		return nil, common.NewInitContextError(method + " can't be used in the init context: clients do no I/O there; call it in setup(), a VU function or teardown()")
	}
	inv := &invocation{c: c, throws: c.settings.throws, retry: &c.settings.retry, ctx: mi.vu.Context(), state: state, variant: mi.variantIn(state)}
	s := &c.settings
	inv.op = wire.Operation{Op: v.op, Graph: s.graph, Branch: s.branch, Timeout: s.timeout, MaxOutputBytes: s.maxOutputBytes}
	inv.op.BoundedQueue = mi.delivering
	if v.op == wire.OpQuery || v.op == wire.OpInvoke {
		inv.op.Snapshot = s.snapshot
	}
	if v.read != nil {
		if err := v.read(&arguments{mi: mi, verb: method, call: call, async: method != v.name}, inv); err != nil {
			return nil, err
		}
	}
	token, tags, checkParams := s.tokens, s.tags, s.checkParams
	if options := call.Argument(v.options); !common.IsNullish(options) {
		own := *s
		own.branch, own.snapshot = "", ""
		if err := own.apply(mi.vu.Runtime(), scope{where: method, transport: c.transport, op: cmp.Or(v.scope, v.op)}, options); err != nil {
			return nil, err
		}
		if own.branch == "" && own.snapshot == "" {
			own.branch, own.snapshot = s.branch, s.snapshot // a call that names one of them means no other
		}
		inv.throws, inv.retry = own.throws, &own.retry
		token, tags, checkParams = own.tokens, own.tags, own.checkParams
		inv.applyCallOptions(&own, v.op)
	}
	if !c.supports(v.op) && inv.problem == nil {
		inv.problem = wire.Unsupported(v.op, c.transport)
	}
	inv.checkParams = checkParams
	if inv.header != nil && checkParams && inv.problem == nil {
		inv.problem = wire.CheckParams(inv.header, inv.op.Params)
	}
	if mi.random == nil {
		mi.random = seededRandom(state.VUIDGlobal)
	}

	current := state.Tags.GetCurrentValues()
	inv.meta = current.Metadata
	inv.series = c.seriesFor(inv, current.Tags, tags)
	inv.session = httpclient.Session{
		State: state, Name: inv.series.name, Tags: metrics.TagsAndMeta{Tags: inv.series.request, Metadata: current.Metadata},
	}
	own := settings{tokens: token}
	inv.session.Token = own.tokenFor(state.VUIDGlobal)
	if inv.session.Token == "" && c.transport == wire.TransportCLI {
		inv.session.Token = envToken()
	}
	mi.warnIgnoredNetworkOptions(c, state)
	return inv, nil
}

// applyCallOptions takes over what one call's options say about the operation.
func (inv *invocation) applyCallOptions(s *settings, op wire.Op) {
	inv.op.Graph, inv.op.Timeout, inv.op.MaxOutputBytes = s.graph, s.timeout, s.maxOutputBytes
	if op != wire.OpBranchCreate && op != wire.OpBranchDelete {
		inv.op.Branch = s.branch
	}
	switch op {
	case wire.OpQuery, wire.OpInvoke:
		inv.op.Snapshot = s.snapshot
	case wire.OpLoad:
		inv.op.From = s.from
		if s.mode != "" {
			inv.op.Mode = s.mode
		}
	case wire.OpBranchCreate:
		inv.op.From = s.from
	case wire.OpBranchMerge:
		inv.op.Target = s.target
	case wire.OpMutate:
		inv.op.IfCommit = s.ifCommit
	case wire.OpCleanup:
		inv.op.Keep = s.keep
	case wire.OpExport:
		inv.op.TypeNames = s.types
	}
	if s.name != "" {
		inv.label = s.name
	}
	// A name that is one of the source's queries selects it as well.
	if p := inv.c.texts[inv.op.Text]; p != nil && s.name != "" && len(p.headers) > 1 {
		for i := range p.headers {
			if p.headers[i].Name == s.name {
				inv.op.Name, inv.header = s.name, &p.headers[i]
			}
		}
	}
}

// warnIgnoredNetworkOptions says once which of k6's network options don't reach the CLI.
func (mi *instance) warnIgnoredNetworkOptions(c *client, state *lib.State) {
	if c.transport != wire.TransportCLI || c.warned {
		return
	}
	c.warned = true
	if ignored := ignoredByCLI(&state.Options); len(ignored) > 0 {
		if _, done := mi.root.warnings.LoadOrStore("network options", true); !done {
			state.Logger.Warn(fmt.Sprintf("these options of k6 don't reach the omnigraph CLI, which makes its own connections: %v", ignored))
		}
	}
}

func ignoredByCLI(o *lib.Options) []string {
	var names []string
	add := func(name string, set bool) {
		if set {
			names = append(names, name)
		}
	}
	add("hosts", o.Hosts.Valid)
	add("dns", o.DNS.TTL.Valid || o.DNS.Select.Valid || o.DNS.Policy.Valid)
	add("insecureSkipTLSVerify", o.InsecureSkipTLSVerify.Valid && o.InsecureSkipTLSVerify.Bool)
	add("tlsAuth", len(o.TLSAuth) > 0)
	add("tlsVersion", o.TLSVersion != nil)
	add("tlsCipherSuites", o.TLSCipherSuites != nil)
	add("blacklistIPs", len(o.BlacklistIPs) > 0)
	add("blockHostnames", o.BlockedHostnames.Valid)
	add("localIPs", o.LocalIPs.Valid)
	add("rps", o.RPS.Valid && o.RPS.Int64 > 0)
	return names
}
