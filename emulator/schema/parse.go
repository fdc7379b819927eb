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
	p := &parser{Cursor: lex.NewCursor(source)}
	s := &Schema{Source: source}
	for p.Cur().Kind != lex.EOF {
		switch {
		case p.Cur().Is("node"):
			n, err := p.node()
			if err != nil {
				return nil, err
			}
			s.Nodes = append(s.Nodes, n)
		case p.Cur().Is("edge"):
			e, err := p.edge()
			if err != nil {
				return nil, err
			}
			s.Edges = append(s.Edges, e)
		case p.Cur().Is("interface"):
			return nil, lacks("interfaces")
		default:
			return nil, p.Expected("schema_file")
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

type parser struct{ *lex.Cursor }

// annotation is `@name` with its raw argument tokens.
type annotation struct {
	name string
	args []lex.Token
}

func (p *parser) annotation() (annotation, error) {
	p.Advance()
	name, err := p.Name(lex.Ident, "ident")
	if err != nil {
		return annotation{}, err
	}
	a := annotation{name: name}
	if !p.Take("(") {
		return a, nil
	}
	for depth := 1; ; {
		t := p.Cur()
		switch {
		case t.Kind == lex.EOF || t.Kind == lex.Bad:
			return a, p.Expected("range_bound or literal")
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		p.Advance()
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
	p.Advance()
	name, err := p.Name(lex.TypeName, "type_name")
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, Key: -1}
	if p.Cur().Is("implements") {
		return nil, lacks("interfaces")
	}
	for p.Cur().Is("@") {
		if _, err := p.annotation(); err != nil {
			return nil, err
		}
	}
	if err := p.Need("{", "implements_clause or annotation"); err != nil {
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
	for !p.Take("}") {
		if p.Cur().Is("@") {
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
	start := p.Mark()
	name, err := p.Name(lex.Ident, "body_constraint or ident")
	if err != nil {
		return Property{}, err
	}
	if !p.Take(":") {
		p.Reset(start)
		return Property{}, p.Expected("prop_decl or body_constraint")
	}
	t, err := parseType(p.Cursor, true)
	if err != nil {
		return Property{}, err
	}
	prop := Property{Name: name, Type: t}
	for p.Cur().Is("@") {
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
	case p.Cur().Kind == lex.Ident, p.Cur().Is("}"):
		return prop, nil
	}
	return Property{}, p.Expected("body_constraint, annotation, or ident")
}

// parseType reads a type; enums only where a schema may have them.
func parseType(c *lex.Cursor, enums bool) (Type, error) {
	start := c.Mark()
	fail := func() (Type, error) {
		c.Reset(start)
		return Type{}, c.Expected("core_type")
	}
	var t Type
	switch {
	case c.Take("["):
		k, ok := kindByName(c.Cur().Text)
		if c.Cur().Kind != lex.TypeName || !ok {
			return Type{}, c.Expected("base_type")
		}
		c.Advance()
		if !c.Take("]") {
			return fail()
		}
		t = Type{Kind: k, List: true}
	case enums && c.Take("enum"):
		values, err := enumValues(c)
		if err != nil {
			return Type{}, err
		}
		t = Type{Kind: String, Enum: values}
	case c.Cur().Kind == lex.TypeName:
		switch c.Cur().Text {
		case "Vector", "Blob":
			return Type{}, lacks("the type " + c.Cur().Text)
		}
		k, ok := kindByName(c.Cur().Text)
		if !ok {
			return fail()
		}
		c.Advance()
		t = Type{Kind: k}
	default:
		return fail()
	}
	t.Optional = c.Take("?")
	return t, nil
}

func enumValues(c *lex.Cursor) ([]string, error) {
	if err := c.Need("(", "core_type"); err != nil {
		return nil, err
	}
	var values []string
	for {
		if k := c.Cur().Kind; k != lex.Ident && k != lex.TypeName {
			return nil, c.Expected("enum_value")
		}
		v := c.Advance().Text
		if slices.Contains(values, v) {
			return nil, fmt.Errorf("parse error: enum type cannot include duplicate values")
		}
		values = append(values, v)
		if c.Take(")") {
			slices.Sort(values)
			return values, nil
		}
		if err := c.Need(",", "enum_value"); err != nil {
			return nil, err
		}
	}
}

func kindByName(name string) (Kind, bool) {
	i := slices.Index(kindNames, name)
	if i < 0 {
		return 0, false
	}
	return Kind(i), true // #nosec G115 -- i indexes kindNames
}

func (p *parser) edge() (*Edge, error) {
	p.Advance()
	e := &Edge{MaxOut: -1}
	var err error
	if e.Name, err = p.Name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if err := p.Need(":", "`:`"); err != nil {
		return nil, err
	}
	if e.From, err = p.Name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	if err := p.Need("->", "`->`"); err != nil {
		return nil, err
	}
	if e.To, err = p.Name(lex.TypeName, "type_name"); err != nil {
		return nil, err
	}
	for p.Cur().Is("@") {
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
	if p.Take("{") {
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

// ParameterType reads a query parameter's type. ok is false where no type that a parameter can have stands; the
// cursor then stays where it was.
func ParameterType(c *lex.Cursor) (t Type, ok bool) {
	start := c.Mark()
	t, err := parseType(c, false)
	if err != nil {
		c.Reset(start)
	}
	return t, err == nil
}
