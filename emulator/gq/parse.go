package gq

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/lex"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// maxNesting bounds negations within negations and lists within lists.
const maxNesting = 64

// Parse reads a source. Errors are *lex.Error, or say what of omnigraph's language the emulator lacks.
func Parse(source string) (*File, error) {
	p := &parser{Cursor: lex.NewCursor(source)}
	f := &File{}
	for p.Cur().Kind != lex.EOF {
		if !p.Cur().Is("query") {
			return nil, p.Expected("query_file")
		}
		q, err := p.query()
		if err != nil {
			return nil, err
		}
		f.Queries = append(f.Queries, q)
	}
	return f, nil
}

// lacks is the error for what omnigraph has and the emulator doesn't.
func lacks(what string) error {
	return fmt.Errorf("parse error: the emulator lacks %s; use a real omnigraph server for this query", what)
}

type parser struct {
	*lex.Cursor
	// limitPos is where the query's limit begins.
	limitPos int
}

func (p *parser) query() (*Query, error) {
	start := p.Mark()
	p.Advance()
	q := &Query{}
	var err error
	if q.Name, err = p.Name(lex.Ident, "ident"); err != nil {
		return nil, err
	}
	if !p.Take("(") {
		p.Reset(start)
		return nil, p.Expected("query_file")
	}
	if !p.Take(")") {
		if err := p.params(q); err != nil {
			return nil, err
		}
	}
	for p.Cur().Is("@") {
		if err := p.annotation(q); err != nil {
			return nil, err
		}
	}
	if err := p.Need("{", "query_annotation"); err != nil {
		return nil, err
	}
	if err := p.queryBody(q); err != nil {
		return nil, err
	}
	if q.Read != nil && q.Read.Limit >= 0 && !p.Cur().Is("}") {
		// What follows a limit cannot be fixed there: something is missing before it.
		return nil, p.ExpectedAt(p.limitPos, "order_clause")
	}
	return q, p.Need("}", p.tailExpectation(q))
}

// tailExpectation names what could still have followed in the query's body.
func (p *parser) tailExpectation(q *Query) string {
	switch {
	case q.Read == nil:
		return "mutation_stmt"
	case len(q.Read.Order) > 0:
		return "limit_clause"
	}
	return "order_clause or limit_clause"
}

func (p *parser) params(q *Query) error {
	for {
		start := p.Mark()
		name, err := p.Name(lex.Variable, "variable")
		if err != nil {
			return err
		}
		if !p.Take(":") {
			p.Reset(start)
			return p.Expected("param")
		}
		t, ok := schema.ParameterType(p.Cursor)
		if !ok {
			return p.Expected("type_ref")
		}
		q.Params = append(q.Params, Param{Name: name, Type: t})
		if p.Take(")") {
			return nil
		}
		if err := p.Need(",", "`,` or `)`"); err != nil {
			return err
		}
	}
}

func (p *parser) annotation(q *Query) error {
	p.Advance()
	name, err := p.Name(lex.Ident, "ident")
	if err != nil {
		return err
	}
	if err := p.Need("(", "`(`"); err != nil {
		return err
	}
	text, err := p.Name(lex.String, "string_lit")
	if err != nil {
		return err
	}
	switch name {
	case "description":
		q.Description = text
	case "instruction":
		q.Instruction = text
	}
	return p.Need(")", "`)`")
}

func (p *parser) queryBody(q *Query) error {
	switch {
	case p.Cur().Is("match"):
		read, err := p.read()
		q.Read = read
		return err
	case p.Cur().Is("insert"), p.Cur().Is("update"), p.Cur().Is("delete"):
		return p.mutation(q)
	}
	return p.Expected("query_body")
}

func (p *parser) mutation(q *Query) error {
	for {
		var s Statement
		var err error
		switch {
		case p.Cur().Is("insert"):
			s, err = p.insert()
		case p.Cur().Is("update"):
			s, err = p.update()
		case p.Cur().Is("delete"):
			s, err = p.delete()
		default:
			return nil
		}
		if err != nil {
			return err
		}
		q.Statements = append(q.Statements, s)
	}
}

func (p *parser) insert() (Statement, error) {
	p.Advance()
	name, err := p.Name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	props, err := p.assignments()
	return &Insert{Type: name, Props: props}, err
}

// assignments reads `{ name: value, … }` with at least one entry; commas may be left out or trail.
func (p *parser) assignments() ([]PropMatch, error) {
	if err := p.Need("{", "`{`"); err != nil {
		return nil, err
	}
	var props []PropMatch
	for {
		name, err := p.Name(lex.Ident, "ident")
		if err != nil {
			return nil, err
		}
		if err := p.Need(":", "`:`"); err != nil {
			return nil, err
		}
		v, err := p.matchValue(0)
		if err != nil {
			return nil, err
		}
		props = append(props, PropMatch{Name: name, Value: v})
		p.Take(",")
		if p.Take("}") {
			return props, nil
		}
	}
}

func (p *parser) update() (Statement, error) {
	p.Advance()
	name, err := p.Name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	if err := p.Need("set", "`set`"); err != nil {
		return nil, err
	}
	set, err := p.assignments()
	if err != nil {
		return nil, err
	}
	where, err := p.where("ident")
	return &Update{Type: name, Set: set, Where: where}, err
}

func (p *parser) delete() (Statement, error) {
	start := p.Mark()
	p.Advance()
	name, err := p.Name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	if !p.Cur().Is("where") {
		p.Reset(start)
		return nil, p.Expected("query_body")
	}
	where, err := p.where("ident")
	return &Delete{Type: name, Where: where}, err
}

func (p *parser) where(expected string) (Where, error) {
	if !p.Take("where") {
		// To the server's parser the assignments could have gone on.
		return Where{}, p.ExpectedAt(p.Previous().Pos, expected)
	}
	name, err := p.Name(lex.Ident, "ident")
	if err != nil {
		return Where{}, err
	}
	op, err := p.operator(false)
	if err != nil {
		return Where{}, err
	}
	v, err := p.matchValue(0)
	return Where{Prop: name, Op: op, Value: v}, err
}

func (p *parser) operator(contains bool) (string, error) {
	switch t := p.Cur(); {
	case t.Kind == lex.Punct && (t.Text == "=" || t.Text == "!=" || t.Text == ">" || t.Text == "<" || t.Text == ">=" || t.Text == "<="):
		p.Advance()
		return t.Text, nil
	case contains && t.Is("contains"):
		p.Advance()
		return t.Text, nil
	}
	return "", p.Expected("comp_op")
}

func (p *parser) read() (*Read, error) {
	p.Advance()
	if err := p.Need("{", "`{`"); err != nil {
		return nil, err
	}
	r := &Read{Limit: -1}
	var err error
	if r.Match, err = p.clauses(0); err != nil {
		return nil, err
	}
	if err := p.Need("return", "return_clause"); err != nil {
		return nil, err
	}
	if r.Return, err = p.projections(); err != nil {
		return nil, err
	}
	if p.Take("order") {
		if r.Order, err = p.orderings(); err != nil {
			return nil, err
		}
	}
	if !p.Cur().Is("limit") {
		return r, nil
	}
	if p.Peek().Kind == lex.Float {
		// The clause as a whole fails to parse, so the query's tail is what is wrong.
		return nil, p.Expected("order_clause")
	}
	p.limitPos = p.Advance().Pos
	text, err := p.Name(lex.Integer, "integer")
	if err != nil {
		return nil, err
	}
	if r.Limit, err = strconv.ParseInt(text, 10, 64); err != nil {
		return nil, fmt.Errorf("parse error: invalid limit: number too large to fit in target type")
	}
	return r, nil
}

func (p *parser) clauses(depth int) ([]Clause, error) {
	var clauses []Clause
	for {
		if len(clauses) > 0 && p.Take("}") {
			return clauses, nil
		}
		c, err := p.clause(depth)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
	}
}

func (p *parser) clause(depth int) (Clause, error) {
	if depth > maxNesting {
		return nil, lacks("negations nested this deeply")
	}
	if p.Cur().Is("not") && p.Peek().Is("{") {
		p.Skip(2)
		inner, err := p.clauses(depth + 1)
		return &Not{Clauses: inner}, err
	}
	if p.Cur().Kind == lex.Variable {
		next := p.Peek()
		switch {
		case next.Is(":"):
			return p.binding()
		case next.Kind == lex.Ident:
			return p.traversal()
		case next.Is("."):
		case next.Kind == lex.Punct && strings.IndexByte("=!<>", next.Text[0]) >= 0:
		default:
			p.Advance()
			return nil, p.Expected("comp_op or edge_ident")
		}
	}
	return p.filter()
}

func (p *parser) binding() (Clause, error) {
	b := &Binding{Var: p.Advance().Text}
	p.Advance()
	var err error
	if b.Type, err = p.Name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if !p.Cur().Is("{") {
		return b, nil
	}
	if b.Props, err = p.assignments(); err != nil && p.Previous().Kind == lex.Variable && p.Cur().Is(".") {
		// In a pattern the server takes the variable for a value that lacks its own form.
		p.Reset(p.Mark() - 1)
		return nil, p.Expected("literal")
	}
	return b, err
}

func (p *parser) traversal() (Clause, error) {
	t := &Traversal{Source: p.Advance().Text, Min: 1, Max: 1}
	t.Edge = p.Advance().Text
	if p.Cur().Is("{") {
		if err := p.bounds(t); err != nil {
			return nil, err
		}
	}
	var err error
	t.Target, err = p.Name(lex.Variable, "traversal_bounds or variable")
	return t, err
}

func (p *parser) bounds(t *Traversal) error {
	start := p.Mark()
	bad := func() error {
		p.Reset(start)
		return p.Expected("traversal_bounds or variable")
	}
	number := func() (int, bool) {
		if p.Cur().Kind != lex.Integer {
			return 0, false
		}
		n, err := strconv.Atoi(p.Advance().Text)
		return n, err == nil
	}
	p.Advance()
	var ok bool
	if t.Min, ok = number(); !ok || !p.Take(",") {
		return bad()
	}
	if t.Max, ok = number(); !ok {
		t.Max = -1
	}
	if !p.Take("}") {
		return bad()
	}
	return nil
}

func (p *parser) filter() (Clause, error) {
	start := p.Cur()
	left, err := p.expr(0)
	if err != nil {
		if start.Kind == lex.Punct || start.Kind == lex.Bad || start.Kind == lex.EOF || start.Kind == lex.TypeName {
			return nil, p.Expected("clause")
		}
		return nil, err
	}
	op, err := p.operator(true)
	if err != nil {
		return nil, err
	}
	right, err := p.expr(0)
	return &Filter{Left: left, Op: op, Right: right}, err
}

var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "min": true, "max": true}

// searches are the functions of omnigraph's full-text and vector search, which the emulator lacks.
var searches = map[string]bool{"nearest": true, "search": true, "fuzzy": true, "match_text": true, "bm25": true, "rrf": true}

func (p *parser) expr(depth int) (Expr, error) {
	t := p.Cur()
	switch {
	case t.Kind == lex.Variable:
		p.Advance()
		if !p.Take(".") {
			return Var{Name: t.Text}, nil
		}
		name, err := p.Name(lex.Ident, "ident")
		return Prop{Var: t.Text, Name: name}, err
	case t.Kind == lex.Ident && p.Peek().Is("("):
		return p.call(depth)
	case t.Kind == lex.Ident && t.Text != "true" && t.Text != "false":
		p.Advance()
		return Alias{Name: t.Text}, nil
	}
	return p.literal(depth, "expr")
}

func (p *parser) call(depth int) (Expr, error) {
	name := p.Cur().Text
	switch {
	case aggregates[name]:
		p.Skip(2)
		if depth > maxNesting {
			return nil, lacks("expressions nested this deeply")
		}
		pos := p.Cur().Pos
		arg, err := p.expr(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.Take(")") {
			return nil, p.ExpectedAt(pos, "nearest_ordering, now_call, search_call, fuzzy_call, match_text_call, bm25_call, rrf_call, agg_func, variable, or literal")
		}
		return Aggregate{Func: name, Arg: arg}, nil
	case name == "now":
		p.Skip(2)
		return Now{}, p.Need(")", "`)`")
	case searches[name]:
		return nil, lacks(name + "()")
	}
	return p.literal(depth, "expr")
}

// matchValue is what may stand for a value in a pattern, an insert, a set or a where.
func (p *parser) matchValue(depth int) (Expr, error) {
	t := p.Cur()
	switch {
	case t.Kind == lex.Variable:
		p.Advance()
		return Var{Name: t.Text}, nil
	case t.Is("now") && p.Peek().Is("("):
		p.Skip(2)
		return Now{}, p.Need(")", "`)`")
	}
	return p.literal(depth, "match_value")
}

func (p *parser) literal(depth int, expected string) (Expr, error) {
	t := p.Cur()
	switch {
	case t.Kind == lex.String:
		p.Advance()
		return Literal{Value: t.Text}, nil
	case t.Kind == lex.Integer:
		n, err := strconv.ParseInt(t.Text, 10, 64)
		if err != nil {
			return nil, errors.New("parse error: parse error: invalid integer: number too large to fit in target type")
		}
		p.Advance()
		return Literal{Value: n}, nil
	case t.Kind == lex.Float:
		f, err := strconv.ParseFloat(t.Text, 64)
		if err != nil {
			return nil, fmt.Errorf("parse error: invalid float '%s'", t.Text)
		}
		p.Advance()
		return Literal{Value: f}, nil
	case t.Is("true"), t.Is("false"):
		p.Advance()
		return Literal{Value: t.Text == "true"}, nil
	case (t.Is("date") || t.Is("datetime")) && p.Peek().Is("("):
		return p.temporal()
	case t.Is("["):
		return p.list(depth, expected)
	}
	return nil, p.Expected(expected)
}

func (p *parser) temporal() (Expr, error) {
	kind := schema.Date
	if p.Cur().Text == "datetime" {
		kind = schema.DateTime
	}
	p.Skip(2)
	text, err := p.Name(lex.String, "string_lit")
	if err != nil {
		return nil, err
	}
	return Temporal{Kind: kind, Text: text}, p.Need(")", "`)`")
}

func (p *parser) list(depth int, expected string) (Expr, error) {
	if depth > maxNesting {
		return nil, lacks("lists nested this deeply")
	}
	p.Advance()
	l := List{}
	if p.Take("]") {
		return l, nil
	}
	for {
		item, err := p.literal(depth+1, expected)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, item)
		if p.Take("]") {
			return l, nil
		}
		if err := p.Need(",", "`,` or `]`"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) projections() ([]Projection, error) {
	if err := p.Need("{", "`{`"); err != nil {
		return nil, err
	}
	var list []Projection
	for {
		if len(list) > 0 && p.Take("}") {
			return list, nil
		}
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		pr := Projection{Expr: e}
		if p.Take("as") {
			if pr.Alias, err = p.Name(lex.Ident, "ident"); err != nil {
				return nil, err
			}
		}
		list = append(list, pr)
		p.Take(",")
	}
}

func (p *parser) orderings() ([]Ordering, error) {
	if err := p.Need("{", "`{`"); err != nil {
		return nil, err
	}
	var list []Ordering
	for {
		start := p.Mark()
		e, err := p.expr(0)
		if err != nil {
			if p.Mark() == start {
				return nil, p.Expected("ordering")
			}
			return nil, err
		}
		o := Ordering{Expr: e}
		expected := "`,` or `}`"
		switch {
		case p.Take("desc"):
			o.Desc = true
		case !p.Take("asc"):
			expected = "order_dir"
		}
		list = append(list, o)
		if p.Take("}") {
			return list, nil
		}
		// Unlike those of a return, the entries of an order need their commas, and none behind the last.
		if err := p.Need(",", expected); err != nil {
			return nil, err
		}
	}
}
