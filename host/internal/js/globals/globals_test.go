package globals_test

import (
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/js/textcoding"
	"go.k6.io/k6/v2/js/modulestest"
)

func TestGlobals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ code, want, err string }{
		"encode":                      {code: `Array.from(new TextEncoder().encode('aé€😀'))`, want: "97,195,169,226,130,172,240,159,152,128"},
		"encode nothing":              {code: `new TextEncoder().encode().length`, want: "0"},
		"encode a lone surrogate":     {code: `Array.from(new TextEncoder().encode('\ud800'))`, want: "239,191,189"},
		"encoding":                    {code: `new TextEncoder().encoding + new TextDecoder().encoding`, want: "utf-8utf-8"},
		"encodeInto":                  {code: `const b = new Uint8Array(4), r = new TextEncoder().encodeInto('aéé', b); [r.read, r.written, ...b]`, want: "2,3,97,195,169,0"},
		"decode":                      {code: `new TextDecoder().decode(new Uint8Array([240, 159, 152, 128, 97]))`, want: "😀a"},
		"decode a buffer":             {code: `new TextDecoder().decode(new Uint8Array([97]).buffer)`, want: "a"},
		"decode a part":               {code: `new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1, 2))`, want: "b"},
		"decode a view":               {code: `new TextDecoder().decode(new DataView(new Uint8Array([97, 98, 99]).buffer, 1))`, want: "bc"},
		"decode nothing":              {code: `new TextDecoder().decode()`, want: ""},
		"decode a byte order mark":    {code: `new TextDecoder().decode(new Uint8Array([239, 187, 191, 97])).length`, want: "1"},
		"keep a byte order mark":      {code: `new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 97])).length`, want: "2"},
		"decode malformed bytes":      {code: `new TextDecoder().decode(new Uint8Array([255, 97, 226, 130, 98]))`, want: "\ufffda\ufffdb"},
		"refuse malformed bytes":      {code: `new TextDecoder('utf8', { fatal: true }).decode(new Uint8Array([255]))`, err: "TypeError"},
		"decode a stream":             {code: `const d = new TextDecoder(); d.decode(new Uint8Array([226, 130]), { stream: true }) + d.decode(new Uint8Array([172]), { stream: true }) + d.decode()`, want: "€"},
		"a stream cut off":            {code: `const d = new TextDecoder(); d.decode(new Uint8Array([226, 130]), { stream: true }) + d.decode()`, want: "\ufffd"},
		"UTF-16":                      {code: `new TextDecoder('utf-16le').decode(new Uint8Array([61, 216, 0, 222]))`, want: "😀"},
		"UTF-16 in a stream":          {code: `const d = new TextDecoder('utf-16be'); d.decode(new Uint8Array([0]), { stream: true }) + d.decode(new Uint8Array([65]))`, want: "A"},
		"Latin 1":                     {code: `const d = new TextDecoder('latin1'); d.encoding + d.decode(new Uint8Array([233]))`, want: "windows-1252é"},
		"an unknown encoding":         {code: `new TextDecoder('nope')`, err: "RangeError"},
		"decode a string":             {code: `new TextDecoder().decode('text')`, err: "TypeError"},
		"a decoder that is none":      {code: `TextDecoder.prototype.decode.call({})`, err: "TypeError"},
		"digests":                     {code: `let r = []; crypto.subtle.digest('SHA-1', new Uint8Array([97])).then((b) => r.push(new Uint8Array(b)[0], b.byteLength)); r`, want: "134,20"},
		"a digest of a part":          {code: `let r = []; crypto.subtle.digest({ name: 'sha-256' }, new Uint8Array([1, 97, 2]).subarray(1, 2)).then((b) => r.push(new Uint8Array(b)[0])); r`, want: "202"},
		"an unknown digest":           {code: `let r = []; crypto.subtle.digest('MD5', new Uint8Array(1)).catch((e) => r.push(e.name, e instanceof Error)); r`, want: "NotSupportedError,true"},
		"a digest of text":            {code: `let r = []; crypto.subtle.digest('SHA-1', 'text').catch((e) => r.push(e.name)); r`, want: "TypeError"},
		"random values":               {code: `const a = new Uint32Array(8), b = crypto.getRandomValues(a); [a === b, a.some((n) => n !== 0)]`, want: "true,true"},
		"too many random values":      {code: `crypto.getRandomValues(new Uint8Array(65537))`, err: "QuotaExceededError"},
		"random values for floats":    {code: `crypto.getRandomValues(new Float32Array(2))`, err: "TypeMismatchError"},
		"the name of the error":       {code: `let e; try { crypto.getRandomValues(new Uint8Array(65537)) } catch (x) { e = x } [e instanceof Error, e.name]`, want: "true,QuotaExceededError"},
		"random values for an object": {code: `crypto.getRandomValues({})`, err: "TypeError"},
		"a UUID":                      {code: `/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`, want: "true"},
		"a refused function":          {code: `crypto.subtle.encrypt()`, err: "the real k6 has it"},
		"timers in order":             {code: `let r = []; setTimeout(() => r.push('b'), 20); setTimeout(() => r.push('a'), 1); setTimeout(() => r.push('0')); Promise.resolve().then(() => r.push('job')); r`, want: "job,0,a,b"},
		"timers of the same time":     {code: `let r = []; for (let i = 0; i < 5; i++) setTimeout(() => r.push(i), 1); r`, want: "0,1,2,3,4"},
		"a cleared timer":             {code: `let r = []; const t = setTimeout(() => r.push('no'), 1); setTimeout(() => r.push('yes'), 5); clearTimeout(t); r`, want: "yes"},
		"the only timer cleared":      {code: `let r = ['none']; clearTimeout(setTimeout(() => r.push('no'), 60000)); r`, want: "none"},
		"clearing in another timer":   {code: `let r = []; let t; setTimeout(() => clearTimeout(t), 1); t = setTimeout(() => r.push('no'), 60000); r`, want: ""},
		"clearing nonsense":           {code: `clearTimeout(); clearInterval('x'); clearTimeout(99); 'fine'`, want: "fine"},
		"an interval clears itself":   {code: `let r = []; const t = setInterval(() => { r.push(r.length); if (r.length > 2) clearInterval(t) }); r`, want: "0,1,2"},
		"a timer that throws":         {code: `setTimeout(() => { throw new TypeError('in a timer') }); setTimeout(() => {}, 60000)`, err: "TypeError: in a timer"},
		"a global can be replaced":    {code: `crypto = 5; TextEncoder = 6; [crypto, TextEncoder]`, want: "5,6"},
		"they do not show as keys":    {code: `Object.keys(globalThis).includes('crypto')`, want: "false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// No time passes while the script runs: its timers are due in the order of their delays.
			synctest.Test(t, func(t *testing.T) {
				rt := modulestest.NewRuntime(t)
				value, err := rt.RunOnEventLoop(tc.code)
				if tc.err != "" {
					require.ErrorContains(t, err, tc.err)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tc.want, value.String())
			})
		})
	}
}

func FuzzTextDecoder(f *testing.F) {
	for _, seed := range []string{"", "a", "\xff", "\xe2\x82", "\xf0\x9f\x98\x80", "\xef\xbb\xbfx", "\xed\xa0\x80"} {
		f.Add([]byte(seed), 1)
	}
	rt := sobek.New()
	decoder := textcoding.NewDecoder(rt)
	if err := rt.Set("TextDecoder", decoder); err != nil {
		f.Fatal(err)
	}
	decode, err := rt.RunString(`(function (whole, one, two) {
		const d = new TextDecoder();
		return [d.decode(whole), d.decode(one, { stream: true }) + d.decode(two)];
	})`)
	if err != nil {
		f.Fatal(err)
	}
	call, _ := sobek.AssertFunction(decode)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		if cut < 0 || cut > len(data) {
			return
		}
		buffer := func(b []byte) sobek.Value { return rt.ToValue(rt.NewArrayBuffer(append([]byte(nil), b...))) }
		result, err := call(sobek.Undefined(), buffer(data), buffer(data[:cut]), buffer(data[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		whole, parts := result.ToObject(rt).Get("0").String(), result.ToObject(rt).Get("1").String()
		if whole != parts {
			t.Fatalf("%q decodes to %q, cut at %d to %q", data, whole, cut, parts)
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q decodes to %q", data, whole)
		}
	})
}
