// Package jsondoc reads JSON the way omnigraph's server does: strictly, with the position of the first
// mistake, because clients see these messages word for word in plain-text 400 and 422 answers.
package jsondoc

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
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
	// End is the offset just past the value in its document.
	End int
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

// IsInteger reports whether a Number is written without fraction and exponent.
func (v *Value) IsInteger() bool {
	if v.Kind != Number {
		return false
	}
	for i := range len(v.Text) {
		switch v.Text[i] {
		case '.', 'e', 'E':
			return false
		}
	}
	return true
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
	p.space()
	if p.pos < len(text) {
		return Value{}, p.fail("trailing characters", p.pos+1)
	}
	return v, nil
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

type parser struct {
	text string
	pos  int
}

// fail reports a mistake at a one-based offset (offset 0 is "before the first byte").
func (p *parser) fail(message string, offset int) error {
	line, column := Position(p.text, min(offset, len(p.text)))
	return &SyntaxError{Message: message, Line: line, Column: column}
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, p.fail("recursion limit exceeded", p.pos+1)
	}
	p.space()
	if p.pos >= len(p.text) {
		return Value{}, p.fail("EOF while parsing a value", len(p.text))
	}
	switch c := p.text[p.pos]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		text, err := p.str()
		return Value{Kind: String, Text: text, End: p.pos}, err
	case c == '-' || (c >= '0' && c <= '9'):
		return p.number()
	case c == 't':
		return p.word("true", Value{Kind: Bool, Bool: true})
	case c == 'f':
		return p.word("false", Value{Kind: Bool})
	case c == 'n':
		return p.word("null", Value{Kind: Null})
	}
	return Value{}, p.fail("expected value", p.pos+1)
}

func (p *parser) word(word string, v Value) (Value, error) {
	for i := range len(word) {
		if p.pos+i >= len(p.text) {
			return Value{}, p.fail("EOF while parsing a value", len(p.text))
		}
		if p.text[p.pos+i] != word[i] {
			return Value{}, p.fail("expected ident", p.pos+i+1)
		}
	}
	p.pos += len(word)
	v.End = p.pos
	return v, nil
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number() (Value, error) {
	start := p.pos
	if p.text[p.pos] == '-' {
		p.pos++
	}
	first := p.pos
	if !p.digits() {
		return Value{}, p.numberError()
	}
	if p.text[first] == '0' && p.pos-first > 1 {
		return Value{}, p.fail("invalid number", first+2)
	}
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		if !p.digits() {
			return Value{}, p.numberError()
		}
	}
	if p.pos < len(p.text) && (p.text[p.pos] == 'e' || p.text[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		if !p.digits() {
			return Value{}, p.numberError()
		}
		if _, err := strconv.ParseFloat(p.text[start:p.pos], 64); err != nil {
			return Value{}, p.fail("number out of range", p.pos)
		}
	}
	return Value{Kind: Number, Text: p.text[start:p.pos], End: p.pos}, nil
}

func (p *parser) numberError() error {
	if p.pos >= len(p.text) {
		return p.fail("EOF while parsing a value", len(p.text))
	}
	return p.fail("invalid number", p.pos+1)
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{Kind: Array}
	p.pos++
	for {
		p.space()
		if p.pos >= len(p.text) {
			return v, p.fail("EOF while parsing a list", len(p.text))
		}
		if p.text[p.pos] == ']' {
			if len(v.Items) > 0 {
				return v, p.fail("trailing comma", p.pos+1)
			}
			p.pos++
			break
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return v, within(err, "["+strconv.Itoa(len(v.Items))+"]")
		}
		v.Items = append(v.Items, item)
		done, err := p.separator(']', "a list", "expected `,` or `]`")
		if err != nil {
			return v, err
		}
		if done {
			break
		}
	}
	v.End = p.pos
	return v, nil
}

// separator consumes a comma or the closing byte and reports whether it was the latter.
func (p *parser) separator(closing byte, what, expected string) (bool, error) {
	p.space()
	if p.pos >= len(p.text) {
		return false, p.fail("EOF while parsing "+what, len(p.text))
	}
	switch p.text[p.pos] {
	case ',':
		p.pos++
		return false, nil
	case closing:
		p.pos++
		return true, nil
	}
	return false, p.fail(expected, p.pos+1)
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{Kind: Object}
	p.pos++
	for {
		p.space()
		if p.pos >= len(p.text) {
			return v, p.fail("EOF while parsing an object", len(p.text))
		}
		if p.text[p.pos] == '}' {
			if len(v.Members) > 0 {
				return v, p.fail("trailing comma", p.pos+1)
			}
			p.pos++
			break
		}
		if p.text[p.pos] != '"' {
			return v, p.fail("key must be a string", p.pos+1)
		}
		name, err := p.str()
		if err != nil {
			return v, err
		}
		m := Member{Name: name, NameEnd: p.pos}
		p.space()
		if p.pos >= len(p.text) {
			return v, p.fail("EOF while parsing an object", len(p.text))
		}
		if p.text[p.pos] != ':' {
			return v, p.fail("expected `:`", p.pos+1)
		}
		p.pos++
		if m.Value, err = p.value(depth + 1); err != nil {
			return v, within(err, name)
		}
		v.Members = append(v.Members, m)
		done, err := p.separator('}', "an object", "expected `,` or `}`")
		if err != nil {
			return v, err
		}
		if done {
			break
		}
	}
	v.End = p.pos
	return v, nil
}

// str reads a string whose opening quote is at pos. Without escapes the result shares the document's memory.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			s := p.text[start:p.pos]
			p.pos++
			if !utf8.ValidString(s) {
				return "", p.fail("invalid unicode code point", p.pos)
			}
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.controlCharacter()
		}
		p.pos++
	}
	return "", p.fail("EOF while parsing a string", len(p.text))
}

func (p *parser) controlCharacter() error {
	return p.fail(`control character (\u0000-\u001F) found while parsing a string`, p.pos+1)
}

func (p *parser) escaped(start int) (string, error) {
	buf := append(make([]byte, 0, p.pos-start+32), p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			if !utf8.Valid(buf) {
				return "", p.fail("invalid unicode code point", p.pos)
			}
			return string(buf), nil
		case c < 0x20:
			return "", p.controlCharacter()
		case c != '\\':
			buf = append(buf, c)
			p.pos++
			continue
		}
		p.pos++
		if p.pos >= len(p.text) {
			break
		}
		e := p.text[p.pos]
		p.pos++
		switch e {
		case '"', '\\', '/':
			buf = append(buf, e)
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
		default:
			return "", p.fail("invalid escape", p.pos)
		}
	}
	return "", p.fail("EOF while parsing a string", len(p.text))
}

func (p *parser) unicode() (rune, error) {
	first, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if first >= 0xDC00 {
		return 0, p.fail("lone leading surrogate in hex escape", p.pos)
	}
	if p.pos+1 >= len(p.text) || p.text[p.pos] != '\\' || p.text[p.pos+1] != 'u' {
		return 0, p.fail("unexpected end of hex escape", p.pos)
	}
	p.pos += 2
	second, err := p.hex4()
	if err != nil {
		return 0, err
	}
	r := utf16.DecodeRune(first, second)
	if r == utf8.RuneError {
		return 0, p.fail("lone leading surrogate in hex escape", p.pos)
	}
	return r, nil
}

func (p *parser) hex4() (rune, error) {
	if p.pos+4 > len(p.text) {
		return 0, p.fail("EOF while parsing a string", len(p.text))
	}
	n, err := strconv.ParseUint(p.text[p.pos:p.pos+4], 16, 16)
	if err != nil {
		return 0, p.fail("invalid escape", p.pos+1)
	}
	p.pos += 4
	return rune(n), nil
}
