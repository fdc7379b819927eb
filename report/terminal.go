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
	// Width wraps sentences and the cells of tables; 0 stands for 100 columns, and 60 are the least. A table of more columns
	// than it holds is shown in parts. [TerminalWidth] finds it.
	Width int
}

// Terminal renders the document as text for a terminal.
func (d *Document) Terminal(w io.Writer, opts TerminalOptions) error {
	d = d.legible()
	if opts.Width <= 0 {
		opts.Width = usualWidth
	}
	opts.Width = max(opts.Width, leastWidth)
	t := terminal{opts: opts}
	t.wrapped("", t.style(d.Title, text.Bold))
	if d.Banner != "" {
		t.wrapped("", t.style("! "+d.Banner, text.Bold, text.FgYellow))
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
		t.wrapped("", t.style(s.Title, text.Bold))
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
			for _, part := range tab.parts(opts.Width) {
				t.line(t.table(part))
			}
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

const (
	// longWord is how long a word may be before a column may cut it: a path in an error message, say.
	longWord = 24
	// tableFrame is what a column takes beside its text: a border and a space on either side.
	tableFrame = 3
)

// columnNeeds is how wide a table's columns are as they stand, and how wide they are at least: as their longest word, of
// which one that is longer than most is cut.
func (t Table) columnNeeds() (widths, words []int) {
	lines := append([][]string{t.Header}, t.Rows...)
	columns := 0
	for _, row := range lines {
		columns = max(columns, len(row)) // a script's own table may have more cells than headings
	}
	widths, words = make([]int, columns), make([]int, columns)
	for _, row := range lines {
		for i, cell := range row {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(cell))
			for _, word := range strings.Fields(cell) {
				words[i] = max(words[i], min(text.StringWidthWithoutEscSequences(word), longWord))
			}
		}
	}
	return widths, words
}

// parts gives the table in as many parts as it takes to fit the width: each has the first column, which names the rows,
// and some of the others.
func (t Table) parts(width int) []Table {
	_, words := t.columnNeeds()
	var parts []Table
	for next := 1; next < len(words); {
		part := []int{0}
		for left := width - 1 - tableFrame - words[0]; next < len(words); next++ {
			left -= tableFrame + words[next]
			if left < 0 && len(part) > 1 {
				break
			}
			part = append(part, next)
		}
		parts = append(parts, t.only(part))
	}
	if len(parts) <= 1 {
		return []Table{t}
	}
	return parts
}

// only is the table with some of its columns.
func (t Table) only(columns []int) Table {
	pick := func(cells []string) []string {
		out := make([]string, 0, len(columns))
		for _, i := range columns {
			if i < len(cells) {
				out = append(out, cells[i])
			}
		}
		return out
	}
	out := t
	out.Header, out.Rows = pick(t.Header), make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		out.Rows[i] = pick(row)
	}
	return out
}

// columnWidths gives each column what it needs, less what the table is too wide: the widest column of words gives way
// first, then the widest of figures, but none to less than its longest word.
func columnWidths(tab Table, width int) []int {
	widths, words := tab.columnNeeds()
	total := tableFrame*len(widths) + 1
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
