package errext

import "errors"

// HasHint is an error with advice for the user.
type HasHint interface {
	error
	Hint() string
}

type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

// Hint returns this hint followed by the one of the wrapped error, if any, in parentheses.
func (e hintError) Hint() string {
	var inner HasHint
	if errors.As(e.error, &inner) {
		return e.hint + " (" + inner.Hint() + ")"
	}
	return e.hint
}

// WithHint adds a hint to err. Hints add up; a nil error stays nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hintError{error: err, hint: hint}
}
