package httpext_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib/netext/httpext"
)

func withUser(f *fixture) string { return strings.Replace(f.url, "http://", "http://user:pass@", 1) }

func post(auth string) func(*httpext.ParsedHTTPRequest) {
	return func(p *httpext.ParsedHTTPRequest) {
		p.Req.Method = http.MethodPost
		p.Body = bytes.NewBufferString("payload")
		p.Auth = auth
	}
}

func TestDigestAuthentication(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Authorization"), `Digest username="user", realm="here", nonce="n1", uri="/secret?x=1"`) {
			return
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="here", nonce="n1", qop="auth", algorithm=SHA-256`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	res := f.do(t, withUser(f)+"/secret?x=1", post("digest"))
	assert.Equal(t, 200, res.Status)
	assert.Equal(t, []string{"payload", "payload"}, f.bodies)
	tags := f.tags(t)
	require.Len(t, tags, 2)
	assert.Equal(t, "401", tags[0]["status"])
	assert.Equal(t, "true", tags[0]["expected_response"], "the challenge is a step of the authentication")
	assert.Equal(t, "200", tags[1]["status"])

	t.Run("refused", func(t *testing.T) {
		f := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Digest realm="here", nonce="n1"`)
			w.WriteHeader(http.StatusUnauthorized)
		})
		assert.Equal(t, 401, f.do(t, withUser(f), post("digest")).Status)
		tags := f.tags(t)
		require.Len(t, tags, 2)
		assert.Equal(t, "false", tags[1]["expected_response"])
	})
	t.Run("no challenge", func(t *testing.T) {
		f := newFixture(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		assert.Equal(t, 401, f.do(t, withUser(f), post("digest")).Status)
		assert.Len(t, f.tags(t), 1)
	})
}

// ntlmChallenge is a CHALLENGE_MESSAGE of MS-NLMP, section 2.2.1.2, with empty target name and information.
func ntlmChallenge() string {
	message := make([]byte, 56)
	copy(message, "NTLMSSP\x00")
	binary.LittleEndian.PutUint32(message[8:], 2)
	binary.LittleEndian.PutUint32(message[16:], 56)
	binary.LittleEndian.PutUint32(message[20:], 0xa2088205) // Unicode, NTLM, target info, extended session security
	copy(message[24:], "12345678")
	binary.LittleEndian.PutUint16(message[40:], 4)
	binary.LittleEndian.PutUint16(message[42:], 4)
	binary.LittleEndian.PutUint32(message[44:], 52)
	return base64.StdEncoding.EncodeToString(message)
}

func TestNTLMAuthentication(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		token, isNTLM := strings.CutPrefix(r.Header.Get("Authorization"), "NTLM ")
		message, err := base64.StdEncoding.DecodeString(token)
		switch {
		case isNTLM && err == nil && len(message) > 8 && message[8] == 3:
			return
		case isNTLM && err == nil && len(message) > 8 && message[8] == 1:
			w.Header().Set("WWW-Authenticate", "NTLM "+ntlmChallenge())
		default:
			w.Header().Set("WWW-Authenticate", "NTLM")
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	res := f.do(t, withUser(f), post("ntlm"))
	assert.Equal(t, 200, res.Status)
	assert.Equal(t, "payload", f.bodies[len(f.bodies)-1])
	tags := f.tags(t)
	require.Len(t, tags, len(f.seen))
	for _, leg := range tags[:len(tags)-1] {
		assert.Equal(t, "401", leg["status"])
		assert.Equal(t, "true", leg["expected_response"])
	}
	assert.Equal(t, "200", tags[len(tags)-1]["status"])
}
