package errext

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/errext/exitcodes"
)

var errBase = errors.New("base")

func TestNothingComesFromNothing(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		WithExitCodeIfNone(nil, 1), WithHint(nil, "h"), WithAbortReasonIfNone(nil, AbortedByUser), WithFields(nil, map[string]any{"a": 1}),
	} {
		require.NoError(t, err)
	}
	message, fields := Format(nil)
	assert.Empty(t, message)
	assert.Nil(t, fields)
}

func TestTheInnermostExitCodeAndReasonWin(t *testing.T) {
	t.Parallel()
	inner := WithAbortReasonIfNone(WithExitCodeIfNone(errBase, exitcodes.ThresholdsHaveFailed), AbortedByThreshold)
	err := fmt.Errorf("run: %w", inner)
	err = WithAbortReasonIfNone(WithExitCodeIfNone(err, exitcodes.ScriptAborted), AbortedByUser)
	var code HasExitCode
	require.ErrorAs(t, err, &code)
	assert.Equal(t, exitcodes.ThresholdsHaveFailed, code.ExitCode())
	var reason HasAbortReason
	require.ErrorAs(t, err, &reason)
	assert.Equal(t, AbortedByThreshold, reason.AbortReason())
	require.ErrorIs(t, err, errBase)
	assert.Equal(t, "run: base", err.Error())
}

func TestHintsAndFieldsAddUp(t *testing.T) {
	t.Parallel()
	err := WithHint(WithFields(errBase, map[string]any{"a": 1, "b": 1}), "inner")
	err = WithFields(fmt.Errorf("outer: %w", WithHint(err, "outer")), map[string]any{"b": 2})
	message, fields := Format(err)
	assert.Equal(t, "outer: base", message)
	assert.Equal(t, map[string]any{"a": 1, "b": 2, "hint": "outer (inner)"}, fields)
	assert.Nil(t, FieldsFromErr(errBase))
}

type exception struct{ InterruptError }

func (*exception) StackTrace() string { return "Error: boom\n\tat default" }

func TestAnExceptionIsFormattedAsItsStack(t *testing.T) {
	t.Parallel()
	message, fields := Format(fmt.Errorf("wrapped: %w", &exception{}))
	assert.Equal(t, "Error: boom\n\tat default", message)
	assert.Nil(t, fields)
}

func TestInterruptError(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("in a VU: %w", &InterruptError{Reason: AbortTest})
	assert.True(t, IsInterruptError(err))
	assert.False(t, IsInterruptError(errBase))
	var code HasExitCode
	require.ErrorAs(t, err, &code)
	assert.EqualValues(t, 108, code.ExitCode())
}
