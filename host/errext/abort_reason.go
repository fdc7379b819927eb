package errext

import "errors"

// AbortReason says why a test run ended before its time.
type AbortReason uint8

// The reasons for an abort.
const (
	AbortedByUser AbortReason = iota + 1
	AbortedByThreshold
	AbortedByThresholdsAfterTestEnd
	AbortedByScriptError
	AbortedByScriptAbort
	AbortedByTimeout
	AbortedByOutput
)

// HasAbortReason is an error that knows why the test was aborted.
type HasAbortReason interface {
	error
	AbortReason() AbortReason
}

type abortReasonError struct {
	error
	reason AbortReason
}

func (e abortReasonError) Unwrap() error            { return e.error }
func (e abortReasonError) AbortReason() AbortReason { return e.reason }

// WithAbortReasonIfNone gives err an abort reason unless it has one. A nil error stays nil.
func WithAbortReasonIfNone(err error, abortReason AbortReason) error {
	if err == nil {
		return nil
	}
	var has HasAbortReason
	if errors.As(err, &has) {
		return err
	}
	return abortReasonError{error: err, reason: abortReason}
}
