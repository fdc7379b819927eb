package jsondoc

import "strings"

// Stream reads documents that follow each other, on lines of their own or not.
type Stream struct{ p parser }

// NewStream stands before the first document of text.
func NewStream(text string) *Stream { return &Stream{p: parser{text: text}} }

// Next reads a document; ok is false at the end. A mistake's place is that in the whole text.
func (s *Stream) Next() (v Value, ok bool, err error) {
	s.p.space()
	if s.p.pos >= len(s.p.text) {
		return Value{}, false, nil
	}
	if v, err = s.p.value(0); err != nil {
		return Value{}, false, err
	}
	switch v.Kind {
	case Object, Array, String:
		return v, true, nil
	case Null, Bool, Number:
	}
	// A bare word or number ends where something else begins, and nowhere else.
	if s.p.pos < len(s.p.text) && strings.IndexByte(" \t\r\n\"[]{},:", s.p.text[s.p.pos]) < 0 {
		return Value{}, false, s.p.fail("trailing characters", s.p.pos+1)
	}
	return v, true, nil
}
