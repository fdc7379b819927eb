package encoding_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/js/modules/k6/encoding"
	"go.k6.io/k6/v2/js/modulestest"
)

func TestBase64(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/encoding": encoding.New()}, nil, nil))
	_, err := rt.RunOnEventLoop(`const { b64encode, b64decode } = require("k6/encoding");`)
	require.NoError(t, err)
	for code, want := range map[string]string{
		`b64encode("hello?>~")`: "aGVsbG8/Pn4=", `b64encode("hello?>~", "url")`: "aGVsbG8_Pn4=",
		`b64encode("hello?>~", "rawurl")`: "aGVsbG8_Pn4", `b64encode("hello?>~", "rawstd")`: "aGVsbG8/Pn4",
		`b64encode("grün")`: "Z3LDvG4=", `b64encode(new Uint8Array([1, 2, 255]).buffer)`: "AQL/",
		`b64encode(new Uint8Array([1, 2, 255]))`: "AQL/", `b64encode("")`: "",
		`b64decode("aGVsbG8/Pn4=", "std", "s")`: "hello?>~", `b64decode("aGVsbG8_Pn4", "rawurl", "s")`: "hello?>~",
		`String(b64decode("AQL/") instanceof ArrayBuffer)`: "true", `String(new Uint8Array(b64decode("AQL/")))`: "1,2,255",
	} {
		value, err := rt.RunOnEventLoop(code)
		require.NoError(t, err, code)
		assert.Equal(t, want, value.String(), code)
	}
	for code, text := range map[string]string{
		`b64decode("not base64!")`: "illegal base64 data", `b64encode(null)`: "GoError", `b64encode({})`: "invalid type",
	} {
		_, err := rt.RunOnEventLoop(code)
		require.ErrorContains(t, err, text, code)
	}
}
