package omnigraph

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/fsext"
)

// withFiles gives a VU files to open, by their absolute path; relative ones are below /scripts.
func (r *runtime) withFiles(files map[string]string) *runtime {
	r.t.Helper()
	fs := fsext.NewMemMapFs()
	for path, content := range files {
		require.NoError(r.t, fsext.WriteFile(fs, path, []byte(content), 0o600))
	}
	r.VU.InitEnvField.FileSystems = map[string]fsext.Fs{"file": fs}
	r.VU.InitEnvField.CWD = &url.URL{Scheme: "file", Path: "/scripts/"}
	return r
}

func TestEachVUTakesItsTokenFromTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          []string // of VU 1, 2, 3
	}{
		{"by actor, in the order of their names", `{"b":"token-b","c":"token-c","a":"token-a"}`, []string{"token-a", "token-b", "token-c"}},
		{"more VUs than tokens", `{"b":"token-b","a":"token-a"}`, []string{"token-a", "token-b", "token-a"}},
		{"a list as it is", `["z","y"]`, []string{"z", "y", "z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, answer(200, threeRows))
			for vu, want := range c.want {
				r := newRuntime(t).withFiles(map[string]string{"/scripts/tokens.json": c.content})
				r.js(fmt.Sprintf(`const og = new HTTPClient({url: %q, graph: "g", tokensFile: "./tokens.json"})`, server.URL))
				r.enter()
				r.state.VUIDGlobal = uint64(vu) + 1 //nolint:gosec // small
				require.Equal(t, true, r.export(r.js(readCode))["ok"])
				asked := server.asked()
				assert.Equal(t, "Bearer "+want, asked[len(asked)-1].Header.Get("Authorization"))
			}
		})
	}
}

func TestATokensFileThatIsNoneIsABadOption(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/scripts/ok.json": `["secret"]`, "/scripts/empty.json": ``, "/scripts/none.json": `{}`, "/scripts/number.json": `{"a": 1, "b": "secret"}`,
		"/scripts/blank.json": `["secret", ""]`, "/scripts/lines.json": `["secret\nsecret"]`, "/scripts/text.json": `secret`,
	}
	for _, c := range []struct {
		name, code string
		want       []string
	}{
		{"not there", `new HTTPClient({tokensFile: "nope.json"})`, []string{"HTTPClient", "tokensFile", "nope.json"}},
		{"no text", `new HTTPClient({tokensFile: 7})`, []string{"tokensFile", "got 7", "tokens.json"}},
		{"empty", `new CLIClient({tokensFile: "empty.json"})`, []string{"CLIClient", "tokensFile", "empty.json", "no JSON"}},
		{"without a token", `connect("http://x", {tokensFile: "none.json"})`, []string{"connect", "tokensFile", "no token"}},
		{"token that is no text", `new HTTPClient({tokensFile: "number.json"})`, []string{"tokensFile", "texts"}},
		{"blank token", `new HTTPClient({tokensFile: "blank.json"})`, []string{"tokensFile", "position 2"}},
		{"token of two lines", `new HTTPClient({tokensFile: "lines.json"})`, []string{"tokensFile", "position 1"}},
		{"no JSON", `new HTTPClient({tokensFile: "text.json"})`, []string{"tokensFile", "no JSON"}},
		{"with a token beside it", `new HTTPClient({tokensFile: "ok.json", token: "secret"})`, []string{"tokensFile", "token"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			message := newRuntime(t).withFiles(files).throws(c.code)
			for _, w := range c.want {
				assert.Contains(t, message, w)
			}
			assert.NotContains(t, message, "secret")
		})
	}
	t.Run("outside of the init context", func(t *testing.T) {
		t.Parallel()
		r := newRuntime(t).withFiles(files).enter()
		message := r.throws(`new HTTPClient({tokensFile: "ok.json"})`)
		assert.Contains(t, message, "tokensFile")
		assert.Contains(t, message, "init context")
	})
	t.Run("not for one call", func(t *testing.T) {
		t.Parallel()
		r := newRuntime(t).withFiles(files)
		r.js(`const og = connect("http://127.0.0.1:1", {graph: "g"})`)
		r.enter()
		assert.Contains(t, r.throws(`og.query("query q() { match { $m: M } return { $m } }", {}, {tokensFile: "ok.json"})`), "tokensFile")
	})
}

func FuzzParseTokens(f *testing.F) {
	for _, seed := range []string{`{"a":"b"}`, `["a","b"]`, `{}`, ``, `[`, `{"a":null}`, ` {"a":"x\ny"}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, err := parseTokens(data)
		if (err == nil) != (len(tokens) > 0) {
			t.Fatalf("%d tokens and error %v", len(tokens), err)
		}
		for _, token := range tokens {
			if token == "" {
				t.Fatal("an empty token")
			}
		}
	})
}
