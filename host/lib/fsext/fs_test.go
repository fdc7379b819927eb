package fsext

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "/base/a", Abs("/base", "a"))
	assert.Equal(t, "/a", Abs("/root", "/a"))
	assert.Equal(t, "/a", Abs("/root", "/b/../a"))
	assert.Equal(t, "/root", Abs("/root", ""))
	assert.Equal(t, "/base/a", JoinFilePath("/base", "/a"))
	assert.Equal(t, "/base/a", JoinFilePath("/base", "../../a"), "nothing leads out of the base")
}

func TestFileSystems(t *testing.T) {
	t.Parallel()
	fs := NewMemMapFs()
	require.NoError(t, WriteFile(fs, "/dir/a.txt", []byte("text"), 0o600))
	data, err := ReadFile(fs, "/dir/a.txt")
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
	infos, err := ReadDir(fs, "/dir")
	require.NoError(t, err)
	require.Len(t, infos, 1)
	isDir, err := IsDir(fs, "/dir")
	require.NoError(t, err)
	assert.True(t, isDir)
	exists, err := Exists(fs, "/none")
	require.NoError(t, err)
	assert.False(t, exists)
	require.Error(t, WriteFile(NewReadOnlyFs(fs), "/dir/a.txt", nil, 0o600))
	exists, err = Exists(NewOsFs(), t.TempDir())
	require.NoError(t, err)
	assert.True(t, exists)
}
