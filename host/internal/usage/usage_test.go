package usage

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUsageIsATree(t *testing.T) {
	t.Parallel()
	u := New()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { assert.NoError(t, u.Uint64("modules/count", 2)) })
	}
	all.Wait()
	require.NoError(t, u.Strings("modules/names", "k6"))
	require.NoError(t, u.Strings("modules/names", "k6"))
	require.NoError(t, u.Values("outputs", "json"))
	require.NoError(t, u.Values("outputs", "json"))
	require.NoError(t, u.Values("outputs", "csv"))
	got := u.Map()
	assert.Equal(t, map[string]any{
		"modules": map[string]any{"count": uint64(8), "names": []string{"k6", "k6"}},
		"outputs": []string{"json", "csv"},
	}, got)
	delete(got, "outputs")
	assert.Contains(t, u.Map(), "outputs", "the map is a copy")

	require.Error(t, u.Uint64("outputs", 1))
	require.Error(t, u.Strings("modules/count", "x"))
	require.Error(t, u.Values("modules/count", "x"))
	require.Error(t, u.Strings("outputs/deeper", "x"))

	var none *Usage
	require.NoError(t, none.Strings("a", "b"))
	assert.Nil(t, none.Map())
}
