package features

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	flags, err := Parse([]string{" freeze-env", "", "native-histograms"})
	require.NoError(t, err)
	assert.Equal(t, &Flags{FreezeEnv: true, NativeHistograms: true}, flags)
	for _, f := range All() {
		assert.Equal(t, f.Name != "merge-run-tags", f.Enabled(flags), f.Name)
		assert.False(t, f.Enabled(nil))
	}
	_, err = Parse([]string{"warp"})
	require.EqualError(t, err,
		`unknown feature "warp", the known ones are: freeze-env, merge-run-tags, native-histograms`)
}
