package lib

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"

	"gopkg.in/guregu/null.v3"
)

// TLSAuthFields are the script's part of a client certificate: certificate and key in PEM form, the key's password
// if it's encrypted, and the domains to show it to (none means all).
type TLSAuthFields struct {
	Cert     string      `json:"cert"`
	Key      string      `json:"key"`
	Password null.String `json:"password"`
	Domains  []string    `json:"domains"`
}

// TLSAuth is a client certificate. It is safe for concurrent use.
type TLSAuth struct {
	TLSAuthFields

	once        sync.Once
	certificate *tls.Certificate
	err         error
}

// UnmarshalJSON reads the fields and checks the certificate.
func (c *TLSAuth) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &c.TLSAuthFields); err != nil {
		return err
	}
	_, err := c.Certificate()
	return err
}

// MarshalJSON writes the fields.
func (c *TLSAuth) MarshalJSON() ([]byte, error) { return marshalJSON(c.TLSAuthFields) }

// Certificate returns the certificate, which is read once.
func (c *TLSAuth) Certificate() (*tls.Certificate, error) {
	c.once.Do(func() { c.certificate, c.err = c.load() })
	return c.certificate, c.err
}

func (c *TLSAuth) load() (*tls.Certificate, error) {
	key := []byte(c.Key)
	if c.Password.Valid {
		var err error
		if key, err = decryptKey(key, c.Password.String); err != nil {
			return nil, err
		}
	}
	certificate, err := tls.X509KeyPair([]byte(c.Cert), key)
	if err != nil {
		return nil, fmt.Errorf("tlsAuth: reading the certificate and its key: %w", err)
	}
	return &certificate, nil
}

var errNoPEM = errors.New("tlsAuth: the key is not in PEM form")

func decryptKey(key []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errNoPEM
	}
	//nolint:staticcheck // weak as it is, this form of encryption is what the option is for
	if !x509.IsEncryptedPEMBlock(block) {
		return key, nil
	}
	der, err := x509.DecryptPEMBlock(block, []byte(password)) //nolint:staticcheck // see above
	if err != nil {
		return nil, fmt.Errorf("tlsAuth: decrypting the key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
}
