package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Markdown renders the document for a pull request or a file beside the record.
func (d *Document) Markdown(w io.Writer) error {
	d = d.legible()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escapeMarkdown(d.Title))
	if d.Banner != "" {
		fmt.Fprintf(&b, "> **%s**\n\n", escapeMarkdown(d.Banner))
	}
	fmt.Fprintf(&b, "**%s**\n", escapeMarkdown(d.Meaning))
	if len(d.Reasons) > 0 {
		b.WriteByte('\n')
	}
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "- `%s`: %s\n", r.Code, escapeMarkdown(r.Text))
	}
	if len(d.Findings) > 0 {
		b.WriteString("\n## Findings\n\n")
	}
	for i, f := range d.Findings {
		fmt.Fprintf(&b, "%d. %s", i+1, escapeMarkdown(f.Text))
		if f.Next != "" {
			fmt.Fprintf(&b, " **%s**", escapeMarkdown(f.Next))
		}
		b.WriteByte('\n')
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "\n## %s\n", escapeMarkdown(s.Title))
		for _, p := range s.Text {
			fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(p))
		}
		for _, t := range s.Tables {
			b.WriteByte('\n')
			if !strings.HasPrefix(t.Caption, s.Title) {
				fmt.Fprintf(&b, "%s:\n\n", escapeMarkdown(t.Caption))
			}
			writeMarkdownTable(&b, t)
		}
		if len(s.Notes) > 0 {
			b.WriteByte('\n')
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "- %s\n", escapeMarkdown(n))
		}
	}
	if len(d.Facts) > 0 {
		b.WriteString("\n## What was measured\n\n")
		facts := Table{Header: []string{"", ""}}
		for _, f := range d.Facts {
			facts.Rows = append(facts.Rows, []string{f.Name, f.Value})
		}
		writeMarkdownTable(&b, facts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMarkdownTable(b *strings.Builder, t Table) {
	writeMarkdownRow(b, t.Header)
	b.WriteByte('|')
	for i := range t.Header {
		if i > 0 && t.numeric(i) {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, r := range t.Rows {
		writeMarkdownRow(b, r)
	}
}

func writeMarkdownRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		fmt.Fprintf(b, " %s |", strings.ReplaceAll(escapeMarkdown(c), "|", `\|`))
	}
	b.WriteByte('\n')
}

// escapeMarkdown keeps names and error kinds from a record from becoming markup. A bracket matters only where it would
// make a link or a link's definition: intervals are written in brackets, and stay readable in the file.
func escapeMarkdown(s string) string {
	s = markdownEscapes.Replace(s)
	if blockMarkup.MatchString(s) {
		s = `\` + s
	}
	return s
}

var (
	markdownEscapes = strings.NewReplacer(
		"](", `\](`, "]:", `\]:`,
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ",
	)
	// blockMarkup begins a heading, a list, a rule or a block of code. A sign before a number does not.
	blockMarkup = regexp.MustCompile(`^(?:#|[-+] |[-+]$|---|===|~~~)`)
)
