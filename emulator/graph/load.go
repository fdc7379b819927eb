package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// LoadMode says what happens to rows that exist.
type LoadMode string

// The modes.
const (
	Overwrite LoadMode = "overwrite"
	Append    LoadMode = "append"
	Merge     LoadMode = "merge"
)

// LoadModes lists the modes in the order in which messages name them.
var LoadModes = []LoadMode{Overwrite, Append, Merge}

// LoadedTable is how many rows a load gave one table.
type LoadedTable struct {
	Key  string
	Name string
	Edge bool
	Rows int
}

// LoadResult is a load's answer.
type LoadResult struct {
	Branch        string
	BranchCreated bool
	Tables        []LoadedTable
	Commit        *Commit
}

// Load reads NDJSON into a branch as one commit. With from, a branch that is not there is made first.
func (g *Graph) Load(ctx context.Context, data string, mode LoadMode, from string, w Write) (*LoadResult, error) {
	res := &LoadResult{Branch: w.branchName()}
	b, err := g.branch(res.Branch)
	switch {
	case err == nil:
	case from != "":
		if err := g.CreateBranch(ctx, res.Branch, from); err != nil {
			return nil, err
		}
		res.BranchCreated = true
		if b, err = g.branch(res.Branch); err != nil {
			return nil, err
		}
	default:
		return nil, notFound("branch '%s' not found; pass `from` to create it", res.Branch)
	}
	m := g.newMutation(b.head, nil)
	counts, err := m.load(data, mode)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		s := &g.specs[i]
		res.Tables = append(res.Tables, LoadedTable{Key: s.key, Name: s.name, Edge: s.edge != nil, Rows: n})
	}
	slices.SortFunc(res.Tables, func(a, b LoadedTable) int { return strings.Compare(a.Key, b.Key) })
	m.always = true
	res.Commit, err = g.write(ctx, w, m)
	return res, err
}

// record is one line of a load.
type record struct {
	number int
	doc    jsondoc.Value
}

func (m *mutation) load(data string, mode LoadMode) ([]int, error) {
	counts := make([]int, len(m.g.specs))
	var edges []record
	number := 0
	cleared := map[int]bool{}
	for rest := data; rest != ""; {
		line := rest
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		number++
		doc, err := jsondoc.Parse(line)
		if err != nil {
			var syntax *jsondoc.SyntaxError
			if errors.As(err, &syntax) {
				return nil, badRequest("invalid JSON at record %d: %s", number, syntax.Error())
			}
			return nil, fmt.Errorf("read record %d: %w", number, err)
		}
		rec := record{number: number, doc: doc}
		switch {
		case stringMember(&doc, "type") != nil:
			if err := m.loadNode(rec, mode, counts, cleared); err != nil {
				return nil, err
			}
		case stringMember(&doc, "edge") != nil:
			// Edges wait until all nodes are there, whatever the order of lines.
			edges = append(edges, rec)
		default:
			return nil, badRequest("record %d: expected 'type' or 'edge' field", number)
		}
	}
	for _, rec := range edges {
		if err := m.loadEdge(rec, mode, counts, cleared); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func stringMember(doc *jsondoc.Value, name string) *jsondoc.Value {
	if v := doc.Get(name); v != nil && v.Kind == jsondoc.String {
		return v
	}
	return nil
}

// loadNode adds one node. Within one load a key may occur only once.
func (m *mutation) loadNode(rec record, mode LoadMode, counts []int, cleared map[int]bool) error {
	name := rec.doc.Get("type").Text
	i := m.g.nodeTable(name)
	if i < 0 {
		return badRequest("record %d: unknown node type '%s'", rec.number, name)
	}
	spec := &m.g.specs[i]
	data := rec.doc.Get("data")
	if data == nil {
		data = &jsondoc.Value{Kind: jsondoc.Object}
	}
	id := ""
	if k := spec.node.Key; k >= 0 {
		v, ok, err := fromRow(spec.props[k].Type, data.Get(spec.props[k].Name))
		if err != nil || !ok {
			return badRequest("node %s missing @key property '%s'", name, spec.props[k].Name)
		}
		id = strings.Clone(v.String())
	} else if v := stringMember(data, "id"); v != nil {
		id = strings.Clone(v.Text)
	} else {
		id = m.g.ids.next()
	}
	vals, err := m.rowValues(i, data)
	if err != nil {
		return err
	}
	if k := spec.node.Key; k >= 0 && vals[k].kind == kindString {
		vals[k].text = id
	}
	if mode == Overwrite && !cleared[i] {
		cleared[i] = true
		m.clear(i)
	}
	for _, r := range m.edit(i).find(id) {
		if r.seq >= m.base.state.tables[i].nextSeq {
			key := "id"
			if spec.node.Key >= 0 {
				key = spec.props[spec.node.Key].Name
			}
			return uniqueViolation(name, key, stringValue(id), id, id)
		}
	}
	if err := m.unique(i, id, vals); err != nil {
		return err
	}
	if mode == Append {
		if m.g.opts.Generation >= V010 && len(m.edit(i).find(id)) > 0 {
			e := conflict("node type '%s' already has id '%s'", name, id)
			e.Key = &KeyConflict{EntityKind: "node", TypeName: name, EntityID: id}
			return e
		}
		m.insert(i, id, vals)
	} else {
		m.upsert(i, id, vals)
	}
	counts[i]++
	return nil
}

// rowValues reads a record's properties; what does not fit an optional property is null.
func (m *mutation) rowValues(i int, data *jsondoc.Value) ([]Value, error) {
	spec := &m.g.specs[i]
	n := len(spec.props)
	if spec.edge != nil {
		n += 2
	}
	vals := make([]Value, n)
	missing := ""
	for j := range spec.props {
		p := &spec.props[j]
		v, ok, err := fromRow(p.Type, data.Get(p.Name))
		if err != nil {
			var e *Error
			if p.Type.List && errors.As(err, &e) {
				return nil, badRequest(e.Message, p.Name)
			}
			return nil, err
		}
		if !ok {
			if !p.Type.Optional && (missing == "" || p.Name < missing) {
				missing = p.Name
			}
			continue
		}
		if p.Type.Enum != nil {
			k, found := slices.BinarySearch(p.Type.Enum, v.text)
			if !found {
				return nil, badRequest("invalid enum value '%s' for %s.%s (expected: %s)", v.text, spec.name, p.Name, p.Type.EnumList())
			}
			v.text = p.Type.Enum[k]
		} else {
			v = v.clone()
		}
		vals[j] = v
	}
	if missing != "" {
		return nil, badRequest("non-nullable property '%s' has null or invalid values", missing)
	}
	return vals, nil
}

func (m *mutation) loadEdge(rec record, mode LoadMode, counts []int, cleared map[int]bool) error {
	name := rec.doc.Get("edge").Text
	i := m.g.edgeTable(name)
	if i < 0 {
		return badRequest("record %d: unknown edge type '%s'", rec.number, name)
	}
	data := rec.doc.Get("data")
	if data == nil {
		data = &jsondoc.Value{Kind: jsondoc.Object}
	}
	var ends [2]string
	for k, end := range [2]string{"from", "to"} {
		v := stringMember(&rec.doc, end)
		if v == nil {
			return badRequest("record %d: edge missing '%s'", rec.number, end)
		}
		ends[k] = v.Text
	}
	vals, err := m.rowValues(i, data)
	if err != nil {
		return err
	}
	vals[len(vals)-2], vals[len(vals)-1] = m.endpoint(m.g.specs[i].from, ends[0]), m.endpoint(m.g.specs[i].to, ends[1])
	if mode == Overwrite && !cleared[i] {
		cleared[i] = true
		m.clear(i)
	}
	id := m.g.ids.next()
	if v := stringMember(data, "id"); v != nil {
		id = strings.Clone(v.Text)
		if mode == Merge {
			for _, r := range m.edit(i).find(id) {
				m.remove(i, r)
			}
		}
	}
	if err := m.addEdge(i, id, vals); err != nil {
		return err
	}
	counts[i]++
	return nil
}

// endpoint shares the text of the node's own id, so that an edge costs no copy of it.
func (m *mutation) endpoint(table int, id string) Value {
	if rows := m.lookup(table, id); len(rows) > 0 {
		return stringValue(rows[0].id)
	}
	return stringValue(strings.Clone(id))
}
