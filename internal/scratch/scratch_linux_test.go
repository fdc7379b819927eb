package scratch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gone is the id of a process that is over and reaped.
func gone(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "true")
	require.NoError(t, cmd.Run())
	return cmd.Process.Pid
}

func TestOnlyWhatKilledProcessesOfThisUserLeftIsCleared(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, unknownSpace, processSpace())
	dir, dead, space := t.TempDir(), gone(t), processSpace()
	for folder, stays := range map[string]bool{
		fmt.Sprintf("omnigraph-home-%d-%s-1", dead, space):         false,
		fmt.Sprintf("omnigraph-call-%d-%s-2", dead, space):         false,
		fmt.Sprintf("omnigraph-home-%d-%s-3", os.Getpid(), space):  true, // it lives
		fmt.Sprintf("omnigraph-home-%d-%s-4", os.Getppid(), space): true,
		fmt.Sprintf("omnigraph-home-%d-%s0-5", dead, space):        true, // counts elsewhere
		fmt.Sprintf("omnigraph-home-%d-x-6", dead):                 true, // nobody knows where
		fmt.Sprintf("omnigraph-rig-%d-%s-7", dead, space):          true,
		"omnigraph-home-0-" + space + "-8":                         true,
		"omnigraph-home-99999999999999999999-" + space + "-9":      true,
	} {
		t.Run(folder, func(t *testing.T) {
			path := filepath.Join(dir, folder)
			require.NoError(t, os.Mkdir(path, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(path, "params.json"), nil, 0o600))
			require.NoError(t, Clear(dir, nil, "home", "call"))
			if stays {
				assert.FileExists(t, filepath.Join(path, "params.json"))
			} else {
				assert.NoDirExists(t, path)
			}
		})
	}
	// A link by that name is nobody's folder.
	target := t.TempDir()
	link := filepath.Join(dir, fmt.Sprintf("omnigraph-home-%d-%s-10", dead, space))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, Clear(dir, nil, "home", "call"))
	_, err := os.Lstat(link)
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		foreign := filepath.Join(dir, fmt.Sprintf("omnigraph-home-%d-%s-11", dead, space))
		require.NoError(t, os.Mkdir(foreign, 0o700))
		require.NoError(t, os.Chown(foreign, 12345, 12345))
		require.NoError(t, Clear(dir, nil, "home", "call"))
		assert.DirExists(t, foreign, "another user's")
	}
	used := filepath.Join(dir, fmt.Sprintf("omnigraph-home-%d-%s-12", dead, space))
	require.NoError(t, os.Mkdir(used, 0o700))
	require.NoError(t, Clear(dir, func(dir string) bool { return dir == used }, "home"))
	assert.DirExists(t, used, "in use")
	require.Error(t, Clear(filepath.Join(dir, "no such folder"), nil, "home"))
}

func TestAFolderTellsWhoseItIs(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp(t.TempDir(), Pattern("home"))
	require.NoError(t, err)
	m := name.FindStringSubmatch(filepath.Base(dir))
	require.NotNil(t, m, dir)
	assert.Equal(t, fmt.Sprint(os.Getpid()), m[2])
	assert.Equal(t, processSpace(), m[3])
}
