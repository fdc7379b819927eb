package errext

import (
	"errors"

	"go.k6.io/k6/v2/errext/exitcodes"
)

const (
	// AbortTest is the reason of an InterruptError made by test.abort().
	AbortTest = "test aborted"
	// MarkedAsFailedTest is the message of a run that test.fail() marked as failed.
	MarkedAsFailedTest = "test marked as failed"
)

// InterruptError stops the whole test at the script's own wish.
type InterruptError struct {
	Reason string
}

var _ interface {
	HasExitCode
	HasAbortReason
} = (*InterruptError)(nil)

// Error returns the reason.
func (e *InterruptError) Error() string { return e.Reason }

// ExitCode is the one of an aborted script.
func (*InterruptError) ExitCode() exitcodes.ExitCode { return exitcodes.ScriptAborted }

// AbortReason is the script's own abort.
func (*InterruptError) AbortReason() AbortReason { return AbortedByScriptAbort }

// IsInterruptError says whether err is, or wraps, an InterruptError.
func IsInterruptError(err error) bool {
	var interrupt *InterruptError
	return errors.As(err, &interrupt)
}
