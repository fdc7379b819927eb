package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABatchRepeatsTheStatementsWithParametersOfTheirOwn(t *testing.T) {
	t.Parallel()
	b, err := NewBatch("// one row\nquery add($s: String, $n: I32?) {\n  insert Project { slug: $s, name: \"$s costs\", rank: $n } // not $s\n  insert Tag { of: $s }\n}")
	require.Nil(t, err)
	assert.Equal(t, "query add($s_0: String, $n_0: I32?, $s_1: String, $n_1: I32?) {\n"+
		"insert Project { slug: $s_0, name: \"$s costs\", rank: $n_0 } // not $s\n  insert Tag { of: $s_0 }\n"+
		"insert Project { slug: $s_1, name: \"$s costs\", rank: $n_1 } // not $s\n  insert Tag { of: $s_1 }\n}", b.Text(2))
	headers, ok := ParseHeaders(b.Text(3))
	require.True(t, ok)
	assert.Len(t, headers[0].Params, 6)
	params := b.RowParams(nil, []byte(`{"s":"a","n":null}`), 0)
	params = b.RowParams(params, []byte(`{"s":"\"b"}`), 1)
	assert.Equal(t, `"s_0":"a","n_0":null,"s_1":"\"b"`, string(params))
}

func TestSourcesThatNoBatchCanBeMadeOf(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "query a($x: String) {", "query a() { insert T { a: 1 } }", "query a($x: String) { }", "query a($x: String) { insert T { a: $x } } query b($x: String) { insert T { a: $x } }"} {
		_, err := NewBatch(source)
		require.NotNil(t, err, source)
		assert.Equal(t, KindBadRequest, err.Kind)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add("query a($x: String) { insert T { a: $x, b: \"$x\" } }", 3)
	f.Add("query a($x: String, $xy: I32) { /* $x */ insert T { a: $xy } # $x\n }", 2)
	f.Fuzz(func(t *testing.T, source string, n int) {
		b, err := NewBatch(source)
		if err != nil || n < 1 || n > 20 {
			return
		}
		headers, ok := ParseHeaders(b.Text(n))
		if !ok {
			if strings.ContainsAny(b.statements, "{}\"/#") {
				return // unbalanced statements are the server's to judge
			}
			t.Fatalf("%q becomes unreadable: %q", source, b.Text(n))
		}
		if len(headers) == 1 && len(headers[0].Params) != n*len(b.header.Params) {
			t.Fatalf("%d parameters for %d rows of %d", len(headers[0].Params), n, len(b.header.Params))
		}
	})
}
