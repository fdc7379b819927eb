package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mitodl/xk6-omnigraph/emulator/lex"
)

// Parse reads a `.pg` source. Every error starts with "parse error:" or, for types that don't fit together,
// "catalog error:", as the server's do.
func Parse(source string) (*Schema, error) {
	p := &parser{src: source, tokens: lex.Tokens(source)}
	s := &Schema{Source: source}
	for p.cur().Kind != lex.EOF {
		switch {
		case p.cur().Is("node"):
			n, err := p.node()
			if err != nil {
				return nil, err
			}
			s.Nodes = append(s.Nodes, n)
		case p.cur().Is("edge"):
			e, err := p.edge()
			if err != nil {
				return nil, err
			}
			s.Edges = append(s.Edges, e)
		case p.cur().Is("interface"):
			return nil, lacks("interfaces")
		default:
			return nil, p.expected("schema_file")
		}
	}
	return s, s.check()
}

// lacks is the error for what omnigraph has and the emulator doesn't.
func lacks(what string) error {
	return fmt.Errorf("parse error: the emulator lacks %s; use a real omnigraph server for this schema", what)
}

func (s *Schema) check() error {
	seen := map[string]bool{}
	for _, n := range s.Nodes {
		if seen[n.Name] {
			return fmt.Errorf("catalog error: duplicate node type: %s", n.Name)
		}
		seen[n.Name] = true
	}
	clear(seen)
	for _, e := range s.Edges {
		if seen[e.Name] {
			return fmt.Errorf("catalog error: duplicate edge type: %s", e.Name)
		}
		seen[e.Name] = true
		if s.Node(e.From) == nil {
			return fmt.Errorf("catalog error: edge %s references unknown source type: %s", e.Name, e.From)
		}
		if s.Node(e.To) == nil {
			return fmt.Errorf("catalog error: edge %s references unknown target type: %s", e.Name, e.To)
		}
	}
	return nil
}

type parser struct {
	src    string
	tokens []lex.Token
	i      int
}

func (p *parser) cur() lex.Token { return p.tokens[p.i] }

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

// annotation is `@name` with its raw argument tokens.
type annotation struct {
	name string
	args []lex.Token
}

func (p *parser) annotation() (annotation, error) {
	p.advance()
	name, err := p.name(lex.Ident, "ident")
	if err != nil {
		return annotation{}, err
	}
	a := annotation{name: name}
	if !p.take("(") {
		return a, nil
	}
	for depth := 1; ; {
		t := p.cur()
		switch {
		case t.Kind == lex.EOF || t.Kind == lex.Bad:
			return a, p.expected("range_bound or literal")
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		p.advance()
		if depth == 0 {
			return a, nil
		}
		a.args = append(a.args, t)
	}
}

func (a annotation) idents() []string {
	var names []string
	for _, t := range a.args {
		if t.Kind == lex.Ident {
			names = append(names, t.Text)
		}
	}
	return names
}

func (p *parser) node() (*Node, error) {
	p.advance()
	name, err := p.name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, Key: -1}
	if p.cur().Is("implements") {
		return nil, lacks("interfaces")
	}
	for p.cur().Is("@") {
		if _, err := p.annotation(); err != nil {
			return nil, err
		}
	}
	if err := p.need("{", "implements_clause or annotation"); err != nil {
		return nil, err
	}
	var keys []string
	props, err := p.body(name, func(a annotation, prop string) error {
		if a.name != "key" {
			return nil
		}
		if prop != "" && len(a.args) == 0 {
			keys = append(keys, prop)
		} else {
			keys = append(keys, a.idents()...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	n.Props = props
	return n, n.setKey(keys)
}

func (n *Node) setKey(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > 1 {
		return fmt.Errorf("parse error: node type %s has multiple @key constraints; only one is supported", n.Name)
	}
	n.Key = PropIndex(n.Props, keys[0])
	if n.Key < 0 {
		return fmt.Errorf("parse error: @key on %s references unknown property '%s'", n.Name, keys[0])
	}
	switch t := n.Props[n.Key].Type; {
	case t.Optional:
		return fmt.Errorf("parse error: @key property %s.%s cannot be nullable", n.Name, keys[0])
	case t.List:
		return fmt.Errorf("parse error: @key is not supported on list property %s.%s", n.Name, keys[0])
	}
	n.Props[n.Key].Unique = true
	return nil
}

// body reads properties and constraints up to the closing brace; onNote hears each annotation with the
// property it stands behind, or with none when it stands alone.
func (p *parser) body(owner string, onNote func(annotation, string) error) ([]Property, error) {
	var props []Property
	var unique [][]string
	for !p.take("}") {
		if p.cur().Is("@") {
			a, err := p.annotation()
			if err != nil {
				return nil, err
			}
			switch a.name {
			case "range", "check":
				return nil, lacks("@" + a.name + " constraints")
			case "unique":
				unique = append(unique, a.idents())
			}
			if err := onNote(a, ""); err != nil {
				return nil, err
			}
			continue
		}
		prop, err := p.property(owner, onNote)
		if err != nil {
			return nil, err
		}
		// A later declaration of the same name replaces the earlier one.
		if i := PropIndex(props, prop.Name); i >= 0 {
			props[i] = prop
		} else {
			props = append(props, prop)
		}
	}
	for _, names := range unique {
		if len(names) != 1 {
			return nil, lacks("@unique over several properties")
		}
		i := PropIndex(props, names[0])
		if i < 0 {
			return nil, fmt.Errorf("parse error: @unique on %s references unknown property '%s'", owner, names[0])
		}
		props[i].Unique = true
	}
	return props, nil
}

func (p *parser) property(owner string, onNote func(annotation, string) error) (Property, error) {
	name, err := p.name(lex.Ident, "body_constraint or ident")
	if err != nil {
		return Property{}, err
	}
	if !p.take(":") {
		p.i--
		return Property{}, p.expected("prop_decl or body_constraint")
	}
	t, err := p.typ()
	if err != nil {
		return Property{}, err
	}
	prop := Property{Name: name, Type: t}
	for p.cur().Is("@") {
		// A constraint that names other properties belongs to the body, not to this property.
		a, err := p.annotation()
		if err != nil {
			return Property{}, err
		}
		switch a.name {
		case "unique":
			if others := a.idents(); len(others) > 0 && !slices.Equal(others, []string{name}) {
				return Property{}, lacks("@unique over several properties")
			}
			prop.Unique = true
		case "range", "check", "embed":
			return Property{}, lacks("@" + a.name)
		}
		if err := onNote(a, name); err != nil {
			return Property{}, err
		}
	}
	switch {
	case p.cur().Kind == lex.Ident, p.cur().Is("}"):
		return prop, nil
	}
	return Property{}, p.expected("body_constraint, annotation, or ident")
}

func (p *parser) typ() (Type, error) { return parseType(p, true) }

// parseType reads a type; enums only where a schema may have them.
func parseType(p *parser, enums bool) (Type, error) {
	start := p.i
	fail := func() (Type, error) {
		p.i = start
		return Type{}, p.expected("core_type")
	}
	var t Type
	switch {
	case p.take("["):
		k, ok := kindByName(p.cur().Text)
		if p.cur().Kind != lex.TypeName || !ok {
			return Type{}, p.expected("base_type")
		}
		p.advance()
		if !p.take("]") {
			return fail()
		}
		t = Type{Kind: k, List: true}
	case enums && p.take("enum"):
		values, err := p.enumValues()
		if err != nil {
			return Type{}, err
		}
		t = Type{Kind: String, Enum: values}
	case p.cur().Kind == lex.TypeName:
		switch p.cur().Text {
		case "Vector", "Blob":
			return Type{}, lacks("the type " + p.cur().Text)
		}
		k, ok := kindByName(p.cur().Text)
		if !ok {
			return fail()
		}
		p.advance()
		t = Type{Kind: k}
	default:
		return fail()
	}
	t.Optional = p.take("?")
	return t, nil
}

func (p *parser) enumValues() ([]string, error) {
	if err := p.need("(", "core_type"); err != nil {
		return nil, err
	}
	var values []string
	for {
		if k := p.cur().Kind; k != lex.Ident && k != lex.TypeName {
			return nil, p.expected("enum_value")
		}
		v := p.advance().Text
		if slices.Contains(values, v) {
			return nil, fmt.Errorf("parse error: enum type cannot include duplicate values")
		}
		values = append(values, v)
		if p.take(")") {
			slices.Sort(values)
			return values, nil
		}
		if err := p.need(",", "enum_value"); err != nil {
			return nil, err
		}
	}
}

func kindByName(name string) (Kind, bool) {
	i := slices.Index(kindNames, name)
	if i < 0 {
		return 0, false
	}
	return Kind(i), true //nolint:gosec // i indexes kindNames
}

func (p *parser) edge() (*Edge, error) {
	p.advance()
	e := &Edge{MaxOut: -1}
	var err error
	if e.Name, err = p.name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if err := p.need(":", "`:`"); err != nil {
		return nil, err
	}
	if e.From, err = p.name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if err := p.need("->", "`->`"); err != nil {
		return nil, err
	}
	if e.To, err = p.name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	for p.cur().Is("@") {
		a, err := p.annotation()
		if err != nil {
			return nil, err
		}
		if a.name == "card" {
			if err := e.cardinality(a); err != nil {
				return nil, err
			}
		}
	}
	if p.take("{") {
		e.Props, err = p.body(e.Name, func(annotation, string) error { return nil })
	}
	return e, err
}

func (e *Edge) cardinality(a annotation) error {
	bad := fmt.Errorf("parse error: expected cardinality bounds (min..max) in @card of edge %s", e.Name)
	if len(a.args) < 2 || a.args[0].Kind != lex.Integer || !a.args[1].Is("..") || len(a.args) > 3 {
		return bad
	}
	var err error
	if e.MinOut, err = strconv.Atoi(a.args[0].Text); err != nil {
		return bad
	}
	if len(a.args) == 2 || a.args[2].Is("*") {
		return nil
	}
	if e.MaxOut, err = strconv.Atoi(a.args[2].Text); err != nil || e.MaxOut < e.MinOut {
		return bad
	}
	return nil
}

// TypeAt reads a parameter's type from tokens[i:] and returns the index behind it. ok is false where no type
// that a parameter can have stands there.
func TypeAt(source string, tokens []lex.Token, i int) (t Type, next int, ok bool) {
	p := &parser{src: source, tokens: tokens, i: i}
	t, err := parseType(p, false)
	return t, p.i, err == nil
}
