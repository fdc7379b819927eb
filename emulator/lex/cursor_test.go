package lex_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/lex"
)

func TestCursor(t *testing.T) {
	t.Parallel()
	c := lex.NewCursor("query q($s)\n{ }")
	require.Equal(t, "query", c.Previous().Text)
	require.False(t, c.Take("match"))
	require.True(t, c.Take("query"))
	require.Equal(t, "query", c.Previous().Text)
	name, err := c.Name(lex.Ident, "ident")
	require.NoError(t, err)
	require.Equal(t, "q", name)

	start := c.Mark()
	require.Equal(t, "s", c.Peek().Text)
	require.NoError(t, c.Need("(", "`(`"))
	require.Equal(t, lex.Variable, c.Advance().Kind)
	c.Reset(start)
	require.True(t, c.Cur().Is("("))

	c.Skip(3)
	err = c.Need("}", "`}`")
	require.EqualError(t, err, "parse error:  --> 2:1\n  |\n2 | { }\n  | ^---\n  |\n  = expected `}`")
	_, err = c.Name(lex.String, "string_lit")
	require.ErrorContains(t, err, "2:1")
	require.ErrorContains(t, c.ExpectedAt(0, "nothing"), " 1:1\n")
}

func TestACursorNeverLeavesItsSource(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "a", "/*", "\x00\xff"} {
		c := lex.NewCursor(source)
		c.Skip(10)
		require.Equal(t, lex.EOF, c.Cur().Kind, source)
		require.Equal(t, lex.EOF, c.Advance().Kind, source)
		require.Equal(t, lex.EOF, c.Peek().Kind, source)
		require.False(t, c.Take(""), source)
		require.ErrorContains(t, c.Expected("more"), "expected more", source)
	}
}

func TestTokensSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	const source = `$a.b >= -1.5 "x\"\n" Type // rest` + "\n@"
	var texts []string
	for _, tok := range lex.Tokens(source) {
		texts = append(texts, tok.Text)
		require.LessOrEqual(t, tok.Pos, tok.End)
		require.LessOrEqual(t, tok.End, len(source))
	}
	require.Equal(t, []string{"a", ".", "b", ">=", "-", "1.5", "x\"\n", "Type", "@", ""}, texts)
}
