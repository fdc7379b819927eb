package jsondoc

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

type parser struct {
	text string
	pos  int
}

// fail reports a mistake at a one-based offset (offset 0 is "before the first byte").
func (p *parser) fail(message string, offset int) error {
	line, column := Position(p.text, min(offset, len(p.text)))
	return &SyntaxError{Message: message, Line: line, Column: column}
}

// end fails if anything but space follows.
func (p *parser) end() error {
	p.space()
	if p.pos < len(p.text) {
		return p.fail("trailing characters", p.pos+1)
	}
	return nil
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
		start := p.pos
		text, err := p.str()
		return Value{Kind: String, Text: text, Start: start, End: p.pos}, err
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
	v.Start = p.pos
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
	return Value{Kind: Number, Text: p.text[start:p.pos], Start: start, End: p.pos}, nil
}

func (p *parser) numberError() error {
	if p.pos >= len(p.text) {
		return p.fail("EOF while parsing a value", len(p.text))
	}
	return p.fail("invalid number", p.pos+1)
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{Kind: Array, Start: p.pos}
	p.pos++
	for {
		more, err := p.element(len(v.Items) == 0)
		if err != nil {
			return v, err
		}
		if !more {
			v.End = p.pos
			return v, nil
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return v, within(err, "["+strconv.Itoa(len(v.Items))+"]")
		}
		v.Items = append(v.Items, item)
	}
}

// element goes to the next element of an array, or behind its end, where more is false.
func (p *parser) element(first bool) (more bool, _ error) {
	p.space()
	switch {
	case p.pos >= len(p.text):
		return false, p.fail("EOF while parsing a list", len(p.text))
	case p.text[p.pos] == ']':
		p.pos++
		return false, nil
	case first:
		return true, nil
	case p.text[p.pos] != ',':
		return false, p.fail("expected `,` or `]`", p.pos+1)
	}
	p.pos++
	p.space()
	if p.pos >= len(p.text) {
		return false, p.fail("EOF while parsing a value", len(p.text))
	}
	if p.text[p.pos] == ']' {
		return false, p.fail("trailing comma", p.pos+1)
	}
	return true, nil
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{Kind: Object, Start: p.pos}
	p.pos++
	for {
		name, more, err := p.key(len(v.Members) == 0)
		if err != nil {
			return v, within(err, "?")
		}
		if !more {
			v.End = p.pos
			return v, nil
		}
		m := Member{Name: name, NameEnd: p.pos}
		if err := p.colon(); err != nil {
			return v, err
		}
		if m.Value, err = p.value(depth + 1); err != nil {
			return v, within(err, name)
		}
		v.Members = append(v.Members, m)
	}
}

// key reads the next member's name, or the object's end, where more is false.
func (p *parser) key(first bool) (name string, more bool, _ error) {
	p.space()
	switch {
	case p.pos >= len(p.text):
		return "", false, p.fail("EOF while parsing an object", len(p.text))
	case p.text[p.pos] == '}':
		p.pos++
		return "", false, nil
	case first:
	case p.text[p.pos] != ',':
		return "", false, p.fail("expected `,` or `}`", p.pos+1)
	default:
		p.pos++
		p.space()
		if p.pos >= len(p.text) {
			return "", false, p.fail("EOF while parsing a value", len(p.text))
		}
		if p.text[p.pos] == '}' {
			return "", false, p.fail("trailing comma", p.pos+1)
		}
	}
	if p.text[p.pos] != '"' {
		return "", false, p.fail("key must be a string", p.pos+1)
	}
	name, err := p.str()
	return name, err == nil, err
}

func (p *parser) colon() error {
	p.space()
	if p.pos >= len(p.text) {
		return p.fail("EOF while parsing an object", len(p.text))
	}
	if p.text[p.pos] != ':' {
		return p.fail("expected `:`", p.pos+1)
	}
	p.pos++
	return nil
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
			return "", p.fail(controlCharacter, p.pos+1)
		}
		p.pos++
	}
	return "", p.fail("EOF while parsing a string", len(p.text))
}

const controlCharacter = `control character (\u0000-\u001F) found while parsing a string`

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
			return "", p.fail(controlCharacter, p.pos+1)
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
	for _, c := range [2]byte{'\\', 'u'} {
		if p.pos >= len(p.text) {
			return 0, p.fail("EOF while parsing a string", len(p.text))
		}
		if p.text[p.pos] != c {
			return 0, p.fail("unexpected end of hex escape", p.pos+1)
		}
		p.pos++
	}
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
	p.pos += 4
	if err != nil {
		return 0, p.fail("invalid escape", p.pos)
	}
	return rune(n), nil
}
