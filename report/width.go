package report

import (
	"strconv"
	"strings"

	"golang.org/x/term"
)

const (
	// usualWidth is how wide a text is made where nothing tells how wide its reader's terminal is.
	usualWidth = 100
	// leastWidth keeps tables readable: below it they would be one word wide.
	leastWidth = 60
)

// TerminalWidth is how many columns a text for a terminal may take: what the variable COLUMNS says, else the size of the
// terminal that the file descriptor is, else 100; at least 60.
func TerminalWidth(columns string, fd int) int {
	if n, err := strconv.Atoi(strings.TrimSpace(columns)); err == nil && n > 0 {
		return max(n, leastWidth)
	}
	if n, _, err := term.GetSize(fd); err == nil && n > 0 {
		return max(n, leastWidth)
	}
	return usualWidth
}
