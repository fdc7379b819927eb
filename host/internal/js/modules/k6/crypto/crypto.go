// Package crypto is the k6/crypto module: digests, keyed digests and random bytes for scripts.
package crypto

import (
	"crypto/hmac"
	"crypto/md5" // #nosec -- for checking against systems that use it
	"crypto/rand"
	"crypto/sha1" // #nosec -- for checking against systems that use it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/grafana/sobek"
	// #nosec G506 -- for checking against systems that use it
	"golang.org/x/crypto/md4" //nolint:staticcheck // as above
	// #nosec G507 -- for checking against systems that use it
	"golang.org/x/crypto/ripemd160" //nolint:staticcheck // as above

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &module{vu: vu}
	named := map[string]any{
		"createHash":  m.createHash,
		"createHMAC":  m.createHMAC,
		"hmac":        m.hmac,
		"randomBytes": m.randomBytes,
		"hexEncode":   hexEncode,
	}
	for _, name := range algorithms() {
		named[name] = m.digest(name)
	}
	m.exports = modules.Exports{Named: named}
	return m
}

type module struct {
	vu      modules.VU
	exports modules.Exports
}

// Exports returns the functions.
func (m *module) Exports() modules.Exports { return m.exports }

func algorithms() []string {
	return []string{"md4", "md5", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256", "ripemd160"}
}

func newHash(name string) (func() hash.Hash, error) {
	switch name {
	case "md4":
		return md4.New, nil
	case "md5":
		return md5.New, nil
	case "sha1":
		return sha1.New, nil
	case "sha256":
		return sha256.New, nil
	case "sha384":
		return sha512.New384, nil
	case "sha512":
		return sha512.New, nil
	case "sha512_224":
		return sha512.New512_224, nil
	case "sha512_256":
		return sha512.New512_256, nil
	case "ripemd160":
		return ripemd160.New, nil
	default:
		return nil, fmt.Errorf("invalid algorithm: %s", name)
	}
}

// hasher is a digest at work, as a script sees it.
type hasher struct {
	vu   modules.VU
	hash hash.Hash
}

// Update adds data and returns the hasher, so that calls can be chained.
func (h *hasher) Update(input sobek.Value) (*hasher, error) {
	data, err := toBytes(input)
	if err != nil {
		return nil, err
	}
	h.hash.Write(data) // never fails
	return h, nil
}

// Digest returns the digest of what was added so far.
func (h *hasher) Digest(outputEncoding string) (any, error) {
	return encode(h.vu.Runtime(), h.hash.Sum(nil), outputEncoding)
}

func (m *module) createHash(algorithm string) (*hasher, error) {
	newHash, err := newHash(algorithm)
	if err != nil {
		return nil, err
	}
	return &hasher{vu: m.vu, hash: newHash()}, nil
}

func (m *module) createHMAC(algorithm string, key sobek.Value) (*hasher, error) {
	newHash, err := newHash(algorithm)
	if err != nil {
		return nil, err
	}
	secret, err := toBytes(key)
	if err != nil {
		return nil, err
	}
	return &hasher{vu: m.vu, hash: hmac.New(newHash, secret)}, nil
}

func (m *module) hmac(algorithm string, key, data sobek.Value, outputEncoding string) (any, error) {
	h, err := m.createHMAC(algorithm, key)
	if err != nil {
		return nil, err
	}
	if _, err = h.Update(data); err != nil {
		return nil, err
	}
	return h.Digest(outputEncoding)
}

func (m *module) digest(algorithm string) func(sobek.Value, string) (any, error) {
	return func(data sobek.Value, outputEncoding string) (any, error) {
		h, err := m.createHash(algorithm)
		if err != nil {
			return nil, err
		}
		if _, err = h.Update(data); err != nil {
			return nil, err
		}
		return h.Digest(outputEncoding)
	}
}

var errBadSize = errors.New("invalid size: randomBytes needs a whole number that is more than 0")

// maxRandomBytes bounds what one call allocates.
const maxRandomBytes = 1 << 30

func (m *module) randomBytes(size int) (sobek.ArrayBuffer, error) {
	rt := m.vu.Runtime()
	if size < 1 || size > maxRandomBytes {
		return sobek.ArrayBuffer{}, errBadSize
	}
	random := make([]byte, size)
	if _, err := rand.Read(random); err != nil {
		return sobek.ArrayBuffer{}, fmt.Errorf("reading random bytes: %w", err)
	}
	return rt.NewArrayBuffer(random), nil
}

func hexEncode(input sobek.Value) (string, error) {
	data, err := toBytes(input)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(data), nil
}

func toBytes(input sobek.Value) ([]byte, error) {
	if common.IsNullish(input) {
		return nil, fmt.Errorf("invalid type: %v is neither a string nor an ArrayBuffer", input)
	}
	return common.ToBytes(input.Export())
}

func encode(rt *sobek.Runtime, digest []byte, encoding string) (any, error) {
	switch encoding {
	case "base64":
		return base64.StdEncoding.EncodeToString(digest), nil
	case "base64url":
		return base64.URLEncoding.EncodeToString(digest), nil
	case "base64rawurl":
		return base64.RawURLEncoding.EncodeToString(digest), nil
	case "hex":
		return hex.EncodeToString(digest), nil
	case "binary":
		return rt.NewArrayBuffer(digest), nil
	default:
		return nil, fmt.Errorf("invalid output encoding: %s", encoding)
	}
}
