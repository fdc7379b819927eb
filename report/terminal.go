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
	// Width wraps sentences; 0 stands for 100 columns. Tables keep their width.
	Width int
}

// Terminal renders the document as text for a terminal.
func (d *Document) Terminal(w io.Writer, opts TerminalOptions) error {
	if opts.Width <= 0 {
		opts.Width = 100
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
	w.SetColumnConfigs(columns(tab))
	return w.Render()
}

// columns aligns figures to the right and names to the left.
func columns(tab Table) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, 0, len(tab.Header))
	for i := 1; i < len(tab.Header); i++ {
		if tab.numeric(i) {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	return configs
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
