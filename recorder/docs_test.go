package recorder

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const statisticsFile = "../docs/statistics.md"

// The table of reason codes in the documentation is the one in the code.
func TestTheDocumentedReasonCodesAreTheOnesInUse(t *testing.T) {
	data, err := os.ReadFile(statisticsFile)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(data), "<!-- codes -->\n")
	require.True(t, ok)
	got, _, ok := strings.Cut(rest, "<!-- /codes -->")
	require.True(t, ok)
	var want strings.Builder
	want.WriteString("| code | class | meaning |\n| --- | --- | --- |\n")
	for _, c := range Codes() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Code, c.Class, c.Meaning)
	}
	assert.Equal(t, want.String(), got)
}

// The factors that a script may give a level are all in the documentation.
func TestTheDocumentedFactorsAreTheOnesInUse(t *testing.T) {
	data, err := os.ReadFile("../docs/reports.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(data), "<!-- factors -->\n")
	require.True(t, ok)
	got, _, ok := strings.Cut(rest, "<!-- /factors -->")
	require.True(t, ok)
	var want strings.Builder
	want.WriteString("| class | factors |\n| --- | --- |\n")
	for _, c := range factorClasses() {
		fmt.Fprintf(&want, "| `%s` | `%s` |\n", c.name, strings.Join(c.factors, "`, `"))
	}
	assert.Equal(t, want.String(), got)
}

func TestTheDocumentedScriptIsTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/reports.md")
	require.NoError(t, err)
	script, err := os.ReadFile("../examples/record.js")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "```js\n")
	require.True(t, ok)
	got, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	assert.Equal(t, string(script), got)
}
