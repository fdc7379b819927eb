package graph

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// plan is a type-checked read, ready to run with any parameters. It is immutable.
type plan struct {
	query *gq.Query
	slots []slotInfo
	// props are the properties of each slot's type.
	props   [][]schema.Property
	steps   []step
	columns []column
	names   []string
	// labels are the columns' names as JSON keys with their colon.
	labels [][]byte
	// output maps each column of the row objects to the last column of that name.
	output    []int
	aggregate bool
	order     []orderKey
	limit     int64
	// needs are the parameters that a filter or a column uses: without a value the query fails.
	needs []string
	// unusable is what is wrong with a constant, which fails the query whatever its rows are.
	unusable error
}

type slotInfo struct {
	name  string
	table int
}

// operand is where a value comes from.
type operand struct {
	kind  operandKind
	value Value
	param string
	slot  int
	prop  int
	typ   schema.Type
}

type operandKind uint8

const (
	constant operandKind = iota
	parameter
	property
	nodeID
	invalid
)

// condition is `property op operand` of an inline pattern; with a parameter that the request lacks it is dropped.
type condition struct {
	prop int
	op   string
	rhs  operand
	// bad is what is wrong with the operand: it fails the query once there is a row to compare.
	bad error
}

// step is one stage of a match.
type step struct {
	kind stepKind
	// scan, expand: the slot that is bound; expand, check: the slot it starts from.
	slot, from int
	table      int
	conds      []condition
	// key is the index in conds of an equality with the table's key, or -1.
	key int
	// expand, check
	reverse  bool
	min, max int
	// filter
	left, right operand
	op          string
	// not
	inner []step
}

type stepKind uint8

const (
	scan stepKind = iota
	restrict
	expand
	check
	filter
	negate
)

type column struct {
	fn  string // empty, count, sum, avg, min, max
	arg operand
}

type orderKey struct {
	arg  operand
	col  int // index of a projected column, or -1
	desc bool
}

// planCache keeps parsed sources and compiled reads, so that a repeated query costs a map lookup.
type planCache struct {
	mu    sync.RWMutex
	files map[string]*gq.File
	plans map[*gq.Query]*plan
}

// maxCached bounds the cache; a load test's texts are few, a fuzzer's are not.
const maxCached = 1024

func (c *planCache) parse(source string) (*gq.File, error) {
	c.mu.RLock()
	f := c.files[source]
	c.mu.RUnlock()
	if f != nil {
		return f, nil
	}
	f, err := gq.Parse(source)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxCached {
		c.files = map[string]*gq.File{}
		c.plans = map[*gq.Query]*plan{}
	}
	if old := c.files[source]; old != nil {
		return old, nil
	}
	c.files[source] = f
	return f, nil
}

func (g *Graph) plan(q *gq.Query) (*plan, error) {
	g.plans.mu.RLock()
	p := g.plans.plans[q]
	g.plans.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := g.compile(q)
	if err != nil {
		return nil, err
	}
	g.plans.mu.Lock()
	defer g.plans.mu.Unlock()
	if g.plans.plans == nil || len(g.plans.plans) >= maxCached {
		g.plans.plans = map[*gq.Query]*plan{}
	}
	g.plans.plans[q] = p
	return p, nil
}

// compiler turns a read into a plan.
type compiler struct {
	g      *Graph
	q      *gq.Query
	plan   *plan
	bySlot map[string]int
	// anonymous counts `$_`, each of which stands for a variable of its own.
	anonymous int
}

func (g *Graph) compile(q *gq.Query) (*plan, error) {
	c := &compiler{g: g, q: q, plan: &plan{query: q, limit: q.Read.Limit}, bySlot: map[string]int{}}
	clauses := c.nameAnonymous(q.Read.Match)
	if err := c.declare(clauses); err != nil {
		return nil, err
	}
	steps, err := c.order(clauses, map[string]bool{})
	if err != nil {
		return nil, err
	}
	c.plan.steps = steps
	if err := c.projections(); err != nil {
		return nil, err
	}
	if err := c.orderings(); err != nil {
		return nil, err
	}
	for _, s := range c.plan.slots {
		c.plan.props = append(c.plan.props, c.g.specs[s.table].props)
	}
	for _, name := range c.plan.names {
		c.plan.labels = append(c.plan.labels, append(jsondoc.AppendString(nil, name), ':'))
	}
	return c.plan, nil
}

// nameAnonymous gives each `$_` a name of its own.
func (c *compiler) nameAnonymous(clauses []gq.Clause) []gq.Clause {
	out := slices.Clone(clauses)
	fresh := func(name string) string {
		if name != "_" {
			return name
		}
		c.anonymous++
		return "_#" + strconv.Itoa(c.anonymous)
	}
	for i, cl := range out {
		switch cl := cl.(type) {
		case *gq.Traversal:
			t := *cl
			t.Source, t.Target = fresh(t.Source), fresh(t.Target)
			out[i] = &t
		case *gq.Not:
			out[i] = &gq.Not{Clauses: c.nameAnonymous(cl.Clauses)}
		}
	}
	return out
}

func (c *compiler) typeOf(name string) string {
	if i, ok := c.bySlot[name]; ok {
		return c.g.specs[c.plan.slots[i].table].name
	}
	return ""
}

func (c *compiler) bind(name string, table int) {
	c.bySlot[name] = len(c.plan.slots)
	c.plan.slots = append(c.plan.slots, slotInfo{name: name, table: table})
}

// declare finds every variable's type and checks patterns and traversals.
func (c *compiler) declare(clauses []gq.Clause) error {
	for _, cl := range clauses {
		b, ok := cl.(*gq.Binding)
		if !ok {
			continue
		}
		i := c.g.nodeTable(b.Type)
		if i < 0 {
			return typeError("T1: unknown node type `%s`", b.Type)
		}
		if old := c.typeOf(b.Var); old != "" {
			if old != b.Type {
				return typeError("variable `$%s` already bound to type `%s`, cannot rebind to `%s`", b.Var, old, b.Type)
			}
			continue
		}
		c.bind(b.Var, i)
	}
	for _, cl := range clauses {
		if t, ok := cl.(*gq.Traversal); ok {
			if err := c.declareTraversal(t); err != nil {
				return err
			}
		}
	}
	for _, cl := range clauses {
		if n, ok := cl.(*gq.Not); ok {
			if !c.refersToOuter(n) {
				return typeError("T9: negation block must reference at least one outer-bound variable")
			}
			if err := c.declare(n.Clauses); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) refersToOuter(n *gq.Not) bool {
	bound := func(name string) bool { _, ok := c.bySlot[name]; return ok }
	uses := func(e gq.Expr) bool {
		switch e := e.(type) {
		case gq.Prop:
			return bound(e.Var)
		case gq.Var:
			return bound(e.Name)
		}
		return false
	}
	for _, cl := range n.Clauses {
		switch cl := cl.(type) {
		case *gq.Traversal:
			if bound(cl.Source) || bound(cl.Target) {
				return true
			}
		case *gq.Filter:
			if uses(cl.Left) || uses(cl.Right) {
				return true
			}
		case *gq.Binding:
			if bound(cl.Var) {
				return true
			}
		}
	}
	return false
}

func (c *compiler) edgeOf(t *gq.Traversal) (int, *schema.Edge) {
	for i := range c.g.specs {
		if e := c.g.specs[i].edge; e != nil && e.TraversalName() == t.Edge {
			return i, e
		}
	}
	return -1, nil
}

// reversed tells that the variable before the edge's name is the edge's target: where the types differ, the
// language lets a query walk against the arrow.
func (c *compiler) reversed(t *gq.Traversal, e *schema.Edge) bool {
	if e.From == e.To {
		return false
	}
	return c.typeOf(t.Source) == e.To || c.typeOf(t.Target) == e.From
}

func (c *compiler) declareTraversal(t *gq.Traversal) error {
	i, e := c.edgeOf(t)
	if e == nil {
		return typeError("T4: unknown edge type `%s`", t.Edge)
	}
	switch {
	case t.Min < 1:
		return typeError("T15: traversal min hop bound must be >= 1")
	case t.Max < 0:
		return typeError("T15: unbounded traversal is disabled; use bounded traversal {min,max}")
	case t.Max < t.Min:
		return typeError("T15: invalid traversal bounds {%d,%d}; max must be >= min", t.Min, t.Max)
	}
	from, to := c.g.specs[i].from, c.g.specs[i].to
	source := c.typeOf(t.Source)
	if source != "" && source != e.From && source != e.To {
		return typeError("T5: variable `$%s` has type `%s`, which is not an endpoint of edge `%s: %s -> %s`", t.Source, source, e.Name, e.From, e.To)
	}
	if c.reversed(t, e) {
		from, to = to, from
	}
	want := c.g.specs[to].name
	if target := c.typeOf(t.Target); target != "" && target != want {
		return typeError("T5: variable `$%s` has type `%s` but edge `%s` expects `%s`", t.Target, target, e.Name, want)
	}
	if source == "" {
		c.bind(t.Source, from)
	}
	if c.typeOf(t.Target) == "" {
		c.bind(t.Target, to)
	}
	return nil
}

// pattern compiles the inline properties of a binding.
func (c *compiler) pattern(b *gq.Binding) ([]condition, error) {
	spec := &c.g.specs[c.g.nodeTable(b.Type)]
	var conds []condition
	for _, pm := range b.Props {
		i := schema.PropIndex(spec.props, pm.Name)
		if i < 0 {
			return nil, typeError("T2: type `%s` has no property `%s`", b.Type, pm.Name)
		}
		p := &spec.props[i]
		cond := condition{prop: i, op: "="}
		if p.Type.List {
			cond.op = "contains"
		}
		switch e := pm.Value.(type) {
		case gq.Var:
			decl := c.q.Param(e.Name)
			if decl == nil {
				// The server drops what it cannot resolve: every row matches.
				continue
			}
			switch {
			case p.Type.List && decl.Type.List:
				return nil, typeError("T7: list equality is not supported for property `%s`; use a scalar parameter for membership matching", pm.Name)
			case p.Type.List && !sameFamily(decl.Type, p.Type):
				return nil, typeError("T7: cannot compare %s membership against %s for property `%s`", decl.Type, p.Type, pm.Name)
			case !p.Type.List && !assignable(decl.Type, p.Type):
				return nil, typeError("T7: cannot assign/compare %s with %s for property `%s`", decl.Type, p.Type, pm.Name)
			}
			cond.rhs = operand{kind: parameter, param: e.Name, typ: decl.Type}
		case gq.Now:
			if p.Type.Kind != schema.DateTime {
				return nil, typeError("T7: cannot assign/compare DateTime with %s for property `%s`", p.Type, pm.Name)
			}
			continue
		default:
			t, err := literalType(e)
			if err != nil {
				return nil, err
			}
			if t.List && p.Type.List {
				return nil, typeError("T3: list equality is not supported for property `%s`; use a scalar value to match list membership", pm.Name)
			}
			if p.Type.List && !sameFamily(t, p.Type) {
				return nil, typeError("T3: property `%s` has type %s but membership match got %s", pm.Name, p.Type, t)
			}
			if err := checkLiteral(p, e, t); err != nil {
				return nil, err
			}
			v, err := literal(e)
			if temporal, ok := e.(gq.Temporal); ok && err != nil {
				cond.bad, err = castError(temporal.Kind, temporal.Text), nil
			}
			if err != nil {
				return nil, err
			}
			cond.rhs = operand{kind: constant, value: v, typ: t}
		}
		conds = append(conds, cond)
	}
	return conds, nil
}

// checkLiteral is the type check of a constant of type t against a property.
func checkLiteral(p *schema.Property, e gq.Expr, t schema.Type) error {
	fits := sameFamily(t, p.Type) && (!t.List || p.Type.List)
	if list, ok := e.(gq.List); ok && len(list.Items) == 0 && p.Type.List {
		fits = true // an empty list has no element type
	}
	if !fits {
		return typeError("T3: property `%s` has type %s but got %s", p.Name, p.Type, t)
	}
	if p.Type.Enum == nil {
		return nil
	}
	if v, err := literal(e); err == nil && !p.Type.Allows(v.text) {
		return typeError("T3: property `%s` expects one of [%s], got '%s'", p.Name, p.Type.EnumList(), v.text)
	}
	return nil
}

// sameFamily reports whether scalars of the two types can be compared; list and optional marks don't count.
func sameFamily(a, b schema.Type) bool {
	return a.Kind == b.Kind || (a.Kind.Numeric() && b.Kind.Numeric())
}

func assignable(a, b schema.Type) bool { return a.List == b.List && sameFamily(a, b) }

// literalType is a constant expression's type.
func literalType(e gq.Expr) (schema.Type, error) {
	switch e := e.(type) {
	case gq.Literal:
		_, t := fromLiteral(e.Value)
		return t, nil
	case gq.Temporal:
		return schema.Type{Kind: e.Kind}, nil
	case gq.List:
		t := schema.Type{List: true}
		for i, item := range e.Items {
			it, err := literalType(item)
			if err != nil {
				return t, err
			}
			if i > 0 && it.Kind != t.Kind {
				return t, typeError("list literal elements must share a compatible scalar type")
			}
			t.Kind = it.Kind
		}
		return t, nil
	}
	return schema.Type{}, typeError("unsupported expression")
}

// literal evaluates a constant expression whose type has been checked. A text that is no date is an error.
func literal(e gq.Expr) (Value, error) {
	switch e := e.(type) {
	case gq.Literal:
		v, _ := fromLiteral(e.Value)
		return v, nil
	case gq.Temporal:
		return parseTemporal(e.Kind, e.Text)
	case gq.List:
		text := []byte{'['}
		for i, item := range e.Items {
			v, err := literal(item)
			if err != nil {
				return Value{}, err
			}
			if i > 0 {
				text = append(text, ',')
			}
			text = v.appendJSON(text)
		}
		return Value{kind: kindList, text: string(append(text, ']'))}, nil
	}
	return Value{}, typeError("unsupported expression")
}

// constant is the operand of a constant expression. What is wrong with its value waits until all types are checked.
func (c *compiler) constant(e gq.Expr) (operand, error) {
	t, err := literalType(e)
	if err != nil {
		return operand{}, err
	}
	v, err := literal(e)
	if err != nil && c.plan.unusable == nil {
		c.plan.unusable = err
	}
	return operand{kind: constant, value: v, typ: t}, nil
}

// order arranges clauses so that each step finds bound what it needs: bindings become scans only when no
// traversal from something bound reaches them.
func (c *compiler) order(clauses []gq.Clause, bound map[string]bool) ([]step, error) {
	pending := slices.Clone(clauses)
	patterns := map[string][]condition{}
	first := map[*gq.Binding]bool{}
	seen := map[string]bool{}
	outer := maps.Clone(bound)
	for _, cl := range pending {
		b, ok := cl.(*gq.Binding)
		if !ok {
			continue
		}
		conds, err := c.pattern(b)
		if err != nil {
			return nil, err
		}
		if !seen[b.Var] {
			seen[b.Var] = true
			first[b] = true
			patterns[b.Var] = conds
		}
	}
	var steps []step
	for len(pending) > 0 {
		i := c.nextClause(pending, bound, patterns, first)
		if i < 0 {
			return nil, c.unreachable(pending)
		}
		s, err := c.step(pending[i], outer, bound, patterns, first)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s...)
		pending = slices.Delete(pending, i, i+1)
	}
	return steps, nil
}

// unreachable is the server's failure for a traversal neither of whose ends is bound.
func (c *compiler) unreachable(pending []gq.Clause) error {
	for _, cl := range pending {
		if t, ok := cl.(*gq.Traversal); ok {
			return badRequest("column '%s.slug' not found in wide batch", t.Source)
		}
	}
	return badRequest("match has a clause whose variables nothing binds")
}

// nextClause picks what to do next: filters as soon as they can run, then patterns with a key, then traversals,
// then other patterns, negations last.
func (c *compiler) nextClause(pending []gq.Clause, bound map[string]bool, patterns map[string][]condition, first map[*gq.Binding]bool) int {
	best, rank := -1, 99
	consider := func(i, r int) {
		if r < rank {
			best, rank = i, r
		}
	}
	for i, cl := range pending {
		switch cl := cl.(type) {
		case *gq.Filter:
			if c.ready(cl.Left, bound) && c.ready(cl.Right, bound) {
				consider(i, 0)
			}
		case *gq.Binding:
			switch {
			case bound[cl.Var] && first[cl]:
				consider(i, 0)
			case c.keyCondition(cl, patterns[cl.Var]) >= 0:
				consider(i, 1)
			case len(patterns[cl.Var]) > 0:
				consider(i, 3)
			default:
				consider(i, 4)
			}
		case *gq.Traversal:
			if bound[cl.Source] || bound[cl.Target] {
				consider(i, 2)
			}
		case *gq.Not:
			consider(i, 98)
		}
	}
	return best
}

func (c *compiler) ready(e gq.Expr, bound map[string]bool) bool {
	if p, ok := e.(gq.Prop); ok {
		_, known := c.bySlot[p.Var]
		return !known || bound[p.Var]
	}
	return true
}

func (c *compiler) keyCondition(b *gq.Binding, conds []condition) int {
	key := c.g.specs[c.g.nodeTable(b.Type)].node.Key
	if key < 0 {
		return -1
	}
	return slices.IndexFunc(conds, func(cond condition) bool { return cond.prop == key && cond.op == "=" })
}

func (c *compiler) step(cl gq.Clause, outer, bound map[string]bool, patterns map[string][]condition, first map[*gq.Binding]bool) ([]step, error) {
	switch cl := cl.(type) {
	case *gq.Binding:
		return c.bindingStep(cl, outer, bound, first)
	case *gq.Traversal:
		return c.traversalStep(cl, bound, patterns), nil
	case *gq.Filter:
		return c.filterStep(cl)
	case *gq.Not:
		steps, err := c.order(cl.Clauses, maps.Clone(bound))
		return []step{{kind: negate, inner: steps}}, err
	}
	return nil, badRequest("unsupported clause")
}

func (c *compiler) bindingStep(b *gq.Binding, outer, bound map[string]bool, first map[*gq.Binding]bool) ([]step, error) {
	conds, err := c.pattern(b)
	if err != nil {
		return nil, err
	}
	table := c.g.nodeTable(b.Type)
	slot := c.bySlot[b.Var]
	if first[b] && outer[b.Var] {
		return []step{{kind: restrict, slot: slot, conds: conds}}, nil
	}
	if first[b] && bound[b.Var] {
		// A traversal got here first and has applied the pattern.
		return nil, nil
	}
	if !first[b] {
		// The server joins a repeated pattern as if it had a variable of its own.
		slot = len(c.plan.slots)
		c.plan.slots = append(c.plan.slots, slotInfo{name: b.Var, table: table})
	}
	bound[b.Var] = true
	return []step{{kind: scan, slot: slot, table: table, conds: conds, key: c.keyCondition(b, conds)}}, nil
}

func (c *compiler) traversalStep(t *gq.Traversal, bound map[string]bool, patterns map[string][]condition) []step {
	i, e := c.edgeOf(t)
	s := step{kind: expand, table: i, min: t.Min, max: t.Max, from: c.bySlot[t.Source], slot: c.bySlot[t.Target], key: -1}
	s.reverse = c.reversed(t, e)
	switch {
	case bound[t.Source] && bound[t.Target]:
		s.kind = check
	case bound[t.Source]:
		s.conds = patterns[t.Target]
		bound[t.Target] = true
	default:
		s.from, s.slot = s.slot, s.from
		s.reverse = !s.reverse
		s.conds = patterns[t.Source]
		bound[t.Source] = true
	}
	return []step{s}
}

func (c *compiler) filterStep(f *gq.Filter) ([]step, error) {
	left, lt, err := c.filterOperand(f.Left)
	if err != nil {
		return nil, err
	}
	right, rt, err := c.filterOperand(f.Right)
	if err != nil {
		return nil, err
	}
	switch {
	case left.kind == invalid || right.kind == invalid:
		return nil, typeError("T7: filter comparisons require scalar operands, got %s and %s", lt, rt)
	case f.Op == "contains" && !left.typ.List:
		return nil, typeError("T7: contains requires a list property on the left, got %s", lt)
	case f.Op == "contains" && right.typ.List:
		return nil, typeError("T7: contains requires a scalar right operand")
	case f.Op == "contains" && !sameFamily(left.typ, right.typ):
		return nil, typeError("T7: cannot test membership of %s in %s", rt, lt)
	case f.Op == "contains":
	case left.typ.List || right.typ.List:
		return nil, typeError("T7: list comparisons in filters are not supported; use `contains` for list membership")
	case !sameFamily(left.typ, right.typ):
		return nil, typeError("T7: cannot compare %s with %s", lt, rt)
	}
	for _, o := range []operand{left, right} {
		if o.kind == parameter {
			c.plan.needs = append(c.plan.needs, o.param)
		}
	}
	return []step{{kind: filter, left: left, right: right, op: f.Op}}, nil
}

// filterOperand also returns the operand's type in the words of messages.
func (c *compiler) filterOperand(e gq.Expr) (operand, string, error) {
	switch e := e.(type) {
	case gq.Var:
		if _, ok := c.bySlot[e.Name]; ok {
			return operand{kind: invalid}, "node `" + c.typeOf(e.Name) + "`", nil
		}
		if p := c.q.Param(e.Name); p != nil {
			return operand{kind: parameter, param: e.Name, typ: p.Type}, p.Type.String(), nil
		}
		return operand{}, "", typeError("variable `$%s` is not bound", e.Name)
	case gq.Prop:
		o, err := c.property(e)
		return o, o.typ.String(), err
	case gq.Now:
		c.plan.needs = append(c.plan.needs, "__nanograph_now")
		return operand{kind: parameter, param: "__nanograph_now", typ: schema.Type{Kind: schema.DateTime}}, "DateTime", nil
	case gq.Aggregate, gq.Alias:
		return operand{kind: invalid}, "aggregate", nil
	}
	o, err := c.constant(e)
	return o, o.typ.String(), err
}

func (c *compiler) property(e gq.Prop) (operand, error) {
	slot, ok := c.bySlot[e.Var]
	if !ok {
		return operand{}, typeError("T6: variable `$%s` is not bound", e.Var)
	}
	spec := &c.g.specs[c.plan.slots[slot].table]
	i := schema.PropIndex(spec.props, e.Name)
	if i < 0 {
		return operand{}, typeError("T6: type `%s` has no property `%s`", spec.name, e.Name)
	}
	return operand{kind: property, slot: slot, prop: i, typ: spec.props[i].Type}, nil
}

func (c *compiler) projections() error {
	plain := false
	for _, pr := range c.q.Read.Return {
		col, name, err := c.projection(pr.Expr)
		if err != nil {
			return err
		}
		if pr.Alias != "" {
			name = pr.Alias
		}
		if col.fn != "" {
			c.plan.aggregate = true
		} else if k := col.arg.kind; k != property && k != nodeID {
			plain = true
		}
		c.plan.columns = append(c.plan.columns, col)
		c.plan.names = append(c.plan.names, name)
	}
	if c.plan.aggregate && plain {
		return typeError("T9: non-aggregate expressions in an aggregate query must be property accesses or variables")
	}
	for i, name := range c.plan.names {
		last := i
		for j, other := range c.plan.names {
			if other == name {
				last = j
			}
		}
		if slices.Index(c.plan.names, name) == i {
			c.plan.output = append(c.plan.output, last)
		}
	}
	return nil
}

func (c *compiler) projection(e gq.Expr) (column, string, error) {
	switch e := e.(type) {
	case gq.Prop:
		o, err := c.property(e)
		return column{arg: o}, e.Var + "." + e.Name, err
	case gq.Var:
		if slot, ok := c.bySlot[e.Name]; ok {
			return column{arg: operand{kind: nodeID, slot: slot}}, e.Name, nil
		}
		if p := c.q.Param(e.Name); p != nil {
			c.plan.needs = append(c.plan.needs, e.Name)
			return column{arg: operand{kind: parameter, param: e.Name, typ: p.Type}}, e.Name, nil
		}
		return column{}, "", typeError("variable `$%s` is not bound", e.Name)
	case gq.Aggregate:
		return c.aggregate(e)
	case gq.Alias:
		return column{}, "", badRequest("unsupported projection expression: AliasRef(%q)", e.Name)
	case gq.Now:
		return column{}, "", badRequest("parameter '__nanograph_now' not provided")
	}
	o, err := c.constant(e)
	return column{arg: o}, "literal", err
}

func (c *compiler) aggregate(e gq.Aggregate) (column, string, error) {
	if _, nested := e.Arg.(gq.Aggregate); nested {
		return column{}, "", badRequest("unsupported projection expression: Aggregate of an aggregate")
	}
	col, name, err := c.projection(e.Arg)
	if err != nil {
		return column{}, "", err
	}
	t := col.arg.typ
	switch {
	case col.arg.kind == nodeID || e.Func == "count":
	case e.Func == "sum" || e.Func == "avg":
		if !t.Kind.Numeric() || t.List {
			return column{}, "", typeError("T8: %s requires numeric type, got %s", e.Func, t)
		}
	case t.List || (!t.Kind.Numeric() && t.Kind != schema.String):
		return column{}, "", typeError("T8: %s requires numeric or string type, got %s", e.Func, t)
	}
	col.fn = e.Func
	return col, name, nil
}

func (c *compiler) orderings() error {
	for _, o := range c.q.Read.Order {
		key := orderKey{col: -1, desc: o.Desc}
		switch e := o.Expr.(type) {
		case gq.Alias:
			key.col = c.aliased(e.Name)
			if key.col < 0 {
				return badRequest("alias '%s' not found for ordering", e.Name)
			}
		case gq.Prop:
			arg, err := c.property(e)
			if err != nil {
				return err
			}
			key.arg = arg
			if !c.plan.aggregate {
				break
			}
			key.col = slices.IndexFunc(c.plan.columns, func(col column) bool {
				return col.fn == "" && col.arg.kind == property && col.arg.slot == arg.slot && col.arg.prop == arg.prop
			})
			if key.col < 0 {
				return badRequest("column '%s.%s' not found for ordering", e.Var, e.Name)
			}
		default:
			return badRequest("unsupported ordering expression")
		}
		c.plan.order = append(c.plan.order, key)
	}
	return nil
}

func (c *compiler) aliased(name string) int {
	for i, pr := range c.q.Read.Return {
		if pr.Alias == name {
			return i
		}
	}
	return -1
}
