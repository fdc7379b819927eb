package graph

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// Result is a read's answer. Rows is a JSON array of objects.
type Result struct {
	QueryName string
	Columns   []string
	Rows      []byte
	RowCount  int
	Commit    *Commit
	Cost      Cost
}

// Params are a request's parameters, as sent; nil is none.
type Params = *jsondoc.Value

// Query runs a read against a branch or a snapshot.
func (g *Graph) Query(ctx context.Context, q *gq.Query, params Params, t Target) (*Result, error) {
	// In the server's order: of several mistakes it names the first one by it.
	vals, err := bindParams(q, params)
	if err != nil {
		return nil, err
	}
	c, err := g.resolve(t)
	if err != nil {
		return nil, err
	}
	if q.Mutation() {
		return nil, typeError("mutation query cannot be typechecked with read-query API")
	}
	p, err := g.plan(q)
	if err != nil {
		return nil, err
	}
	unusable, err := vals.resolve(p.needs, q)
	if err != nil {
		return nil, err
	}
	if unusable == nil {
		unusable = p.unusable
	}
	run := execution{ctx: ctx, plan: p, state: c.state, params: vals, bound: make([]*row, len(p.slots))}
	res := &Result{QueryName: q.Name, Columns: p.names, Commit: c}
	if err := run.rows(res); err != nil {
		return nil, err
	}
	if unusable != nil {
		// Found out only now: what is wrong with a pattern comes first.
		return nil, unusable
	}
	res.Cost = run.cost(g)
	return res, nil
}

// paramValues are the converted parameters, few enough for a scan.
type paramValues []paramValue

type paramValue struct {
	name  string
	value Value
}

func (p paramValues) get(name string) (Value, bool) {
	for i := range p {
		if p[i].name == name {
			return p[i].value, true
		}
	}
	return Value{}, false
}

// resolve checks the parameters that filters and columns use, and makes dates of the texts that stand for them;
// unusable is what is wrong with the first that is none.
func (p paramValues) resolve(names []string, q *gq.Query) (unusable, err error) {
	for _, name := range names {
		i := slices.IndexFunc(p, func(v paramValue) bool { return v.name == name })
		if i < 0 {
			return nil, badRequest("parameter '%s' not provided", name)
		}
		decl := q.Param(name)
		if decl == nil {
			continue
		}
		switch v, err := temporalParam(decl.Type, p[i].value); {
		case err == nil:
			p[i].value = v
		case unusable == nil:
			unusable = err
		}
	}
	return unusable, nil
}

// bindParams converts what the request sends for declared parameters. An optional one that is missing is null.
func bindParams(q *gq.Query, params Params) (paramValues, error) {
	if params != nil && params.Kind != jsondoc.Object && params.Kind != jsondoc.Null {
		return nil, badRequest("params must be a JSON object")
	}
	var vals paramValues
	for i := range q.Params {
		p := &q.Params[i]
		var sent *jsondoc.Value
		if params != nil {
			sent = params.Get(p.Name)
		}
		if sent == nil {
			if p.Type.Optional {
				vals = append(vals, paramValue{name: p.Name})
			}
			continue
		}
		v, err := fromParam(p.Name, p.Type, sent)
		if err != nil {
			return nil, err
		}
		vals = append(vals, paramValue{p.Name, v})
	}
	return vals, nil
}

// execution is one run of a plan.
type execution struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	plan   *plan
	state  *state
	params paramValues
	bound  []*row
	// looked counts rows looked at, for the cost and to notice a caller that is gone.
	looked int
	err    error
}

// cancelEvery is how many rows go by between two looks at the context.
const cancelEvery = 4096

func (x *execution) look() bool {
	x.looked++
	if x.looked%cancelEvery == 0 && x.ctx.Err() != nil {
		x.err = x.ctx.Err()
		return false
	}
	return true
}

func (x *execution) cost(*Graph) Cost {
	c := Cost{Rows: x.looked, Commits: x.state.commits, SinceOptimize: x.state.sinceOptimize}
	seen := map[int]bool{}
	add := func(i int) {
		if !seen[i] {
			seen[i] = true
			c.Fragments += x.state.tables[i].fragments
		}
	}
	for _, s := range x.plan.slots {
		add(s.table)
	}
	var walk func([]step)
	walk = func(steps []step) {
		for i := range steps {
			if steps[i].kind == expand || steps[i].kind == check {
				add(steps[i].table)
			}
			walk(steps[i].inner)
		}
	}
	walk(x.plan.steps)
	return c
}

func (x *execution) value(o *operand) Value {
	switch o.kind {
	case constant:
		return o.value
	case parameter:
		v, _ := x.params.get(o.param)
		return v
	case property:
		return x.bound[o.slot].vals[o.prop]
	case nodeID:
		return stringValue(x.bound[o.slot].id)
	}
	return Value{}
}

// resolveConds replaces parameters by values and drops what the request left out.
func (x *execution) resolveConds(s *step, specs []schema.Property) ([]condition, int) {
	key := -1
	for i := range s.conds {
		c := &s.conds[i]
		if c.rhs.kind == parameter {
			return x.resolveSlow(s, specs)
		}
		if i == s.key && s.kind == scan {
			key = i
		}
	}
	return s.conds, key
}

func (x *execution) resolveSlow(s *step, props []schema.Property) ([]condition, int) {
	conds := make([]condition, 0, len(s.conds))
	key := -1
	for i, c := range s.conds {
		if c.rhs.kind == parameter {
			sent, ok := x.params.get(c.rhs.param)
			if !ok {
				continue
			}
			v, err := temporalParam(props[c.prop].Type, sent)
			if err != nil {
				c.bad = castError(props[c.prop].Type.Kind, sent.text)
			}
			c.rhs = operand{kind: constant, value: v}
		}
		if i == s.key && s.kind == scan {
			key = len(conds)
		}
		conds = append(conds, c)
	}
	return conds, key
}

// temporalParam parses a Date or DateTime parameter, which travels as text, where it meets its property.
func temporalParam(t schema.Type, v Value) (Value, error) {
	if t.Kind != schema.Date && t.Kind != schema.DateTime {
		return v, nil
	}
	switch {
	case v.kind == kindList && t.List:
		return temporalList(t.Kind, v)
	case v.kind == kindString && !t.List:
		return parseTemporal(t.Kind, v.text)
	}
	return v, nil
}

func temporalList(kind schema.Kind, v Value) (Value, error) {
	doc, err := jsondoc.Parse(v.text)
	if err != nil {
		return v, err
	}
	text := []byte{'['}
	for i := range doc.Items {
		if i > 0 {
			text = append(text, ',')
		}
		item, err := parseTemporal(kind, doc.Items[i].Text)
		if err != nil {
			return v, err
		}
		text = item.appendJSON(text)
	}
	return Value{kind: kindList, text: string(append(text, ']'))}, nil
}

// castError is what the server makes of a text that is no date in an inline pattern: there it goes to storage as it is.
func castError(kind schema.Kind, text string) error {
	return internal("storage: Query Execution error: Error applying filter expression to batch: Arrow error: Cast error: Cannot cast string '%s' to value of %s type", text, columnType(kind))
}

// columnTypes are how storage calls the types.
var columnTypes = map[schema.Kind]string{
	schema.I32: "Int32", schema.I64: "Int64", schema.U32: "UInt32", schema.U64: "UInt64", schema.Date: "Date32", schema.DateTime: "Date64",
}

func columnType(kind schema.Kind) string { return columnTypes[kind] }

func (x *execution) matches(r *row, conds []condition) bool {
	for i := range conds {
		c := &conds[i]
		if c.bad != nil {
			return x.fail(c.bad)
		}
		if !holds(r.vals[c.prop], c.op, c.rhs.value) {
			return false
		}
	}
	return true
}

// run executes steps[i:] and calls emit for each complete binding; it stops where emit returns false.
func (x *execution) run(steps []step, emit func() bool) bool {
	if len(steps) == 0 {
		return emit()
	}
	s, rest := &steps[0], steps[1:]
	switch s.kind {
	case scan:
		return x.scan(s, rest, emit)
	case restrict:
		conds, _ := x.resolveConds(s, x.props(s.slot))
		if !x.matches(x.bound[s.slot], conds) {
			return x.err == nil
		}
		return x.run(rest, emit)
	case expand, check:
		return x.expand(s, rest, emit)
	case filter:
		l, r := x.filterValues(s)
		return !holds(l, s.op, r) || x.run(rest, emit)
	case negate:
		found := false
		x.run(s.inner, func() bool {
			found = true
			return false
		})
		if x.err != nil {
			return false
		}
		return found || x.run(rest, emit)
	}
	return true
}

func (x *execution) fail(err error) bool {
	x.err = err
	return false
}

func (x *execution) filterValues(s *step) (l, r Value) {
	l, r = x.value(&s.left), x.value(&s.right)
	return truncated(l, s.right), truncated(r, s.left)
}

// truncated fits a number to the integer property with which a filter compares it: the server casts the number,
// so that `< 2.5` means `< 2`, and what the column cannot hold is nothing to compare with.
func truncated(v Value, other operand) Value {
	if other.kind != property || !other.typ.Kind.Integer() {
		return v
	}
	if v.kind == kindFloat {
		v = intValue(int64(v.float()))
	}
	if (v.kind == kindInt || v.kind == kindUint) && !fitsColumn(v, other.typ.Kind) {
		return Value{}
	}
	return v
}

// fitsColumn reports whether a 32-bit column can hold an integer; the wider ones hold all that there are.
func fitsColumn(v Value, kind schema.Kind) bool {
	switch kind {
	case schema.I32:
		return v.asFloat() >= math.MinInt32 && v.asFloat() <= math.MaxInt32
	case schema.U32:
		return v.asFloat() >= 0 && v.asFloat() <= math.MaxUint32
	}
	return true
}

func (x *execution) props(slot int) []schema.Property { return x.plan.props[slot] }

func (x *execution) scan(s *step, rest []step, emit func() bool) bool {
	conds, key := x.resolveConds(s, x.props(s.slot))
	t := x.state.tables[s.table]
	visit := func(r *row) bool {
		if !x.look() {
			return false
		}
		if !x.matches(r, conds) {
			return x.err == nil
		}
		x.bound[s.slot] = r
		return x.run(rest, emit)
	}
	if key >= 0 {
		v := conds[key].rhs.value
		if v.IsNull() {
			return true
		}
		for _, r := range t.find(v.String()) {
			if !visit(r) {
				return false
			}
		}
		return true
	}
	return t.rows.Each(visit)
}

// expand walks an edge from a bound node. Each node is reached once, at its shortest distance, and never the
// start itself.
func (x *execution) expand(s *step, rest []step, emit func() bool) bool {
	conds, _ := x.resolveConds(s, x.props(s.slot))
	start := x.bound[s.from]
	edges := x.state.tables[s.table]
	nodes := x.state.tables[x.plan.slots[s.slot].table]
	sameType := x.plan.slots[s.from].table == x.plan.slots[s.slot].table
	visited := map[string]bool{}
	if sameType {
		visited[start.id] = true
	}
	frontier := []string{start.id}
	for depth := 1; depth <= s.max && len(frontier) > 0; depth++ {
		var next []string
		for _, id := range frontier {
			adjacent := edges.out
			if s.reverse {
				adjacent = edges.in
			}
			list, _ := adjacent.Get(id)
			for _, e := range list {
				if !x.look() {
					return false
				}
				to := e.target()
				if s.reverse {
					to = e.source()
				}
				if visited[to] {
					continue
				}
				visited[to] = true
				next = append(next, to)
				if depth >= s.min && !x.reach(s, nodes, to, conds, rest, emit) {
					return false
				}
			}
		}
		frontier = next
		if !sameType {
			break // a second hop would need an edge that starts at the other type
		}
	}
	return true
}

func (x *execution) reach(s *step, nodes *table, id string, conds []condition, rest []step, emit func() bool) bool {
	if s.kind == check {
		return x.bound[s.slot].id != id || x.run(rest, emit)
	}
	for _, r := range nodes.find(id) {
		if !x.matches(r, conds) {
			if x.err != nil {
				return false
			}
			continue
		}
		x.bound[s.slot] = r
		if !x.run(rest, emit) {
			return false
		}
	}
	return true
}

// rows runs the plan and fills the result.
func (x *execution) rows(res *Result) error {
	switch {
	case x.plan.limit == 0:
		res.Rows = []byte("[]")
		return nil
	case x.plan.aggregate:
		x.aggregated(res)
	case len(x.plan.order) > 0:
		x.sorted(res)
	default:
		x.streamed(res)
	}
	return x.err
}

func (x *execution) streamed(res *Result) {
	out := append(make([]byte, 0, 256), '[')
	x.run(x.plan.steps, func() bool {
		if res.RowCount > 0 {
			out = append(out, ',')
		}
		out = x.appendRow(out)
		res.RowCount++
		return x.plan.limit < 0 || int64(res.RowCount) < x.plan.limit
	})
	res.Rows = append(out, ']')
}

func (x *execution) appendRow(out []byte) []byte {
	out = append(out, '{')
	for i, last := range x.plan.output {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, x.plan.labels[last]...)
		out = x.value(&x.plan.columns[last].arg).appendJSON(out)
	}
	return append(out, '}')
}

// sorted collects all bindings, since any of them may come first.
func (x *execution) sorted(res *Result) {
	type entry struct {
		bound []*row
		keys  []Value
	}
	var all []entry
	x.run(x.plan.steps, func() bool {
		e := entry{bound: slices.Clone(x.bound), keys: make([]Value, len(x.plan.order))}
		for i := range x.plan.order {
			k := &x.plan.order[i]
			if k.col >= 0 {
				e.keys[i] = x.value(&x.plan.columns[k.col].arg)
			} else {
				e.keys[i] = x.value(&k.arg)
			}
		}
		all = append(all, e)
		return true
	})
	slices.SortStableFunc(all, func(a, b entry) int {
		if c := x.compareKeys(a.keys, b.keys); c != 0 {
			return c
		}
		// Ties are broken by the nodes' ids, as the server does.
		for i := range a.bound {
			if a.bound[i] != nil && b.bound[i] != nil {
				if c := strings.Compare(a.bound[i].id, b.bound[i].id); c != 0 {
					return c
				}
			}
		}
		return 0
	})
	if x.plan.limit >= 0 && int64(len(all)) > x.plan.limit {
		all = all[:x.plan.limit]
	}
	out := append(make([]byte, 0, 64*len(all)+2), '[')
	for i := range all {
		if i > 0 {
			out = append(out, ',')
		}
		x.bound = all[i].bound
		out = x.appendRow(out)
	}
	res.RowCount = len(all)
	res.Rows = append(out, ']')
}

// compareKeys puts null before everything in ascending order and behind it in descending order.
func (x *execution) compareKeys(a, b []Value) int {
	for i := range a {
		c := compareNullsFirst(a[i], b[i])
		if x.plan.order[i].desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func compareNullsFirst(a, b Value) int {
	if c, ok := compare(a, b); ok {
		return c
	}
	return cmp.Compare(b2i(!a.IsNull()), b2i(!b.IsNull()))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// accumulator is one aggregate over one group.
type accumulator struct {
	n    int64
	sum  float64
	best Value
}

func (a *accumulator) add(fn string, v Value) {
	if v.IsNull() {
		return
	}
	a.n++
	switch fn {
	case "sum", "avg":
		a.sum += v.asFloat()
	case "min", "max":
		c, ok := compare(v, a.best)
		if !ok || (fn == "min" && c < 0) || (fn == "max" && c > 0) {
			a.best = v
		}
	}
}

func (a *accumulator) result(fn string) Value {
	switch {
	case fn == "count":
		return intValue(a.n)
	case a.n == 0:
		return Value{}
	case fn == "sum":
		return floatValue(a.sum)
	case fn == "avg":
		return floatValue(a.sum / float64(a.n))
	}
	return a.best
}

// aggregated groups by the columns that are no aggregates, in the order in which groups turn up.
func (x *execution) aggregated(res *Result) {
	type group struct {
		keys []Value
		accs []accumulator
	}
	index := map[string]int{}
	var groups []*group
	keyed := false
	for i := range x.plan.columns {
		keyed = keyed || x.plan.columns[i].fn == ""
	}
	newGroup := func() *group {
		gr := &group{keys: make([]Value, len(x.plan.columns)), accs: make([]accumulator, len(x.plan.columns))}
		groups = append(groups, gr)
		return gr
	}
	var name []byte
	x.run(x.plan.steps, func() bool {
		name = name[:0]
		for i := range x.plan.columns {
			if col := &x.plan.columns[i]; col.fn == "" {
				v := x.value(&col.arg)
				name = append(append(v.appendJSON(name), 0), strconv.Itoa(int(v.kind))...)
			}
		}
		var gr *group
		if i, ok := index[string(name)]; ok {
			gr = groups[i]
		} else {
			index[string(name)] = len(groups)
			gr = newGroup()
		}
		for i := range x.plan.columns {
			col := &x.plan.columns[i]
			v := x.value(&col.arg)
			if col.fn == "" {
				gr.keys[i] = v
				continue
			}
			gr.accs[i].add(col.fn, v)
		}
		return true
	})
	if len(groups) == 0 && !keyed {
		newGroup()
	}
	rows := make([][]Value, len(groups))
	for i, gr := range groups {
		rows[i] = gr.keys
		for j := range x.plan.columns {
			if fn := x.plan.columns[j].fn; fn != "" {
				rows[i][j] = gr.accs[j].result(fn)
			}
		}
	}
	if len(x.plan.order) > 0 {
		slices.SortStableFunc(rows, func(a, b []Value) int {
			for _, k := range x.plan.order {
				c := compareNullsFirst(a[k.col], b[k.col])
				if k.desc {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
	}
	if x.plan.limit >= 0 && int64(len(rows)) > x.plan.limit {
		rows = rows[:x.plan.limit]
	}
	out := []byte{'['}
	for i, r := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		for j, last := range x.plan.output {
			if j > 0 {
				out = append(out, ',')
			}
			out = append(out, x.plan.labels[last]...)
			out = r[last].appendJSON(out)
		}
		out = append(out, '}')
	}
	res.RowCount = len(rows)
	res.Rows = append(out, ']')
}
