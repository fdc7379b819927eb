// Package chart draws the few kinds of figures that a report needs as SVG that a page's style sheet can theme.
//
// It exists because the plotting libraries for Go can't be used here: gonum/plot links an SVG writer under a Creative
// Commons licence, the FreeType licence or the GPL, and 4 MB of fonts into every binary, and the others draw category
// axes only. What they also lack, a page needs: colors by class (light, dark, print), real text, and a text
// alternative.
package chart
