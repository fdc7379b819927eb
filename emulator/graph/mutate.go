package graph

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/persist"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// Write says where and for whom a write happens.
type Write struct {
	// Branch is the target, empty for main.
	Branch string
	// Actor is recorded in the commit; empty makes a system commit.
	Actor string
	// IfCommit, when set, is the head that the branch must have.
	IfCommit string
	// Hold, when set, is called with the commit lock held, before the commit is made: a cost model waits here,
	// so that commits queue behind each other. An error abandons the write.
	Hold func(ctx context.Context, cost Cost, writers int) error
}

func (w Write) branchName() string {
	if w.Branch == "" {
		return MainBranch
	}
	return w.Branch
}

// MutationResult is a mutation's answer.
type MutationResult struct {
	Branch    string
	QueryName string
	Nodes     int
	Edges     int
	// Commit is nil when nothing changed.
	Commit *Commit
}

// Mutate runs all statements of a query as one commit. The statements see a snapshot taken at the call, as on
// the real server: what other writers commit in the meantime either conflicts or, for inserts, is not seen.
func (g *Graph) Mutate(ctx context.Context, q *gq.Query, params Params, w Write) (*MutationResult, error) {
	// In the server's order: of several mistakes it names the first one by it.
	vals, err := bindParams(q, params)
	if err != nil {
		return nil, err
	}
	b, err := g.branch(w.branchName())
	if err != nil {
		return nil, err
	}
	if !q.Mutation() {
		if _, err := g.plan(q); err != nil {
			return nil, err
		}
		return nil, badRequest("mutation execution called on a read query; use query instead")
	}
	if err := g.checkMutation(q); err != nil {
		return nil, err
	}
	m := g.newMutation(b.head, vals)
	for _, s := range q.Statements {
		if err := m.statement(s); err != nil {
			return nil, err
		}
	}
	res := &MutationResult{Branch: w.branchName(), QueryName: q.Name, Nodes: m.nodes, Edges: m.edges}
	res.Commit, err = g.write(ctx, w, m)
	return res, err
}

// write commits what a mutation or a load prepared, or nothing if it changes nothing.
func (g *Graph) write(ctx context.Context, w Write, m *mutation) (*Commit, error) {
	c := m.change()
	empty := len(c.tables) == 0 && !m.always
	if empty && w.IfCommit == "" {
		return nil, nil
	}
	g.writers.Add(1)
	defer g.writers.Add(-1)
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	defer g.unlock()
	b, err := g.branch(w.branchName())
	if err != nil {
		return nil, err
	}
	if w.IfCommit != "" && w.IfCommit != b.head.ID {
		return nil, preconditionFailed(b, w.IfCommit)
	}
	if empty {
		return nil, nil
	}
	if err := g.reconcile(m, c, b); err != nil {
		return nil, err
	}
	if w.Hold != nil {
		if err := w.Hold(ctx, b.head.state.cost(), g.Writers()); err != nil {
			return nil, err
		}
	}
	return g.commit(b, c, w.Actor, "")
}

func preconditionFailed(b *branch, want string) error {
	return &Error{
		Status: 412, Message: "precondition failed on branch '" + b.name + "': expected head '" + want + "' but current is " + b.head.ID,
		Precondition: &Precondition{Expected: want, Actual: b.head.ID},
	}
}

// reconcile fits a change that was prepared on an older head to the present one.
func (g *Graph) reconcile(m *mutation, c *change, b *branch) error {
	if b.head == m.base {
		return nil
	}
	for i, spec := range g.specs {
		if !m.rewrites[i] {
			continue
		}
		was, is := m.base.state.tables[i].version, b.head.state.tables[i].version
		if was == is {
			continue
		}
		if g.opts.Generation >= V010 {
			e := conflict("write authority 'graph_head:%s' changed during preparation (expected %s, current %s) — reprepare from the current branch state", b.name, m.base.ID, b.head.ID)
			e.ReadSet = &ReadSetConflict{Member: "graph_head:" + b.name, Expected: m.base.ID, Actual: b.head.ID}
			return e
		}
		e := conflict("stale view of '%s': expected manifest table version %d but current is %d — refresh and retry", spec.key, was, is)
		e.Manifest = &ManifestConflict{TableKey: spec.key, Expected: was, Actual: is}
		return e
	}
	if g.opts.Generation < V010 {
		// 0.8 appends blindly what was new when it looked: concurrent inserts of one key leave several rows.
		return nil
	}
	for i, tc := range c.tables {
		if g.specs[i].node == nil || g.specs[i].node.Key < 0 {
			continue
		}
		for _, nr := range tc.insert {
			for _, r := range b.head.state.tables[i].find(nr.id) {
				if !slices.Contains(tc.remove, r.seq) {
					tc.remove = append(tc.remove, r.seq)
				}
			}
		}
	}
	return nil
}

// mutation is a write being prepared on a snapshot; its own statements see what it has done so far.
type mutation struct {
	g      *Graph
	base   *Commit
	owner  *persist.Owner
	tables map[int]*tableEdit
	params paramValues
	// cleared tables lose all their rows first.
	cleared  map[int]bool
	removed  map[int][]uint64
	inserted map[int][]*row
	// rewrites marks the tables that an update or a delete touched: they conflict with other writers.
	rewrites map[int]bool
	nodes    int
	edges    int
	// always makes a commit even of nothing, as a load does.
	always bool
}

func (g *Graph) newMutation(base *Commit, params paramValues) *mutation {
	return &mutation{
		g: g, base: base, owner: persist.NewOwner(), params: params,
		tables: map[int]*tableEdit{}, cleared: map[int]bool{}, removed: map[int][]uint64{},
		inserted: map[int][]*row{}, rewrites: map[int]bool{},
	}
}

func (m *mutation) edit(i int) *tableEdit {
	e := m.tables[i]
	if e == nil {
		e = m.base.state.tables[i].edit(m.owner)
		m.tables[i] = e
	}
	return e
}

func (m *mutation) insert(i int, id string, vals []Value) {
	m.inserted[i] = append(m.inserted[i], m.edit(i).insert(id, vals))
}

func (m *mutation) remove(i int, r *row) {
	m.edit(i).remove(r)
	if r.seq >= m.base.state.tables[i].nextSeq {
		m.inserted[i] = slices.DeleteFunc(m.inserted[i], func(x *row) bool { return x == r })
		return
	}
	if !m.cleared[i] {
		m.removed[i] = append(m.removed[i], r.seq)
	}
}

func (m *mutation) clear(i int) {
	m.edit(i).clear()
	m.cleared[i] = true
	m.removed[i], m.inserted[i] = nil, nil
}

func (m *mutation) change() *change {
	c := &change{}
	for i := range m.cleared {
		c.table(i).clear = true
	}
	for i, seqs := range m.removed {
		if len(seqs) > 0 {
			c.table(i).remove = seqs
		}
	}
	for i, rows := range m.inserted {
		if len(rows) == 0 {
			continue
		}
		t := c.table(i)
		t.insert = make([]newRow, len(rows))
		for j, r := range rows {
			t.insert[j] = newRow{id: r.id, vals: r.vals}
		}
	}
	return c
}

// checkMutation is the type check.
func (g *Graph) checkMutation(q *gq.Query) error {
	var constructive, destructive bool
	for _, s := range q.Statements {
		var err error
		switch s := s.(type) {
		case *gq.Insert:
			constructive = true
			err = g.checkInsert(q, s)
		case *gq.Update:
			constructive = true
			err = g.checkUpdate(q, s)
		case *gq.Delete:
			destructive = true
			var props []schema.Property
			if props, err = g.typeProps(s.Type, true); err == nil {
				err = g.checkWhere(q, s.Type, props, s.Where)
			}
		}
		if err != nil {
			return err
		}
	}
	if constructive && destructive {
		return badRequest("mutation '%s' on the same query mixes inserts/updates and deletes; split into separate mutations: (1) inserts and updates, then (2) deletes. A query is deliberately constructive or destructive, not both, so its read-your-writes stays unambiguous; run the two on a branch and merge if you need them in one atomic commit.", q.Name)
	}
	return nil
}

var endpoints = []schema.Property{{Name: "from", Type: schema.Type{Kind: schema.String}}, {Name: "to", Type: schema.Type{Kind: schema.String}}}

// typeProps are a type's properties, for an edge with its endpoints behind them (as rows have them).
func (g *Graph) typeProps(name string, withEndpoints bool) ([]schema.Property, error) {
	if i := g.nodeTable(name); i >= 0 {
		return g.specs[i].props, nil
	}
	if i := g.edgeTable(name); i >= 0 {
		if !withEndpoints {
			return g.specs[i].props, nil
		}
		return append(slices.Clip(g.specs[i].props), endpoints...), nil
	}
	return nil, typeError("T10: unknown node/edge type `%s`", name)
}

func (g *Graph) checkInsert(q *gq.Query, s *gq.Insert) error {
	props, err := g.typeProps(s.Type, true)
	if err != nil {
		return err
	}
	given, err := g.checkAssignments(q, s.Type, props, s.Props)
	if err != nil {
		return err
	}
	if g.edgeTable(s.Type) >= 0 {
		for _, end := range endpoints {
			if !given[end.Name] {
				return typeError("T12: insert for `%s` must provide required endpoint `%s`", s.Type, end.Name)
			}
		}
	}
	for _, p := range props {
		if !p.Type.Optional && !given[p.Name] {
			return typeError("T12: insert for `%s` must provide non-nullable property `%s`", s.Type, p.Name)
		}
	}
	return nil
}

func (g *Graph) checkUpdate(q *gq.Query, s *gq.Update) error {
	i := g.nodeTable(s.Type)
	if i < 0 {
		if g.edgeTable(s.Type) >= 0 {
			return typeError("T16: update mutation for edge type `%s` is not supported", s.Type)
		}
		return typeError("T10: unknown node/edge type `%s`", s.Type)
	}
	props := g.specs[i].props
	if _, err := g.checkAssignments(q, s.Type, props, s.Set); err != nil {
		return err
	}
	return g.checkWhere(q, s.Type, props, s.Where)
}

func (g *Graph) checkAssignments(q *gq.Query, typ string, props []schema.Property, set []gq.PropMatch) (map[string]bool, error) {
	given := map[string]bool{}
	for _, pm := range set {
		i := schema.PropIndex(props, pm.Name)
		if i < 0 {
			return nil, typeError("T11: type `%s` has no property `%s`", typ, pm.Name)
		}
		if given[pm.Name] {
			return nil, typeError("T13: duplicate assignment for property `%s`", pm.Name)
		}
		given[pm.Name] = true
		if err := checkAssigned(q, &props[i], pm.Value); err != nil {
			return nil, err
		}
	}
	return given, nil
}

func checkAssigned(q *gq.Query, p *schema.Property, e gq.Expr) error {
	switch e := e.(type) {
	case gq.Var:
		decl := q.Param(e.Name)
		if decl == nil {
			return typeError("T14: mutation variable `$%s` must be a declared query parameter", e.Name)
		}
		if !assignable(decl.Type, p.Type) {
			return typeError("T7: cannot assign/compare %s with %s for property `%s`", decl.Type, p.Type, p.Name)
		}
		return nil
	case gq.Now:
		if p.Type.Kind != schema.DateTime || p.Type.List {
			return typeError("T7: cannot assign/compare DateTime with %s for property `%s`", p.Type, p.Name)
		}
		return nil
	}
	t, err := literalType(e)
	if err != nil {
		return err
	}
	if t.List != p.Type.List {
		return typeError("T3: property `%s` has type %s but got %s", p.Name, p.Type, t)
	}
	return checkLiteral(p, e, t)
}

func (g *Graph) checkWhere(q *gq.Query, typ string, props []schema.Property, w gq.Where) error {
	i := schema.PropIndex(props, w.Prop)
	if i < 0 {
		return typeError("T11: type `%s` has no property `%s`", typ, w.Prop)
	}
	return checkAssigned(q, &props[i], w.Value)
}

func (m *mutation) statement(s gq.Statement) error {
	switch s := s.(type) {
	case *gq.Insert:
		return m.insertStatement(s)
	case *gq.Update:
		return m.updateStatement(s)
	case *gq.Delete:
		return m.deleteStatement(s)
	}
	return badRequest("unsupported statement")
}

// assigned evaluates an expression for a property.
func (m *mutation) assigned(owner string, p *schema.Property, e gq.Expr) (Value, error) {
	v, err := m.operand(e)
	if err != nil {
		return v, err
	}
	if v.IsNull() && !p.Type.Optional {
		return v, badRequest("non-nullable property '%s' has null or invalid values", p.Name)
	}
	v, err = toColumn(owner, p, v)
	return v.clone(), err
}

func (m *mutation) operand(e gq.Expr) (Value, error) {
	switch e := e.(type) {
	case gq.Var:
		v, ok := m.params.get(e.Name)
		if !ok {
			return v, badRequest("parameter '%s' not provided", e.Name)
		}
		return v, nil
	case gq.Now:
		return dateTimeValue(m.g.opts.Now()), nil
	}
	return literal(e)
}

func (m *mutation) insertStatement(s *gq.Insert) error {
	if i := m.g.nodeTable(s.Type); i >= 0 {
		return m.insertNode(i, s)
	}
	return m.insertEdge(m.g.edgeTable(s.Type), s)
}

func (m *mutation) insertNode(i int, s *gq.Insert) error {
	spec := &m.g.specs[i]
	vals := make([]Value, len(spec.props))
	for _, pm := range s.Props {
		j := schema.PropIndex(spec.props, pm.Name)
		v, err := m.assigned(s.Type, &spec.props[j], pm.Value)
		if err != nil {
			return err
		}
		vals[j] = v
	}
	id := ""
	if k := spec.node.Key; k >= 0 {
		id = vals[k].String()
	} else {
		id = m.g.ids.next()
	}
	if err := m.unique(i, id, vals); err != nil {
		return err
	}
	m.upsert(i, id, vals)
	m.nodes++
	return nil
}

// upsert replaces what has the id: every row of it, where concurrent inserts or an append left several.
func (m *mutation) upsert(i int, id string, vals []Value) {
	old := m.edit(i).find(id)
	m.insert(i, id, vals)
	for n, r := range slices.Clone(old) {
		m.remove(i, r)
		if n > 0 {
			m.insert(i, id, vals)
		}
	}
}

// unique checks the @unique properties other than the key, which identifies the row itself.
func (m *mutation) unique(i int, id string, vals []Value) error {
	spec := &m.g.specs[i]
	for j, p := range spec.props {
		if !p.Unique || vals[j].IsNull() || (spec.node != nil && j == spec.node.Key) {
			continue
		}
		var other *row
		m.edit(i).rows.Each(func(r *row) bool {
			if r.id != id && r.vals[j] == vals[j] {
				other = r
			}
			return other == nil
		})
		if other != nil {
			return uniqueViolation(spec.name, p.Name, vals[j], other.id, id)
		}
	}
	return nil
}

func uniqueViolation(typ, prop string, v Value, a, b string) error {
	return badRequest("@unique violation on %s.%s: value '%s' held by '%s' and '%s'", typ, prop, v, a, b)
}

func (m *mutation) insertEdge(i int, s *gq.Insert) error {
	props, err := m.g.typeProps(s.Type, true)
	if err != nil {
		return err
	}
	vals := make([]Value, len(props))
	for _, pm := range s.Props {
		j := schema.PropIndex(props, pm.Name)
		if vals[j], err = m.assigned(s.Type, &props[j], pm.Value); err != nil {
			return err
		}
	}
	if err := m.addEdge(i, m.g.ids.next(), vals); err != nil {
		return err
	}
	m.edges++
	return nil
}

// addEdge checks the endpoints and the cardinality of an edge whose values end with its endpoints.
func (m *mutation) addEdge(i int, id string, vals []Value) error {
	spec := &m.g.specs[i]
	from, to := vals[len(vals)-2].text, vals[len(vals)-1].text
	if err := m.endpointsOf(spec, from, to); err != nil {
		return err
	}
	if err := m.cardinality(i, from); err != nil {
		return err
	}
	m.insert(i, id, vals)
	return nil
}

// cardinality checks that one more edge may leave a node.
func (m *mutation) cardinality(i int, from string) error {
	spec := &m.g.specs[i]
	limit := spec.edge.MaxOut
	if limit < 0 {
		return nil
	}
	list, _ := m.edit(i).out.Get(from)
	if len(list)+1 > limit {
		return cardViolation(spec, from, len(list)+1)
	}
	return nil
}

// endpointsOf checks that both ends of an edge are there.
func (m *mutation) endpointsOf(spec *tableSpec, from, to string) error {
	if len(m.lookup(spec.from, from)) == 0 {
		return badRequest("src '%s' not found in %s", from, spec.edge.From)
	}
	if len(m.lookup(spec.to, to)) == 0 {
		return badRequest("dst '%s' not found in %s", to, spec.edge.To)
	}
	return nil
}

// lookup finds rows without starting an edit of a table that is only read.
func (m *mutation) lookup(i int, id string) []*row {
	if e := m.tables[i]; e != nil {
		return e.find(id)
	}
	return m.base.state.tables[i].find(id)
}

// selected lists the rows that a where chooses.
func (m *mutation) selected(i int, typ string, w gq.Where) ([]*row, error) {
	props, err := m.g.typeProps(typ, true)
	if err != nil {
		return nil, err
	}
	j := schema.PropIndex(props, w.Prop)
	if t, ok := w.Value.(gq.Temporal); ok {
		return nil, unfilterable(w, t.Kind, "'"+t.Text+"'", fmt.Sprintf("Utf8(%q)", t.Text))
	}
	v, err := m.operand(w.Value)
	if err != nil {
		return nil, err
	}
	switch k := props[j].Type.Kind; {
	case props[j].Type.List:
		// No list equals another, or differs from it.
		return nil, nil
	case v.kind == kindString && (k == schema.Date || k == schema.DateTime):
		return nil, unfilterable(w, k, "'"+v.text+"'", fmt.Sprintf("Utf8(%q)", v.text))
	case v.kind == kindFloat && k.Integer() && v.float() != math.Trunc(v.float()):
		text := string(v.appendJSON(nil))
		return nil, unfilterable(w, k, text, "Float64("+text+")")
	case (v.kind == kindInt || v.kind == kindUint) && !fitsColumn(v, k):
		text := string(v.appendJSON(nil))
		return nil, unfilterable(w, k, text, "Int64("+text+")")
	}
	e := m.edit(i)
	if n := m.g.specs[i].node; n != nil && n.Key == j && w.Op == "=" && v.kind == kindString {
		return e.find(v.text), nil
	}
	var rows []*row
	e.rows.Each(func(r *row) bool {
		if holds(r.vals[j], w.Op, v) {
			rows = append(rows, r)
		}
		return true
	})
	return rows, nil
}

// unfilterable is the server's failure for a condition whose value is not its column's: what chooses the rows of an
// update or a delete goes to storage as text, which compares no dates with text and no integers with fractions.
func unfilterable(w gq.Where, kind schema.Kind, text, literal string) error {
	return internal("storage: Invalid user input: Error resolving filter expression %s %s %s: Invalid user input: Received literal %s and could not convert to literal of type '%s'",
		w.Prop, w.Op, text, literal, columnType(kind))
}

func (m *mutation) updateStatement(s *gq.Update) error {
	i := m.g.nodeTable(s.Type)
	spec := &m.g.specs[i]
	for _, pm := range s.Set {
		if schema.PropIndex(spec.props, pm.Name) == spec.node.Key {
			return badRequest("cannot update @key property '%s' — delete and re-insert instead", pm.Name)
		}
	}
	rows, err := m.selected(i, s.Type, s.Where)
	if err != nil || len(rows) == 0 {
		return err
	}
	// Only now: the server does not look at what it would set where nothing matches.
	set := map[int]Value{}
	for _, pm := range s.Set {
		j := schema.PropIndex(spec.props, pm.Name)
		v, err := m.assigned(s.Type, &spec.props[j], pm.Value)
		if err != nil {
			return err
		}
		set[j] = v
	}
	seen := map[string]bool{}
	for _, r := range slices.Clone(rows) {
		if seen[r.id] && spec.node.Key >= 0 {
			return uniqueViolation(spec.name, spec.props[spec.node.Key].Name, stringValue(r.id), r.id, r.id)
		}
		seen[r.id] = true
		vals := slices.Clone(r.vals)
		for j, v := range set {
			vals[j] = v
		}
		if err := m.unique(i, r.id, vals); err != nil {
			return err
		}
		m.remove(i, r)
		m.insert(i, r.id, vals)
		m.rewrites[i] = true
		m.nodes++
	}
	return nil
}

func (m *mutation) deleteStatement(s *gq.Delete) error {
	i := m.g.nodeTable(s.Type)
	if i < 0 {
		i = m.g.edgeTable(s.Type)
	}
	rows, err := m.selected(i, s.Type, s.Where)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(rows) {
		m.remove(i, r)
		m.rewrites[i] = true
		if m.g.specs[i].edge != nil {
			m.edges++
			continue
		}
		m.nodes++
		m.detach(i, r.id)
	}
	return nil
}

// detach removes the edges of a node that is gone.
func (m *mutation) detach(node int, id string) {
	for i := range m.g.specs {
		spec := &m.g.specs[i]
		if spec.edge == nil {
			continue
		}
		gone := map[*row]bool{}
		t := m.base.state.tables[i]
		if e := m.tables[i]; e != nil {
			t = e.table
		}
		if spec.from == node {
			list, _ := t.out.Get(id)
			for _, r := range list {
				gone[r] = true
			}
		}
		if spec.to == node {
			list, _ := t.in.Get(id)
			for _, r := range list {
				gone[r] = true
			}
		}
		order := slices.SortedFunc(maps.Keys(gone), func(a, b *row) int { return int(a.seq) - int(b.seq) }) // #nosec G115 -- far below 2^63
		for _, r := range order {
			m.remove(i, r)
			m.rewrites[i] = true
			m.edges++
		}
	}
}
