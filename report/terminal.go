package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// TerminalOptions says what a terminal can show.
type TerminalOptions struct {
	Color bool
	// Width wraps sentences and the cells of tables; 0 stands for 100 columns. A table with more columns than that can
	// hold is wider. [TerminalWidth] finds it.
	Width int
}

// Terminal renders the document as text for a terminal.
func (d *Document) Terminal(w io.Writer, opts TerminalOptions) error {
	d = d.legible()
	if opts.Width <= 0 {
		opts.Width = usualWidth
	}
	t := terminal{opts: opts}
	t.line(t.style(d.Title, text.Bold))
	if d.Banner != "" {
		t.line(t.style("! "+d.Banner, text.Bold, text.FgYellow))
	}
	t.line("")
	t.wrapped("", t.style(d.Meaning, verdictColor(d.Verdict)))
	for _, r := range d.Reasons {
		t.wrapped("  - ", r.Text+" ["+r.Code+"]")
	}
	if len(d.Findings) > 0 {
		t.line("")
	}
	for i, f := range d.Findings {
		t.wrapped(fmt.Sprintf("%2d. ", i+1), f.Text)
		if f.Next != "" {
			t.wrapped("    ", "→ "+f.Next)
		}
	}
	for _, s := range d.Sections {
		t.line("")
		t.line(t.style(s.Title, text.Bold))
		for _, p := range s.Text {
			t.wrapped("", p)
		}
		for _, tab := range s.Tables {
			if tab.Detail {
				if tab.Summary != "" {
					t.wrapped("", tab.Summary)
				}
				continue
			}
			if !strings.HasPrefix(tab.Caption, s.Title) {
				t.wrapped("", tab.Caption)
			}
			t.line(t.table(tab))
		}
		for _, n := range s.Notes {
			t.wrapped("  ", n)
		}
	}
	t.line("")
	for _, f := range d.Facts {
		t.wrapped(fmt.Sprintf("  %-10s ", f.Name), f.Value)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type terminal struct {
	opts TerminalOptions
	b    strings.Builder
}

func (t *terminal) line(s string) {
	t.b.WriteString(strings.TrimRight(s, " "))
	t.b.WriteByte('\n')
}

func (t *terminal) style(s string, colors ...text.Color) string {
	if !t.opts.Color {
		return s
	}
	return text.Colors(colors).Sprint(s)
}

func verdictColor(v recorder.Verdict) text.Color {
	switch v {
	case recorder.Valid:
		return text.FgGreen
	case recorder.Directional:
		return text.FgYellow
	default:
		return text.FgRed
	}
}

// wrapped writes a sentence whose further lines stand below the first one's text.
func (t *terminal) wrapped(prefix, s string) {
	indent := utf8.RuneCountInString(prefix)
	body := text.WrapSoft(s, max(t.opts.Width-indent, 20))
	for i, l := range strings.Split(body, "\n") {
		if i > 0 {
			prefix = strings.Repeat(" ", indent)
		}
		t.line(prefix + l)
	}
}

func (t *terminal) table(tab Table) string {
	w := table.NewWriter()
	style := table.StyleRounded
	style.Format.Header = text.FormatDefault
	style.Options.SeparateRows = false
	w.SetStyle(style)
	w.AppendHeader(toRow(tab.Header))
	for _, r := range tab.Rows {
		w.AppendRow(toRow(r))
	}
	w.SetColumnConfigs(columns(tab, t.opts.Width))
	return w.Render()
}

// columns aligns figures to the right and names to the left, and wraps the widest columns until the table fits.
func columns(tab Table, width int) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, 0, len(tab.Header))
	for i, most := range columnWidths(tab, width) {
		c := table.ColumnConfig{Number: i + 1, WidthMax: most, WidthMaxEnforcer: text.WrapSoft}
		if i > 0 && tab.numeric(i) {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, c)
	}
	return configs
}

// longWord is how long a word may be before a column may cut it: a path in an error message, say.
const longWord = 24

// columnWidths gives each column what it needs, less what the table is too wide: the widest column of words gives way
// first, then the widest of figures, but none to less than its longest word. A word that is longer than most is cut.
func columnWidths(tab Table, width int) []int {
	widths, words := make([]int, len(tab.Header)), make([]int, len(tab.Header))
	for _, row := range append([][]string{tab.Header}, tab.Rows...) {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			for _, word := range strings.Fields(cell) {
				words[i] = max(words[i], min(utf8.RuneCountInString(word), longWord))
			}
		}
	}
	const frame = 3 // a border and a space on either side
	total := frame*len(widths) + 1
	for _, w := range widths {
		total += w
	}
	for _, figures := range []bool{false, true} {
		for total > width {
			widest := -1
			for i, w := range widths {
				if w > words[i] && (i > 0 && tab.numeric(i)) == figures && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			total--
		}
	}
	return widths
}

// numeric tells whether a column holds figures: then it is aligned to the right.
func (t Table) numeric(column int) bool {
	for _, r := range t.Rows {
		if column >= len(r) {
			continue
		}
		switch c := r[column]; {
		case c == "" || c == none || c == "never" || c == "not known":
		case strings.ContainsAny(c[:1], "0123456789-<"):
		default:
			return false
		}
	}
	return true
}

func toRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	return row
}
