package lib

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
)

// TLSCipherSuites are cipher suites, numbered as in crypto/tls.
type TLSCipherSuites []uint16

func knownCipherSuites() []*tls.CipherSuite {
	return append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
}

// MarshalJSON writes a list of names.
func (s *TLSCipherSuites) MarshalJSON() ([]byte, error) {
	names := make([]string, 0, len(*s))
	for _, id := range *s {
		names = append(names, tls.CipherSuiteName(id))
	}
	return json.Marshal(names)
}

// UnmarshalJSON reads a list of names.
func (s *TLSCipherSuites) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	suites := make(TLSCipherSuites, 0, len(names))
	for _, name := range names {
		id, ok := cipherSuiteID(name)
		if !ok {
			return fmt.Errorf("unknown cipher suite '%s'", name)
		}
		suites = append(suites, id)
	}
	*s = suites
	return nil
}

// UnmarshalText reads the JSON form, as an environment variable holds it.
func (s *TLSCipherSuites) UnmarshalText(data []byte) error { return s.UnmarshalJSON(data) }

// cipherSuiteID knows the names of IANA and, where they differ, those that crypto/tls had for the same suites before.
func cipherSuiteID(name string) (uint16, bool) {
	switch name {
	case "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305":
		return tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305, true
	case "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305":
		return tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305, true
	}
	for _, suite := range knownCipherSuites() {
		if suite.Name == name {
			return suite.ID, true
		}
	}
	return 0, false
}
