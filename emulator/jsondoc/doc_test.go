package jsondoc_test

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "EOF while parsing a value at line 1 column 0",
		"{":                    "EOF while parsing an object at line 1 column 1",
		"[1":                   "EOF while parsing a list at line 1 column 2",
		`"a`:                   "EOF while parsing a string at line 1 column 2",
		"garbage":              "expected value at line 1 column 1",
		"nul":                  "EOF while parsing a value at line 1 column 3",
		"nup":                  "expected ident at line 1 column 3",
		`{"a" 1}`:              "expected `:` at line 1 column 6",
		`{"a":1 "b":2}`:        "expected `,` or `}` at line 1 column 8",
		`{"a":1,}`:             "trailing comma at line 1 column 8",
		`{1:2}`:                "key must be a string at line 1 column 2",
		"[1 2]":                "expected `,` or `]` at line 1 column 4",
		"[1,]":                 "trailing comma at line 1 column 4",
		"1 x":                  "trailing characters at line 1 column 3",
		"01":                   "invalid number at line 1 column 2",
		"-":                    "EOF while parsing a value at line 1 column 1",
		"1.x":                  "invalid number at line 1 column 3",
		"1e999":                "number out of range at line 1 column 5",
		`"\q"`:                 "invalid escape at line 1 column 3",
		`"\ud800"`:             "unexpected end of hex escape at line 1 column 8",
		`"\udc00"`:             "lone leading surrogate in hex escape at line 1 column 7",
		"\"a\nb\"":             `control character (\u0000-\u001F) found while parsing a string at line 2 column 0`,
		"{\n \"a\": [1,\n x]}": "expected value at line 3 column 2",
	} {
		_, err := jsondoc.Parse(text)
		require.EqualError(t, err, want, text)
	}
}

func TestNumbersAreWrittenAsTheServerWritesThem(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.0", 87: "87.0", -2.5: "-2.5", 2.71875: "2.71875", 1e15: "1000000000000000.0", 1e16: "1e+16", 1e21: "1e+21", 1.5e300: "1.5e+300",
		1e-5: "0.00001", 1e-7: "1e-7", 2.5e-10: "2.5e-10", math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`,
	} {
		require.Equal(t, want, string(jsondoc.AppendFloat(nil, f, 64)))
	}
	require.Equal(t, `"NaN"`, string(jsondoc.AppendFloat(nil, math.NaN(), 64)))
}

func TestStringsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "quote \" back \\ slash /", "\x00\x1f\b\f\n\r\t", "é 漢 😀", "<script>&"} {
		text := jsondoc.AppendString(nil, s)
		require.True(t, json.Valid(text), string(text))
		v, err := jsondoc.Parse(string(text))
		require.NoError(t, err)
		require.Equal(t, s, v.Text)
	}
	v, err := jsondoc.Parse(`"\ud83d\ude00\u00e9\/"`)
	require.NoError(t, err)
	require.Equal(t, "😀é/", v.Text)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\u00e9\n",true,false,null,{}]}`, "[[[", `{"a":1,"a":2}`, "\"\\ud83d\\ude00\"", "1e309", "{\"a\": \"\x7f\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsondoc.Parse(text)
		// encoding/json takes invalid UTF-8, lone surrogates, huge numbers and deeper nesting; the server doesn't.
		if err == nil && !json.Valid([]byte(text)) {
			t.Fatalf("took what is no JSON: %q", text)
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("a mistake without words")
			}
			return
		}
		again, err := jsondoc.Parse(string(jsondoc.Append(nil, &v)))
		if err != nil {
			t.Fatalf("wrote %q as what it does not read: %v", text, err)
		}
		if utf8.ValidString(text) && string(jsondoc.Append(nil, &again)) != string(jsondoc.Append(nil, &v)) {
			t.Fatalf("%q changes when it is read again", text)
		}
	})
}
