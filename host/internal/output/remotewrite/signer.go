package remotewrite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// signer signs requests as AWS wants it (Signature Version 4), for its managed Prometheus.
type signer struct {
	region, accessKey, secretKey string
	now                          func() time.Time
}

const (
	signedService   = "aps"
	signedAlgorithm = "AWS4-HMAC-SHA256"
)

// sign adds the headers that prove who sends the request with this body.
func (s *signer) sign(req *http.Request, body []byte) {
	now := s.now().UTC()
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	bodyHash := hexHash(body)
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Content-Sha256", bodyHash)

	headers := map[string]string{"host": req.URL.Host}
	for _, name := range []string{"Content-Encoding", "Content-Type", "X-Amz-Date", "X-Amz-Content-Sha256"} {
		headers[strings.ToLower(name)] = strings.TrimSpace(req.Header.Get(name))
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var canonical strings.Builder
	for _, name := range names {
		canonical.WriteString(name + ":" + headers[name] + "\n")
	}
	signedHeaders := strings.Join(names, ";")

	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	// url.Values sorts by name and escapes a space as "+", where AWS wants "%20".
	query := strings.ReplaceAll(req.URL.Query().Encode(), "+", "%20")
	request := strings.Join([]string{req.Method, path, query, canonical.String(), signedHeaders, bodyHash}, "\n")
	scope := strings.Join([]string{day, s.region, signedService, "aws4_request"}, "/")
	toSign := strings.Join([]string{signedAlgorithm, stamp, scope, hexHash([]byte(request))}, "\n")
	signature := hex.EncodeToString(mac(signingKey(s.secretKey, day, s.region, signedService), toSign))
	req.Header.Set("Authorization", signedAlgorithm+" Credential="+s.accessKey+"/"+scope+
		", SignedHeaders="+signedHeaders+", Signature="+signature)
}

func signingKey(secret, day, region, service string) []byte {
	key := mac([]byte("AWS4"+secret), day)
	key = mac(key, region)
	key = mac(key, service)
	return mac(key, "aws4_request")
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
