package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryScriptInTheREADMEIsAnExampleFile(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```js\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	files, err := filepath.Glob("../../examples/*.js")
	require.NoError(t, err)
	for _, b := range blocks {
		found := false
		for _, f := range files {
			data, err := os.ReadFile(f)
			require.NoError(t, err)
			found = found || string(data) == b[1]
		}
		assert.True(t, found, "no example file equals the block that begins %q", strings.SplitN(b[1], "\n", 2)[0])
	}
}

func TestEveryLinkIntoTheRepositoryLeadsSomewhere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md", "../../host/README.md")
	for _, page := range pages {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^)#: ]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(string(data), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			assert.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}
