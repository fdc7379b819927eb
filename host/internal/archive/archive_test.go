package archive

import (
	"archive/tar"
	"bytes"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
)

func sampleArchive(tb testing.TB) *lib.Archive {
	tb.Helper()
	files := fsext.NewMemMapFs()
	for name, content := range map[string]string{"/home/me/script.js": "main", "/home/me/lib/a.js": "a", "/data.csv": "1,2"} {
		require.NoError(tb, fsext.WriteFile(files, name, []byte(content), 0o600))
	}
	a := New("2.2.0")
	a.Options = lib.Options{VUs: null.IntFrom(3), RunTags: map[string]string{"a": "b"}}
	a.FilenameURL = &url.URL{Scheme: "file", Path: "/home/me/script.js"}
	a.PwdURL = &url.URL{Scheme: "file", Path: "/home/me/"}
	a.Data = []byte("main")
	a.Env = map[string]string{"X": "1"}
	a.Filesystems = map[string]fsext.Fs{"file": files}
	return a
}

func TestArchiveHoldsWhatTheScriptNeeds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, Write(&b, sampleArchive(t)))
	assert.True(t, Looks(b.Bytes()))
	assert.False(t, Looks([]byte("export default function () {}")))

	entries := map[string]*tar.Header{}
	for in := tar.NewReader(bytes.NewReader(b.Bytes())); ; {
		header, err := in.Next()
		if err != nil {
			break
		}
		entries[header.Name] = header
	}
	require.Contains(t, entries, "file/home/me/script.js")
	assert.EqualValues(t, tar.TypeLink, entries["file/home/me/script.js"].Typeflag)
	assert.Equal(t, "data", entries["file/home/me/script.js"].Linkname)
	assert.Contains(t, entries, "metadata.json")
	assert.Contains(t, entries, "file/data.csv")

	a, err := Read(&b)
	require.NoError(t, err)
	assert.Equal(t, "main", string(a.Data))
	assert.Equal(t, "file:///home/me/script.js", a.FilenameURL.String())
	assert.Equal(t, "file:///home/me/", a.PwdURL.String())
	assert.EqualValues(t, 3, a.Options.VUs.Int64)
	assert.Equal(t, map[string]string{"X": "1"}, a.Env)
	for name, want := range map[string]string{"/home/me/script.js": "main", "/home/me/lib/a.js": "a", "/data.csv": "1,2"} {
		got, err := fsext.ReadFile(a.Filesystems["file"], name)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

func TestNamesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	a := sampleArchive(t)
	const local, remote = "/home/me/10:30.csv", "/h.example:8443/lib.js?v=2"
	a.Filesystems["https"] = fsext.NewMemMapFs()
	require.NoError(t, fsext.WriteFile(a.Filesystems["file"], local, []byte("local"), 0o600))
	require.NoError(t, fsext.WriteFile(a.Filesystems["https"], remote, []byte("remote"), 0o600))
	var b bytes.Buffer
	require.NoError(t, Write(&b, a))
	read, err := Read(&b)
	require.NoError(t, err)
	for scheme, name := range map[string]string{"file": local, "https": remote} {
		_, err := fsext.ReadFile(read.Filesystems[scheme], name)
		require.NoError(t, err)
	}
}

func TestWhatIsNoArchive(t *testing.T) {
	t.Parallel()
	write := func(files map[string]string) *bytes.Buffer {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		for name, content := range files {
			require.NoError(t, out.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600}))
			_, err := out.Write([]byte(content))
			require.NoError(t, err)
		}
		require.NoError(t, out.Close())
		return &b
	}
	for name, files := range map[string]map[string]string{
		"empty":         {},
		"no metadata":   {"data": "x"},
		"no data":       {"metadata.json": `{"filename":"file:///a.js","pwd":"file:///"}`},
		"bad metadata":  {"metadata.json": `{`, "data": "x"},
		"no filename":   {"metadata.json": `{}`, "data": "x"},
		"odd filename":  {"metadata.json": `{"filename":"ftp://a/b","pwd":"file:///"}`, "data": "x"},
		"wrong options": {"metadata.json": `{"filename":"file:///a.js","pwd":"file:///","options":{"vus":"x"}}`, "data": "x"},
	} {
		_, err := Read(write(files))
		require.Error(t, err, name)
	}
	_, err := Read(bytes.NewReader([]byte("not a tar file at all")))
	require.Error(t, err)
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, Write(&b, sampleArchive(f)))
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:700])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(bytes.NewReader(data))
		if err == nil && (a.FilenameURL == nil || a.PwdURL == nil) {
			t.Error("an archive without the name of its script")
		}
	})
}
