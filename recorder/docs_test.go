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
