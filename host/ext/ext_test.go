package ext

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type module struct{}

func constructor() {}

// Once, however often the test runs.
func init() {
	Register("k6/x/one", JSExtension, &module{})
	Register("one", SubcommandExtension, constructor)
	Register("plain", JSExtension, module{})
	Register("one", SecretSourceExtension, constructor)
}

func TestRegister(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, `extension "k6/x/one" of type js is registered twice`, func() {
		Register("k6/x/one", JSExtension, &module{})
	})

	one := Get(JSExtension)["k6/x/one"]
	require.NotNil(t, one)
	assert.Equal(t, "go.k6.io/k6/v2", one.Path)
	assert.Empty(t, Get(JSExtension)["plain"].Path, "a value's package is not looked for")
	assert.Equal(t, "go.k6.io/k6/v2", Get(SubcommandExtension)["one"].Path)

	var names []string
	for _, e := range GetAll() {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"plain", "k6/x/one", "one"}, names)
	assert.Contains(t, one.String(), ", k6/x/one [js]")
}

func TestModuleOf(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		Main: debug.Module{Path: "example.org/main", Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "example.org/x", Version: "v1.0.0"},
			{Path: "example.org/x/nested", Version: "v2.0.0"},
			{Path: "example.org/local", Version: "v0.0.0", Replace: &debug.Module{Path: "../local"}},
			{Path: "example.org/fork", Version: "v0.0.0", Replace: &debug.Module{Path: "example.org/other", Version: "v3.0.0"}},
		},
	}
	for pkg, want := range map[string][2]string{
		"example.org/x/sub":        {"example.org/x", "v1.0.0"},
		"example.org/x/nested/sub": {"example.org/x/nested", "v2.0.0"},
		"example.org/xy":           {"example.org/xy", ""},
		"example.org/local":        {"example.org/local", "(devel)"},
		"example.org/fork/a":       {"example.org/fork", "v3.0.0"},
		"example.org/main":         {"example.org/main", "v0.1.0"},
		"":                         {"", ""},
	} {
		path, version := moduleOf(pkg, info)
		assert.Equal(t, want, [2]string{path, version}, pkg)
	}
}
