package report

import (
	"strings"
	"unicode"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// Legible keeps a text from acting on what shows it: names and messages come from scripts, servers and records of
// others. Line breaks and tabs become spaces; other control characters, such as the one that begins a terminal's
// commands, those that turn the direction of writing, and what is no UTF-8 become U+FFFD.
func Legible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// legible is the document with each of its texts made legible. Figures are drawn later, and made so then.
func (d *Document) legible() *Document {
	out := *d
	out.Title, out.Banner, out.Meaning = Legible(d.Title), Legible(d.Banner), Legible(d.Meaning)
	out.Reasons = make([]recorder.Reason, len(d.Reasons))
	for i, r := range d.Reasons {
		out.Reasons[i] = recorder.Reason{Code: Legible(r.Code), Text: Legible(r.Text)}
	}
	out.Findings = make([]Finding, len(d.Findings))
	for i, f := range d.Findings {
		out.Findings[i] = Finding{Text: Legible(f.Text), Next: Legible(f.Next)}
	}
	out.Facts = make([]Fact, len(d.Facts))
	for i, f := range d.Facts {
		out.Facts[i] = Fact{Name: Legible(f.Name), Value: Legible(f.Value)}
	}
	out.Sections = make([]Section, len(d.Sections))
	for i, s := range d.Sections {
		out.Sections[i] = s.legible()
	}
	return &out
}

func (s Section) legible() Section {
	s.Title, s.Text, s.Notes = Legible(s.Title), allLegible(s.Text), allLegible(s.Notes)
	tables, plots := make([]Table, len(s.Tables)), make([]Plot, len(s.Plots))
	for i, t := range s.Tables {
		t.Caption, t.Summary, t.Header = Legible(t.Caption), Legible(t.Summary), allLegible(t.Header)
		rows := make([][]string, len(t.Rows))
		for j, row := range t.Rows {
			rows[j] = allLegible(row)
		}
		t.Rows = rows
		tables[i] = t
	}
	for i, p := range s.Plots {
		p.Caption = Legible(p.Caption)
		plots[i] = p
	}
	s.Tables, s.Plots = tables, plots
	return s
}

func allLegible(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = Legible(t)
	}
	return out
}
