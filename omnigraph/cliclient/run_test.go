//go:build unix

package cliclient

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aRun is a run whose process does not matter, with a pipe to read from.
func aRun(t *testing.T) (r *run, reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { closeAll(reader, writer) })
	return &run{maxOutput: 1 << 20, over: true, peak: openPeak(os.Getpid())}, reader, writer
}

func TestOutputOfAnEndedProcessIsReadEvenTooLate(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{true, false} {
		r, reader, writer := aRun(t)
		text := bytes.Repeat([]byte("0123456789"), 6000) // More than a chunk, less than a pipe holds.
		_, err := writer.Write(text)
		require.NoError(t, err)
		if closed {
			require.NoError(t, writer.Close())
		}
		// As if the reader had not had its turn until now.
		require.NoError(t, reader.SetReadDeadline(time.Now().Add(-time.Second)))
		require.Equal(t, string(text), r.drain(reader, 1<<20))
		require.Equal(t, !closed, r.held.Load())
		r.closePeak()
	}
}

func TestDrainKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	r, reader, writer := aRun(t)
	_, err := writer.WriteString(strings.Repeat("a", 10) + strings.Repeat("b", 50_000))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.Equal(t, strings.Repeat("a", 10), r.drain(reader, 10))
	require.False(t, r.held.Load())
	require.Equal(t, int64(50_010), r.printed.Load())
	r.closePeak()
}
