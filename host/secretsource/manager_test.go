package secretsource

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fakeSource struct {
	calls atomic.Int64
	fail  atomic.Bool
}

func (*fakeSource) Description() string { return "fake" }

func (f *fakeSource) Get(key string) (string, error) {
	f.calls.Add(1)
	if f.fail.Load() {
		return "", errors.New("vault is closed")
	}
	return "s3cret-" + key, nil
}

func TestSecretsAreRememberedAndRedacted(t *testing.T) {
	t.Parallel()
	source := &fakeSource{}
	manager, hook, err := NewManager(map[string]Source{"a": source, DefaultSourceName: source})
	require.NoError(t, err)
	var out bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&out)
	logger.AddHook(hook)
	logger.Info("before: s3cret-one")
	assert.Contains(t, out.String(), "s3cret-one", "not known yet")

	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			value, err := manager.Get("a", "one")
			assert.NoError(t, err)
			assert.Equal(t, "s3cret-one", value)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, source.calls.Load())

	out.Reset()
	logger.WithFields(logrus.Fields{
		"text": "x s3cret-one", "number": 7, "time": time.Second, "deep": map[string]string{"k": "s3cret-one"},
		"err": errors.New("bad s3cret-one"),
	}).Info("got s3cret-one!")
	assert.NotContains(t, out.String(), "s3cret-one")
	assert.Contains(t, out.String(), `msg="got ***SECRET_REDACTED***!"`)
	assert.Contains(t, out.String(), `text="x ***SECRET_REDACTED***"`)
	assert.Contains(t, out.String(), "number=7")
	assert.Contains(t, out.String(), "time=1s")
}

func TestAFailedLookupIsTriedAgain(t *testing.T) {
	t.Parallel()
	source := &fakeSource{}
	source.fail.Store(true)
	manager, _, err := NewManager(map[string]Source{"a": source})
	require.NoError(t, err)
	_, err = manager.Get("a", "k")
	require.EqualError(t, err, "vault is closed")
	source.fail.Store(false)
	value, err := manager.Get("a", "k")
	require.NoError(t, err)
	assert.Equal(t, "s3cret-k", value)
}

func TestSourcesThatDoNotExist(t *testing.T) {
	t.Parallel()
	manager, _, err := NewManager(map[string]Source{"a": &fakeSource{}})
	require.NoError(t, err)
	_, err = manager.Get("b", "k")
	require.ErrorContains(t, err, `"b"`)
	_, err = manager.Get(DefaultSourceName, "k")
	require.ErrorContains(t, err, "no default secret source")
	empty, _, err := NewManager(nil)
	require.NoError(t, err)
	_, err = empty.Get("a", "k")
	require.ErrorContains(t, err, "no secret sources are configured")
	_, _, err = NewManager(map[string]Source{"a": nil})
	require.Error(t, err)
}
