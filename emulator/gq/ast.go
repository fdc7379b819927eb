// Package gq parses omnigraph's query language as far as the emulator speaks it.
package gq

import "github.com/mitodl/xk6-omnigraph/emulator/schema"

// File is the content of a `.gq` source.
type File struct {
	Queries []*Query
}

// Query is one declared query: a read has Read set, a mutation has Statements.
type Query struct {
	Name       string
	Params     []Param
	Read       *Read
	Statements []Statement
	// Description and Instruction come from the annotations of the same names.
	Description string
	Instruction string
}

// Mutation reports whether the query writes.
func (q *Query) Mutation() bool { return q.Read == nil }

// Param returns the declared parameter called name, or nil.
func (q *Query) Param(name string) *Param {
	for i := range q.Params {
		if q.Params[i].Name == name {
			return &q.Params[i]
		}
	}
	return nil
}

// Param is a declared parameter.
type Param struct {
	Name string
	Type schema.Type
}

// Read is a match with its return.
type Read struct {
	Match  []Clause
	Return []Projection
	Order  []Ordering
	// Limit is the greatest number of rows, or -1.
	Limit int64
}

// Clause is one of *Binding, *Traversal, *Filter, *Not.
type Clause interface{ clause() }

// Binding is `$m: Memory { slug: $s }`.
type Binding struct {
	Var   string
	Type  string
	Props []PropMatch
}

// PropMatch is one `name: value` of a pattern, an insert or a set.
type PropMatch struct {
	Name  string
	Value Expr
}

// Traversal is `$a relatesTo {1,3} $b`; without bounds both are 1. Max is -1 where the bound is open.
type Traversal struct {
	Source string
	Edge   string
	Min    int
	Max    int
	Target string
}

// Filter is a comparison.
type Filter struct {
	Left  Expr
	Op    string
	Right Expr
}

// Not is a negated block.
type Not struct {
	Clauses []Clause
}

func (*Binding) clause()   {}
func (*Traversal) clause() {}
func (*Filter) clause()    {}
func (*Not) clause()       {}

// Expr is one of the expressions below.
type Expr interface{ expr() }

// Var is `$m` or `$param`.
type Var struct{ Name string }

// Prop is `$m.slug`.
type Prop struct{ Var, Name string }

// Literal is a constant: a string, an int64, a float64 or a bool.
type Literal struct{ Value any }

// Temporal is date("…") or datetime("…").
type Temporal struct {
	Kind schema.Kind
	Text string
}

// List is a list literal.
type List struct{ Items []Expr }

// Now is now().
type Now struct{}

// Aggregate is count, sum, avg, min or max of an expression.
type Aggregate struct {
	Func string
	Arg  Expr
}

// Alias is a bare word: the name of a projected column in an order, or nothing that exists.
type Alias struct{ Name string }

func (Var) expr()       {}
func (Prop) expr()      {}
func (Literal) expr()   {}
func (Temporal) expr()  {}
func (List) expr()      {}
func (Now) expr()       {}
func (Aggregate) expr() {}
func (Alias) expr()     {}

// Projection is one returned column.
type Projection struct {
	Expr  Expr
	Alias string
}

// Ordering is one sort key.
type Ordering struct {
	Expr Expr
	Desc bool
}

// Statement is one of *Insert, *Update, *Delete.
type Statement interface{ statement() }

// Insert is `insert T { … }`.
type Insert struct {
	Type  string
	Props []PropMatch
}

// Update is `update T set { … } where p = v`.
type Update struct {
	Type  string
	Set   []PropMatch
	Where Where
}

// Delete is `delete T where p = v`.
type Delete struct {
	Type  string
	Where Where
}

// Where is the condition of an update or a delete.
type Where struct {
	Prop  string
	Op    string
	Value Expr
}

func (*Insert) statement() {}
func (*Update) statement() {}
func (*Delete) statement() {}
