// Package server is omnigraph's HTTP surface over the emulator's graphs.
package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/operation"
	"github.com/mitodl/xk6-omnigraph/emulator/policy"
)

// DefaultInflight is how many mutations one actor may have in flight.
const DefaultInflight = 16

// DefaultInflightBytes is how many bytes of mutations one actor may have in flight.
const DefaultInflightBytes = 1 << 30

const (
	bodyLimit = 1 << 20
	loadLimit = 32 << 20
)

// Options configure a server.
type Options struct {
	// Generation is the API generation; zero is graph.V08.
	Generation graph.Generation
	// Tokens maps tokens to actors; nil lets everybody in as nobody.
	Tokens map[string]string
	// ClusterPolicy applies to the list of graphs.
	ClusterPolicy policy.Set
	// MaxInflight and MaxInflightBytes are the admission cap per actor; zero is the default.
	MaxInflight      int
	MaxInflightBytes int64
	// Cost is the cost model; nil costs nothing.
	Cost *costmodel.Model
	// Faults injects failures; nil injects none.
	Faults *faults.Injector
	// AdminToken opens the admin routes, which answer on loopback only; empty closes them.
	AdminToken string
	// Restart closes the port for a while; nil where the listener belongs to somebody else.
	Restart func(closed time.Duration)
}

// Graph is one served graph.
type Graph struct {
	Store   *graph.Graph
	Policy  policy.Set
	Queries map[string]*cluster.StoredQuery

	// starting counts the writes of CLI processes that the cost model still holds up before they queue.
	starting atomic.Int64
}

// Server answers omnigraph's HTTP API. It is an http.Handler.
type Server struct {
	opts    Options
	version string
	graphs  map[string]*Graph
	// tokens is keyed by hash, so that comparing reveals nothing about a token's text.
	tokens map[[sha256.Size]byte]string

	reads   atomic.Int64
	draws   atomic.Uint64
	missing atomic.Int64 // unix nanoseconds until which the graphs are missing

	mu       sync.Mutex
	inflight map[string]*load
}

// load is what one actor has in flight.
type load struct {
	count int
	bytes int64
}

// Version is the version that an emulator of the given generation claims.
func Version(g graph.Generation) string {
	switch {
	case g >= graph.V013:
		return "0.13.0-emulator"
	case g >= graph.V010:
		return "0.10.0-emulator"
	}
	return "0.8.0-emulator"
}

// New makes a server for the given graphs, by id.
func New(graphs map[string]*Graph, opts Options) *Server {
	if opts.Generation == 0 {
		opts.Generation = graph.V08
	}
	if opts.MaxInflight == 0 {
		opts.MaxInflight = DefaultInflight
	}
	if opts.MaxInflightBytes == 0 {
		opts.MaxInflightBytes = DefaultInflightBytes
	}
	s := &Server{opts: opts, version: Version(opts.Generation), graphs: graphs, inflight: map[string]*load{}}
	if opts.Cost != nil {
		// A client that reads nothing but the version still learns whose figures it gets.
		s.version += "+" + opts.Cost.Name
	}
	if opts.Tokens != nil {
		s.tokens = map[[sha256.Size]byte]string{}
		for token, actor := range opts.Tokens {
			s.tokens[sha256.Sum256([]byte(token))] = actor
		}
	}
	return s
}

// request is one request on its way through a handler.
type request struct {
	*http.Request
	w     http.ResponseWriter
	s     *Server
	actor string
	id    string // of the graph
	graph *Graph
	// args are the variable segments behind the graph.
	args  []string
	start time.Time
	// ifCommit is the head that a conditional write expects.
	ifCommit string
	// successor is the route that replaces this deprecated one.
	successor string
}

func (r *request) cli() bool { return r.Header.Get(costmodel.ClientHeader) == "cli" }

// route is one path with its methods.
type route struct {
	name     string
	segments []string // "*" takes any one
	methods  map[string]func(*request)
}

// routes are the paths below /graphs/ID.
var routes = []*route{
	{name: "query", segments: []string{"query"}, methods: map[string]func(*request){"POST": (*request).query}},
	{name: "mutate", segments: []string{"mutate"}, methods: map[string]func(*request){"POST": (*request).mutate}},
	{name: "mutate_if", segments: []string{"mutate", "if-graph-commit"}, methods: map[string]func(*request){"POST": (*request).mutateIf}},
	{name: "queries", segments: []string{"queries"}, methods: map[string]func(*request){"GET": (*request).queries}},
	{name: "invoke", segments: []string{"queries", "*"}, methods: map[string]func(*request){"POST": (*request).invoke}},
	{name: "invoke_if", segments: []string{"queries", "*", "if-graph-commit"}, methods: map[string]func(*request){"POST": (*request).invokeIf}},
	{name: "load", segments: []string{"load"}, methods: map[string]func(*request){"POST": (*request).load}},
	{name: "load_ndjson", segments: []string{"load", "ndjson"}, methods: map[string]func(*request){"POST": (*request).loadNDJSON}},
	{name: "snapshot", segments: []string{"snapshot"}, methods: map[string]func(*request){"GET": (*request).snapshot}},
	{name: "schema", segments: []string{"schema"}, methods: map[string]func(*request){"GET": (*request).schema}},
	{name: "schema_apply", segments: []string{"schema", "apply"}, methods: map[string]func(*request){"POST": (*request).schemaApply}},
	{name: "branches", segments: []string{"branches"}, methods: map[string]func(*request){"GET": (*request).branches, "POST": (*request).createBranch}},
	{name: "merge", segments: []string{"branches", "merge"}, methods: map[string]func(*request){"POST": (*request).merge}},
	{name: "branch", segments: []string{"branches", "*"}, methods: map[string]func(*request){"DELETE": (*request).deleteBranch}},
	{name: "commits", segments: []string{"commits"}, methods: map[string]func(*request){"GET": (*request).commits}},
	{name: "commit", segments: []string{"commits", "*"}, methods: map[string]func(*request){"GET": (*request).commit}},
	{name: "export", segments: []string{"export"}, methods: map[string]func(*request){"POST": (*request).export}},
	{name: "read", segments: []string{"read"}, methods: map[string]func(*request){"POST": (*request).read}},
	{name: "change", segments: []string{"change"}, methods: map[string]func(*request){"POST": (*request).change}},
	{name: "ingest", segments: []string{"ingest"}, methods: map[string]func(*request){"POST": (*request).ingest}},
}

// RouteNames lists the names by which a fault file addresses routes.
func RouteNames() []string {
	names := []string{"healthz", "graphs"}
	for _, rt := range routes {
		names = append(names, rt.name)
	}
	return names
}

func allowed(methods map[string]func(*request)) string {
	var list []string
	for _, m := range []string{"GET", "POST", "DELETE"} {
		if methods[m] == nil {
			continue
		}
		list = append(list, m)
		if m == "GET" {
			list = append(list, "HEAD")
		}
	}
	return strings.Join(list, ",")
}

// newer are the routes that 0.8 lacks.
var newer = []string{"mutate_if", "invoke_if", "load_ndjson"}

func (s *Server) match(segments []string) *route {
	for _, rt := range routes {
		if len(rt.segments) != len(segments) {
			continue
		}
		fits := true
		for i, want := range rt.segments {
			fits = fits && (want == segments[i] || (want == "*" && segments[i] != ""))
		}
		if fits && (s.opts.Generation >= graph.V010 || !slices.Contains(newer, rt.name)) {
			return rt
		}
	}
	return nil
}

// noCost is the cost model's name where there is none; it is shared by all answers, so that it allocates nothing.
var noCost = []string{costmodel.None}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if s.opts.Cost != nil {
		w.Header().Set(costmodel.Header, s.opts.Cost.Name)
	} else {
		w.Header()[costmodel.Header] = noCost
	}
	if s.opts.Generation >= graph.V013 {
		w.Header().Set(apiHeader, apiVersion)
	}
	r := &request{Request: hr, w: w, s: s, start: time.Now()}
	path := hr.URL.EscapedPath()
	switch {
	case path == "/healthz":
		r.plain("healthz", map[string]func(*request){"GET": (*request).health})
	case path == "/openapi.json":
		r.plain("openapi", map[string]func(*request){"GET": (*request).openapi})
	case strings.HasPrefix(path, "/admin/") && s.opts.AdminToken != "":
		r.admin(path)
	case path == "/graphs":
		rt := &route{name: "graphs", methods: map[string]func(*request){"GET": (*request).list}}
		if r.admitted(rt) {
			r.dispatch(rt)
		}
	case strings.HasPrefix(path, "/graphs/"):
		r.routed(strings.Split(path[len("/graphs/"):], "/"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// plain serves a route outside a graph.
func (r *request) plain(name string, methods map[string]func(*request)) {
	r.dispatch(&route{name: name, methods: methods})
}

func (r *request) routed(segments []string) {
	rt := r.s.match(segments[1:])
	if rt == nil {
		r.w.WriteHeader(http.StatusNotFound)
		return
	}
	if !r.admitted(rt) {
		return
	}
	if r.s.opts.Generation >= graph.V013 && r.Header.Get(apiHeader) != apiVersion {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "api_contract_mismatch", Message: fmt.Sprintf(
			"request must carry %s: %s, got '%s'", apiHeader, apiVersion, r.Header.Get(apiHeader))})
		return
	}
	if !r.findGraph(segments[0]) {
		return
	}
	for i, want := range rt.segments {
		if want == "*" {
			arg, err := url.PathUnescape(segments[i+1])
			if err != nil {
				arg = segments[i+1]
			}
			r.args = append(r.args, arg)
		}
	}
	r.dispatch(rt)
}

func (r *request) methodOf(rt *route) func(*request) {
	if r.Method == http.MethodHead {
		return rt.methods[http.MethodGet]
	}
	return rt.methods[r.Method]
}

func (r *request) dispatch(rt *route) {
	h := r.methodOf(rt)
	if h == nil {
		r.w.Header().Set("Allow", allowed(rt.methods))
		r.w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !r.payCLI() {
		return
	}
	if r.s.opts.Faults == nil {
		h(r)
		return
	}
	r.faulty(rt.name, h)
}

// payCLI waits for what the CLI stand-in would have needed before its request came: here, since the client that
// starts it knows of no cost model.
func (r *request) payCLI() bool {
	m := r.s.opts.Cost
	if m == nil || !r.cli() || r.graph == nil {
		return true
	}
	c := r.graph.Store.StateCost(graph.MainBranch)
	if until(r.Context(), r.start.Add(m.Start(c.Commits))) != nil {
		return false
	}
	r.start = time.Now()
	return true
}

const (
	apiHeader  = "Omnigraph-Http-Api"
	apiVersion = "0.13"
)

// admitted finds the actor of a request for a route, or refuses it. The methods that a route has stand in the answer
// to one that it lacks, whoever asks.
func (r *request) admitted(rt *route) bool {
	if r.methodOf(rt) == nil {
		r.w.Header().Set("Allow", allowed(rt.methods))
	}
	if r.authenticate() {
		return true
	}
	r.fail(&graph.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: r.refusal()})
	return false
}

// authenticate finds the actor.
func (r *request) authenticate() bool {
	if r.s.tokens == nil {
		return true
	}
	token, ok := bearer(r.Header.Get("Authorization"))
	if ok {
		r.actor, ok = r.s.tokens[sha256.Sum256([]byte(token))]
	}
	return ok
}

func bearer(header string) (string, bool) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	return token, ok
}

func (r *request) refusal() string {
	if _, ok := bearer(r.Header.Get("Authorization")); ok {
		return "invalid bearer token"
	}
	return "missing bearer token"
}

func validGraphID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	})
}

func (r *request) findGraph(id string) bool {
	if id == "" {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "cluster route missing /graphs/{graph_id} prefix"})
		return false
	}
	if !validGraphID(id) {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: fmt.Sprintf(
			"graph_id '%s' must match ^[a-zA-Z0-9-]{1,64}$ — no underscores (engine reserves them), no path separators, no unicode", id)})
		return false
	}
	r.id = id
	r.graph = r.s.graphs[id]
	if until := r.s.missing.Load(); until != 0 && time.Now().UnixNano() < until {
		r.graph = nil
	}
	if r.graph == nil {
		r.fail(&graph.Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("graph '%s' not found", id)})
		return false
	}
	if err := r.graph.Store.Refresh(r.Context()); err != nil {
		r.fail(err)
		return false
	}
	return true
}

// allow checks the policy and answers the refusal.
func (r *request) allow(set policy.Set, action policy.Action, branch, target string) bool {
	err := set.Check(policy.Request{Actor: r.actor, Action: action, Branch: branch, Target: target})
	if err == nil {
		return true
	}
	r.fail(&graph.Error{Status: http.StatusForbidden, Code: "forbidden", Message: err.Error()})
	return false
}

// admit takes a place under the actor's admission cap; the caller calls the returned function when done.
func (r *request) admit(bytes int64) (func(), bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.inflight[r.actor]
	if l == nil {
		l = &load{}
		s.inflight[r.actor] = l
	}
	message := ""
	switch {
	case l.count >= s.opts.MaxInflight:
		message = fmt.Sprintf("actor in-flight count cap %d exceeded", s.opts.MaxInflight)
	case l.bytes+bytes > s.opts.MaxInflightBytes:
		message = fmt.Sprintf("actor in-flight byte cap %d exceeded", s.opts.MaxInflightBytes)
	}
	if message != "" {
		r.fail(&graph.Error{Status: http.StatusTooManyRequests, Code: "too_many_requests", Message: message, RetryAfter: 60})
		return nil, false
	}
	l.count++
	l.bytes += bytes
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.count--
		l.bytes -= bytes
		if l.count == 0 {
			delete(s.inflight, r.actor)
		}
	}, true
}

// until waits for the moment at which the cost model lets an answer out.
func until(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// payRead waits as long as a read of this cost takes; others were in flight when it began.
func (r *request) payRead(c graph.Cost, others int64) error {
	if r.s.opts.Cost == nil {
		return nil
	}
	return until(r.Context(), r.start.Add(r.s.opts.Cost.Read(operation.Work(c, others), r.cli())))
}

// write is the graph.Write of this request, paying the cost model where it has one.
func (r *request) write(branch string) graph.Write {
	w := graph.Write{Branch: branch, Actor: r.actor}
	if m := r.s.opts.Cost; m != nil {
		w.Hold = func(ctx context.Context, c graph.Cost, writers int) error {
			cost := operation.Work(c, int64(writers-1)+r.graph.starting.Load())
			cost.Draw = costmodel.Draw(r.s.draws.Add(1))
			return until(ctx, time.Now().Add(m.Commit(cost)))
		}
	}
	return w
}

// payStart waits for what a CLI process loses while the server is busy, before its write queues.
func (r *request) payStart(branch string) error {
	m := r.s.opts.Cost
	if m == nil || !r.cli() {
		return nil
	}
	others := int64(r.graph.Store.Writers()) + r.graph.starting.Add(1) - 1
	defer r.graph.starting.Add(-1)
	c := r.graph.Store.StateCost(branch)
	return until(r.Context(), r.start.Add(m.BeforeCommit(operation.Work(c, others))))
}

// fail answers an error.
func (r *request) fail(err error) {
	var e *graph.Error
	if !errors.As(err, &e) {
		if r.Context().Err() != nil {
			// Nobody is there to read an answer.
			return
		}
		e = &graph.Error{Status: http.StatusInternalServerError, Code: "internal", Message: err.Error()}
	}
	writeError(r.w, e)
}
