// Package fastjson turns JSON into the values that JSON.parse would make, without the general decoder that the
// engine's own goes through token by token.
package fastjson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/grafana/sobek"
)

const (
	maxDepth = 256
	// maxNames and maxNameLength bound the memory that names which never come back can take.
	maxNames      = 256
	maxNameLength = 64
)

// Parser reads texts into the values of one runtime, one at a time.
type Parser struct {
	rt   *sobek.Runtime
	text string
	pos  int
	// names holds the property names seen lately, so that those of many rows take one string.
	names map[string]string
}

// New makes a parser.
func New(rt *sobek.Runtime) *Parser { return &Parser{rt: rt, names: make(map[string]string)} }

// Parse reads a text. It says ok=false for text that is no JSON, and for JSON that holds what is rare (a property
// named __proto__, half a surrogate pair, a number too large, deep nesting): such text is for JSON.parse, so that
// results and errors are the engine's.
func (p *Parser) Parse(text string) (result sobek.Value, ok bool) {
	p.text, p.pos = text, 0
	value, ok := p.value(0)
	if ok {
		p.space()
		ok = p.pos == len(text)
	}
	p.text = ""
	return value, ok
}

func (p *Parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and says what comes; 0 stands for the end.
func (p *Parser) next() byte {
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *Parser) literal(word string, value sobek.Value) (sobek.Value, bool) {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return nil, false
	}
	p.pos += len(word)
	return value, true
}

func (p *Parser) value(depth int) (sobek.Value, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch c := p.next(); c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		text, ok := p.string()
		if !ok {
			return nil, false
		}
		// A copy, so that one string kept does not keep the whole text.
		return p.rt.ToValue(strings.Clone(text)), true
	case 't':
		return p.literal("true", p.rt.ToValue(true))
	case 'f':
		return p.literal("false", p.rt.ToValue(false))
	case 'n':
		return p.literal("null", sobek.Null())
	default:
		return p.number()
	}
}

func (p *Parser) object(depth int) (sobek.Value, bool) {
	object := p.rt.NewObject()
	p.pos++
	if p.next() == '}' {
		p.pos++
		return object, true
	}
	for {
		if p.next() != '"' {
			return nil, false
		}
		name, ok := p.string()
		if !ok || name == "__proto__" || p.next() != ':' {
			return nil, false
		}
		p.pos++
		value, ok := p.value(depth + 1)
		if !ok || object.Set(p.intern(name), value) != nil {
			return nil, false
		}
		switch p.next() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return object, true
		default:
			return nil, false
		}
	}
}

func (p *Parser) intern(name string) string {
	if known, ok := p.names[name]; ok {
		return known
	}
	name = strings.Clone(name)
	if len(name) <= maxNameLength {
		if len(p.names) >= maxNames {
			clear(p.names)
		}
		p.names[name] = name
	}
	return name
}

func (p *Parser) array(depth int) (sobek.Value, bool) {
	p.pos++
	if p.next() == ']' {
		p.pos++
		return p.rt.NewArray(), true
	}
	var first [8]any
	items := first[:0]
	for {
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		items = append(items, value)
		switch p.next() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return p.rt.NewArray(items...), true
		default:
			return nil, false
		}
	}
}

// string reads a string, whose opening quote comes next. The result may share memory with the text.
func (p *Parser) string() (string, bool) {
	start := p.pos + 1
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return p.text[start:i], true
		case c == '\\':
			return p.escaped(start, i)
		case c < ' ':
			return "", false
		case c == 0xEF && strings.HasPrefix(p.text[i:], "\uFFFD"):
			// This is also what half a surrogate pair looks like here; only JSON.parse can tell.
			return "", false
		}
	}
	return "", false
}

// escaped reads a string that began at start and has its first backslash at i.
func (p *Parser) escaped(start, i int) (string, bool) {
	text := make([]byte, 0, i-start+32)
	text = append(text, p.text[start:i]...)
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return string(text), true
		case c < ' ' || (c == 0xEF && strings.HasPrefix(p.text[i:], "\uFFFD")):
			return "", false
		case c != '\\':
			text = append(text, c)
			i++
		default:
			var ok bool
			if text, i, ok = p.escape(text, i+1); !ok {
				return "", false
			}
		}
	}
	return "", false
}

// escape reads what follows a backslash, from i on, and returns where it ends.
func (p *Parser) escape(text []byte, i int) ([]byte, int, bool) {
	if i >= len(p.text) {
		return nil, 0, false
	}
	switch c := p.text[i]; c {
	case '"', '\\', '/':
		return append(text, c), i + 1, true
	case 'b':
		return append(text, '\b'), i + 1, true
	case 'f':
		return append(text, '\f'), i + 1, true
	case 'n':
		return append(text, '\n'), i + 1, true
	case 'r':
		return append(text, '\r'), i + 1, true
	case 't':
		return append(text, '\t'), i + 1, true
	case 'u':
		r, ok := p.hex(i + 1)
		if !ok {
			return nil, 0, false
		}
		i += 5
		if utf16.IsSurrogate(r) {
			if !strings.HasPrefix(p.text[i:], `\u`) {
				return nil, 0, false
			}
			low, ok := p.hex(i + 2)
			if !ok {
				return nil, 0, false
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, 0, false
			}
			i += 6
		}
		return utf8.AppendRune(text, r), i, true
	}
	return nil, 0, false
}

// hex reads four hexadecimal digits.
func (p *Parser) hex(i int) (rune, bool) {
	if i+4 > len(p.text) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.text[i : i+4]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// maxExactDigits is how many digits an integer may have and still be exact, as an integer and as a float.
const maxExactDigits = 15

func (p *Parser) number() (sobek.Value, bool) {
	start := p.pos
	i := start
	negative := i < len(p.text) && p.text[i] == '-'
	if negative {
		i++
	}
	first := i
	var whole int64
	for i < len(p.text) && isDigit(p.text[i]) {
		if i-first < maxExactDigits {
			whole = whole*10 + int64(p.text[i]-'0')
		}
		i++
	}
	digits := i - first
	if digits == 0 || (digits > 1 && p.text[first] == '0') {
		return nil, false
	}
	isInteger := i == len(p.text) || (p.text[i] != '.' && p.text[i] != 'e' && p.text[i] != 'E')
	if isInteger && digits <= maxExactDigits && (whole != 0 || !negative) {
		p.pos = i
		if negative {
			whole = -whole
		}
		return p.rt.ToValue(whole), true
	}
	i, ok := p.fraction(i)
	if !ok {
		return nil, false
	}
	float, err := strconv.ParseFloat(p.text[start:i], 64)
	if err != nil {
		return nil, false
	}
	p.pos = i
	return p.rt.ToValue(float), true
}

// fraction skips the fraction and the exponent of a number.
func (p *Parser) fraction(i int) (int, bool) {
	skipDigits := func() bool {
		from := i
		for i < len(p.text) && isDigit(p.text[i]) {
			i++
		}
		return i > from
	}
	if i < len(p.text) && p.text[i] == '.' {
		i++
		if !skipDigits() {
			return 0, false
		}
	}
	if i < len(p.text) && (p.text[i] == 'e' || p.text[i] == 'E') {
		i++
		if i < len(p.text) && (p.text[i] == '+' || p.text[i] == '-') {
			i++
		}
		if !skipDigits() {
			return 0, false
		}
	}
	return i, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
