package recorder

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFolderIsOneRunsAtATime(t *testing.T) {
	dir := t.TempDir()
	first, err := ClaimFolder(dir)
	require.NoError(t, err)
	_, err = ClaimFolder(dir)
	require.ErrorIs(t, err, ErrClaimed)
	assert.Contains(t, err.Error(), dir)
	assert.Contains(t, err.Error(), "process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, first.Release())
	require.NoError(t, first.Release(), "again")
	assert.NoFileExists(t, filepath.Join(dir, lockFile))
	next, err := ClaimFolder(dir)
	require.NoError(t, err)
	require.NoError(t, next.Release())
}

func TestALockFileThatAKilledRunLeftIsNoClaim(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, lockFile), []byte("process 1 since long ago\n"), 0o600))
	c, err := ClaimFolder(dir)
	require.NoError(t, err)
	require.NoError(t, c.Release())
}

func TestAFolderThatIsNotThereIsAnError(t *testing.T) {
	_, err := ClaimFolder(filepath.Join(t.TempDir(), "none"))
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrClaimed)
}

func TestManyClaimsAtOnceNeverOverlap(t *testing.T) {
	dir := t.TempDir()
	var holders, given atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				c, err := ClaimFolder(dir)
				if err != nil {
					assert.ErrorIs(t, err, ErrClaimed)
					continue
				}
				given.Add(1)
				assert.EqualValues(t, 1, holders.Add(1))
				holders.Add(-1)
				assert.NoError(t, c.Release())
			}
		})
	}
	wg.Wait()
	assert.Positive(t, given.Load())
}
