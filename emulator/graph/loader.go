package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// loader puts the records of one load into a mutation.
type loader struct {
	m       *mutation
	mode    LoadMode
	counts  []int // rows, by table
	cleared map[int]bool
	// first is the mistake to report. The server looks at all records once for each kind of mistake, and names the
	// first of the first kind; the loader goes over them once and keeps what that would have been.
	first problem
}

// problem is a mistake and its place in the order in which the server looks for mistakes.
type problem struct {
	stage stage
	table string
	prop  string
	err   error
}

// stage is a kind of mistake, in the server's order. What is wrong with a record as such comes before all of them.
type stage uint8

const (
	badNode stage = iota
	badEdge
	badEnum
	notUnique
	tooManyEdges
	noEndpoint
)

func newLoader(m *mutation, mode LoadMode) *loader {
	return &loader{m: m, mode: mode, counts: make([]int, len(m.g.specs)), cleared: map[int]bool{}}
}

func (l *loader) found(p problem) {
	if p.err == nil {
		return
	}
	if l.first.err == nil || cmp.Or(
		cmp.Compare(p.stage, l.first.stage), strings.Compare(p.table, l.first.table), strings.Compare(p.prop, l.first.prop)) < 0 {
		l.first = p
	}
}

// edgeRecord is an edge that waits until all nodes are there, whatever the order of records.
type edgeRecord struct {
	table    int
	from, to string
	data     *jsondoc.Value
}

// load reads the documents and returns how many rows each table got.
func (l *loader) load(data string) ([]int, error) {
	var edges []edgeRecord
	records := jsondoc.NewStream(data)
	for number := 1; ; number++ {
		doc, more, err := records.Next()
		if err != nil {
			var syntax *jsondoc.SyntaxError
			if errors.As(err, &syntax) {
				return nil, badRequest("invalid JSON at record %d: %s", number, syntax.Error())
			}
			return nil, fmt.Errorf("read record %d: %w", number, err)
		}
		if !more {
			break
		}
		if name := stringMember(&doc, "type"); name != nil {
			i := l.m.g.nodeTable(name.Text)
			if i < 0 {
				return nil, badRequest("record %d: unknown node type '%s'", number, name.Text)
			}
			l.node(i, dataOf(&doc))
			continue
		}
		if stringMember(&doc, "edge") == nil {
			return nil, badRequest("record %d: expected 'type' or 'edge' field", number)
		}
		e, err := l.edgeRecord(number, &doc)
		if err != nil {
			return nil, err
		}
		edges = append(edges, e)
	}
	for i := range edges {
		l.edge(&edges[i])
	}
	if l.first.err == nil {
		l.dangling()
	}
	return l.counts, l.first.err
}

func stringMember(doc *jsondoc.Value, name string) *jsondoc.Value {
	if v := doc.Get(name); v != nil && v.Kind == jsondoc.String {
		return v
	}
	return nil
}

// dataOf is a record's properties.
func dataOf(doc *jsondoc.Value) *jsondoc.Value {
	if data := doc.Get("data"); data != nil {
		return data
	}
	return &jsondoc.Value{Kind: jsondoc.Object}
}

// clearOnce empties a table before its first row, where the load replaces what was there.
func (l *loader) clearOnce(i int) {
	if l.mode == Overwrite && !l.cleared[i] {
		l.cleared[i] = true
		l.m.clear(i)
	}
}

// node adds one node. Within one load a key may occur only once.
func (l *loader) node(i int, data *jsondoc.Value) {
	m, spec := l.m, &l.m.g.specs[i]
	id, err := l.nodeID(spec, data)
	if err != nil {
		l.found(problem{stage: badNode, table: spec.key, err: err})
		return
	}
	vals := l.values(badNode, spec, data)
	if l.first.err != nil {
		// There will be no commit; what is left to do is to look at the other records.
		return
	}
	if k := spec.node.Key; k >= 0 && vals[k].kind == kindString {
		vals[k].text = id
	}
	l.clearOnce(i)
	old := m.edit(i).find(id)
	for _, r := range old {
		if r.seq >= m.base.state.tables[i].nextSeq {
			key := "id"
			if spec.node.Key >= 0 {
				key = spec.props[spec.node.Key].Name
			}
			l.found(problem{stage: notUnique, err: uniqueViolation(spec.name, key, stringValue(id), id, id)})
			return
		}
	}
	if err := m.unique(i, id, vals); err != nil {
		l.found(problem{stage: notUnique, err: err})
		return
	}
	l.counts[i]++
	if l.mode != Append {
		m.upsert(i, id, vals)
		return
	}
	if m.g.opts.Generation >= V010 && len(old) > 0 {
		e := conflict("node type '%s' already has id '%s'", spec.name, id)
		e.Key = &KeyConflict{EntityKind: "node", TypeName: spec.name, EntityID: id}
		l.found(problem{stage: notUnique, err: e})
		return
	}
	m.insert(i, id, vals)
}

// nodeID is a node's id: its key, or the one that the record gives, or a new one.
func (l *loader) nodeID(spec *tableSpec, data *jsondoc.Value) (string, error) {
	given := stringMember(data, "id")
	k := spec.node.Key
	if k < 0 {
		if given != nil {
			return strings.Clone(given.Text), nil
		}
		return l.m.g.ids.next(), nil
	}
	p := &spec.props[k]
	v, ok, err := fromRow(p, data.Get(p.Name))
	if err != nil || !ok {
		return "", badRequest("node %s missing @key property '%s'", spec.name, p.Name)
	}
	id := strings.Clone(v.String())
	if given != nil && given.Text != id {
		return "", badRequest("node %s has explicit id '%s' that does not match @key property '%s' value '%s'", spec.name, given.Text, p.Name, id)
	}
	return id, nil
}

// values reads a record's properties; what does not fit an optional property is null.
func (l *loader) values(at stage, spec *tableSpec, data *jsondoc.Value) []Value {
	n := len(spec.props)
	if spec.edge != nil {
		n += 2
	}
	vals := make([]Value, n)
	for j := range spec.props {
		p := &spec.props[j]
		v, ok, err := fromRow(p, data.Get(p.Name))
		if err == nil && !ok && !p.Type.Optional {
			err = badRequest("non-nullable property '%s' has null or invalid values", p.Name)
		}
		if err != nil {
			l.found(problem{stage: at, table: spec.key, prop: p.Name, err: err})
		}
		if err != nil || !ok {
			continue
		}
		if p.Type.Enum == nil {
			vals[j] = v.clone()
			continue
		}
		vals[j] = l.enumValue(spec, p, v)
	}
	return vals
}

// enumValue shares the text of the schema.
func (l *loader) enumValue(spec *tableSpec, p *schema.Property, v Value) Value {
	k, found := slices.BinarySearch(p.Type.Enum, v.text)
	if !found {
		l.found(problem{stage: badEnum, err: badRequest("invalid enum value '%s' for %s.%s (expected: %s)", v.text, spec.name, p.Name, p.Type.EnumList())})
		return v
	}
	v.text = p.Type.Enum[k]
	return v
}

func (l *loader) edgeRecord(number int, doc *jsondoc.Value) (edgeRecord, error) {
	name := doc.Get("edge").Text
	// Unlike a node's type, an edge's may be written in any case.
	e := edgeRecord{
		table: slices.IndexFunc(l.m.g.specs, func(s tableSpec) bool { return s.edge != nil && strings.EqualFold(s.name, name) }),
		data:  dataOf(doc),
	}
	if e.table < 0 {
		return e, badRequest("record %d: unknown edge type '%s'", number, name)
	}
	for _, end := range []struct {
		name string
		dst  *string
	}{{"from", &e.from}, {"to", &e.to}} {
		v := stringMember(doc, end.name)
		if v == nil {
			return e, badRequest("record %d: edge missing '%s'", number, end.name)
		}
		*end.dst = v.Text
	}
	return e, nil
}

func (l *loader) edge(e *edgeRecord) {
	m, i := l.m, e.table
	spec := &m.g.specs[i]
	vals := l.values(badEdge, spec, e.data)
	if l.first.err != nil && l.first.stage < tooManyEdges {
		return
	}
	vals[len(vals)-2], vals[len(vals)-1] = l.endpoint(spec.from, e.from), l.endpoint(spec.to, e.to)
	l.clearOnce(i)
	id := m.g.ids.next()
	if v := stringMember(e.data, "id"); v != nil {
		id = strings.Clone(v.Text)
		if l.mode == Merge {
			for _, r := range m.edit(i).find(id) {
				m.remove(i, r)
			}
		}
	}
	l.found(problem{stage: tooManyEdges, table: spec.key, err: m.cardinality(i, e.from)})
	l.found(problem{stage: noEndpoint, table: spec.key, err: m.endpointsOf(spec, e.from, e.to)})
	m.insert(i, id, vals)
	l.counts[i]++
}

// endpoint shares the text of the node's own id, so that an edge costs no copy of it.
func (l *loader) endpoint(table int, id string) Value {
	if rows := l.m.lookup(table, id); len(rows) > 0 {
		return stringValue(rows[0].id)
	}
	return stringValue(strings.Clone(id))
}

// dangling finds an edge that stayed while the load overwrote the table of one of its ends.
func (l *loader) dangling() {
	for i := range l.m.g.specs {
		spec := &l.m.g.specs[i]
		if spec.edge == nil || l.cleared[i] || (!l.cleared[spec.from] && !l.cleared[spec.to]) {
			continue
		}
		edges := l.m.base.state.tables[i]
		if e := l.m.tables[i]; e != nil {
			edges = e.table
		}
		edges.rows.Each(func(r *row) bool {
			err := l.m.endpointsOf(spec, r.source(), r.target())
			l.found(problem{stage: noEndpoint, table: spec.key, err: err})
			return err == nil
		})
	}
}
