package wire

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"
)

// Request is an operation as it goes over HTTP, without the server's address.
type Request struct {
	Method string
	// Path begins with a slash and may carry a query string.
	Path string
	// Body is nil for a request without one. It is appended to the buffer that the caller gave.
	Body        []byte
	ContentType string
	// Header is a further header of this operation, or two empty strings.
	HeaderName, HeaderValue string
}

// The media types of requests.
const (
	contentTypeJSON = "application/json"
)

// The headers of newer servers.
const (
	// HeaderAPI carries the version of the HTTP contract that a request is written for.
	HeaderAPI = "Omnigraph-Http-Api"
	// HeaderCostModel is how the emulator's answers name their cost model.
	HeaderCostModel = "Omnigraph-Emulator-Cost-Model"
	// HeaderIfCommit carries the expected head of a conditional mutation.
	HeaderIfCommit = "Omnigraph-If-Graph-Commit"
)

// EncodeRequest writes the operation as an HTTP request. The body is appended to buf, which may be nil.
func EncodeRequest(o *Operation, buf []byte) (Request, *Error) {
	if !o.Op.Offered(TransportHTTP) {
		return Request{}, Unsupported(o.Op, TransportHTTP)
	}
	if problem := o.Check(); problem != nil {
		return Request{}, problem
	}
	graph := "/graphs/" + url.PathEscape(o.Graph)
	switch o.Op {
	case OpHealth:
		return Request{Method: http.MethodGet, Path: "/healthz"}, nil
	case OpGraphs:
		return Request{Method: http.MethodGet, Path: "/graphs"}, nil
	}
	if o.Graph == "" {
		return Request{}, NewError(KindBadRequest, "graph: %s needs a graph: give it to the client or to the call", o.Op)
	}
	if problem := o.checkPath(); problem != nil {
		return Request{}, problem
	}
	post := func(path string, body []byte) (Request, *Error) {
		return Request{Method: http.MethodPost, Path: graph + path, Body: body, ContentType: contentTypeJSON}, nil
	}
	switch o.Op {
	case OpQuery:
		return post("/query", o.appendQuery(buf))
	case OpMutate:
		if o.IfCommit != "" {
			r, err := post("/mutate/if-graph-commit", o.appendQuery(buf))
			r.HeaderName, r.HeaderValue = HeaderIfCommit, o.IfCommit
			return r, err
		}
		return post("/mutate", o.appendQuery(buf))
	case OpInvoke:
		if o.Name == "" {
			return Request{}, NewError(KindBadRequest, "name: invoke needs the name of a stored query")
		}
		return post("/queries/"+url.PathEscape(o.Name), o.appendInvoke(buf))
	case OpLoad:
		return post("/load", o.appendLoad(buf))
	case OpExport:
		return post("/export", o.appendExport(buf))
	case OpBranchCreate:
		b := objectWriter{buf: buf}
		b.str("name", o.Branch)
		b.optional("from", o.From)
		return post("/branches", b.end())
	case OpBranchMerge:
		b := objectWriter{buf: buf}
		b.str("source", o.Source)
		b.optional("target", o.Target)
		return post("/branches/merge", b.end())
	case OpBranchDelete:
		return Request{Method: http.MethodDelete, Path: graph + "/branches/" + url.PathEscape(o.Branch)}, nil
	case OpSnapshot:
		return Request{Method: http.MethodGet, Path: graph + "/snapshot" + branchQuery(o.Branch)}, nil
	case OpCommits:
		return Request{Method: http.MethodGet, Path: graph + "/commits" + branchQuery(o.Branch)}, nil
	case OpSchema:
		return Request{Method: http.MethodGet, Path: graph + "/schema"}, nil
	case OpBranches:
		return Request{Method: http.MethodGet, Path: graph + "/branches"}, nil
	case OpQueries:
		return Request{Method: http.MethodGet, Path: graph + "/queries"}, nil
	}
	return Request{}, Unsupported(o.Op, TransportHTTP)
}

// checkPath refuses names that would lead the request elsewhere.
func (o *Operation) checkPath() *Error {
	if problem := CheckSegment("graph", o.Graph); problem != nil {
		return problem
	}
	switch o.Op {
	case OpInvoke:
		return CheckSegment("name", o.Name)
	case OpBranchDelete:
		return CheckSegment("branch", o.Branch)
	}
	return nil
}

func branchQuery(branch string) string {
	if branch == "" {
		return ""
	}
	return "?branch=" + url.QueryEscape(branch)
}

// objectWriter appends one flat JSON object to a buffer.
type objectWriter struct {
	buf    []byte
	opened bool
}

func (b *objectWriter) name(name string) {
	if b.opened {
		b.buf = append(b.buf, ',')
	} else {
		b.buf = append(b.buf, '{')
		b.opened = true
	}
	b.buf = append(b.buf, '"')
	b.buf = append(b.buf, name...)
	b.buf = append(b.buf, '"', ':')
}

func (b *objectWriter) raw(name string, value []byte) {
	b.name(name)
	b.buf = append(b.buf, value...)
}

func (b *objectWriter) str(name, value string) {
	b.name(name)
	b.buf = gjson.AppendJSONString(b.buf, value)
}

func (b *objectWriter) optional(name, value string) {
	if value != "" {
		b.str(name, value)
	}
}

func (b *objectWriter) end() []byte {
	if !b.opened {
		b.buf = append(b.buf, '{')
	}
	return append(b.buf, '}')
}

// EncodeText prepares the .gq source of a query for [Operation.TextJSON].
func EncodeText(text string) []byte { return gjson.AppendJSONString(nil, text) }

func (o *Operation) appendQuery(buf []byte) []byte {
	b := objectWriter{buf: buf}
	if o.TextJSON != nil {
		b.raw("query", o.TextJSON)
	} else {
		b.str("query", o.Text)
	}
	b.optional("name", o.Name)
	o.appendTarget(&b)
	return b.end()
}

func (o *Operation) appendInvoke(buf []byte) []byte {
	b := objectWriter{buf: buf}
	o.appendTarget(&b)
	return b.end()
}

func (o *Operation) appendTarget(b *objectWriter) {
	if len(o.Params) > 0 {
		b.raw("params", o.Params)
	}
	b.optional("branch", o.Branch)
	b.optional("snapshot", o.Snapshot)
}

func (o *Operation) appendLoad(buf []byte) []byte {
	b := objectWriter{buf: buf}
	b.str("data", string(o.Data))
	b.str("mode", o.Mode)
	b.optional("branch", o.Branch)
	b.optional("from", o.From)
	return b.end()
}

func (o *Operation) appendExport(buf []byte) []byte {
	b := objectWriter{buf: buf}
	b.optional("branch", o.Branch)
	if len(o.TypeNames) > 0 {
		names := make([]string, len(o.TypeNames))
		for i, n := range o.TypeNames {
			names[i] = string(gjson.AppendJSONString(nil, n))
		}
		b.raw("type_names", []byte("["+strings.Join(names, ",")+"]"))
	}
	return b.end()
}
