package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/licensecheck"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

const root = "../.."

var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "omnigraph-packaging-")
	if err != nil {
		panic(err)
	}
	k6 = filepath.Join(dir, "k6")
	if out, err := exec.Command("go", "build", "-o", k6, "../../cmd/k6").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build k6: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(data)
}

func goMod(t *testing.T) *modfile.File {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte(text(t, "go.mod")), nil)
	require.NoError(t, err)
	return f
}

// The checks of `xk6 lint`, by their names there. What is left out needs the network (vulnerability, build) or is run by
// make lint (security: gosec, of the version that the release's xk6 lint uses).

func TestXK6LintModuleAndReplace(t *testing.T) {
	t.Parallel()
	f := goMod(t)
	assert.Equal(t, "github.com/mitodl/xk6-omnigraph", f.Module.Mod.Path)
	assert.Regexp(t, `(^|/)xk6-[a-z0-9-]+$`, f.Module.Mod.Path, "extensions are called so")
	assert.Empty(t, f.Replace, "a replace in go.mod is not seen by those who build the extension")
	var k6Version string
	for _, r := range f.Require {
		if r.Mod.Path == "go.k6.io/k6/v2" {
			k6Version = r.Mod.Version
			assert.False(t, r.Indirect)
		}
	}
	assert.NotEmpty(t, k6Version, "xk6 builds the k6 that the extension requires")
}

func TestXK6LintReadme(t *testing.T) {
	t.Parallel()
	assert.NotEmpty(t, text(t, "README.md"))
}

func TestXK6LintLicense(t *testing.T) {
	t.Parallel()
	found := licensecheck.Scan([]byte(text(t, "LICENSE")))
	require.Len(t, found.Match, 1)
	assert.Equal(t, "Apache-2.0", found.Match[0].ID)
	assert.GreaterOrEqual(t, found.Percent, 90.0, "xk6 lint wants to be that sure")
}

func TestXK6LintGit(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--show-prefix").Output()
	if err != nil {
		t.Skipf("this is no git work tree, but an unpacked source: %v", err)
	}
	assert.Empty(t, strings.TrimSpace(string(out)), "the module's folder is the work tree's top")
}

func TestXK6LintCodeowners(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, `(?m)^\* +@\S+`, text(t, "CODEOWNERS"))
}

func TestXK6LintTypes(t *testing.T) {
	t.Parallel()
	assert.Contains(t, text(t, "index.d.ts"), "declare module 'k6/x/omnigraph'")
}

func TestXK6LintExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.js"))
	require.NoError(t, err)
	assert.NotEmpty(t, files)
}

func TestXK6LintSmoke(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), k6, "run", "--no-usage-report", "--quiet", filepath.Join(root, "smoke.js"))
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), "level=error")
}

func TestK6ListsTheModuleFirstSoThatXK6TakesItForAJSExtension(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), k6, "version").Output()
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^  github\.com/mitodl/xk6-omnigraph .*$`).FindAllString(string(out), -1)
	require.Len(t, lines, 2, "%s", out)
	assert.Contains(t, lines[0], "k6/x/omnigraph [js]")
	assert.Contains(t, lines[1], "[subcommand]")
}
