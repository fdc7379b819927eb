package graph

import (
	"slices"

	"github.com/mitodl/xk6-omnigraph/emulator/persist"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// row is one node or edge. It is immutable and shared by every state that contains it. An edge's values are
// its properties followed by the ids of its source and its target.
type row struct {
	id   string
	seq  uint64
	frag uint64
	vals []Value
}

func (r *row) source() string { return r.vals[len(r.vals)-2].text }
func (r *row) target() string { return r.vals[len(r.vals)-1].text }

func (r *row) same(o *row) bool {
	return r == o || (r.id == o.id && slices.Equal(r.vals, o.vals))
}

// table is the immutable content of one node or edge type.
type table struct {
	rows persist.Vector[row]
	// byID finds rows by id. Concurrent inserts of one key can leave several rows under it.
	byID persist.Map[[]*row]
	// out and in find an edge table's rows by source and by target.
	out, in persist.Map[[]*row]
	// live counts the rows of each fragment; fragments below folded were compacted into it.
	live      persist.Vector[int]
	fragments int
	folded    uint64
	nextSeq   uint64
	nextFrag  uint64
	count     int
	version   uint64
	// branch is the branch on which the table was last written, empty for main.
	branch string
	edge   bool
}

// tableEdit changes a copy of a table; until it is published nobody else sees it.
type tableEdit struct {
	*table
	owner *persist.Owner
	frag  uint64
	dirty bool
	// grown holds the lists that this edit made and may therefore append to in place.
	grown map[listKey]bool
}

type listKey struct {
	in bool
	id string
}

func (t *table) edit(owner *persist.Owner) *tableEdit {
	c := *t
	return &tableEdit{table: &c, owner: owner, frag: t.nextFrag, grown: map[listKey]bool{}}
}

func (e *tableEdit) insert(id string, vals []Value) *row {
	r := &row{id: id, seq: e.nextSeq, frag: e.frag, vals: vals}
	e.nextSeq++
	e.nextFrag = e.frag + 1
	e.dirty = true
	e.rows = e.rows.Set(e.owner, r.seq, r)
	old, _ := e.byID.Get(id)
	e.byID = e.byID.Set(e.owner, id, append(old[:len(old):len(old)], r))
	if e.edge {
		e.out = e.link(e.out, listKey{id: r.source()}, r)
		e.in = e.link(e.in, listKey{id: r.target(), in: true}, r)
	}
	e.adjust(r.frag, 1)
	e.count++
	return r
}

func (e *tableEdit) remove(r *row) {
	if e.rows.Get(r.seq) == nil {
		return
	}
	e.dirty = true
	e.rows = e.rows.Set(e.owner, r.seq, nil)
	e.byID = removeFrom(e.byID, e.owner, r.id, r)
	if e.edge {
		e.out = removeFrom(e.out, e.owner, r.source(), r)
		e.in = removeFrom(e.in, e.owner, r.target(), r)
	}
	e.adjust(r.frag, -1)
	e.count--
}

func (e *tableEdit) clear() {
	version, branch, edge, seq, frag := e.version, e.branch, e.edge, e.nextSeq, e.frag
	*e.table = table{version: version, branch: branch, edge: edge, nextSeq: seq, nextFrag: frag, folded: frag}
	e.dirty = true
}

func (e *tableEdit) adjust(frag uint64, by int) {
	frag = max(frag, e.folded)
	n := by
	if old := e.live.Get(frag); old != nil {
		n += *old
	} else {
		e.fragments++
	}
	if n == 0 {
		e.fragments--
		e.live = e.live.Set(e.owner, frag, nil)
		return
	}
	e.live = e.live.Set(e.owner, frag, &n)
}

// fold compacts all fragments into one.
func (e *tableEdit) fold() {
	if e.fragments < 2 {
		return
	}
	e.dirty = true
	e.folded = e.frag
	e.nextFrag = e.frag + 1
	e.live = persist.Vector[int]{}
	e.fragments = 0
	if n := e.count; n > 0 {
		e.live = e.live.Set(e.owner, e.folded, &n)
		e.fragments = 1
	}
}

// link appends r to a list of edges. Older states share the memory of a list that this edit did not make.
func (e *tableEdit) link(m persist.Map[[]*row], key listKey, r *row) persist.Map[[]*row] {
	list, _ := m.Get(key.id)
	if !e.grown[key] {
		list = slices.Clip(list)
		e.grown[key] = true
	}
	return m.Set(e.owner, key.id, append(list, r))
}

func removeFrom(m persist.Map[[]*row], owner *persist.Owner, key string, r *row) persist.Map[[]*row] {
	old, _ := m.Get(key)
	list := make([]*row, 0, len(old))
	for _, x := range old {
		if x != r {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return m.Delete(owner, key)
	}
	return m.Set(owner, key, list)
}

func (t *table) find(id string) []*row {
	list, _ := t.byID.Get(id)
	return list
}

// tableSpec is what the schema says of a table.
type tableSpec struct {
	key  string // node:Memory or edge:RelatesTo
	name string
	path string
	node *schema.Node
	edge *schema.Edge
	// props are the type's properties.
	props []schema.Property
	// from and to are the tables of an edge's endpoints.
	from, to int
}
