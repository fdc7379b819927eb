package lex

// Cursor walks over the tokens of a source. Both parsers stand on one. It is not safe for concurrent use.
type Cursor struct {
	source string
	tokens []Token
	i      int
}

// NewCursor stands before the first token of source.
func NewCursor(source string) *Cursor {
	return &Cursor{source: source, tokens: Tokens(source)}
}

// Cur is the token at the cursor; behind the last one that is EOF for ever.
func (c *Cursor) Cur() Token { return c.tokens[c.i] }

// Peek is the token after the one at the cursor.
func (c *Cursor) Peek() Token { return c.tokens[min(c.i+1, len(c.tokens)-1)] }

// Previous is the token before the cursor; at the start it is the first one.
func (c *Cursor) Previous() Token { return c.tokens[max(c.i-1, 0)] }

// Advance steps over the token at the cursor and returns it.
func (c *Cursor) Advance() Token {
	t := c.tokens[c.i]
	if t.Kind != EOF {
		c.i++
	}
	return t
}

// Skip steps over n tokens, none beyond EOF.
func (c *Cursor) Skip(n int) { c.i = min(c.i+n, len(c.tokens)-1) }

// Mark is the place at which the cursor stands, for Reset.
func (c *Cursor) Mark() int { return c.i }

// Reset goes back to a place that Mark returned.
func (c *Cursor) Reset(mark int) { c.i = mark }

// Expected is the mistake of finding the token at the cursor where what should have been.
func (c *Cursor) Expected(what string) error { return c.ExpectedAt(c.Cur().Pos, what) }

// ExpectedAt is the mistake of finding at a position of the source anything but what.
func (c *Cursor) ExpectedAt(pos int, what string) error {
	return &Error{Source: c.source, Pos: pos, Expected: what}
}

// Take steps over the punctuation or the word text, if the cursor stands there.
func (c *Cursor) Take(text string) bool {
	if !c.Cur().Is(text) {
		return false
	}
	c.Advance()
	return true
}

// Need is Take for what must be there; its absence is the mistake of not finding expected.
func (c *Cursor) Need(text, expected string) error {
	if !c.Take(text) {
		return c.Expected(expected)
	}
	return nil
}

// Name steps over a token of a kind and returns its text.
func (c *Cursor) Name(kind Kind, expected string) (string, error) {
	if c.Cur().Kind != kind {
		return "", c.Expected(expected)
	}
	return c.Advance().Text, nil
}
