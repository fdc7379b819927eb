package cliclient

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

// script writes a shell script that acts as the CLI.
func script(t testing.TB, mode os.FileMode, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "omnigraph")
	// No process that a parallel test forks meanwhile may carry the open file along: a busy one can't be started.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(body), 0o600)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, mode))
	return path
}

const versionScript = "#!/bin/sh\necho omnigraph 9.9.9\n"

func TestWhatCannotBeStarted(t *testing.T) {
	tests := []struct {
		name    string
		bin     func(t *testing.T) string
		message string
	}{
		{"name that is not in PATH", func(*testing.T) string { return "no-such-omnigraph" }, "not in PATH"},
		{"path that is not there", func(t *testing.T) string { return filepath.Join(t.TempDir(), "omnigraph") }, "no such file"},
		{"not executable", func(t *testing.T) string { return script(t, 0o600, versionScript) }, "not executable"},
		{"folder", func(t *testing.T) string { return t.TempDir() }, "it is a folder"},
		{"empty file", func(t *testing.T) string { return script(t, 0o700, "") }, "not a program for this system"},
		{"no program", func(t *testing.T) string { return script(t, 0o700, "\x7fELF but not really") }, "not a program for this system"},
		{"interpreter missing", func(t *testing.T) string { return script(t, 0o700, "#!/no/such/interpreter\n") }, "the interpreter that it names is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bin := test.bin(t)
			before := openFiles()
			out := fake(t, "answer", func(c *Config) { c.Bin = bin }).Do(t.Context(), singleWrite())
			require.Equal(t, wire.KindSpawnFailed, out.Err.Kind, out.Err.Message)
			require.Contains(t, out.Err.Message, test.message)
			require.Contains(t, out.Err.Message, bin)
			require.Contains(t, out.Err.Message, "bin", "the option")
			require.False(t, out.Err.Indeterminate, "nothing was started")
			require.False(t, out.Err.Retryable)
			require.Equal(t, -1, out.ExitCode)
			require.Equal(t, -1, out.Err.ExitCode)
			require.Nil(t, out.Process)
			require.Equal(t, before, openFiles())
		})
	}
}

func TestProgramOfCurrentFolderIsNotTaken(t *testing.T) {
	t.Chdir(filepath.Dir(script(t, 0o700, versionScript)))
	t.Setenv("PATH", ".")
	c, err := New(Config{})
	require.NoError(t, err)
	out := c.Do(t.Context(), &wire.Operation{Op: wire.OpVersion})
	require.Equal(t, wire.KindSpawnFailed, out.Err.Kind)
	require.Contains(t, out.Err.Message, "only in the current folder")
}

func TestDefaultProgramComesFromPATH(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(script(t, 0o700, versionScript))+":"+os.Getenv("PATH"))
	c, err := New(Config{})
	require.NoError(t, err)
	out := c.Do(t.Context(), &wire.Operation{Op: wire.OpVersion})
	require.Nil(t, out.Err)
	require.Equal(t, "omnigraph 9.9.9", out.Success.Doc)
}

func TestProgramThatMovesIsFoundAgain(t *testing.T) {
	first := filepath.Dir(script(t, 0o700, versionScript))
	second := filepath.Dir(script(t, 0o700, "#!/bin/sh\necho omnigraph 10\n"))
	t.Setenv("PATH", first+":"+second+":"+os.Getenv("PATH"))
	c, err := New(Config{})
	require.NoError(t, err)
	version := &wire.Operation{Op: wire.OpVersion}
	require.Equal(t, "omnigraph 9.9.9", c.Do(t.Context(), version).Success.Doc)
	require.NoError(t, os.Remove(filepath.Join(first, "omnigraph")))
	require.Equal(t, wire.KindSpawnFailed, c.Do(t.Context(), version).Err.Kind)
	require.Equal(t, "omnigraph 10", c.Do(t.Context(), version).Success.Doc)
}

func TestProgramBeingRewrittenIsStartedOnceItIsDone(t *testing.T) {
	bin := script(t, 0o700, versionScript)
	writer, err := os.OpenFile(bin, os.O_WRONLY, 0)
	require.NoError(t, err)
	c := fake(t, "version", func(c *Config) { c.Bin = bin })
	pauses := 0
	out := c.Do(whenAsked{t.Context(), func() {
		pauses++
		switch pauses {
		case 1:
			time.Sleep(2 * busyPatience) // A busy machine holds the client up: that is not the program's fault.
		case 2:
			_ = writer.Close()
		}
	}}, &wire.Operation{Op: wire.OpVersion, Timeout: time.Minute})
	require.Nil(t, out.Err)
	require.GreaterOrEqual(t, pauses, 2)
	require.Equal(t, "omnigraph 9.9.9", out.Success.Doc)
}

func TestProgramBeingRewrittenForLong(t *testing.T) {
	bin := script(t, 0o700, versionScript)
	writer, err := os.OpenFile(bin, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = writer.Close() }()
	c := fake(t, "version", func(c *Config) { c.Bin = bin })
	before := openFiles()

	out := c.Do(t.Context(), singleWrite())
	require.Equal(t, wire.KindSpawnFailed, out.Err.Kind)
	require.Contains(t, out.Err.Message, "text file busy")
	require.False(t, out.Err.Indeterminate)

	op := singleWrite()
	op.Timeout = 20 * time.Millisecond
	out = c.Do(t.Context(), op)
	require.Equal(t, wire.KindTimeout, out.Err.Kind)
	require.Contains(t, out.Err.Message, "not started within 20ms (option timeout)")
	require.False(t, out.Err.Indeterminate, "nothing was started")
	require.Equal(t, before, openFiles())
}

func TestProgramRewrittenAllTheTime(t *testing.T) {
	bin := script(t, 0o700, versionScript)
	c := fake(t, "version", func(c *Config) { c.Bin = bin })
	before := openFiles()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				// In place, as cp does: the same file is open for writing again and again.
				_ = os.WriteFile(bin, []byte(versionScript), 0o600)
				time.Sleep(time.Millisecond)
			}
		}
	})
	for range 50 {
		out := c.Do(t.Context(), &wire.Operation{Op: wire.OpVersion, Timeout: time.Minute})
		if out.Err == nil {
			continue
		}
		// The script may be caught empty, or cut off while the shell reads it: then it prints nothing.
		require.Contains(t, []wire.ErrorKind{wire.KindSpawnFailed, wire.KindProtocol}, out.Err.Kind, out.Err.Message)
	}
	close(stop)
	wg.Wait()
	require.Nil(t, c.Do(t.Context(), &wire.Operation{Op: wire.OpVersion}).Err)
	require.Equal(t, before, openFiles())
}

func TestArgumentsLongerThanTheSystemTakes(t *testing.T) {
	types := make([]string, 100)
	for i := range types {
		types[i] = strings.Repeat("x", 90_000)
	}
	out := fake(t, "answer").Do(t.Context(), &wire.Operation{Op: wire.OpExport, Graph: "g", TypeNames: types})
	require.Equal(t, wire.KindSpawnFailed, out.Err.Kind)
	require.Contains(t, out.Err.Message, "longer than the system takes")
}
