package chart

import (
	"fmt"
	"math"
)

// Bars is a figure of horizontal bars, each made of one or more parts.
type Bars struct {
	Title, Desc string
	Label       string // of the value axis
	Parts       []string
	Bars        []Bar
	ID          string
}

// Bar is one bar; Values belong to the figure's parts. Values that are not above 0 take no room.
type Bar struct {
	Name   string
	Values []float64
	Text   string // at the bar's end
}

const (
	barHeight  = 20.0
	barGap     = 10.0
	textRoom   = 64.0
	nameMargin = 8.0
)

// SVG draws the figure. Names stand above their bars, so that long ones don't take the bars' room.
func (b *Bars) SVG() string {
	row := barHeight + barGap + 16
	legend := b.legendRows()
	bottom := topMargin + float64(len(b.Bars))*row
	height := bottom + axisHeight + float64(len(legend))*legendLine
	d := &drawing{}
	d.root(b.ID, b.Title, b.Desc, height)
	x := b.scale()
	if x == nil {
		d.text(width/2, topMargin+barHeight, "middle", "axis", "no figures to draw")
		d.close()
		return d.String()
	}
	lastEnd := math.Inf(-1)
	for _, t := range x.ticks {
		at := x.at(t.At)
		d.line(at, topMargin, at, bottom, "grid")
		half := float64(len(t.Label)) * charWidth / 2
		if at-half > lastEnd+4 {
			d.text(at, bottom+15, "middle", "axis", t.Label)
			lastEnd = at + half
		}
	}
	for i, bar := range b.Bars {
		top := topMargin + float64(i)*row
		d.text(nameMargin, top+12, "start", "axis", bar.Name)
		sum := 0.0
		for p, v := range bar.Values {
			if !(v > 0) || math.IsInf(v, 0) {
				continue
			}
			from, to := x.at(sum), x.at(sum+v)
			sum += v
			name := ""
			if p < len(b.Parts) {
				name = b.Parts[p]
			}
			fmt.Fprintf(d, `<rect x="%s" y="%s" width="%s" height="%s" class="c%d p%d"><title>%s %s</title></rect>`,
				num(from), num(top+17), num(math.Max(to-from, 0.5)), num(barHeight), p%colors, p/colors, escape(name), number(round3(v)))
		}
		d.text(x.at(sum)+5, top+17+barHeight*0.7, "start", "axis", bar.Text)
	}
	d.line(nameMargin, topMargin, nameMargin, bottom, "frame")
	d.text(width/2, bottom+33, "middle", "label", b.Label)
	b.legend(d, legend, bottom+axisHeight+4)
	d.close()
	return d.String()
}

func round3(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}

func (b *Bars) scale() *scale {
	most := 0.0
	for _, bar := range b.Bars {
		sum := 0.0
		for _, v := range bar.Values {
			if v > 0 && !math.IsInf(v, 0) {
				sum += v
			}
		}
		most = math.Max(most, sum)
	}
	if most == 0 {
		return nil
	}
	s := &scale{lo: 0, hi: most, from: nameMargin, to: width - textRoom}
	s.ticks = linearTicks(0, most)
	return s
}

func (b *Bars) legendRows() [][]int {
	var rows [][]int
	if len(b.Parts) < 2 {
		return nil
	}
	used := width
	for p, name := range b.Parts {
		need := 26 + float64(len([]rune(name)))*charWidth
		if used+need > rightEdge {
			rows = append(rows, nil)
			used = nameMargin
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
		used += need
	}
	return rows
}

func (b *Bars) legend(d *drawing, rows [][]int, top float64) {
	for r, row := range rows {
		x, y := nameMargin, top+float64(r)*legendLine
		for _, p := range row {
			fmt.Fprintf(d, `<rect x="%s" y="%s" width="11" height="11" class="c%d p%d"/>`, num(x), num(y-6), p%colors, p/colors)
			d.text(x+15, y+4, "start", "axis", b.Parts[p])
			x += 26 + float64(len([]rune(b.Parts[p])))*charWidth
		}
	}
}
