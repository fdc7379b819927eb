package loader

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/fsext"
)

func parse(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for specifier, tc := range map[string]struct{ pwd, want, err string }{
		"./a.js":                 {"file:///d/", "file:///d/a.js", ""},
		"../a.js":                {"file:///d/e/", "file:///d/a.js", ""},
		"../../../a.js":          {"file:///d/", "file:///a.js", ""},
		"/x/./y/../a.js":         {"file:///d/", "file:///x/a.js", ""},
		"file:///x/a.js":         {"file:///d/", "file:///x/a.js", ""},
		"./a b.js":               {"file:///d/", "file:///d/a%20b.js", ""},
		"https://h.example/a.js": {"file:///d/", "https://h.example/a.js", ""},
		"./b.js":                 {"https://h.example/d/?q=1", "https://h.example/d/b.js", ""},
		"/b.js":                  {"https://h.example/d/", "https://h.example/b.js", ""},
		"lodash":                 {"file:///d/", "", "couldn't be recognised"},
		"lib/a.js":               {"file:///d/", "", "couldn't be recognised"},
		"":                       {"file:///d/", "", "empty"},
		"http://h.example/a.js":  {"file:///d/", "", `scheme "http" is not supported`},
		"ftp://h.example/a.js":   {"file:///d/", "", `scheme "ftp" is not supported`},
		"https://%zz/":           {"file:///d/", "", "module specifier"},
	} {
		t.Run(specifier, func(t *testing.T) {
			t.Parallel()
			u, err := Resolve(parse(t, tc.pwd), specifier)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, u.String())
		})
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"./a", "../..", "/", "k6", "https://h/a?b#c", "file://", "::", `\a`, "https://[::1]/%2e%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, specifier string) {
		u, err := Resolve(parse(t, "file:///d/e/"), specifier)
		if err != nil {
			return
		}
		if u.Scheme != "file" && u.Scheme != "https" {
			t.Fatalf("%q resolved to %q", specifier, u)
		}
		if dir := Dir(u); dir.Path[len(dir.Path)-1] != '/' {
			t.Fatalf("the folder of %q is %q", u, dir)
		}
		FilePath(u)
	})
}

func TestURLs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "file:///a/b.js", FileURL("/a/b.js").String())
	assert.Equal(t, "file:///a/", DirURL("/a").String())
	assert.Equal(t, "file:///a/", Dir(FileURL("/a/b.js")).String())
	assert.Equal(t, "file:///", Dir(FileURL("/b.js")).String())
	assert.Equal(t, "/h.example/a.js", FilePath(parse(t, "https://h.example/a.js")))
	assert.Equal(t, "/h.example:8443/a.js?v=2", FilePath(parse(t, "https://h.example:8443/a.js?v=2")))
}

func TestRecordingFs(t *testing.T) {
	t.Parallel()
	base := fsext.NewMemMapFs()
	require.NoError(t, fsext.WriteFile(base, "/d/a.txt", []byte("first"), 0o600))
	require.NoError(t, fsext.WriteFile(base, "/d/b.txt", []byte("b"), 0o600))
	r := NewRecordingFs(base)

	data, err := fsext.ReadFile(r, "/d/a.txt")
	require.NoError(t, err)
	assert.Equal(t, "first", string(data))
	require.NoError(t, fsext.WriteFile(base, "/d/a.txt", []byte("changed"), 0o600))
	r.Lock()

	data, err = fsext.ReadFile(r, "/d/a.txt")
	require.NoError(t, err)
	assert.Equal(t, "first", string(data), "VUs see what was read first")
	_, err = fsext.ReadFile(r, "/d/b.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = r.Stat("/d/b.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)
	info, err := r.Stat("/d/a.txt")
	require.NoError(t, err)
	assert.EqualValues(t, 5, info.Size())
	_, err = r.OpenFile("/d/a.txt", os.O_WRONLY, 0o600)
	require.Error(t, err)

	kept, err := fsext.ReadFile(r.Kept(), "/d/a.txt")
	require.NoError(t, err)
	assert.Equal(t, "first", string(kept))
}

func TestLoad(t *testing.T) {
	t.Parallel()
	files := map[string]fsext.Fs{"file": fsext.NewMemMapFs(), "https": fsext.NewMemMapFs()}
	require.NoError(t, fsext.WriteFile(files["file"], "/a.js", []byte("a"), 0o600))
	require.NoError(t, fsext.WriteFile(files["https"], "/h.example/b.js", []byte("b"), 0o600))

	data, err := Load(t.Context(), files, parse(t, "file:///a.js"), "./a.js")
	require.NoError(t, err)
	assert.Equal(t, "a", string(data))
	data, err = Load(t.Context(), files, parse(t, "https://h.example/b.js"), "https://h.example/b.js")
	require.NoError(t, err)
	assert.Equal(t, "b", string(data))

	_, err = Load(t.Context(), files, parse(t, "file:///none.js"), "./none.js")
	var missing *NotFoundError
	require.True(t, errors.As(err, &missing))
	assert.Contains(t, err.Error(), `"./none.js" couldn't be found on local disk`)
	_, err = Load(t.Context(), map[string]fsext.Fs{}, parse(t, "file:///a.js"), "./a.js")
	require.Error(t, err)
}
