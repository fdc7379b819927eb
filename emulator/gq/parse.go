package gq

import (
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
	p := &parser{src: source, tokens: lex.Tokens(source)}
	f := &File{}
	for p.cur().Kind != lex.EOF {
		if !p.cur().Is("query") {
			return nil, p.expected("query_file")
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
	src    string
	tokens []lex.Token
	i      int
	// limitPos is where the query's limit begins.
	limitPos int
}

func (p *parser) cur() lex.Token { return p.tokens[p.i] }

func (p *parser) peek() lex.Token { return p.tokens[min(p.i+1, len(p.tokens)-1)] }

func (p *parser) advance() lex.Token {
	t := p.tokens[p.i]
	if t.Kind != lex.EOF {
		p.i++
	}
	return t
}

func (p *parser) expected(what string) error {
	return &lex.Error{Source: p.src, Pos: p.cur().Pos, Expected: what}
}

func (p *parser) take(text string) bool {
	if p.cur().Is(text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) need(text, expected string) error {
	if !p.take(text) {
		return p.expected(expected)
	}
	return nil
}

func (p *parser) name(kind lex.Kind, expected string) (string, error) {
	if p.cur().Kind != kind {
		return "", p.expected(expected)
	}
	return p.advance().Text, nil
}

func (p *parser) query() (*Query, error) {
	start := p.i
	p.advance()
	q := &Query{}
	var err error
	if q.Name, err = p.name(lex.Ident, "ident"); err != nil {
		return nil, err
	}
	if !p.take("(") {
		p.i = start
		return nil, p.expected("query_file")
	}
	if !p.take(")") {
		if err := p.params(q); err != nil {
			return nil, err
		}
	}
	for p.cur().Is("@") {
		if err := p.annotation(q); err != nil {
			return nil, err
		}
	}
	if err := p.need("{", "query_annotation"); err != nil {
		return nil, err
	}
	if err := p.queryBody(q); err != nil {
		return nil, err
	}
	if q.Read != nil && q.Read.Limit >= 0 && !p.cur().Is("}") {
		// What follows a limit cannot be fixed there: something is missing before it.
		return nil, &lex.Error{Source: p.src, Pos: p.limitPos, Expected: "order_clause"}
	}
	return q, p.need("}", p.tailExpectation(q))
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
		start := p.i
		name, err := p.name(lex.Variable, "variable")
		if err != nil {
			return err
		}
		if !p.take(":") {
			p.i = start
			return p.expected("param")
		}
		t, next, ok := schema.TypeAt(p.src, p.tokens, p.i)
		if !ok {
			return p.expected("type_ref")
		}
		p.i = next
		q.Params = append(q.Params, Param{Name: name, Type: t})
		if p.take(")") {
			return nil
		}
		if err := p.need(",", "`,` or `)`"); err != nil {
			return err
		}
	}
}

func (p *parser) annotation(q *Query) error {
	p.advance()
	name, err := p.name(lex.Ident, "ident")
	if err != nil {
		return err
	}
	if err := p.need("(", "`(`"); err != nil {
		return err
	}
	text, err := p.name(lex.String, "string_lit")
	if err != nil {
		return err
	}
	switch name {
	case "description":
		q.Description = text
	case "instruction":
		q.Instruction = text
	}
	return p.need(")", "`)`")
}

func (p *parser) queryBody(q *Query) error {
	switch {
	case p.cur().Is("match"):
		read, err := p.read()
		q.Read = read
		return err
	case p.cur().Is("insert"), p.cur().Is("update"), p.cur().Is("delete"):
		return p.mutation(q)
	}
	return p.expected("query_body")
}

func (p *parser) mutation(q *Query) error {
	for {
		var s Statement
		var err error
		switch {
		case p.cur().Is("insert"):
			s, err = p.insert()
		case p.cur().Is("update"):
			s, err = p.update()
		case p.cur().Is("delete"):
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
	p.advance()
	name, err := p.name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	props, err := p.assignments()
	return &Insert{Type: name, Props: props}, err
}

// assignments reads `{ name: value, … }` with at least one entry; commas may be left out or trail.
func (p *parser) assignments() ([]PropMatch, error) {
	if err := p.need("{", "`{`"); err != nil {
		return nil, err
	}
	var props []PropMatch
	for {
		name, err := p.name(lex.Ident, "ident")
		if err != nil {
			return nil, err
		}
		if err := p.need(":", "`:`"); err != nil {
			return nil, err
		}
		v, err := p.matchValue(0)
		if err != nil {
			return nil, err
		}
		props = append(props, PropMatch{Name: name, Value: v})
		p.take(",")
		if p.take("}") {
			return props, nil
		}
	}
}

func (p *parser) update() (Statement, error) {
	p.advance()
	name, err := p.name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	if err := p.need("set", "`set`"); err != nil {
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
	start := p.i
	p.advance()
	name, err := p.name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	if !p.cur().Is("where") {
		p.i = start
		return nil, p.expected("query_body")
	}
	where, err := p.where("ident")
	return &Delete{Type: name, Where: where}, err
}

func (p *parser) where(expected string) (Where, error) {
	if !p.take("where") {
		// To the server's parser the assignments could have gone on.
		return Where{}, &lex.Error{Source: p.src, Pos: p.tokens[p.i-1].Pos, Expected: expected}
	}
	name, err := p.name(lex.Ident, "ident")
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
	switch t := p.cur(); {
	case t.Kind == lex.Punct && (t.Text == "=" || t.Text == "!=" || t.Text == ">" || t.Text == "<" || t.Text == ">=" || t.Text == "<="):
		p.advance()
		return t.Text, nil
	case contains && t.Is("contains"):
		p.advance()
		return t.Text, nil
	}
	return "", p.expected("comp_op")
}

func (p *parser) read() (*Read, error) {
	p.advance()
	if err := p.need("{", "`{`"); err != nil {
		return nil, err
	}
	r := &Read{Limit: -1}
	var err error
	if r.Match, err = p.clauses(0); err != nil {
		return nil, err
	}
	if err := p.need("return", "return_clause"); err != nil {
		return nil, err
	}
	if r.Return, err = p.projections(); err != nil {
		return nil, err
	}
	if p.take("order") {
		if r.Order, err = p.orderings(); err != nil {
			return nil, err
		}
	}
	if !p.cur().Is("limit") {
		return r, nil
	}
	if p.peek().Kind == lex.Float {
		// The clause as a whole fails to parse, so the query's tail is what is wrong.
		return nil, p.expected("order_clause")
	}
	p.limitPos = p.advance().Pos
	text, err := p.name(lex.Integer, "integer")
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
		if len(clauses) > 0 && p.take("}") {
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
	if p.cur().Is("not") && p.peek().Is("{") {
		p.i += 2
		inner, err := p.clauses(depth + 1)
		return &Not{Clauses: inner}, err
	}
	if p.cur().Kind == lex.Variable {
		next := p.peek()
		switch {
		case next.Is(":"):
			return p.binding()
		case next.Kind == lex.Ident:
			return p.traversal()
		case next.Is("."):
		case next.Kind == lex.Punct && strings.IndexByte("=!<>", next.Text[0]) >= 0:
		default:
			p.i++
			return nil, p.expected("comp_op or edge_ident")
		}
	}
	return p.filter()
}

func (p *parser) binding() (Clause, error) {
	b := &Binding{Var: p.advance().Text}
	p.advance()
	var err error
	if b.Type, err = p.name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if !p.cur().Is("{") {
		return b, nil
	}
	b.Props, err = p.assignments()
	return b, err
}

func (p *parser) traversal() (Clause, error) {
	t := &Traversal{Source: p.advance().Text, Min: 1, Max: 1}
	t.Edge = p.advance().Text
	if p.cur().Is("{") {
		if err := p.bounds(t); err != nil {
			return nil, err
		}
	}
	var err error
	t.Target, err = p.name(lex.Variable, "traversal_bounds or variable")
	return t, err
}

func (p *parser) bounds(t *Traversal) error {
	start := p.i
	bad := func() error {
		p.i = start
		return p.expected("traversal_bounds or variable")
	}
	number := func() (int, bool) {
		if p.cur().Kind != lex.Integer {
			return 0, false
		}
		n, err := strconv.Atoi(p.advance().Text)
		return n, err == nil
	}
	p.advance()
	var ok bool
	if t.Min, ok = number(); !ok || !p.take(",") {
		return bad()
	}
	if t.Max, ok = number(); !ok {
		t.Max = -1
	}
	if !p.take("}") {
		return bad()
	}
	return nil
}

func (p *parser) filter() (Clause, error) {
	start := p.cur()
	left, err := p.expr(0)
	if err != nil {
		if start.Kind == lex.Punct || start.Kind == lex.Bad || start.Kind == lex.EOF || start.Kind == lex.TypeName {
			return nil, p.expected("clause")
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
	t := p.cur()
	switch {
	case t.Kind == lex.Variable:
		p.advance()
		if !p.take(".") {
			return Var{Name: t.Text}, nil
		}
		name, err := p.name(lex.Ident, "ident")
		return Prop{Var: t.Text, Name: name}, err
	case t.Kind == lex.Ident && p.peek().Is("("):
		return p.call(depth)
	case t.Kind == lex.Ident && t.Text != "true" && t.Text != "false":
		p.advance()
		return Alias{Name: t.Text}, nil
	}
	return p.literal(depth, "expr")
}

func (p *parser) call(depth int) (Expr, error) {
	name := p.cur().Text
	switch {
	case aggregates[name]:
		p.i += 2
		if depth > maxNesting {
			return nil, lacks("expressions nested this deeply")
		}
		pos := p.cur().Pos
		arg, err := p.expr(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, &lex.Error{Source: p.src, Pos: pos, Expected: "nearest_ordering, now_call, search_call, fuzzy_call, match_text_call, bm25_call, rrf_call, agg_func, variable, or literal"}
		}
		return Aggregate{Func: name, Arg: arg}, nil
	case name == "now":
		p.i += 2
		return Now{}, p.need(")", "`)`")
	case searches[name]:
		return nil, lacks(name + "()")
	}
	return p.literal(depth, "expr")
}

// matchValue is what may stand for a value in a pattern, an insert, a set or a where.
func (p *parser) matchValue(depth int) (Expr, error) {
	t := p.cur()
	switch {
	case t.Kind == lex.Variable:
		p.advance()
		return Var{Name: t.Text}, nil
	case t.Is("now") && p.peek().Is("("):
		p.i += 2
		return Now{}, p.need(")", "`)`")
	}
	return p.literal(depth, "match_value")
}

func (p *parser) literal(depth int, expected string) (Expr, error) {
	t := p.cur()
	switch {
	case t.Kind == lex.String:
		p.advance()
		return Literal{Value: t.Text}, nil
	case t.Kind == lex.Integer:
		n, err := strconv.ParseInt(t.Text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse error: invalid integer: number too large to fit in target type")
		}
		p.advance()
		return Literal{Value: n}, nil
	case t.Kind == lex.Float:
		f, err := strconv.ParseFloat(t.Text, 64)
		if err != nil {
			return nil, fmt.Errorf("parse error: invalid float '%s'", t.Text)
		}
		p.advance()
		return Literal{Value: f}, nil
	case t.Is("true"), t.Is("false"):
		p.advance()
		return Literal{Value: t.Text == "true"}, nil
	case (t.Is("date") || t.Is("datetime")) && p.peek().Is("("):
		return p.temporal()
	case t.Is("["):
		return p.list(depth, expected)
	}
	return nil, p.expected(expected)
}

func (p *parser) temporal() (Expr, error) {
	kind := schema.Date
	if p.cur().Text == "datetime" {
		kind = schema.DateTime
	}
	p.i += 2
	text, err := p.name(lex.String, "string_lit")
	if err != nil {
		return nil, err
	}
	return Temporal{Kind: kind, Text: text}, p.need(")", "`)`")
}

func (p *parser) list(depth int, expected string) (Expr, error) {
	if depth > maxNesting {
		return nil, lacks("lists nested this deeply")
	}
	p.advance()
	l := List{}
	if p.take("]") {
		return l, nil
	}
	for {
		item, err := p.literal(depth+1, expected)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, item)
		if p.take("]") {
			return l, nil
		}
		if err := p.need(",", "`,` or `]`"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) projections() ([]Projection, error) {
	if err := p.need("{", "`{`"); err != nil {
		return nil, err
	}
	var list []Projection
	for {
		if len(list) > 0 && p.take("}") {
			return list, nil
		}
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		pr := Projection{Expr: e}
		if p.take("as") {
			if pr.Alias, err = p.name(lex.Ident, "ident"); err != nil {
				return nil, err
			}
		}
		list = append(list, pr)
		p.take(",")
	}
}

func (p *parser) orderings() ([]Ordering, error) {
	if err := p.need("{", "`{`"); err != nil {
		return nil, err
	}
	var list []Ordering
	for {
		if len(list) > 0 && p.take("}") {
			return list, nil
		}
		if p.cur().Is("}") {
			return nil, p.expected("ordering")
		}
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		o := Ordering{Expr: e}
		if p.take("desc") {
			o.Desc = true
		} else {
			p.take("asc")
		}
		list = append(list, o)
		p.take(",")
	}
}
