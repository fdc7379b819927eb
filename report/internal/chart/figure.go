package chart

import (
	"fmt"
	"math"
	"strings"
)

// Figure is one plot. Its size is that of its view box; a page scales it.
type Figure struct {
	Title string // of the figure, for those who can't see it
	Desc  string // what is to be seen, in a sentence
	X, Y  Axis
	// Series are drawn in their order.
	Series []Series
	// Marks are vertical lines at moments on the x axis.
	Marks []Mark
	// ID makes element ids unique within a page.
	ID string
}

// Axis is one axis.
type Axis struct {
	Label string
	Log   bool
	// Ticks replaces the automatic ticks.
	Ticks []Tick
	// Zero makes a linear axis begin at 0.
	Zero bool
}

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64
	Label string
}

// Mark is a labelled vertical line.
type Mark struct {
	At    float64
	Label string
}

// Kind is how a series is drawn.
type Kind int

// The kinds of series.
const (
	Line      Kind = iota
	Points         // dots
	Intervals      // dots with an interval each, joined by a line
)

// Series is one line or cloud. X and Y have the same length, Low and High too where the kind needs them.
type Series struct {
	Name      string
	Kind      Kind
	X, Y      []float64
	Low, High []float64
	// Color chooses one of the page's colors, Dash one of four line patterns: never color alone tells series apart.
	Color, Dash int
}

const (
	width      = 520.0
	plotHeight = 230.0
	leftMargin = 58.0
	topMargin  = 10.0
	rightEdge  = width - 14
	axisHeight = 42.0
	legendLine = 17.0
	charWidth  = 6.6 // of the 12 px text, generously
)

// SVG draws the figure. A figure without a point that can be drawn says so in its middle.
func (f *Figure) SVG() string {
	x := newScale(f.X, f.values(func(s *Series) [][]float64 { return [][]float64{s.X} }), leftMargin, rightEdge)
	bottom := topMargin + plotHeight
	y := newScale(f.Y, f.values(func(s *Series) [][]float64 { return [][]float64{s.Y, s.Low, s.High} }), bottom, topMargin)
	legend := f.legendRows()
	height := bottom + axisHeight + float64(len(legend))*legendLine
	d := &drawing{}
	d.open(f, height)
	if x == nil || y == nil {
		d.text(width/2, bottom/2, "middle", "axis", "no figures to draw")
		d.close()
		return d.String()
	}
	d.axes(f, x, y, bottom)
	for _, m := range f.Marks {
		d.mark(m, x, bottom)
	}
	for i := range f.Series {
		d.series(&f.Series[i], x, y)
	}
	d.legend(legend, bottom+axisHeight+4)
	d.close()
	return d.String()
}

// values collects the finite values of all series along one axis.
func (f *Figure) values(of func(s *Series) [][]float64) []float64 {
	var out []float64
	for i := range f.Series {
		for _, list := range of(&f.Series[i]) {
			for _, v := range list {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// legendRows breaks the legend into lines that fit the width.
func (f *Figure) legendRows() [][]*Series {
	var rows [][]*Series
	used := width
	for i := range f.Series {
		s := &f.Series[i]
		if s.Name == "" {
			continue
		}
		need := legendWidth(s)
		if used+need > rightEdge {
			rows = append(rows, nil)
			used = leftMargin
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		used += need
	}
	return rows
}

func legendWidth(s *Series) float64 { return 40 + float64(len([]rune(s.Name)))*charWidth }

type drawing struct{ strings.Builder }

func (d *drawing) open(f *Figure, height float64) {
	d.root(f.ID, f.Title, f.Desc, height)
}

func (d *drawing) root(id, title, desc string, height float64) {
	fmt.Fprintf(d, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d" xmlns="http://www.w3.org/2000/svg">`,
		num(width), num(height), id, id)
	fmt.Fprintf(d, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, id, escape(title), id, escape(desc))
}

func (d *drawing) close() { _, _ = d.WriteString("</svg>") }

func (d *drawing) text(x, y float64, anchor, class, s string) {
	fmt.Fprintf(d, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, escape(s))
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(d, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (d *drawing) axes(f *Figure, x, y *scale, bottom float64) {
	lastEnd := math.Inf(-1)
	for _, t := range x.ticks {
		at := x.at(t.At)
		half := float64(len([]rune(t.Label))) * charWidth / 2
		d.line(at, topMargin, at, bottom, "grid")
		if at-half < lastEnd+4 || at+half > width {
			continue // a label that would touch its neighbor is left out; its line stays
		}
		lastEnd = at + half
		d.text(at, bottom+15, "middle", "axis", t.Label)
	}
	lastY := math.Inf(1)
	for _, t := range y.ticks {
		at := y.at(t.At)
		d.line(leftMargin, at, rightEdge, at, "grid")
		if lastY-at < 13 {
			continue
		}
		lastY = at
		d.text(leftMargin-6, at+4, "end", "axis", t.Label)
	}
	d.line(leftMargin, bottom, rightEdge, bottom, "frame")
	d.line(leftMargin, topMargin, leftMargin, bottom, "frame")
	d.text((leftMargin+rightEdge)/2, bottom+33, "middle", "label", f.X.Label)
	fmt.Fprintf(d, `<text transform="translate(12 %s) rotate(-90)" text-anchor="middle" class="label">%s</text>`,
		num(topMargin+plotHeight/2), escape(f.Y.Label))
}

func (d *drawing) mark(m Mark, x *scale, bottom float64) {
	if m.At < x.lo || m.At > x.hi {
		return
	}
	at := x.at(m.At)
	fmt.Fprintf(d, `<g class="mark"><title>%s</title>`, escape(m.Label))
	d.line(at, topMargin, at, bottom, "markline")
	_, _ = d.WriteString("</g>")
}

func (d *drawing) series(s *Series, x, y *scale) {
	fmt.Fprintf(d, `<g class="c%d d%d">`, s.Color%colors, s.Dash%dashes)
	if s.Kind != Points {
		d.path(s, x, y)
	}
	for i := range min(len(s.X), len(s.Y)) {
		if s.Kind == Line || !x.holds(s.X[i]) || !y.holds(s.Y[i]) {
			continue
		}
		px, py := x.at(s.X[i]), y.at(s.Y[i])
		if s.Kind == Intervals && i < len(s.Low) && i < len(s.High) && y.holds(s.Low[i]) && y.holds(s.High[i]) {
			lo, hi := y.at(s.Low[i]), y.at(s.High[i])
			d.line(px, lo, px, hi, "whisker")
			d.line(px-4, lo, px+4, lo, "whisker")
			d.line(px-4, hi, px+4, hi, "whisker")
		}
		radius := 3.2
		if s.Kind == Points {
			radius = 1.7
		}
		fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="%s"/>`, num(px), num(py), num(radius))
	}
	_, _ = d.WriteString("</g>")
}

// colors and dashes are how many the page's style sheet defines.
const (
	colors = 6
	dashes = 4
)

func (d *drawing) path(s *Series, x, y *scale) {
	var b strings.Builder
	pen := "M"
	for i := range min(len(s.X), len(s.Y)) {
		if !x.holds(s.X[i]) || !y.holds(s.Y[i]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%s %s", pen, num(x.at(s.X[i])), num(y.at(s.Y[i])))
		pen = "L"
	}
	if b.Len() > 0 {
		fmt.Fprintf(d, `<path class="stroke" d="%s"/>`, b.String())
	}
}

func (d *drawing) legend(rows [][]*Series, top float64) {
	for r, row := range rows {
		x, y := leftMargin, top+float64(r)*legendLine
		for _, s := range row {
			fmt.Fprintf(d, `<g class="c%d d%d">`, s.Color%colors, s.Dash%dashes)
			if s.Kind == Points {
				fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="3.2"/>`, num(x+10), num(y))
			} else {
				fmt.Fprintf(d, `<path class="stroke" d="M%s %sL%s %s"/>`, num(x), num(y), num(x+22), num(y))
			}
			_, _ = d.WriteString("</g>")
			d.text(x+27, y+4, "start", "axis", s.Name)
			x += legendWidth(s)
		}
	}
}

// num writes a coordinate with a tenth of a pixel.
func num(v float64) string {
	s := fmt.Sprintf("%.1f", v)
	return strings.TrimSuffix(s, ".0")
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
