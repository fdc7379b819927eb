package secrets_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/js/modules/k6/secrets"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/secretsource"
)

type source map[string]string

func (source) Description() string { return "for tests" }

func (s source) Get(key string) (string, error) {
	if value, ok := s[key]; ok {
		return value, nil
	}
	return "", errors.New("no secret " + key)
}

func TestSecretsArriveAsPromises(t *testing.T) {
	t.Parallel()
	manager, _, err := secretsource.NewManager(map[string]secretsource.Source{
		secretsource.DefaultSourceName: source{"a": "1"}, "other": source{"a": "2"},
	})
	require.NoError(t, err)
	rt := modulestest.NewRuntime(t)
	rt.VU.InitEnvField.SecretsManager = manager
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/secrets": secrets.New()}, nil, nil))
	_, err = rt.RunOnEventLoop(`
		const secrets = require("k6/secrets");
		let seen = [];
		secrets.get("a").then((v) => seen.push("default " + v));
		secrets.source("other").get("a").then((v) => seen.push("other " + v));
		secrets.get("b").catch((e) => seen.push(String(e)));
		secrets.source("none").get("a").catch((e) => seen.push(String(e)));`)
	require.NoError(t, err)
	value, err := rt.RunOnEventLoop(`seen.sort().join("; ")`)
	require.NoError(t, err)
	assert.Equal(t, `default 1; no secret b; no secret source with name "none" is configured; other 2`, value.String())
}
