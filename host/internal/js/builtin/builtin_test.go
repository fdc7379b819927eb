package builtin

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/js/modulestest"
)

func TestEveryModuleCanBeRequired(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"k6", "k6/crypto", "k6/data", "k6/encoding", "k6/execution", "k6/http", "k6/metrics", "k6/secrets", "k6/timers",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := modulestest.NewRuntime(t)
			require.NoError(t, rt.SetupModuleSystem(Modules(), nil, nil))
			value, err := rt.RunOnEventLoop(`Object.keys(require('` + name + `')).length > 0`)
			require.NoError(t, err)
			assert.True(t, value.ToBoolean())
		})
	}
}

func TestOtherModulesOfK6AreRefusedByName(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"k6/browser":                 "the real k6 has it",
		"k6/crypto/x509":             "the real k6 has it",
		"k6/html":                    "the real k6 has it",
		"k6/net/grpc":                "the real k6 has it",
		"k6/websockets":              "the real k6 has it",
		"k6/ws":                      "the real k6 has it",
		"k6/experimental/csv":        "the real k6 has it",
		"k6/experimental/fs":         "the real k6 has it",
		"k6/experimental/streams":    "the real k6 has it",
		"k6/experimental/timers":     `import "k6/timers" instead`,
		"k6/experimental/webcrypto":  "global object crypto",
		"k6/experimental/websockets": `import "k6/websockets" instead`,
		"k6/nowhere":                 "unknown modules",
	} {
		base := &url.URL{Scheme: "file", Path: "/"}
		resolver := modules.NewModuleResolver(Modules(), nil, nil, base, nil, nil)
		err := resolver.LoadMainModule(base, "file:///s.js", []byte(`import '`+name+`'`))
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, text)
	}
}

func TestModuleTimersAreTheGlobalOnes(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(Modules(), nil, nil))
	value, err := rt.RunOnEventLoop(`
		const timers = require('k6/timers'), seen = [];
		clearTimeout(timers.setTimeout(() => seen.push('no'), 1));
		timers.clearInterval(setInterval(() => seen.push('no'), 1));
		timers.setTimeout((a) => seen.push(a), 5, 'yes');
		seen`)
	require.NoError(t, err)
	assert.Equal(t, "yes", value.String())
}
