package omnigraph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
)

// executor stands for a scenario; the sequence asks only whether there is one.
type executor struct{ lib.ExecutorConfig }

func isOpen(s *sequence, i int) bool {
	select {
	case <-s.opened[i]:
		return true
	default:
		return false
	}
}

func TestASequenceWaitsForNoStepThatTheTestLacks(t *testing.T) {
	t.Parallel()
	s := newSequenceState("archived", []string{"optimize", "read", "optimize_again", "write"})
	require.NoError(t, s.settle(&lib.Options{Scenarios: lib.ScenarioConfigs{"read": executor{}, "write": executor{}}}))
	assert.False(t, isOpen(s, 0))
	assert.True(t, isOpen(s, 1))
	assert.False(t, isOpen(s, 3))
	s.count(1, 2)
	assert.False(t, isOpen(s, 3), "one turn of two")
	s.count(1, 2)
	assert.True(t, isOpen(s, 3))
	s.count(3, 1) // the last has none after it
}

func TestAllStepsWithinOneScenarioTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSequenceState("within", []string{"one", "two"})
	require.NoError(t, s.settle(&lib.Options{Scenarios: lib.ScenarioConfigs{"default": executor{}}}))
	assert.True(t, isOpen(s, 0))
	assert.False(t, isOpen(s, 1))
	s.count(0, 1)
	assert.True(t, isOpen(s, 1))
}

func TestASequenceRefusesAShareOfATest(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{"0:1": false, "0:1/4": true, "1/2:1": true} {
		segment := new(lib.ExecutionSegment)
		require.NoError(t, segment.UnmarshalText([]byte(text)))
		s := newSequenceState("shared", []string{"one"})
		err := s.settle(&lib.Options{ExecutionSegment: segment})
		if !refused {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, "--execution-segment")
		require.ErrorContains(t, err, text)
		require.ErrorIs(t, s.settle(&lib.Options{}), err, "every VU is told")
	}
}
