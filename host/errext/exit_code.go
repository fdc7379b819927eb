package errext

import (
	"errors"

	"go.k6.io/k6/v2/errext/exitcodes"
)

// HasExitCode is an error that decides the exit code of the process.
type HasExitCode interface {
	error
	ExitCode() exitcodes.ExitCode
}

type exitCodeError struct {
	error
	code exitcodes.ExitCode
}

func (e exitCodeError) Unwrap() error                { return e.error }
func (e exitCodeError) ExitCode() exitcodes.ExitCode { return e.code }

// WithExitCodeIfNone gives err an exit code unless it has one. A nil error stays nil.
func WithExitCodeIfNone(err error, exitCode exitcodes.ExitCode) error {
	if err == nil {
		return nil
	}
	var has HasExitCode
	if errors.As(err, &has) {
		return err
	}
	return exitCodeError{error: err, code: exitCode}
}
