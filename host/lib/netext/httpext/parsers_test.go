package httpext

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

func TestURL(t *testing.T) {
	for given, clean := range map[string]string{
		"http://h/p?q#f":         "http://h/p?q#f",
		"http://me@h/":           "http://****@h/",
		"http://me:secret@h/a b": "http://****:****@h/a%20b",
		"//me:secret@h/":         "//****:****@h/",
		"":                       "",
		"/relative":              "/relative",
	} {
		u, err := NewURL(given, given)
		require.NoError(t, err, given)
		assert.Equal(t, clean, u.Clean(), given)
		assert.Equal(t, clean, u.CleanURL, given)
		assert.Equal(t, clean, u.Name, given)
		assert.Equal(t, given, u.URL)
	}
	u, err := NewURL("http://h/5", "http://h/${}")
	require.NoError(t, err)
	assert.Equal(t, "http://h/${}", u.Name)
	assert.Equal(t, "/5", u.GetURL().Path)
	for _, made := range []any{u, &u, "http://h/5"} {
		got, err := ToURL(made)
		require.NoError(t, err)
		assert.Equal(t, "http://h/5", got.URL)
	}
	for _, bad := range []any{nil, 5, "http://a b/", (*URL)(nil)} {
		_, err := ToURL(bad)
		var k6Error K6Error
		require.ErrorAs(t, err, &k6Error)
		assert.Equal(t, invalidURLErrorCode, k6Error.Code)
	}
	assert.Empty(t, URL{}.Clean())
	assert.Nil(t, URL{}.GetURL())
}

func FuzzURLNeverShowsUserInfo(f *testing.F) {
	for _, seed := range []string{"http://me:secret@h/", "http://me:secret@", "x:me:secret@h", "//:secret@h?q=1#f", "http://[::1]:80/%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		u, err := NewURL(given, given)
		if err != nil {
			return
		}
		parsed := u.GetURL()
		if parsed.User == nil || parsed.Host == "" {
			return
		}
		again, err := url.Parse(strings.Replace(u.Clean(), "****", "x", 1))
		if err != nil {
			return
		}
		if user := again.User.Username(); user != "x" {
			t.Fatalf("%q was cleaned to %q, which shows the user %q", given, u.Clean(), user)
		}
	})
}

func TestDigestAnswers(t *testing.T) {
	// The examples of RFC 7616, section 3.9.1.
	const params = `realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", ` +
		`opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for algorithm, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		challenge, ok := findDigestChallenge([]string{"Basic realm=x", "digest " + params + ", algorithm=" + algorithm})
		require.True(t, ok)
		answer, err := challenge.answer(digestRequest{
			username: "Mufasa", password: "Circle of Life", method: "GET", uri: "/dir/index.html",
			cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
		})
		require.NoError(t, err)
		assert.Contains(t, answer, fmt.Sprintf("response=%q", want))
		assert.Contains(t, answer, "nc=00000001")
		assert.Contains(t, answer, "algorithm="+algorithm)
	}
	t.Run("without qop, as in RFC 2069", func(t *testing.T) {
		challenge, ok := findDigestChallenge([]string{`Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"`})
		require.True(t, ok)
		answer, err := challenge.answer(digestRequest{
			username: "Mufasa", password: "CircleOfLife", method: "GET", uri: "/dir/index.html",
		})
		require.NoError(t, err)
		assert.NotContains(t, answer, "qop")
		assert.Contains(t, answer, `response="1949323746fe6a43ef61f9606e7febea"`)
	})
	t.Run("the body counts for auth-int", func(t *testing.T) {
		challenge := digestChallenge{nonce: "n", qop: []string{"auth-int"}}
		answer := func(body string) string {
			text, err := challenge.answer(digestRequest{body: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(body)), nil
			}})
			require.NoError(t, err)
			return text
		}
		assert.NotEqual(t, answer("a"), answer("b"))
	})
	for _, bad := range []string{"", "Basic x", `Digest realm="x"`, `Digest nonce="x", algorithm=ROT13`} {
		_, ok := findDigestChallenge([]string{bad})
		assert.False(t, ok, bad)
	}
	_, err := (&digestChallenge{nonce: "n", qop: []string{"other"}}).answer(digestRequest{})
	require.Error(t, err)
}

func FuzzParseDigestHeader(f *testing.F) {
	for _, seed := range []string{`Digest realm="a\"b", nonce=c , x="`, "digest =,=,", `Digest nonce="\`, "Digest "} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, header string) {
		if challenge, ok := findDigestChallenge([]string{header}); ok {
			_, _ = challenge.answer(digestRequest{username: "u", password: "p", method: "GET", uri: "/"})
		}
	})
}

func FuzzDecompressBody(f *testing.F) {
	f.Add("gzip", []byte{0x1f, 0x8b})
	f.Add("br, zstd", []byte{1, 2, 3})
	f.Add("deflate,", []byte{0x78, 0x9c})
	f.Fuzz(func(_ *testing.T, encoding string, body []byte) {
		_, _ = decompressBody(encoding, body)
	})
}

func TestErrorCodes(t *testing.T) {
	op := func(what string, err error) error {
		return &url.Error{Op: "Get", URL: "http://h", Err: &net.OpError{Op: what, Net: "tcp", Err: err}}
	}
	for _, tc := range []struct {
		err  error
		code errCode
		text string
	}{
		{io.ErrUnexpectedEOF, 1000, "unexpected EOF"},
		{&net.OpError{Op: "dial", Net: "unix", Err: io.EOF}, 1010, "dial unix: EOF"},
		{&net.DNSError{Err: "server misbehaving", Name: "h"}, 1100, "lookup h: server misbehaving"},
		{op("dial", &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}), 1101, "lookup: no such host"},
		{op("read", io.EOF), 1200, "read tcp: EOF"},
		{op("write", syscall.EPIPE), 1201, "write: broken pipe"},
		{op("read", syscall.EHOSTDOWN), 1202, "read: host is down (errno 112)"},
		{op("dial", io.EOF), 1210, "dial tcp: EOF"},
		{op("dial", syscall.ETIMEDOUT), 1211, "dial: i/o timeout"},
		{op("dial", syscall.ECONNREFUSED), 1212, "dial: connection refused"},
		{op("dial", syscall.ENETUNREACH), 1213, "dial: network is unreachable (errno 101)"},
		{op("read", syscall.ECONNRESET), 1220, "read: connection reset by peer"},
		{syscall.ECONNRESET, 1220, "read: connection reset by peer"},
		{tls.AlertError(40), 1300, "tls: handshake failure"},
		{tls.RecordHeaderError{Msg: "x"}, 1301, "tls: the server's answer is no TLS"},
		{http2.GoAwayError{ErrCode: http2.ErrCodeEnhanceYourCalm}, 1622, "http2: received GoAway with ENHANCE_YOUR_CALM"},
		{http2.GoAwayError{ErrCode: 99}, 1610, "http2: received GoAway with unknown error code 0x63"},
		{http2.StreamError{Code: http2.ErrCodeNo}, 1631, "http2: stream error with NO_ERROR"},
		{http2.ConnectionError(http2.ErrCodeProtocol), 1652, "http2: connection error with PROTOCOL_ERROR"},
		{NewK6Error(1701, "own", io.EOF), 1701, "own"},
	} {
		code, text := errorCodeForError(fmt.Errorf("wrapped: %w", tc.err))
		assert.Equal(t, tc.code, code, tc.err)
		assert.Contains(t, text, tc.text, tc.err)
	}
	assert.ErrorIs(t, NewK6Error(1000, "m", io.EOF), io.EOF)
}

func TestNamesOfTypes(t *testing.T) {
	for kind, name := range map[ResponseType]string{ResponseTypeText: "text", ResponseTypeBinary: "binary", ResponseTypeNone: "none"} {
		var read ResponseType
		require.NoError(t, read.UnmarshalText([]byte(name)))
		assert.Equal(t, kind, read)
		text, err := kind.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
	}
	for kind, name := range map[CompressionType]string{
		CompressionTypeGzip: "gzip", CompressionTypeDeflate: "deflate", CompressionTypeZstd: "zstd", CompressionTypeBr: "br",
	} {
		var read CompressionType
		require.NoError(t, read.UnmarshalText([]byte(name)))
		assert.Equal(t, kind, read)
		packed, encoding, err := compressBody([]CompressionType{kind}, bytes.NewBufferString("text"))
		require.NoError(t, err)
		assert.Equal(t, name, encoding)
		unpacked, err := decompressBody(encoding, packed.Bytes())
		require.NoError(t, err)
		assert.Equal(t, "text", string(unpacked))
	}
	_, err := ResponseTypeString("x")
	require.Error(t, err)
	_, err = CompressionTypeString("x")
	require.Error(t, err)
	_, _, err = compressBody([]CompressionType{99}, new(bytes.Buffer))
	require.Error(t, err)
}
