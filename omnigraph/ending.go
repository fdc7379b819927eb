package omnigraph

import (
	"errors"
	"strings"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// abortedAfterTestEnd is the abort reason of thresholds that are found crossed once the test has run to its end. It is
// the third in k6's list.
const abortedAfterTestEnd errext.AbortReason = 3

// endedEarly tells whether the error that k6 exits with is of a run that was ended before its time. Not every such
// error is: with crossed thresholds, and with test.fail(), the run has done all that it was to do.
func endedEarly(err error) bool {
	if err == nil {
		return false
	}
	var coded errext.HasExitCode
	if errors.As(err, &coded) && coded.ExitCode() == exitcodes.MarkedAsFailed {
		return false
	}
	// The text of an abort by a threshold, whatever the reason beside it says.
	if strings.Contains(err.Error(), "has abortOnFail enabled") {
		return true
	}
	if reasons := abortReasons(err); len(reasons) > 0 {
		for _, reason := range reasons {
			if reason != abortedAfterTestEnd {
				return true
			}
		}
		return false
	}
	return coded == nil || coded.ExitCode() != exitcodes.ThresholdsHaveFailed
}

// abortReasons gives those of an error and of all that it is made of.
func abortReasons(err error) []errext.AbortReason {
	var reasons []errext.AbortReason
	if r, ok := err.(errext.HasAbortReason); ok { //nolint:errorlint // each error of the tree is looked at by itself
		reasons = append(reasons, r.AbortReason())
	}
	switch e := err.(type) { //nolint:errorlint // see above
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			reasons = append(reasons, abortReasons(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			reasons = append(reasons, abortReasons(inner)...)
		}
	}
	return reasons
}
