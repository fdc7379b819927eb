package crypto_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/js/modules/k6/crypto"
	"go.k6.io/k6/v2/js/modulestest"
)

func newRuntime(t *testing.T) *modulestest.Runtime {
	t.Helper()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.SetupModuleSystem(map[string]any{"k6/crypto": crypto.New()}, nil, nil))
	_, err := rt.RunOnEventLoop(`const crypto = require("k6/crypto");`)
	require.NoError(t, err)
	return rt
}

func TestDigests(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	// The digests of the empty string and of "abc" as the algorithms' specifications give them.
	for code, want := range map[string]string{
		`crypto.md4("abc", "hex")`:                                                     "a448017aaf21d8525fc10ae87aa6729d",
		`crypto.md5("abc", "hex")`:                                                     "900150983cd24fb0d6963f7d28e17f72",
		`crypto.sha1("abc", "hex")`:                                                    "a9993e364706816aba3e25717850c26c9cd0d89d",
		`crypto.sha256("abc", "hex")`:                                                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		`crypto.ripemd160("abc", "hex")`:                                               "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
		`crypto.sha256("", "base64")`:                                                  "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		`crypto.sha256("", "base64url")`:                                               "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=",
		`crypto.sha256("", "base64rawurl")`:                                            "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
		`crypto.sha512_256("abc", "hex")`:                                              "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
		`crypto.sha512_224("abc", "hex")`:                                              "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa",
		`crypto.createHash("md5").update("a").update("bc").digest("hex")`:              "900150983cd24fb0d6963f7d28e17f72",
		`crypto.hmac("md5", "Jefe", "what do ya want for nothing?", "hex")`:            "750c783e6ab0b503eaa86e310a5db738",
		`crypto.createHMAC("sha256", "key").update("").digest("hex")`:                  "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0",
		`crypto.hexEncode(new Uint8Array([0, 255]).buffer)`:                            "00ff",
		`crypto.hexEncode("a")`:                                                        "61",
		`String(new Uint8Array(crypto.md5("abc", "binary")).length)`:                   "16",
		`crypto.sha1(new Uint8Array([97, 98, 99]), "hex")`:                             "a9993e364706816aba3e25717850c26c9cd0d89d",
		`String(crypto.randomBytes(9).byteLength)`:                                     "9",
		`String(crypto.sha384("abc", "hex").length + crypto.sha512("", "hex").length)`: "224",
	} {
		value, err := rt.RunOnEventLoop(code)
		require.NoError(t, err, code)
		assert.Equal(t, want, value.String(), code)
	}
}

func TestBadArgumentsThrow(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	for code, text := range map[string]string{
		`crypto.createHash("crc32")`: "crc32", `crypto.hmac("x", "k", "d", "hex")`: "invalid algorithm",
		`crypto.md5("a", "octal")`: "octal", `crypto.md5(null, "hex")`: "invalid type",
		`crypto.md5({}, "hex")`: "invalid type", `crypto.randomBytes(0)`: "invalid size", `crypto.randomBytes(-1)`: "invalid size",
		`crypto.createHMAC("md5")`: "GoError",
	} {
		_, err := rt.RunOnEventLoop(code)
		require.Error(t, err, code)
		assert.Contains(t, err.Error(), text, code)
	}
}
