package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheWidthIsWhatIsKnownOfTheTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "no terminal"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for columns, want := range map[string]int{
		"": 100, "80": 80, " 132 ": 132, "60": 60, "20": 60, "0": 100, "-5": 100, "wide": 100, "99999999999999999999": 100,
	} {
		assert.Equal(t, want, TerminalWidth(columns, int(f.Fd())), "COLUMNS=%q", columns)
	}
	assert.Equal(t, 100, TerminalWidth("", -1))
}

func TestAReportFitsTheWidthItIsGiven(t *testing.T) {
	t.Parallel()
	d := Build(spikeRecord(t))
	lines := map[int]int{}
	for _, width := range []int{60, 80, 160} {
		var b strings.Builder
		require.NoError(t, d.Terminal(&b, TerminalOptions{Width: width}))
		for line := range strings.Lines(b.String()) {
			lines[width]++
			if strings.ContainsAny(line, "│╭╰├") {
				continue // a table of more columns than fit is wider
			}
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
		}
	}
	assert.Greater(t, lines[60], lines[80])
	assert.Greater(t, lines[80], lines[160])
}
