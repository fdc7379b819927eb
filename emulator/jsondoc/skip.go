package jsondoc

import "strings"

// skip steps over a value that nobody wants: its form is checked, its content is not (lone surrogates, bytes that
// are no UTF-8, numbers out of range). It needs no stack, however deep the value is.
func (p *parser) skip() error {
	var open []byte // the brackets around p.pos
	for {
		opened, err := p.skipStart()
		if err != nil {
			return err
		}
		if opened != 0 {
			open = append(open, opened)
		}
		inside := opened != 0
		for {
			if len(open) == 0 {
				return nil
			}
			closed, err := p.skipNext(open[len(open)-1], inside)
			if err != nil {
				return err
			}
			if !closed {
				break
			}
			open, inside = open[:len(open)-1], false
		}
	}
}

// skipStart steps over a scalar, or over an opening bracket, which it returns.
func (p *parser) skipStart() (opened byte, err error) {
	p.space()
	if p.pos >= len(p.text) {
		return 0, p.fail("EOF while parsing a value", len(p.text))
	}
	switch c := p.text[p.pos]; {
	case c == '{' || c == '[':
		p.pos++
		return c, nil
	case c == '"':
		return 0, p.skipString()
	case c == '-' || (c >= '0' && c <= '9'):
		return 0, p.skipNumber()
	}
	_, err = p.value(0) // a word, or a mistake
	return 0, err
}

// skipNext goes to the next value within a bracket, or behind the closing one. first is right behind the opening one.
func (p *parser) skipNext(bracket byte, first bool) (closed bool, _ error) {
	closing, what, expected := byte('}'), "an object", "expected `,` or `}`"
	if bracket == '[' {
		closing, what, expected = ']', "a list", "expected `,` or `]`"
	}
	p.space()
	switch {
	case p.pos >= len(p.text):
		return false, p.fail("EOF while parsing "+what, len(p.text))
	case p.text[p.pos] == closing:
		p.pos++
		return true, nil
	case first:
	case p.text[p.pos] != ',':
		return false, p.fail(expected, p.pos+1)
	default:
		p.pos++
	}
	if bracket == '[' {
		return false, nil
	}
	p.space()
	if p.pos >= len(p.text) {
		return false, p.fail("EOF while parsing an object", len(p.text))
	}
	if p.text[p.pos] != '"' {
		return false, p.fail("key must be a string", p.pos+1)
	}
	if err := p.skipString(); err != nil {
		return false, err
	}
	return false, p.colon()
}

func (p *parser) skipString() error {
	p.pos++
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c < 0x20 {
			return p.fail(controlCharacter, p.pos)
		}
		p.pos++
		switch c {
		case '"':
			return nil
		case '\\':
			if err := p.skipEscape(); err != nil {
				return err
			}
		}
	}
	return p.fail("EOF while parsing a string", len(p.text))
}

func (p *parser) skipEscape() error {
	if p.pos >= len(p.text) {
		return p.fail("EOF while parsing a string", len(p.text))
	}
	e := p.text[p.pos]
	p.pos++
	switch {
	case e == 'u':
		_, err := p.hex4()
		return err
	case strings.IndexByte(`"\/bfnrt`, e) < 0:
		return p.fail("invalid escape", p.pos)
	}
	return nil
}

func (p *parser) skipNumber() error {
	if p.text[p.pos] == '-' {
		p.pos++
	}
	first := p.pos
	if !p.digits() {
		return p.fail("invalid number", p.pos+1)
	}
	if p.text[first] == '0' && p.pos-first > 1 {
		return p.fail("invalid number", first+2)
	}
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		if !p.digits() {
			return p.fail("invalid number", p.pos+1)
		}
	}
	if p.pos < len(p.text) && (p.text[p.pos] == 'e' || p.text[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		if !p.digits() {
			return p.fail("invalid number", p.pos+1)
		}
	}
	return nil
}
