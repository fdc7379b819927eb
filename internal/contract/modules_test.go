package contract

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"
)

func TestNoSumFileShowsADownloadOfK6(t *testing.T) {
	t.Parallel()
	var sums []string
	require.NoError(t, filepath.WalkDir("../..", func(p string, d os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // what other tests make, and have removed meanwhile
		}
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(p) == ".sum" {
			sums = append(sums, p)
		}
		return nil
	}))
	require.NotEmpty(t, sums)
	for _, file := range sums {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(data), "go.k6.io", "%s shows that a go command fetched k6: use make get and make tidy", file)
	}
}

func TestNoSharedDependencyIsNewerThanK6s(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("k6-v2.2.0-deps.txt")
	require.NoError(t, err)
	limits := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(line, "#") {
			limits[fields[0]] = fields[1]
		}
	}
	require.Greater(t, len(limits), 50)
	shared := 0
	for _, file := range []string{"../../go.mod", "../../host/go.mod"} {
		mod, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?([a-zA-Z0-9._~/-]+\.[a-zA-Z0-9._~/-]+) (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
			limit, ok := limits[m[1]]
			if !ok {
				continue
			}
			shared++
			assert.LessOrEqual(t, semver.Compare(m[2], limit), 0, "%s requires %s %s, k6 v2.2.0 has %s", file, m[1], m[2], limit)
		}
	}
	require.Greater(t, shared, 5)
}

func TestTheModuleIsOneThatXk6CanBuild(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	assert.NotRegexp(t, `(?m)^\s*replace\b`, string(mod), "xk6 ignores replace directives and xk6 lint forbids them")
	assert.Regexp(t, `(?m)^\s*(require )?go\.k6\.io/k6/v2 v2\.2\.0\b`, string(mod))
	work, err := os.ReadFile("../../go.work")
	require.NoError(t, err)
	assert.Contains(t, string(work), "replace go.k6.io/k6/v2 v2.2.0 => ./host")
}

// The extension's packages must not lean on more of the nested module than k6 has: only main packages and tests may
// import what is not below these.
func TestRecorderAnalysisReportWireAndRigKnowNothingOfK6(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{"./omnigraph/wire/...", "./omnigraph/cliclient/...", "./recorder/...", "./analysis/...", "./report/...", "./rig/...", "./emulator/..."} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", pkg)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		require.NoError(t, err, pkg)
		require.NotEmpty(t, out, pkg)
		assert.NotContains(t, string(out), "go.k6.io", "%s imports k6", pkg)
	}
}
