//go:build unix

package cliclient

import (
	"bytes"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

// aRun is a run whose process does not matter, with a pipe to read from.
func aRun(t *testing.T) (r *run, reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { closeAll(reader, writer) })
	r = newRun(&stubborn{}, reader, reader, 1<<20)
	t.Cleanup(func() { r.closePeak() })
	return r, reader, writer
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
}

// stubborn is a process that a kill does not end, as one that waits for a dead file system.
type stubborn struct {
	release chan struct{}
	kills   atomic.Int32
	reaps   atomic.Int32
}

func (*stubborn) id() int            { return os.Getpid() }
func (s *stubborn) await(func())     { <-s.release }
func (s *stubborn) kill()            { s.kills.Add(1) }
func (s *stubborn) reap(bool) ending { s.reaps.Add(1); return ending{} }

func TestProcessThatCannotBeKilledDoesNotHoldTheCall(t *testing.T) {
	t.Parallel()
	stdout, out, err := os.Pipe()
	require.NoError(t, err)
	stderr, errOut, err := os.Pipe()
	require.NoError(t, err)
	defer closeAll(stdout, stderr, out, errOut)
	s := &stubborn{release: make(chan struct{})}
	r := newRun(s, stdout, stderr, 1<<20)
	r.patience = 20 * time.Millisecond

	done := r.supervise(t.Context(), time.Now().Add(10*time.Millisecond))
	require.Equal(t, stoppedByTimeout, done.cause)
	require.True(t, done.killed)
	require.Equal(t, os.Getpid(), done.lingers)
	require.Equal(t, int32(1), s.kills.Load())
	require.Zero(t, s.reaps.Load(), "its ids are still its own")

	var o outcome
	o.settle(clientFor(t, Config{}), singleWrite(), &done, nil, time.Second)
	require.Equal(t, wire.KindTimeout, o.Err.Kind)
	require.Contains(t, o.Err.Message, "has not ended yet")

	close(s.release)
	require.Eventually(t, func() bool { return s.reaps.Load() == 1 }, patience, time.Millisecond, "reaped once it can be")
	require.Equal(t, int32(1), s.kills.Load())
}
