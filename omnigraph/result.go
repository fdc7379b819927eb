package omnigraph

import (
	"slices"

	"go.k6.io/k6/v2/metrics"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// resultFields are the members of a result, in the order in which Object.keys lists them.
var resultFields = []string{
	"ok", "transport", "op", "rows", "columns", "rowCount", "affectedNodes", "affectedEdges", "actorId", "commit",
	"status", "exitCode", "duration", "timings", "attempts", "error", "data",
}

// errorFields are the members of a result's error.
var errorFields = []string{"kind", "code", "status", "exitCode", "message", "retryable", "indeterminate", "retryAfter", "truncated"}

// result is what a script gets for an operation. Its members are made when they are looked at: most scripts look at
// few, and the rows of a large answer cost the most.
type result struct {
	mi    *instance
	inv   *invocation
	cache map[string]sobek.Value
}

func (mi *instance) newResult(inv *invocation) sobek.Value {
	return mi.vu.Runtime().NewDynamicObject(&result{mi: mi, inv: inv})
}

// Get implements sobek.DynamicObject.
func (r *result) Get(key string) sobek.Value {
	if v, ok := r.cache[key]; ok {
		return v
	}
	v, keep := r.make(key)
	if keep {
		r.keep(key, v)
	}
	return v
}

func (r *result) keep(key string, v sobek.Value) {
	if r.cache == nil {
		r.cache = make(map[string]sobek.Value, 2)
	}
	r.cache[key] = v
}

// make gives a member's value, and whether it is an object that has to stay the same from one look to the next.
func (r *result) make(key string) (sobek.Value, bool) {
	rt, inv, out := r.mi.vu.Runtime(), r.inv, r.inv.out
	success := &out.Success
	switch key {
	case "ok":
		return rt.ToValue(out.Err == nil), false
	case "transport":
		return rt.ToValue(inv.c.transport), false
	case "op":
		return rt.ToValue(string(inv.op.Op)), false
	case "rows":
		return r.parse(success.Rows, "[]"), true
	case "columns":
		return r.parse(success.Columns, "[]"), true
	case "rowCount":
		return rt.ToValue(success.RowCount), false
	case "affectedNodes":
		return rt.ToValue(success.AffectedNodes), false
	case "affectedEdges":
		return rt.ToValue(success.AffectedEdges), false
	case "actorId":
		return textOrNull(rt, success.ActorID), false
	case "commit":
		return textOrNull(rt, success.Commit), false
	case "status":
		return rt.ToValue(out.Status), false
	case "exitCode":
		if inv.c.transport == wire.TransportHTTP || out.ExitCode < 0 {
			return sobek.Null(), false
		}
		return rt.ToValue(out.ExitCode), false
	case "duration":
		return rt.ToValue(metrics.D(inv.took)), false
	case "timings":
		return r.timings(), true
	case "attempts":
		return rt.ToValue(inv.attempts), false
	case "error":
		if out.Err == nil {
			return sobek.Null(), false
		}
		o := rt.NewObject()
		for _, field := range errorFields {
			_ = o.Set(field, errorField(rt, out.Err, field))
		}
		return o, true
	case "data":
		switch {
		case out.Err != nil:
			return sobek.Null(), false
		case inv.op.Op == wire.OpVersion:
			return rt.ToValue(success.Doc), false
		}
		return r.parse(success.Doc, "null"), true
	}
	return nil, false
}

// parse decodes a part of the answer.
func (r *result) parse(document, absent string) sobek.Value {
	if document == "" {
		document = absent
	}
	return decodeJSON(r.mi.vu.Runtime(), document)
}

func (r *result) timings() sobek.Value {
	rt, t := r.mi.vu.Runtime(), &r.inv.out.Timings
	o := rt.NewObject()
	set := func(name string, ms float64) { _ = o.Set(name, ms) }
	set("queued", metrics.D(t.Queued))
	set("total", metrics.D(t.Total))
	set("decode", metrics.D(t.Decode))
	if r.inv.c.transport == wire.TransportHTTP {
		set("blocked", metrics.D(t.Blocked))
		set("connecting", metrics.D(t.Connecting))
		set("tlsHandshaking", metrics.D(t.TLSHandshaking))
		set("sending", metrics.D(t.Sending))
		set("waiting", metrics.D(t.Waiting))
		set("receiving", metrics.D(t.Receiving))
		return o
	}
	set("spawn", metrics.D(t.Spawn))
	if p := r.inv.out.Process; p != nil {
		set("cpu", metrics.D(p.CPU))
		set("maxRss", float64(p.MaxRSS))
	}
	return o
}

func textOrNull(rt *sobek.Runtime, s string) sobek.Value {
	if s == "" {
		return sobek.Null()
	}
	return rt.ToValue(s)
}

func errorField(rt *sobek.Runtime, e *wire.Error, field string) sobek.Value {
	switch field {
	case "kind":
		return rt.ToValue(string(e.Kind))
	case "code":
		return textOrNull(rt, e.Code)
	case "status":
		return rt.ToValue(e.Status)
	case "exitCode":
		return rt.ToValue(e.ExitCode)
	case "message":
		return rt.ToValue(e.Message)
	case "retryable":
		return rt.ToValue(e.Retryable)
	case "indeterminate":
		return rt.ToValue(e.Indeterminate)
	case "retryAfter":
		if e.RetryAfter == 0 {
			return sobek.Null()
		}
		return rt.ToValue(metrics.D(e.RetryAfter))
	case "truncated":
		return rt.ToValue(e.Truncated)
	}
	return sobek.Undefined()
}

// Set implements sobek.DynamicObject: scripts may put their own values on a result.
func (r *result) Set(key string, v sobek.Value) bool {
	r.keep(key, v)
	return true
}

// Has implements sobek.DynamicObject.
func (r *result) Has(key string) bool {
	if _, ok := r.cache[key]; ok {
		return true
	}
	return slices.Contains(resultFields, key)
}

// Delete implements sobek.DynamicObject: members of a result stay.
func (r *result) Delete(key string) bool {
	if slices.Contains(resultFields, key) {
		return false
	}
	delete(r.cache, key)
	return true
}

// Keys implements sobek.DynamicObject.
func (r *result) Keys() []string {
	keys := slices.Clone(resultFields)
	for k := range r.cache {
		if !slices.Contains(resultFields, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// MarshalJSON implements json.Marshaler, as JSON.stringify does it. k6 exports what setup() returns and leaves its JSON to
// Go, which would see none of the members.
func (r *result) MarshalJSON() ([]byte, error) {
	return encodeJSON(r.mi.vu.Runtime().NewDynamicObject(r))
}
