package docs

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyPage is all Markdown of the repository.
func everyPage(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "results", "rig-data", "bin"}, name)) {
			return filepath.SkipDir
		}
		if !d.IsDir() && filepath.Ext(name) == ".md" {
			data, err := os.ReadFile(path) // #nosec G304 G122 -- the repository's own pages
			if err != nil {
				return err
			}
			all[path] = string(data)
		}
		return nil
	}))
	require.Greater(t, len(all), 15)
	return all
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeBlocks = regexp.MustCompile("(?ms)^```.*?^```")
)

// anchors are the places within a page that a link may name, as GitHub makes them of headings.
func anchors(page string) []string {
	var all []string
	for _, h := range headings.FindAllStringSubmatch(codeBlocks.ReplaceAllString(page, ""), -1) {
		all = append(all, strings.ReplaceAll(notInSlugs.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	pages := everyPage(t)
	links := 0
	for path, page := range pages {
		for _, m := range link.FindAllStringSubmatch(codeBlocks.ReplaceAllString(page, ""), -1) {
			u, err := url.Parse(m[1])
			if !assert.NoError(t, err, "%s links to %s", path, m[1]) || u.Scheme != "" {
				continue // what lies elsewhere is not looked at
			}
			links++
			to := path
			if u.Path != "" {
				to = filepath.Join(filepath.Dir(path), u.Path)
			}
			if _, err := os.Stat(to); !assert.NoError(t, err, "%s links to %s", path, m[1]) {
				continue
			}
			if u.Fragment != "" {
				assert.Contains(t, anchors(pages[to]), u.Fragment, "%s links to %s", path, m[1])
			}
		}
	}
	assert.Greater(t, links, 30)
}

// TestNoPageIsLost: who begins with the README finds every page by its links.
func TestNoPageIsLost(t *testing.T) {
	t.Parallel()
	pages := everyPage(t)
	readme := filepath.Join(root, "README.md")
	found := map[string]bool{readme: true}
	for todo := []string{readme}; len(todo) > 0; todo = todo[1:] {
		for _, m := range link.FindAllStringSubmatch(pages[todo[0]], -1) {
			path, _, _ := strings.Cut(m[1], "#")
			to := filepath.Join(filepath.Dir(todo[0]), path)
			if _, ok := pages[to]; ok && !found[to] {
				found[to] = true
				todo = append(todo, to)
			}
		}
	}
	for path := range pages {
		assert.True(t, found[path], "no link leads from the README to %s", path)
	}
}

var makeTarget = regexp.MustCompile("(?m)(?:`|^|[=;&] )make ([a-z][a-z-]*)")

func TestEveryMakeTargetThatAPageNamesIsThere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	named := map[string]bool{}
	for path, page := range everyPage(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
			named[m[1]] = true
			assert.Regexp(t, `(?m)^`+m[1]+`:`, string(makefile), "%s says make %s", path, m[1])
		}
	}
	assert.True(t, named["spike"] && named["test"] && named["build"] && len(named) > 5, "found only %v", named)
}

// The picture is made by `make picture` of the page beside it.
func TestTheREADMEsPictureIsOfTheReportThatItLinksTo(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	m := regexp.MustCompile(`\[!\[[^\]]+\]\(([^)]+)\.png\)\]\(([^)]+)\.md\)`).FindStringSubmatch(string(readme))
	require.NotNil(t, m, "a picture that is a link to its report")
	assert.Equal(t, m[2], m[1])
	data, err := os.ReadFile(filepath.Join(root, m[1]+".png"))
	require.NoError(t, err)
	assert.Equal(t, "\x89PNG\r\n\x1a\n", string(data[:8]))
	assert.Less(t, len(data), 500_000, "a page that loads at once")
}

var fuzzing = regexp.MustCompile(`go test (\./\S+) .*-fuzz (\w+)`)

func TestEveryFuzzTargetThatAPageNamesIsThere(t *testing.T) {
	t.Parallel()
	named := 0
	for path, page := range everyPage(t) {
		for _, m := range fuzzing.FindAllStringSubmatch(page, -1) {
			files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
			require.NoError(t, err)
			var sources strings.Builder
			for _, f := range files {
				data, err := os.ReadFile(f) // #nosec G304 -- the repository's own tests
				require.NoError(t, err)
				sources.Write(data)
			}
			assert.Contains(t, sources.String(), "\nfunc "+m[2]+"(f *testing.F)", "%s names it", path)
			named++
		}
	}
	assert.Positive(t, named)
}

var fileInCommand = regexp.MustCompile(`(?:^|[\s=])/?((?:deploy|scripts|examples|docs|dashboards|bench)/[\w./-]+\w)`)

// TestEveryFileThatACommandNamesIsThere is for those commands, too, that can't be run here.
func TestEveryFileThatACommandNamesIsThere(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for path, page := range everyPage(t) {
		for _, m := range fence.FindAllStringSubmatch(page, -1) {
			for _, f := range fileInCommand.FindAllStringSubmatch(m[1], -1) {
				if f[1] == "deploy/rig" { // made by the commands themselves
					continue
				}
				named[f[1]] = true
				_, err := os.Stat(filepath.Join(root, f[1]))
				assert.NoError(t, err, "%s names %s", path, f[1])
			}
		}
	}
	assert.True(t, named["deploy/Dockerfile"] && named["deploy/operator/collect.yaml"] && len(named) > 15, "found only %v", named)
}
