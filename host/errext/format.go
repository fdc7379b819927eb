package errext

import "errors"

// Exception is a script exception: an error with a stack trace that aborts the test.
type Exception interface {
	error
	HasAbortReason
	StackTrace() string
}

// Format returns the message and the fields to log err with: an exception's message is its stack trace, and a
// hint becomes the field "hint". A nil error gives "" and nil.
func Format(err error) (string, map[string]any) {
	if err == nil {
		return "", nil
	}
	message := err.Error()
	var exception Exception
	if errors.As(err, &exception) {
		message = exception.StackTrace()
	}
	fields := FieldsFromErr(err)
	var hinted HasHint
	if errors.As(err, &hinted) {
		if fields == nil {
			fields = make(map[string]any, 1)
		}
		fields["hint"] = hinted.Hint()
	}
	return message, fields
}
