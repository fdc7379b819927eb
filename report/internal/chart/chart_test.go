package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, svg)
	}
	assert.NotContains(t, svg, "NaN")
	assert.NotContains(t, svg, "Inf")
}

func TestFigureIsWellFormedWhateverItsValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := map[string]Figure{
		"empty":        {},
		"one point":    {Series: []Series{{Name: "a", X: []float64{1}, Y: []float64{5}}}},
		"equal values": {Series: []Series{{Name: "a", Kind: Points, X: []float64{1, 2}, Y: []float64{5, 5}}}},
		"no numbers":   {Series: []Series{{Name: "a", X: []float64{nan, 1}, Y: []float64{inf, nan}}}},
		"log with zero": {
			X: Axis{Log: true}, Y: Axis{Log: true},
			Series: []Series{{Name: "<a & b>", X: []float64{0, 1, 10}, Y: []float64{-1, 10, 100}}},
		},
		"intervals": {
			Series: []Series{{Name: "a", Kind: Intervals, X: []float64{1, 2}, Y: []float64{2, 3}, Low: []float64{1, nan}, High: []float64{3, inf}}},
			Marks:  []Mark{{1.5, "optimize"}, {99, "outside"}},
		},
		"huge and tiny": {Series: []Series{{Name: "a", X: []float64{1e-300, 1e300}, Y: []float64{-1e300, 1e300}}}},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) { wellFormed(t, f.SVG()) })
	}
}

func TestBarsAreWellFormedWhateverTheirValues(t *testing.T) {
	tests := map[string]Bars{
		"empty":      {},
		"all zero":   {Parts: []string{"a"}, Bars: []Bar{{Name: "x", Values: []float64{0}}}},
		"negative":   {Parts: []string{"a", "b"}, Bars: []Bar{{Name: "x", Values: []float64{-1, 5}}}},
		"no numbers": {Parts: []string{"a"}, Bars: []Bar{{Name: "x", Values: []float64{math.NaN(), math.Inf(1)}}}},
		"more parts": {Parts: strings.Split("abcdefghij", ""), Bars: []Bar{{Name: "<x>", Values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}},
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) { wellFormed(t, b.SVG()) })
	}
}

func TestFigureHasATextAlternative(t *testing.T) {
	f := Figure{ID: "f1", Title: "Latency", Desc: "CLI above HTTP", Series: []Series{{X: []float64{1}, Y: []float64{1}}}}
	svg := f.SVG()
	assert.Contains(t, svg, `role="img" aria-labelledby="f1-t f1-d"`)
	assert.Contains(t, svg, `<title id="f1-t">Latency</title>`)
	assert.Contains(t, svg, `<desc id="f1-d">CLI above HTTP</desc>`)
}

var textAt = regexp.MustCompile(`<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)" class="axis">([^<]*)</text>`)

func TestLabelsDoNotOverlapOrLeaveTheFigure(t *testing.T) {
	f := Figure{
		X: Axis{Label: "x", Log: true}, Y: Axis{Label: "y", Log: true},
		Series: []Series{
			{Name: "CLI at 1 worker", X: []float64{1, 3000}, Y: []float64{0.01, 90000}},
			{Name: "a rather long name of a variant over HTTP", X: []float64{1, 3000}, Y: []float64{0.01, 90000}},
			{Name: "HTTP at 8 workers", X: []float64{1, 3000}, Y: []float64{0.01, 90000}},
		},
	}
	type box struct{ x1, x2, y float64 }
	var boxes []box
	for _, m := range textAt.FindAllStringSubmatch(f.SVG(), -1) {
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		y, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		w := float64(len(m[4])) * 6
		switch m[3] {
		case "middle":
			x -= w / 2
		case "end":
			x -= w
		}
		b := box{x, x + w, y}
		assert.GreaterOrEqual(t, b.x1, 0.0, m[4])
		assert.LessOrEqual(t, b.x2, width, m[4])
		for _, o := range boxes {
			apart := b.x1 >= o.x2 || o.x1 >= b.x2 || math.Abs(b.y-o.y) >= 12
			assert.True(t, apart, "%q overlaps another label", m[4])
		}
		boxes = append(boxes, b)
	}
	assert.NotEmpty(t, boxes)
}

func TestTicksAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.05: "0.05", 999: "999", 5000: "5000", 10000: "10k", 450000: "450k", 1e6: "1M", 2.5e9: "2.5G", 1e15: "1e+15", 1e-5: "1e-05",
	} {
		assert.Equal(t, want, number(v))
	}
}

func TestZeroHasNoSign(t *testing.T) {
	for _, tick := range linearTicks(-40, 500) {
		assert.NotEqual(t, "-0", tick.Label)
	}
}
