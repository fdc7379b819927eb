package wire

import (
	"bytes"
	"unicode/utf8"
)

// Check refuses what no server carries out as it is meant, whichever transport takes it there: a read of a branch and of
// a snapshot at once, and rows that are not UTF-8, which JSON can't carry. The error is of kind bad_request.
func (o *Operation) Check() *Error {
	switch o.Op {
	case OpQuery, OpInvoke:
		if o.Branch != "" && o.Snapshot != "" {
			return NewError(KindBadRequest, "snapshot: %s reads a branch or a snapshot, not both: leave one of them out (the branch is %q, of the call or of its client)", o.Op, o.Branch)
		}
	case OpLoad:
		if at := invalidUTF8(o.Data); at >= 0 {
			line := bytes.Count(o.Data[:at], []byte("\n")) + 1
			return NewError(KindBadRequest, "data: line %d is not UTF-8: byte %d of it is 0x%02x; load takes rows as UTF-8 text", line, at-bytes.LastIndexByte(o.Data[:at], '\n'), o.Data[at])
		}
	}
	return nil
}

// invalidUTF8 finds the first byte that is no part of a character, or gives -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// CheckSegment refuses a value that would be a step within an address's path in place of a name there: the request would go
// to another route. field names what it is in the error, which is of kind bad_request.
func CheckSegment(field, value string) *Error {
	if value == "." || value == ".." {
		return NewError(KindBadRequest, "%s: got %q, which is no name but a step in the path of an address", field, value)
	}
	return nil
}
