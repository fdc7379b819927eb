package omnigraph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

var documents = []string{
	`null`, `true`, `false`, `0`, `-0`, `1.5`, `1e3`, `12345678901234567890`, `1e400`, `""`, `"a"`, `[]`, `{}`, `[1,"x",null,[{}]]`,
	`{"a":{"b":[1,2]},"":0,"1":1,"0":2,"a ":3}`, `"\u00fc\ud83d\ude00\n\"\\\/"`, `"ü漢😀"`, `{"__proto__":{"x":1},"constructor":2}`,
	`{"a":1,"a":2}`, `"\ud800"`, ` [ 1 , { "a" : [ ] } ] `, `"\u0000"`, `[1e-7,123456789.125,-9007199254740993]`,
}

// sameAsParse compares with the runtime's own JSON.parse through JSON.stringify and through the own members.
func sameAsParse(t *testing.T, r *runtime, document string) {
	t.Helper()
	rt := r.VU.Runtime()
	require.NoError(t, rt.Set("ours", decodeJSON(rt, document)))
	require.NoError(t, rt.Set("text", document))
	v, err := rt.RunString(`(() => {
		const members = (v) => v !== null && typeof v === "object" ? [Object.getOwnPropertyNames(v), Object.getPrototypeOf(v) === Object.prototype, Object.values(v).map(members)] : [typeof v, Object.is(v, -0), String(v)];
		const theirs = JSON.parse(text);
		return JSON.stringify(ours) === JSON.stringify(theirs) && JSON.stringify(members(ours)) === JSON.stringify(members(theirs));
	})()`)
	require.NoError(t, err)
	assert.True(t, v.ToBoolean(), document)
}

func TestDecodingGivesWhatJSONParseGives(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, d := range documents {
		if d == `1e400` {
			continue // the runtime's own parser refuses it, and answers of servers hold no such number
		}
		sameAsParse(t, r, d)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, d := range documents {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, document string) {
		if !gjson.Valid(document) {
			return
		}
		r := newRuntime(t)
		rt := r.VU.Runtime()
		require.NoError(t, rt.Set("text", document))
		if _, err := rt.RunString(`JSON.parse(text)`); err != nil {
			decodeJSON(rt, document) // must not panic where the runtime's own parser refuses
			return
		}
		sameAsParse(t, r, document)
	})
}
