package omnigraph

import (
	"strings"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// preparedText is what needs doing only once for a .gq source: its encoding, its headers, its label.
type preparedText struct {
	encoded []byte
	headers []wire.QueryHeader
	// single is the header if the source holds one query, else nil.
	single  *wire.QueryHeader
	label   string
	problem *wire.Error
}

const (
	// maxTexts bounds the sources that a client remembers. A script that builds its texts would else fill memory.
	maxTexts = 512
	// maxLabels bounds the values that the query tag takes from the sources' own names.
	maxLabels = 50
)

// prepareText looks a source up or prepares it.
func (c *client) prepareText(text string, v sobek.Value) *preparedText {
	if at, bad := loneSurrogateIn(text, v); bad {
		// Not remembered: the same text with a U+FFFD of its own is fine.
		return &preparedText{problem: loneSurrogateError("gq", at)}
	}
	if p := c.texts[text]; p != nil {
		return p
	}
	p := &preparedText{encoded: wire.EncodeText(text)}
	if headers, ok := wire.ParseHeaders(text); ok {
		p.headers = headers
		if len(headers) == 1 {
			p.single = &headers[0]
		}
		p.label = c.labelFor(headers[0].Name)
	}
	if c.texts == nil || len(c.texts) >= maxTexts {
		c.texts = make(map[string]*preparedText)
	}
	c.texts[text] = p
	return p
}

// loneSurrogateIn finds half of a UTF-16 pair in a JS string, which has become U+FFFD in the text made of it.
func loneSurrogateIn(text string, v sobek.Value) (position int, found bool) {
	if !strings.ContainsRune(text, '\uFFFD') {
		return 0, false
	}
	s, ok := v.(sobek.String)
	if !ok {
		return 0, false
	}
	for i := range s.Length() {
		if unit := s.CharAt(i); unit >= 0xd800 && unit <= 0xdfff && !paired(s, i) {
			return i, true
		}
	}
	return 0, false
}

func loneSurrogateError(what string, position int) *wire.Error {
	return wire.NewError(wire.KindBadRequest, "%s holds a lone surrogate (half of a UTF-16 pair) at position %d; such text has no UTF-8 form", what, position)
}

func paired(s sobek.String, i int) bool {
	unit := s.CharAt(i)
	if unit <= 0xdbff {
		return i+1 < s.Length() && s.CharAt(i+1) >= 0xdc00 && s.CharAt(i+1) <= 0xdfff
	}
	return i > 0 && s.CharAt(i-1) >= 0xd800 && s.CharAt(i-1) <= 0xdbff
}

// labelFor keeps the values of the query tag few: a script whose sources all have names of their own gets the first of
// them and "other" for the rest; the name option says it better.
func (c *client) labelFor(name string) string {
	if c.labels == nil {
		c.labels = map[string]bool{}
	}
	if !c.labels[name] {
		if len(c.labels) >= maxLabels {
			return "other"
		}
		c.labels[name] = true
	}
	return name
}
