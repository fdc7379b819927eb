package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Param is a parameter that a query's header declares.
type Param struct {
	// Name is without the dollar sign.
	Name string
	// Type is the declared type without the question mark: String, I32, [String], …
	Type     string
	Optional bool
}

// QueryHeader is what a .gq source says of one query before its body.
type QueryHeader struct {
	Name   string
	Params []Param
}

// ParseHeaders reads the headers of all queries in a .gq source, in order.
//
// It knows comments, strings and braces, and nothing of what stands in a body. A source that it can't follow gives ok
// false; the server is then the one to judge it.
func ParseHeaders(source string) (headers []QueryHeader, ok bool) {
	s := headerScanner{rest: source}
	for {
		word := s.word()
		if word == "" {
			if s.next() == 0 {
				return headers, len(headers) > 0
			}
			return nil, false
		}
		if word != "query" {
			return nil, false
		}
		h := QueryHeader{Name: s.word()}
		if h.Name == "" || s.next() != '(' {
			return nil, false
		}
		if h.Params, ok = s.params(); !ok {
			return nil, false
		}
		headers = append(headers, h)
		if !s.body() {
			return nil, false
		}
	}
}

type headerScanner struct{ rest string }

// skip drops white space and comments (// and # to the end of the line, /* … */).
func (s *headerScanner) skip() {
	for {
		s.rest = strings.TrimLeftFunc(s.rest, unicode.IsSpace)
		switch {
		case strings.HasPrefix(s.rest, "//"), strings.HasPrefix(s.rest, "#"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		case strings.HasPrefix(s.rest, "/*"):
			_, s.rest, _ = strings.Cut(s.rest[2:], "*/")
		default:
			return
		}
	}
}

// next consumes one character after white space; 0 is the end.
func (s *headerScanner) next() rune {
	s.skip()
	if s.rest == "" {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s.rest)
	s.rest = s.rest[n:]
	return r
}

func (s *headerScanner) peek() rune {
	s.skip()
	if s.rest == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s.rest)
	return r
}

func (s *headerScanner) word() string {
	s.skip()
	n := 0
	for n < len(s.rest) {
		r, size := utf8.DecodeRuneInString(s.rest[n:])
		if r != '_' && !unicode.IsLetter(r) && (n == 0 || !unicode.IsDigit(r)) {
			break
		}
		n += size
	}
	w := s.rest[:n]
	s.rest = s.rest[n:]
	return w
}

func (s *headerScanner) params() ([]Param, bool) {
	var params []Param
	for {
		if s.peek() == ')' {
			s.next()
			return params, true
		}
		if s.next() != '$' {
			return nil, false
		}
		p := Param{Name: s.word()}
		if p.Name == "" || s.next() != ':' {
			return nil, false
		}
		if p.Type = s.paramType(); p.Type == "" {
			return nil, false
		}
		if s.peek() == '?' {
			s.next()
			p.Optional = true
		}
		params = append(params, p)
		switch s.peek() {
		case ',':
			s.next()
		case ')':
		default:
			return nil, false
		}
	}
}

// paramType reads a name, a list in brackets, or a name with arguments in parentheses (enum(a, b), Vector(3)).
func (s *headerScanner) paramType() string {
	if s.peek() == '[' {
		s.next()
		inner := s.paramType()
		if s.peek() == '?' {
			s.next()
		}
		if inner == "" || s.next() != ']' {
			return ""
		}
		return "[" + inner + "]"
	}
	name := s.word()
	if name != "" && s.peek() == '(' {
		_, after, found := strings.Cut(s.rest, ")")
		if !found {
			return ""
		}
		s.rest = after
	}
	return name
}

// body consumes everything up to the brace that closes the query, annotations before its opening brace included.
func (s *headerScanner) body() bool {
	depth := 0
	for {
		switch s.next() {
		case 0:
			return false
		case '"':
			if !s.stringTail('"') {
				return false
			}
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return true
			}
			if depth < 0 {
				return false
			}
		}
	}
}

func (s *headerScanner) stringTail(quote byte) bool {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case quote:
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}
