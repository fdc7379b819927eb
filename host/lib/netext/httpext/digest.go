package httpext

import (
	"crypto/md5" // #nosec -- what RFC 7616 and most servers use
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"
)

// sendDigest makes a hop with digest authentication (RFC 7616): once without credentials, and, if the server sends a
// challenge, again with the answer.
func (x *exchange) sendDigest(req *http.Request) (*http.Response, error) {
	res, err := x.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || req.URL.User == nil {
		return res, err
	}
	challenge, ok := findDigestChallenge(res.Header.Values("WWW-Authenticate"))
	if !ok {
		return res, nil
	}
	password, _ := req.URL.User.Password()
	answer, err := challenge.answer(digestRequest{
		username: req.URL.User.Username(), password: password,
		method: req.Method, uri: req.URL.RequestURI(), cnonce: rand.Text(), body: req.GetBody,
	})
	if err != nil {
		return res, nil //nolint:nilerr // a challenge that nobody can answer is for the script to see
	}
	_, err = io.Copy(io.Discard, res.Body)
	closeBody(res)
	if err != nil {
		return nil, x.explain(err)
	}
	again := req.Clone(x.reqCtx)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", answer)
	return x.RoundTrip(again)
}

// digestChallenge is what a server asks for.
type digestChallenge struct {
	realm, nonce, opaque, algorithm string
	qop                             []string
}

// findDigestChallenge picks the first challenge of the Digest scheme whose algorithm is known.
func findDigestChallenge(headers []string) (digestChallenge, bool) {
	for _, header := range headers {
		params, ok := parseDigestHeader(header)
		if !ok {
			continue
		}
		c := digestChallenge{
			realm: params["realm"], nonce: params["nonce"], opaque: params["opaque"], algorithm: params["algorithm"],
		}
		for option := range strings.SplitSeq(params["qop"], ",") {
			if option = strings.TrimSpace(option); option != "" {
				c.qop = append(c.qop, strings.ToLower(option))
			}
		}
		if c.newHash() != nil {
			return c, true
		}
	}
	return digestChallenge{}, false
}

// parseDigestHeader reads `Digest name=value, name="value", …`; names are lower-cased.
func parseDigestHeader(header string) (map[string]string, bool) {
	const scheme = "digest "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return nil, false
	}
	params := make(map[string]string)
	rest := header[len(scheme):]
	for {
		rest = strings.TrimLeft(rest, " \t,")
		name, after, found := strings.Cut(rest, "=")
		if !found {
			return params, params["nonce"] != ""
		}
		name = strings.ToLower(strings.TrimSpace(name))
		after = strings.TrimLeft(after, " \t")
		var value string
		if strings.HasPrefix(after, `"`) {
			value, rest = cutQuoted(after[1:])
		} else {
			value, rest, _ = strings.Cut(after, ",")
			value = strings.TrimSpace(value)
		}
		params[name] = value
	}
}

// cutQuoted reads a quoted string whose opening quote is gone, and returns what follows it.
func cutQuoted(s string) (value, rest string) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				text.WriteByte(s[i])
			}
		case '"':
			return text.String(), s[i+1:]
		default:
			text.WriteByte(s[i])
		}
	}
	return text.String(), ""
}

func (c *digestChallenge) newHash() func() hash.Hash {
	switch strings.TrimSuffix(strings.ToUpper(c.algorithm), "-SESS") {
	case "", "MD5":
		return md5.New
	case "SHA-256":
		return sha256.New
	case "SHA-512-256":
		return sha512.New512_256
	}
	return nil
}

type digestRequest struct {
	username, password, method, uri, cnonce string
	body                                    func() (io.ReadCloser, error)
}

// answer computes the Authorization header (RFC 7616, section 3.4).
func (c *digestChallenge) answer(r digestRequest) (string, error) {
	newHash := c.newHash()
	digest := func(parts ...string) string {
		h := newHash()
		_, _ = io.WriteString(h, strings.Join(parts, ":")) //nolint:errcheck // a hash takes everything
		return hex.EncodeToString(h.Sum(nil))
	}
	const nonceCount = "00000001"
	ha1 := digest(r.username, c.realm, r.password)
	if strings.HasSuffix(strings.ToUpper(c.algorithm), "-SESS") {
		ha1 = digest(ha1, c.nonce, r.cnonce)
	}
	ha2 := digest(r.method, r.uri)
	qop := ""
	switch {
	case slices.Contains(c.qop, "auth"):
		qop = "auth"
	case slices.Contains(c.qop, "auth-int"):
		qop = "auth-int"
		h := newHash()
		if r.body != nil {
			body, err := r.body()
			if err != nil {
				return "", err
			}
			if _, err := io.Copy(h, body); err != nil {
				return "", err
			}
		}
		ha2 = digest(r.method, r.uri, hex.EncodeToString(h.Sum(nil)))
	case len(c.qop) > 0:
		return "", fmt.Errorf("the server asks for digest authentication with qop %q, of which none is known", c.qop)
	}
	response := digest(ha1, c.nonce, ha2)
	if qop != "" {
		response = digest(ha1, c.nonce, nonceCount, r.cnonce, qop, ha2)
	}

	var header strings.Builder
	fmt.Fprintf(&header, "Digest username=%s, realm=%s, nonce=%s, uri=%s, response=%s",
		quoted(r.username), quoted(c.realm), quoted(c.nonce), quoted(r.uri), quoted(response))
	if c.algorithm != "" {
		fmt.Fprintf(&header, ", algorithm=%s", c.algorithm)
	}
	if c.opaque != "" {
		fmt.Fprintf(&header, ", opaque=%s", quoted(c.opaque))
	}
	if qop != "" {
		fmt.Fprintf(&header, ", qop=%s, nc=%s, cnonce=%s", qop, nonceCount, quoted(r.cnonce))
	}
	return header.String(), nil
}

// quoted writes a quoted string of RFC 9110, section 5.6.4.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
