package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// scriptError is an exception that a script did not catch.
type scriptError struct{ exception *sobek.Exception }

var _ interface {
	errext.Exception
	errext.HasExitCode
	errext.HasHint
} = (*scriptError)(nil)

func (e *scriptError) Error() string { return e.exception.Error() }

// StackTrace is the exception with all its frames.
func (e *scriptError) StackTrace() string { return strings.TrimSuffix(e.exception.String(), "\n") }

// Unwrap returns the exception, behind which the Go error that it was made from may lie.
func (e *scriptError) Unwrap() error { return e.exception }

// Hint tells the log where to look.
func (*scriptError) Hint() string { return "script exception" }

// ExitCode is the one of exceptions.
func (*scriptError) ExitCode() exitcodes.ExitCode { return exitcodes.ScriptException }

// AbortReason is an error of the script.
func (*scriptError) AbortReason() errext.AbortReason { return errext.AbortedByScriptError }

// asScriptError turns an exception of the JS engine into one of the script, and leaves other errors alone.
func asScriptError(err error) error {
	if overflow, ok := err.(*sobek.StackOverflowError); ok { //nolint:errorlint // as below
		return fmt.Errorf("RangeError: the script's functions call each other more than %d deep: %w", maxCallDepth, overflow)
	}
	if ex, ok := err.(*sobek.Exception); ok { //nolint:errorlint // a wrapped exception was dealt with by its wrapper
		return &scriptError{exception: ex}
	}
	return err
}

// mixedModulesHint explains what an author most often did when a CommonJS name is missing.
const mixedModulesHint = "you are likely mixing ECMAScript Modules (import and export) with CommonJS (module.exports " +
	"and exports) in one file: use either of them"

// explainInitError adds what an exception of init code does not say itself.
func explainInitError(err error) error {
	var ex *sobek.Exception
	if errors.As(err, &ex) && ex.Value() != nil {
		switch text := ex.Value().String(); {
		case strings.HasPrefix(text, "ReferenceError: module is not defined"),
			strings.HasPrefix(text, "ReferenceError: exports is not defined"):
			return errext.WithExitCodeIfNone(
				fmt.Errorf("%s - %s", strings.TrimSuffix(ex.String(), "\n"), mixedModulesHint), exitcodes.ScriptException)
		}
	}
	return errext.WithExitCodeIfNone(asScriptError(err), exitcodes.ScriptException)
}

// panicError is a panic of Go code that the script called, as the error that ends the test.
func panicError(value any) error {
	err := fmt.Errorf("a panic occurred in Go code called by the script: %v\n%s", value, debug.Stack())
	return errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(err, exitcodes.GoPanic), errext.AbortedByScriptError)
}
