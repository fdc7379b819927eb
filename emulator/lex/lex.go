// Package lex splits `.pg` and `.gq` sources into tokens that know where they stand, so that both parsers
// report mistakes with line, column and the line's text, as omnigraph does.
package lex

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is a token's kind.
type Kind uint8

// The kinds of tokens.
const (
	EOF Kind = iota
	// Ident starts with a lower-case letter or an underscore, TypeName with an upper-case letter.
	Ident
	TypeName
	// Variable is `$` and an identifier; its Text is the identifier.
	Variable
	Integer
	Float
	// String's Text is the content with escapes resolved.
	String
	// Punct is an operator or a bracket.
	Punct
	// Bad is a byte that starts no token.
	Bad
)

// Token is one token.
type Token struct {
	Kind Kind
	Text string
	// Pos is the token's first byte; End is one past its last.
	Pos, End int
}

// Is reports whether t is the punctuation or the word text.
func (t Token) Is(text string) bool {
	return t.Text == text && (t.Kind == Punct || t.Kind == Ident)
}

// Error is a mistake in a source.
type Error struct {
	Source   string
	Pos      int
	Expected string
}

// Error is the message in the server's form: position, the line, a caret, and what would have been right.
func (e *Error) Error() string {
	pos := min(e.Pos, len(e.Source))
	before := e.Source[:pos]
	line := strings.Count(before, "\n") + 1
	start := strings.LastIndexByte(before, '\n') + 1
	end := len(e.Source)
	if i := strings.IndexByte(e.Source[pos:], '\n'); i >= 0 {
		end = pos + i
	}
	column := utf8.RuneCountInString(e.Source[start:pos]) + 1
	number := fmt.Sprint(line)
	pad := strings.Repeat(" ", len(number))
	text := strings.TrimSuffix(e.Source[start:end], "\r")
	return fmt.Sprintf("parse error: %s--> %d:%d\n%s |\n%s | %s\n%s | %s^---\n%s |\n%s = expected %s",
		pad, line, column, pad, number, text, pad, strings.Repeat(" ", column-1), pad, pad, e.Expected)
}

// Tokens splits source. It never fails: what fits nowhere becomes a Bad token for the parser to reject.
// The last token is always EOF.
func Tokens(source string) []Token {
	l := lexer{src: source}
	tokens := make([]Token, 0, len(source)/4+1)
	for {
		t := l.next()
		tokens = append(tokens, t)
		if t.Kind == EOF {
			return tokens
		}
	}
}

type lexer struct {
	src string
	pos int
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool  { return isLower(c) || isUpper(c) || isDigit(c) }

func (l *lexer) skip() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' || rest[0] == '\r':
			l.pos++
		case strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.src)
			}
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest[2:], "*/")
			if i < 0 {
				return
			}
			l.pos += i + 4
		default:
			return
		}
	}
}

func (l *lexer) next() Token {
	l.skip()
	start := l.pos
	if start >= len(l.src) {
		return Token{Kind: EOF, Pos: start, End: start}
	}
	c := l.src[start]
	switch {
	case isLower(c):
		return l.word(Ident, start)
	case isUpper(c):
		return l.word(TypeName, start)
	case isDigit(c):
		return l.number()
	case c == '"':
		return l.str()
	case c == '$' && start+1 < len(l.src) && isLower(l.src[start+1]):
		l.pos++
		t := l.word(Variable, start)
		t.Text = t.Text[1:]
		return t
	}
	for _, two := range [...]string{"!=", ">=", "<=", "->", ".."} {
		if strings.HasPrefix(l.src[start:], two) {
			l.pos += 2
			return Token{Kind: Punct, Text: two, Pos: start, End: l.pos}
		}
	}
	l.pos++
	if strings.IndexByte("{}()[],:.?@=<>*-", c) >= 0 {
		return Token{Kind: Punct, Text: l.src[start:l.pos], Pos: start, End: l.pos}
	}
	return Token{Kind: Bad, Text: l.src[start:l.pos], Pos: start, End: l.pos}
}

func (l *lexer) word(kind Kind, start int) Token {
	for l.pos < len(l.src) && isWord(l.src[l.pos]) {
		l.pos++
	}
	return Token{Kind: kind, Text: l.src[start:l.pos], Pos: start, End: l.pos}
}

func (l *lexer) number() Token {
	start := l.pos
	kind := Integer
	for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
		l.pos++
	}
	if l.pos+1 < len(l.src) && l.src[l.pos] == '.' && isDigit(l.src[l.pos+1]) {
		kind = Float
		l.pos++
		for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
			l.pos++
		}
	}
	return Token{Kind: kind, Text: l.src[start:l.pos], Pos: start, End: l.pos}
}

func (l *lexer) str() Token {
	start := l.pos
	var b strings.Builder
	for i := start + 1; i < len(l.src); i++ {
		switch c := l.src[i]; c {
		case '"':
			l.pos = i + 1
			return Token{Kind: String, Text: b.String(), Pos: start, End: l.pos}
		case '\\':
			i++
			if i >= len(l.src) {
				break
			}
			switch l.src[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			default:
				b.WriteByte(l.src[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	l.pos = start + 1
	return Token{Kind: Bad, Text: `"`, Pos: start, End: l.pos}
}
