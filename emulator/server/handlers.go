package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/operation"
	"github.com/mitodl/xk6-omnigraph/emulator/policy"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// caller runs this request's operations.
func (r *request) caller() operation.Caller {
	return operation.Caller{Store: r.graph.Store, Generation: r.s.opts.Generation, Actor: r.actor}
}

// answer answers with what an operation returned.
func (r *request) answer(v any, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	r.ok(v)
}

func (r *request) ok(v any) {
	r.deprecate()
	writeJSON(r.w, http.StatusOK, v)
}

func (r *request) health() {
	r.ok(struct {
		Status   string `json:"status"`
		Version  string `json:"version"`
		Internal int    `json:"internal_schema_version"`
	}{"ok", r.s.version, graph.InternalSchemaVersion})
}

func (r *request) openapi() {
	paths := map[string]any{"/healthz": map[string]any{"get": map[string]any{}}, "/graphs": map[string]any{"get": map[string]any{}}}
	for _, rt := range routes {
		if r.s.opts.Generation < graph.V010 && slices.Contains(newer, rt.name) {
			continue
		}
		path := "/graphs/{graph_id}"
		for _, s := range rt.segments {
			if s == "*" {
				s = "{" + rt.name + "}"
			}
			path += "/" + s
		}
		ops := map[string]any{}
		for m := range rt.methods {
			ops[map[string]string{"GET": "get", "POST": "post", "DELETE": "delete"}[m]] = map[string]any{"operationId": rt.name}
		}
		paths[path] = ops
	}
	r.ok(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Omnigraph API", "description": "the routes that the emulator answers", "version": r.s.version},
		"paths":   paths,
	})
}

func (r *request) list() {
	if !r.allow(r.s.opts.ClusterPolicy, policy.GraphList, "", "") {
		return
	}
	type info struct {
		ID  string `json:"graph_id"`
		URI string `json:"uri"`
	}
	graphs := []info{}
	for id, g := range r.s.graphs {
		graphs = append(graphs, info{id, g.Store.URI()})
	}
	slices.SortFunc(graphs, func(a, b info) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	r.ok(struct {
		Graphs []info `json:"graphs"`
	}{graphs})
}

// target is where a read goes; the branch is main unless named.
func target(v values) (graph.Target, error) {
	t := graph.Target{Branch: v.text("branch"), Snapshot: v.text("snapshot")}
	if v["branch"] != nil && v["snapshot"] != nil {
		return t, &graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "request may specify branch or snapshot, not both"}
	}
	if v["branch"] == nil && v["snapshot"] == nil {
		t.Branch = graph.MainBranch
	}
	return t, nil
}

func branchOf(v values) string {
	if b := v["branch"]; b != nil {
		return b.Text
	}
	return graph.MainBranch
}

// hasSnapshot answers a snapshot that there isn't. The server looks for it before it looks at the query.
func (r *request) hasSnapshot(v values) bool {
	if v["snapshot"] == nil {
		return true
	}
	_, err := r.graph.Store.Commit(v.text("snapshot"))
	if err != nil {
		r.fail(err)
	}
	return err == nil
}

func (r *request) query() {
	v, _, ok := r.body(queryForm, bodyLimit)
	if !ok {
		return
	}
	r.runQuery(v, v.text("query"), v.text("name"), true)
}

// deprecate marks a success of a deprecated route with the one that took its place.
func (r *request) deprecate() {
	if r.successor != "" {
		r.w.Header().Set("Deprecation", "true")
		r.w.Header().Set("Link", "<"+r.successor+`>; rel="successor-version"`)
	}
}

func (r *request) read() {
	v, _, ok := r.body(readForm, bodyLimit)
	if !ok {
		return
	}
	r.successor = "query"
	r.runQuery(v, v.text("query_source"), v.text("query_name"), false)
}

// runQuery answers an inline read. strict is /query, which tells a mutation where to go.
func (r *request) runQuery(v values, source, name string, strict bool) {
	t, err := target(v)
	if err != nil {
		r.fail(err)
		return
	}
	if !r.allow(r.graph.Policy, policy.Read, t.Branch, "") || !r.hasSnapshot(v) {
		return
	}
	q, err := r.graph.Store.Parse(source, name)
	if err == nil && strict && q.Mutation() {
		err = &graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: fmt.Sprintf(
			"query '%s' contains mutations (insert/update/delete); use POST /mutate for write queries", q.Name)}
	}
	if err != nil {
		r.fail(err)
		return
	}
	r.answerQuery(q, v["params"], t)
}

func (r *request) answerQuery(q *gq.Query, params *jsondoc.Value, t graph.Target) {
	others := r.s.reads.Add(1) - 1
	defer r.s.reads.Add(-1)
	text, err := r.caller().Query(r.Context(), q, params, t, func(c graph.Cost) error { return r.payRead(c, others) })
	if err != nil {
		r.fail(err)
		return
	}
	r.deprecate()
	writeBytes(r.w, http.StatusOK, text)
}

func (r *request) mutate() {
	v, size, ok := r.body(changeForm, bodyLimit)
	if ok {
		r.runMutation(v, size)
	}
}

func (r *request) change() {
	v, size, ok := r.body(changeForm, bodyLimit)
	if !ok {
		return
	}
	r.successor = "mutate"
	r.runMutation(v, size)
}

// IfCommitHeader carries the head that a conditional mutation expects.
const IfCommitHeader = "Omnigraph-If-Graph-Commit"

func (r *request) mutateIf() {
	v, size, ok := r.body(changeForm, bodyLimit)
	if !ok {
		return
	}
	if r.expectCommit() {
		r.runMutation(v, size)
	}
}

// expectCommit reads the head that the request expects and answers its absence.
func (r *request) expectCommit() bool {
	r.ifCommit = r.Header.Get(IfCommitHeader)
	if r.ifCommit == "" {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "missing header " + IfCommitHeader})
	}
	return r.ifCommit != ""
}

func (r *request) invokeIf() {
	if !r.expectCommit() {
		return
	}
	if stored := r.graph.Queries[r.args[0]]; stored != nil && !stored.Query.Mutation() {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: fmt.Sprintf("'%s' is a read — a condition on the head is for mutations", r.args[0])})
		return
	}
	r.invoke()
}

func (r *request) runMutation(v values, size int64) {
	branch := branchOf(v)
	if !r.allow(r.graph.Policy, policy.Change, branch, "") {
		return
	}
	done, ok := r.admit(size)
	if !ok {
		return
	}
	defer done()
	q, err := r.graph.Store.Parse(v.text("query"), v.text("name"))
	if err != nil {
		r.fail(err)
		return
	}
	r.answerMutation(q, v["params"], branch)
}

func (r *request) answerMutation(q *gq.Query, params *jsondoc.Value, branch string) {
	if strings.TrimSpace(branch) == "" {
		r.fail(graph.ErrEmptyBranch)
		return
	}
	if err := r.payStart(branch); err != nil {
		r.fail(err)
		return
	}
	w := r.write(branch)
	w.IfCommit = r.ifCommit
	r.answer(r.caller().Mutate(r.Context(), q, params, w))
}

func (r *request) invoke() {
	text, ok := r.rawBody(bodyLimit)
	if !ok {
		return
	}
	stored := r.graph.Queries[r.args[0]]
	denied := r.graph.Policy.Check(policy.Request{Actor: r.actor, Action: policy.InvokeQuery})
	if stored == nil || denied != nil {
		r.fail(&graph.Error{Status: http.StatusNotFound, Code: "not_found", Message: "stored query not found"})
		return
	}
	v, err := invocation(text)
	if err != nil {
		r.fail(err)
		return
	}
	q := stored.Query
	if want := v["expect_mutation"]; want != nil && want.Bool != q.Mutation() {
		is, verb := "read", "query"
		if q.Mutation() {
			is, verb = "mutation", "mutate"
		}
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: fmt.Sprintf("'%s' is a %s — use omnigraph %s %s", q.Name, is, verb, q.Name)})
		return
	}
	if q.Mutation() {
		r.invokeMutation(q, v, int64(len(text)))
		return
	}
	t, err := target(v)
	if err != nil {
		r.fail(err)
		return
	}
	if r.allow(r.graph.Policy, policy.Read, t.Branch, "") && r.hasSnapshot(v) {
		r.answerQuery(q, v["params"], t)
	}
}

func (r *request) invokeMutation(q *gq.Query, v values, size int64) {
	if v["snapshot"] != nil {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "stored mutation cannot target a snapshot"})
		return
	}
	branch := branchOf(v)
	if !r.allow(r.graph.Policy, policy.Change, branch, "") {
		return
	}
	done, ok := r.admit(size)
	if !ok {
		return
	}
	defer done()
	r.answerMutation(q, v["params"], branch)
}

// invocation reads the body of a stored query's call, which may be missing or null.
func invocation(text string) (values, error) {
	if text == "" || text == "null" {
		return values{}, nil
	}
	v, err := decode(text, invokeForm)
	var shape *shapeError
	if errors.As(err, &shape) {
		// This message does not name the field.
		err = errors.New(shape.message)
	}
	if err != nil {
		return nil, &graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "invalid stored-query invocation body: " + err.Error()}
	}
	return v, nil
}

// paramKinds are the kinds under which a catalog lists parameters.
var paramKinds = map[schema.Kind]string{
	schema.String: "string", schema.Bool: "bool", schema.I32: "int", schema.U32: "int", schema.I64: "bigint", schema.U64: "bigint",
	schema.F32: "float", schema.F64: "float", schema.Date: "date", schema.DateTime: "datetime",
}

func (r *request) queries() {
	if !r.allow(r.graph.Policy, policy.Read, graph.MainBranch, "") {
		return
	}
	type param struct {
		Name     string `json:"name"`
		Kind     string `json:"kind"`
		ItemKind string `json:"item_kind,omitempty"`
		Nullable bool   `json:"nullable"`
	}
	type entry struct {
		Name        string  `json:"name"`
		ToolName    string  `json:"tool_name"`
		Description string  `json:"description,omitempty"`
		Instruction string  `json:"instruction,omitempty"`
		Mutation    bool    `json:"mutation"`
		Params      []param `json:"params"`
	}
	list := []entry{}
	for _, q := range sortedQueries(r.graph.Queries) {
		e := entry{Name: q.Name, ToolName: q.Name, Description: q.Description, Instruction: q.Instruction, Mutation: q.Mutation(), Params: []param{}}
		for _, p := range q.Params {
			d := param{Name: p.Name, Kind: paramKinds[p.Type.Kind], Nullable: p.Type.Optional}
			if p.Type.List {
				d.Kind, d.ItemKind = "list", paramKinds[p.Type.Kind]
			}
			e.Params = append(e.Params, d)
		}
		list = append(list, e)
	}
	r.ok(struct {
		Queries []entry `json:"queries"`
	}{list})
}

func sortedQueries(m map[string]*cluster.StoredQuery) []*gq.Query {
	list := make([]*gq.Query, 0, len(m))
	for _, q := range m {
		list = append(list, q.Query)
	}
	slices.SortFunc(list, func(a, b *gq.Query) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

func (r *request) load() {
	if v, size, ok := r.body(ingestForm, loadLimit); ok {
		r.runLoad(v.text("data"), v.text("mode"), branchOf(v), v.optional("from"), size)
	}
}

func (r *request) ingest() {
	v, size, ok := r.body(ingestForm, loadLimit)
	if !ok {
		return
	}
	r.successor = "load"
	r.runLoad(v.text("data"), v.text("mode"), branchOf(v), v.optional("from"), size)
}

func (r *request) loadNDJSON() {
	p, ok := r.parameters("mode", "branch", "from")
	if !ok {
		return
	}
	mode := p["mode"]
	if mode != "" && !slices.Contains(graph.LoadModes, graph.LoadMode(mode)) {
		plainText(r.w, http.StatusBadRequest, fmt.Sprintf("Failed to deserialize query string: mode: unknown variant `%s`, expected one of `overwrite`, `append`, `merge`", mode))
		return
	}
	text, ok := r.rawBody(loadLimit)
	if !ok {
		return
	}
	branch := p["branch"]
	if strings.TrimSpace(branch) == "" {
		branch = graph.MainBranch
	}
	var from *string
	if name, ok := p["from"]; ok {
		from = &name
	}
	r.runLoad(text, mode, branch, from, int64(len(text)))
}

func (r *request) runLoad(data, mode, branch string, from *string, size int64) {
	if mode == "" {
		mode = string(graph.Merge)
	}
	if !r.allow(r.graph.Policy, policy.Change, branch, "") {
		return
	}
	done, ok := r.admit(size)
	if !ok {
		return
	}
	defer done()
	if strings.TrimSpace(branch) == "" {
		r.fail(graph.NoBranchToLoad(branch, from))
		return
	}
	if err := r.payStart(branch); err != nil {
		r.fail(err)
		return
	}
	r.answer(r.caller().Load(r.Context(), data, graph.LoadMode(mode), from, r.write(branch)))
}

// branchParam is the branch of a GET, main unless the query string names one. ok is false where that was answered.
func (r *request) branchParam() (branch string, ok bool) {
	p, ok := r.parameters("branch")
	if branch, has := p["branch"]; has {
		return branch, ok
	}
	return graph.MainBranch, ok
}

// parameters reads the query string as the server does: names that it does not know mean nothing, one that it knows
// may stand there once, and what is no escape stands for itself.
func (r *request) parameters(known ...string) (map[string]string, bool) {
	p := map[string]string{}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = unescaped(name)
		if !slices.Contains(known, name) {
			continue
		}
		if _, twice := p[name]; twice {
			plainText(r.w, http.StatusBadRequest, "Failed to deserialize query string: duplicate field `"+name+"`")
			return nil, false
		}
		p[name] = unescaped(value)
	}
	return p, true
}

func unescaped(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b = append(b, ' ')
		case s[i] == '%' && i+2 < len(s):
			c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b = append(b, '%')
				continue
			}
			b = append(b, byte(c))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// answerLight answers with what an operation on a branch returned, and pays for one that reads no rows.
func (r *request) answerLight(branch string, operation func(branch string) (any, error)) {
	v, err := operation(branch)
	if err != nil {
		r.fail(err)
		return
	}
	if r.light(branch) {
		r.ok(v)
	}
}

// light pays for an answer that reads no rows.
func (r *request) light(branch string) bool {
	if r.s.opts.Cost == nil {
		return true
	}
	others := r.s.reads.Add(1) - 1
	defer r.s.reads.Add(-1)
	c := r.graph.Store.StateCost(branch)
	c.Fragments = 1
	if err := r.payRead(c, others); err != nil {
		r.fail(err)
		return false
	}
	return true
}

func (r *request) snapshot() {
	branch, ok := r.branchParam()
	if !ok || !r.allow(r.graph.Policy, policy.Read, branch, "") {
		return
	}
	r.answerLight(branch, r.caller().Snapshot)
}

func (r *request) schema() {
	if r.allow(r.graph.Policy, policy.Read, graph.MainBranch, "") && r.light(graph.MainBranch) {
		r.ok(r.caller().Schema())
	}
}

func (r *request) schemaApply() {
	if _, _, ok := r.body(applyForm, bodyLimit); !ok {
		return
	}
	if r.allow(r.graph.Policy, policy.SchemaApply, "", graph.MainBranch) {
		r.fail(&graph.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "the emulator lacks schema migrations; use a real omnigraph server"})
	}
}

func (r *request) branches() {
	if r.allow(r.graph.Policy, policy.Read, graph.MainBranch, "") && r.light(graph.MainBranch) {
		r.ok(r.caller().Branches())
	}
}

func (r *request) createBranch() {
	v, size, ok := r.body(branchForm, bodyLimit)
	if !ok {
		return
	}
	from := graph.MainBranch
	if f := v["from"]; f != nil {
		from = f.Text
	}
	name := v.text("name")
	if !r.allow(r.graph.Policy, policy.BranchCreate, from, name) {
		return
	}
	done, ok := r.admit(size)
	if !ok {
		return
	}
	defer done()
	r.answer(r.caller().CreateBranch(r.Context(), name, from))
}

func (r *request) deleteBranch() {
	name := r.args[0]
	if !r.allow(r.graph.Policy, policy.BranchDelete, "", name) {
		return
	}
	r.answer(r.caller().DeleteBranch(r.Context(), name))
}

func (r *request) merge() {
	v, size, ok := r.body(mergeForm, bodyLimit)
	if !ok {
		return
	}
	source, into := v.text("source"), graph.MainBranch
	if t := v["target"]; t != nil {
		into = t.Text
	}
	if !r.allow(r.graph.Policy, policy.BranchMerge, source, into) {
		return
	}
	done, ok := r.admit(size)
	if !ok {
		return
	}
	defer done()
	if into == "" {
		r.fail(graph.ErrEmptyBranch)
		return
	}
	r.answer(r.caller().MergeBranch(r.Context(), source, r.write(into)))
}

func (r *request) commits() {
	branch, ok := r.branchParam()
	if !ok || !r.allow(r.graph.Policy, policy.Read, branch, "") {
		return
	}
	r.answerLight(branch, r.caller().Commits)
}

func (r *request) commit() {
	if !r.allow(r.graph.Policy, policy.Read, graph.MainBranch, "") {
		return
	}
	r.answerLight(graph.MainBranch, func(string) (any, error) { return r.caller().Commit(r.args[0]) })
}

func (r *request) export() {
	v, _, ok := r.body(exportForm, bodyLimit)
	if !ok {
		return
	}
	branch := branchOf(v)
	if !r.allow(r.graph.Policy, policy.Export, branch, "") || !r.light(branch) {
		return
	}
	r.w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	s := &exportStream{r: r}
	err := r.graph.Store.Export(s, branch, v.texts("type_names"), v.texts("table_keys"))
	if err == nil || r.Context().Err() != nil {
		return
	}
	// The server has answered 200 by the time that it finds out, and can only break the stream off.
	s.start()
	r.reset()
}

// exportStream sends the status line with the first bytes, chunked whatever the size.
type exportStream struct {
	r       *request
	started bool
}

func (s *exportStream) start() {
	if !s.started {
		s.started = true
		s.r.w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(s.r.w).Flush() // a recorder in a test can't flush
	}
}

func (s *exportStream) Write(p []byte) (int, error) {
	s.start()
	return s.r.w.Write(p)
}
