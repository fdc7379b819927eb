package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed report.css
var styleSheet string

//go:embed report.html
var pageText string

// HTML renders the document as one file that needs nothing else: no script, no font, no image from elsewhere. It
// follows the reader's choice of a light or dark scheme and prints in the light one.
func (d *Document) HTML(w io.Writer) error {
	d = d.legible()
	drawn := 0
	page, err := template.New("report").Funcs(template.FuncMap{
		"svg": func(p Plot) template.HTML {
			drawn++
			// The chart package escapes every text that comes from a record.
			return template.HTML(Legible(p.draw(fmt.Sprintf("plot%d", drawn)))) // #nosec G203 -- see above
		},
		"css":     func() template.CSS { return template.CSS(styleSheet) }, // #nosec G203 -- our own file
		"numeric": func(t Table, column int) bool { return column > 0 && t.numeric(column) },
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("parse report page: %w", err)
	}
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("render report page: %w", err)
	}
	return nil
}
