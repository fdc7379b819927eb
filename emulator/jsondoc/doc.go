// Package jsondoc reads JSON the way omnigraph's server does: strictly, with the position of the first
// mistake, because clients see these messages word for word in plain-text 400 and 422 answers.
package jsondoc

import (
	"errors"
	"fmt"
	"strconv"
)

// Kind is the JSON type of a value.
type Kind uint8

// The JSON types.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one JSON value.
type Value struct {
	Kind Kind
	// Bool is the value of a Bool.
	Bool bool
	// Text is a String's content or a Number's literal as written.
	Text string
	// Items are the elements of an Array.
	Items []Value
	// Members are the fields of an Object in the order written, duplicates included.
	Members []Member
	// Start is the offset of the value's first byte in its document, End that just past it.
	Start, End int
}

// Member is one field of an object.
type Member struct {
	Name string
	// NameEnd is the offset just past the name's closing quote.
	NameEnd int
	Value   Value
}

// Get returns the last member called name, or nil.
func (v *Value) Get(name string) *Value {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// IsInteger reports whether a Number is an integer to the server: written without fraction and exponent, and within
// 64 bits, signed or unsigned. Any other number is a float there, -0 included.
func (v *Value) IsInteger() bool {
	if v.Kind != Number || v.Text == "-0" {
		return false
	}
	if _, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(v.Text, 10, 64)
	return err == nil
}

// SyntaxError says what is wrong with a document and where, in serde_json's words.
type SyntaxError struct {
	Message string
	// Path names the field in whose value the mistake is, empty at the top.
	Path   string
	Line   int
	Column int
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.Message, e.Line, e.Column)
}

// within adds a step to the path of a mistake in a value.
func within(err error, step string) error {
	var e *SyntaxError
	if errors.As(err, &e) {
		switch {
		case e.Path == "":
			e.Path = step
		case e.Path[0] == '[':
			e.Path = step + e.Path
		default:
			e.Path = step + "." + e.Path
		}
	}
	return err
}

// maxDepth bounds nesting, so that a hostile document cannot exhaust the stack.
const maxDepth = 128

// Parse reads one document that must be all of text.
func Parse(text string) (Value, error) {
	p := parser{text: text}
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	return v, p.end()
}

// Position turns an offset into the line and column that messages carry.
func Position(text string, offset int) (line, column int) {
	line = 1
	for i := 0; i < offset && i < len(text); i++ {
		if text[i] == '\n' {
			line++
			column = 0
			continue
		}
		column++
	}
	return line, column
}
