package wire

import (
	"fmt"
	"time"
)

// Error is one failed operation or attempt. It is an error, so that a caller can find it with errors.As.
type Error struct {
	Kind ErrorKind
	// Code is the server's own code (for example not_found), or empty.
	Code string
	// Status is the HTTP status, 0 where none came. ExitCode is the CLI's exit code, -1 where the process did not
	// exit by itself, and 0 over HTTP.
	Status   int
	ExitCode int
	// Message is for people: the server's or the system's words, without tokens and control characters.
	Message string
	// Retryable says that the same operation may succeed if it is sent again unchanged.
	Retryable bool
	// Indeterminate says that this was a write whose outcome is unknown.
	Indeterminate bool
	// RetryAfter is what the server asked to wait, or 0.
	RetryAfter time.Duration
	// Truncated says that output was cut off at the limit.
	Truncated bool
}

// NewError makes an error of a kind with that kind's retryability; the message is formatted as by fmt.Sprintf.
func NewError(kind ErrorKind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Retryable: kind.Retryable()}
}

// After is the error of an operation whose last attempt failed so, after an earlier one failed with the kind given and an
// unknown outcome: that one may have done the write, however surely the last one did not. An empty kind changes nothing.
func (e *Error) After(unknown ErrorKind) *Error {
	if e == nil || e.Indeterminate || unknown == "" {
		return e
	}
	whole := *e
	whole.Indeterminate = true
	whole.Message += fmt.Sprintf(" (an earlier attempt, of unknown outcome, failed with %s)", unknown)
	return &whole
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("%s (status %d, %s): %s", e.Kind, e.Status, e.Code, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("%s (status %d): %s", e.Kind, e.Status, e.Message)
	case e.ExitCode > 0:
		return fmt.Sprintf("%s (exit code %d): %s", e.Kind, e.ExitCode, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

// settle fills in what follows from the kind: retryability, and for a write whether its outcome is unknown.
func (e *Error) settle(write bool) *Error {
	t := kindIndex[e.Kind]
	e.Retryable = t != nil && t.Retryable
	e.Indeterminate = write && (t != nil && t.Unknown || e.Status == 500 || e.Status == 502 || e.Status == 504)
	return e
}
