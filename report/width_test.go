package report

import (
	"os"
	"path/filepath"
	"strconv"
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
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
		}
	}
	assert.Greater(t, lines[60], lines[80])
	assert.Greater(t, lines[80], lines[160])
}

func TestATableOfManyColumnsComesInParts(t *testing.T) {
	t.Parallel()
	wide := Table{Caption: "wide", Header: []string{"name"}}
	row := []string{"a_name_without_a_space_that_is_longer_than_most"}
	for i := range 14 {
		wide.Header = append(wide.Header, "column"+strconv.Itoa(i))
		row = append(row, strings.Repeat("9", i)+".25 [0.1, 0.2]")
	}
	wide.Rows = [][]string{row, {"short"}, {"名前名前名前名前名前名前名前名前", "1"}}
	d := &Document{
		Title:    strings.Repeat("title ", 30),
		Sections: []Section{{Title: strings.Repeat("x", 500), Tables: []Table{wide, {Header: []string{"one"}, Rows: [][]string{{"1", strings.Repeat("y", 90)}}}}}},
	}
	for _, width := range []int{0, 20, 60, 80, 1000} {
		var b strings.Builder
		require.NoError(t, d.Terminal(&b, TerminalOptions{Width: width}))
		limit := map[int]int{0: 100, 20: 60}[width]
		if limit == 0 {
			limit = width
		}
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), limit, line)
		}
		for i := range 14 {
			assert.Equal(t, 1, strings.Count(b.String(), "column"+strconv.Itoa(i)+" "), "each column stands there once, at %d", width)
		}
		assert.Contains(t, b.String(), "│ one │")
		assert.Equal(t, 90, strings.Count(b.String(), "y"), "a cell without a heading is kept")
		assert.Equal(t, width != 1000, strings.Count(b.String(), "│ short") > 1, "the rows' names are repeated where there are parts")
	}
}
