package jsondoc

import "strconv"

// Reader goes through a document piece by piece, for a caller that reads it into a type of its own: what is wrong
// with one field is then found before what is wrong behind it, and the values of fields that the type lacks are only
// skipped. Both decide which mistake a server names first.
type Reader struct {
	p     parser
	kind  Kind
	count int
	name  string
	// colon is set once the colon behind a field's name has been read.
	colon bool
}

// NewReader stands before a document.
func NewReader(text string) *Reader { return &Reader{p: parser{text: text}} }

// Enter steps into an object or an array. Before anything else it returns another kind, and Value reads on.
func (r *Reader) Enter() Kind {
	r.p.space()
	if r.p.pos < len(r.p.text) {
		switch r.p.text[r.p.pos] {
		case '{':
			r.kind = Object
			r.p.pos++
		case '[':
			r.kind = Array
			r.p.pos++
		}
	}
	return r.kind
}

// Field goes to the object's next member; end is the offset behind its name. At the object's end more is false.
func (r *Reader) Field() (name string, end int, more bool, err error) {
	r.name, more, err = r.p.key(r.count == 0)
	r.count++
	r.colon = false
	return r.name, r.p.pos, more, err
}

// Element goes to the array's next element. At its end more is false.
func (r *Reader) Element() (more bool, err error) {
	more, err = r.p.element(r.count == 0)
	if more {
		r.name = "[" + strconv.Itoa(r.count) + "]"
		r.count++
	}
	return more, err
}

// Opens tells, before it is read, whether the value at hand is an object or an array, and where it starts; any other
// kind is Null.
func (r *Reader) Opens() (kind Kind, start int, err error) {
	if err := r.value(); err != nil {
		return Null, 0, err
	}
	if r.p.pos < len(r.p.text) {
		switch r.p.text[r.p.pos] {
		case '{':
			kind = Object
		case '[':
			kind = Array
		}
	}
	return kind, r.p.pos, nil
}

// value goes to where the value at hand begins.
func (r *Reader) value() error {
	if r.kind == Object && !r.colon {
		if err := r.p.colon(); err != nil {
			return err
		}
		r.colon = true
	}
	r.p.space()
	return nil
}

// Value reads the value of the field or element at hand, or the document, if it is neither object nor array.
func (r *Reader) Value() (Value, error) {
	if err := r.value(); err != nil {
		return Value{}, err
	}
	depth := 0
	if r.kind == Object || r.kind == Array {
		depth = 1
	}
	v, err := r.p.value(depth)
	if err != nil && r.name != "" {
		err = within(err, r.name)
	}
	return v, err
}

// Skip steps over the value of the field at hand.
func (r *Reader) Skip() error {
	if err := r.value(); err != nil {
		return err
	}
	if err := r.p.skip(); err != nil {
		return within(err, r.name)
	}
	return nil
}

// CloseArray is for whoever wants no more elements: it steps over the array's end, and anything else is a mistake.
func (r *Reader) CloseArray() error {
	more, err := r.p.element(r.count == 0)
	if err == nil && more {
		return r.p.fail("trailing characters", r.p.pos+1)
	}
	return err
}

// Offset is how much has been read.
func (r *Reader) Offset() int { return r.p.pos }

// End fails if anything follows.
func (r *Reader) End() error { return r.p.end() }
