package omnigraph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextWithoutAUTF8FormIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, threeRows))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", checkParams: false})`, server.URL))
	r.enter()
	for _, code := range []string{
		`og.query("query q() { match { $m: M { slug: \"\ud800\" } } return { $m } }")`,
		`og.query("query q($s: String) {}", {s: "a\udc00"})`,
		`og.mutate("query q() {}", {s: {t: ["\ud800x"]}})`,
		`og.invoke("get", {"\ud800": 1})`,
		`og.load('{"type":"M","data":{"slug":"\ud800"}}')`,
		`og.load([{type: "M", data: {slug: "\udfff"}}])`,
	} {
		res := r.export(r.js(code))
		require.Equal(t, false, res["ok"], code)
		problem := res["error"].(map[string]any)
		assert.Equal(t, "bad_request", problem["kind"], code)
		assert.Contains(t, problem["message"], "lone surrogate", code)
	}
	for _, code := range []string{
		`og.invoke("get\ud800")`, `og.deleteBranch("\ud800")`, `og.query("query q() {}", {}, {name: "\ud800"})`,
		`connect("http://127.0.0.1", {graph: "\ud800"})`,
	} {
		assert.Contains(t, r.throws(code), "lone surrogate", code)
	}
	assert.Empty(t, server.asked())
	// U+FFFD of the script's own is text as any other, also where the other form of it was seen before.
	for _, code := range []string{
		`og.query("query q() { match { $m: M { slug: \"\ufffd\" } } return { $m } }")`, `og.load("\ufffd\ud83d\ude00")`, `og.invoke("\ufffd")`,
	} {
		r.js(code)
	}
	assert.Len(t, server.asked(), 3)
}

func TestRowsInABufferAreThoseOfTheCall(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, written))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g"})`, server.URL))
	r.enter()
	r.js(`
		const bytes = new Uint8Array(100000).fill(120);
		og.asyncLoad(bytes.buffer);
		bytes.fill(121);`)
	require.Len(t, server.asked(), 1)
	assert.NotContains(t, server.asked()[0].Body, "yy")
	assert.Contains(t, server.asked()[0].Body, "xxx")
}
