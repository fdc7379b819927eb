package secrets

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/secretsource"
)

func TestMockTakesItsArgument(t *testing.T) {
	t.Parallel()
	s, err := NewMock(secretsource.Params{ConfigArgument: "a=1,b=x=y"})
	require.NoError(t, err)
	for key, want := range map[string]string{"a": "1", "b": "x=y"} {
		got, err := s.Get(key)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = s.Get("c")
	require.Error(t, err)
	_, err = NewMock(secretsource.Params{ConfigArgument: "a"})
	require.Error(t, err)
}

func TestFileHasALineForEachSecret(t *testing.T) {
	t.Parallel()
	fs := fsext.NewMemMapFs()
	require.NoError(t, fsext.WriteFile(fs, "/s", []byte("a=1\n\n# nothing\n b=two words\n"), 0o600))
	require.NoError(t, fsext.WriteFile(fs, "/bad", []byte("a=1\nsecret\n"), 0o600))
	for _, argument := range []string{"/s", "filename=/s"} {
		s, err := NewFile(secretsource.Params{ConfigArgument: argument, FS: fs})
		require.NoError(t, err)
		got, err := s.Get("b")
		require.NoError(t, err)
		assert.Equal(t, "two words", got)
		assert.Contains(t, s.Description(), "/s")
	}
	_, err := NewFile(secretsource.Params{ConfigArgument: "/bad", FS: fs})
	require.ErrorContains(t, err, "line 2")
	assert.NotContains(t, err.Error(), "secret\n")
	for _, argument := range []string{"", "/none"} {
		_, err := NewFile(secretsource.Params{ConfigArgument: argument, FS: fs})
		require.Error(t, err)
	}
}
