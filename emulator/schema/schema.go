// Package schema reads the `.pg` files in which a graph's node and edge types are declared.
package schema

import (
	"slices"
	"strings"
)

// Kind is a scalar property type.
type Kind uint8

// The scalar types of a `.pg` file.
const (
	String Kind = iota
	Bool
	I32
	I64
	U32
	U64
	F32
	F64
	Date
	DateTime
)

var kindNames = []string{"String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"}

func (k Kind) String() string { return kindNames[k] }

// Integer reports whether k is one of the integer types.
func (k Kind) Integer() bool { return k >= I32 && k <= U64 }

// Numeric reports whether k is an integer or float type.
func (k Kind) Numeric() bool { return k >= I32 && k <= F64 }

// Type is the type of a property or a query parameter.
type Type struct {
	Kind     Kind
	List     bool
	Optional bool
	// Enum holds the allowed values of an enum, sorted; nil for any other type. An enum's Kind is String.
	Enum []string
}

// String is the type as messages name it.
func (t Type) String() string {
	s := t.Kind.String()
	if t.Enum != nil {
		s = "enum(" + t.EnumList() + ")"
	}
	if t.List {
		s = "[" + s + "]"
	}
	if t.Optional {
		s += "?"
	}
	return s
}

// Allows reports whether an enum type takes value; other types take everything.
func (t Type) Allows(value string) bool {
	return t.Enum == nil || slices.Contains(t.Enum, value)
}

// EnumList is the allowed values as messages name them.
func (t Type) EnumList() string { return strings.Join(t.Enum, ", ") }

// Property is one property of a node or an edge.
type Property struct {
	Name   string
	Type   Type
	Unique bool
}

// Node is a node type.
type Node struct {
	Name  string
	Props []Property
	// Key is the index in Props of the @key property, or -1: then nodes get generated ids.
	Key int
}

// Edge is an edge type.
type Edge struct {
	Name  string
	From  string
	To    string
	Props []Property
	// MaxOut is the greatest number of edges from one source, or -1 without an upper bound.
	MaxOut int
	// MinOut is the least number of edges from one source that has any.
	MinOut int
}

// TraversalName is how `.gq` writes the edge in a traversal: with a lower-case first letter.
func (e *Edge) TraversalName() string { return strings.ToLower(e.Name[:1]) + e.Name[1:] }

// Schema is a parsed `.pg` file.
type Schema struct {
	Source string
	Nodes  []*Node
	Edges  []*Edge
}

// Node returns the node type called name, or nil.
func (s *Schema) Node(name string) *Node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Edge returns the edge type called name, or nil.
func (s *Schema) Edge(name string) *Edge {
	for _, e := range s.Edges {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// PropIndex returns the index of the property called name, or -1.
func PropIndex(props []Property, name string) int {
	for i := range props {
		if props[i].Name == name {
			return i
		}
	}
	return -1
}
