package lib

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
)

// TLSVersion is a version of TLS, numbered as in crypto/tls.
type TLSVersion int

func tlsVersionNames() map[TLSVersion]string {
	return map[TLSVersion]string{
		tls.VersionTLS10: "tls1.0",
		tls.VersionTLS11: "tls1.1",
		tls.VersionTLS12: "tls1.2",
		tls.VersionTLS13: "tls1.3",
	}
}

// String returns the name, such as "tls1.2", or "" for no version.
func (v TLSVersion) String() string { return tlsVersionNames()[v] }

// MarshalJSON writes the name.
func (v TLSVersion) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// UnmarshalJSON reads the name.
func (v *TLSVersion) UnmarshalJSON(data []byte) error {
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return err
	}
	if name == "" {
		*v = 0
		return nil
	}
	for version, known := range tlsVersionNames() {
		if known == name {
			*v = version
			return nil
		}
	}
	return fmt.Errorf("unknown TLS version '%s', it has to be one of tls1.0, tls1.1, tls1.2 and tls1.3", name)
}

// TLSVersions is the range of versions to use; 0 leaves an end open.
type TLSVersions struct {
	Min TLSVersion `json:"min"`
	Max TLSVersion `json:"max"`
}

// UnmarshalJSON reads an object with min and max, or one version for both.
func (v *TLSVersions) UnmarshalJSON(data []byte) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '"' {
		var version TLSVersion
		if err := json.Unmarshal(data, &version); err != nil {
			return err
		}
		*v = TLSVersions{Min: version, Max: version}
		return nil
	}
	type object TLSVersions
	return json.Unmarshal(data, (*object)(v))
}
