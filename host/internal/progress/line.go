// Package progress draws how far a test and its scenarios have come.
package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Status is what a scenario is doing.
type Status uint8

// The states of a scenario, in their order.
const (
	Waiting Status = iota // for its start time
	Running
	Done
	Interrupted // ended before its time
)

func (s Status) symbol() string {
	switch s {
	case Waiting:
		return "•"
	case Done:
		return "✓"
	case Interrupted:
		return "✗"
	case Running:
		return " "
	default:
		return " "
	}
}

// A Line is the progress of one scenario at one moment.
type Line struct {
	Name     string
	Status   Status
	Fraction float64 // 0 to 1
	Right    []string
}

// barWidth is the number of cells between the brackets of a bar on a terminal.
const barWidth = 40

// Render makes the text of all lines, aligned to each other. With bars, each shows a bar as well as a
// percentage; width, if positive, is the number of cells a line may take.
func Render(lines []Line, bars bool, width int) string {
	nameWidth := 0
	var rightWidths []int
	for _, l := range lines {
		nameWidth = max(nameWidth, utf8.RuneCountInString(l.Name))
		for i, part := range l.Right {
			if i == len(rightWidths) {
				rightWidths = append(rightWidths, 0)
			}
			rightWidths[i] = max(rightWidths[i], utf8.RuneCountInString(part))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		line := l.text(nameWidth, rightWidths, bars)
		if width > 0 {
			line = cut(line, width)
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (l Line) text(nameWidth int, rightWidths []int, bars bool) string {
	var b strings.Builder
	b.WriteString(pad(l.Name, nameWidth))
	b.WriteByte(' ')
	b.WriteString(l.Status.symbol())
	b.WriteByte(' ')
	fraction := min(max(l.Fraction, 0), 1)
	if bars && l.Status == Running {
		b.WriteString(bar(fraction))
	} else {
		fmt.Fprintf(&b, "[ %3.0f%% ]", math.Floor(fraction*100))
	}
	for i, part := range l.Right {
		if i == 0 {
			b.WriteByte(' ')
		} else {
			b.WriteString("  ")
		}
		if i == len(l.Right)-1 {
			b.WriteString(part)
		} else {
			b.WriteString(pad(part, rightWidths[i]))
		}
	}
	return b.String()
}

func bar(fraction float64) string {
	percent := fmt.Sprintf(" %3.0f%% ", math.Floor(fraction*100))
	cells := barWidth - len(percent)
	filled := int(fraction * float64(cells))
	b := []byte(strings.Repeat("=", filled) + strings.Repeat("-", cells-filled))
	if filled > 0 && filled < cells {
		b[filled-1] = '>'
	}
	half := cells / 2
	return "[" + string(b[:half]) + percent + string(b[half:]) + "]"
}

func pad(s string, width int) string {
	if n := width - utf8.RuneCountInString(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-1, 0)]) + "…"
}

// Clock formats how long something has been running, with tenths of a second and as many digits as a time of
// up to longest needs, so that the text keeps its width.
func Clock(d, longest time.Duration) string {
	d = max(d, 0).Truncate(100 * time.Millisecond)
	longest = max(longest, d)
	hours, minutes := d/time.Hour, d%time.Hour/time.Minute
	seconds := (d % time.Minute).Seconds()
	switch {
	case longest >= time.Hour:
		return fmt.Sprintf("%dh%02dm%04.1fs", hours, minutes, seconds)
	case longest >= time.Minute:
		return fmt.Sprintf("%02dm%04.1fs", minutes, seconds)
	case longest >= 10*time.Second:
		return fmt.Sprintf("%04.1fs", seconds)
	default:
		return fmt.Sprintf("%.1fs", seconds)
	}
}

// RunClock is the Clock of a whole test, which shows minutes at least.
func RunClock(d, longest time.Duration) string {
	return Clock(d, max(longest, time.Minute))
}

// Count formats a number with as many digits as highest has.
func Count(n, highest int64) string {
	return fmt.Sprintf("%0*d", len(fmt.Sprint(highest)), n)
}
