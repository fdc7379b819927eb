package docs

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
