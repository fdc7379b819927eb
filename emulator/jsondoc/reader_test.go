package jsondoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// skip reads {"x": TEXT} without looking at TEXT.
func skip(text string) (*jsondoc.Reader, error) {
	r := jsondoc.NewReader(`{"x":` + text + `}`)
	r.Enter()
	if _, _, _, err := r.Field(); err != nil {
		return r, err
	}
	return r, r.Skip()
}

func TestWhatNobodyWantsIsSkipped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`1e999`, `"\ud800"`, "\"\xff\"", `[]`, `{}`, `[1,{"a":[null,"b"]},true]`, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	} {
		r, err := skip(text)
		require.NoError(t, err, text[:min(len(text), 20)])
		_, _, more, err := r.Field()
		require.NoError(t, err)
		require.False(t, more)
		require.NoError(t, r.End())
	}
	for text, want := range map[string]string{
		`[1,]`: "expected value at line 1 column 9", `{"a":1,}`: "key must be a string at line 1 column 13", `-`: "invalid number at line 1 column 7", `01`: "invalid number at line 1 column 7",
		`"\q"`: "invalid escape at line 1 column 8", `nul`: "expected ident at line 1 column 9", `{"a"}`: "expected `:` at line 1 column 10", `[1 2]`: "expected `,` or `]` at line 1 column 9",
	} {
		_, err := skip(text)
		require.EqualError(t, err, want, text)
	}
}

func TestAStreamHoldsDocumentsOneBehindTheOther(t *testing.T) {
	t.Parallel()
	s := jsondoc.NewStream("{\"a\":1} [2]\"x\"\n\n  3 null\n true")
	var texts []string
	for {
		v, ok, err := s.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		texts = append(texts, string(jsondoc.Append(nil, &v)))
	}
	require.Equal(t, []string{`{"a":1}`, `[2]`, `"x"`, `3`, `null`, `true`}, texts)

	for text, want := range map[string]string{
		"{}\n{":      "EOF while parsing an object at line 2 column 1",
		"truefalse":  "trailing characters at line 1 column 5",
		"{},{}":      "expected value at line 1 column 3",
		"{}\n\n  no": "expected ident at line 3 column 4",
	} {
		s := jsondoc.NewStream(text)
		_, ok, err := s.Next()
		if err == nil {
			require.True(t, ok)
			_, _, err = s.Next()
		}
		require.EqualError(t, err, want, text)
	}
}

// FuzzSkip holds what skips against what reads: a value that can be read can be skipped, and ends at the same place.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\u00e9\n",true,false,null,{}]}`, "[[[", "1e309", `"\ud800"`, "{\"a\": \"\x7f\"}", "[1,]", `{"a":1,}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := skip(text)
		if err != nil && err.Error() == "" {
			t.Fatal("a mistake without words")
		}
		if _, bad := jsondoc.Parse(text); bad != nil {
			return
		}
		if err != nil {
			t.Fatalf("read %q but could not skip it: %v", text, err)
		}
		if got := strings.TrimRight(`{"x":`+text, " \t\r\n"); r.Offset() != len(got) {
			t.Fatalf("skipped %d of %q", r.Offset(), text)
		}
	})
}
