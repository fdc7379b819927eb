package report

// Plot is a figure of a section. It is drawn when a form that shows figures asks for it.
type Plot struct {
	// Caption says what is to be seen; it is also the figure's text alternative.
	Caption string
	draw    func() (string, error) // SVG
}
