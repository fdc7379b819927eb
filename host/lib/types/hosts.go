package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Host is an address that a host name is redirected to; port 0 keeps the port asked for.
type Host net.TCPAddr

// NewHost returns a Host. An empty port string means any port.
func NewHost(ip net.IP, portString string) (*Host, error) {
	port := 0
	if portString != "" {
		n, err := strconv.ParseUint(portString, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("invalid port '%s': %w", portString, err)
		}
		port = int(n)
	}
	return &Host{IP: ip, Port: port}, nil
}

// String returns "IP" or "IP:port".
func (h Host) String() string {
	if h.Port == 0 {
		return h.IP.String()
	}
	addr := net.TCPAddr(h)
	return addr.String()
}

// MarshalText writes the text form.
func (h Host) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads "IP", "IP:port" or "[IPv6]:port".
func (h *Host) UnmarshalText(data []byte) error {
	text := string(data)
	if ip := net.ParseIP(text); ip != nil {
		*h = Host{IP: ip}
		return nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("invalid host address '%s': %w", text, err)
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return fmt.Errorf("invalid IP address '%s'", text)
	}
	parsed, err := NewHost(ip, port)
	if err != nil {
		return err
	}
	*h = *parsed
	return nil
}

// Hosts maps host-name patterns to addresses.
type Hosts struct {
	source   map[string]Host
	exact    map[string]*Host
	wildcard map[string]*Host // by the suffix, the leading "*" removed: ".example.org"
}

// NewHosts returns the map; a key is a host name, optionally starting with "*.", optionally followed by ":port".
func NewHosts(source map[string]Host) (*Hosts, error) {
	h := &Hosts{
		source:   source,
		exact:    make(map[string]*Host, len(source)),
		wildcard: make(map[string]*Host),
	}
	for pattern, address := range source {
		name := strings.ToLower(pattern)
		if host, port, ok := cutPort(name); ok {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return nil, fmt.Errorf("invalid host pattern '%s': invalid port '%s'", pattern, port)
			}
			if err := checkHostPattern(host); err != nil {
				return nil, err
			}
		} else if err := checkHostPattern(name); err != nil {
			return nil, err
		}
		if suffix, ok := strings.CutPrefix(name, "*"); ok {
			h.wildcard[suffix] = &address
		} else {
			h.exact[name] = &address
		}
	}
	return h, nil
}

// Match returns the address for a host name, or for "host:port", or nil.
func (t *Hosts) Match(s string) *Host {
	if t == nil {
		return nil
	}
	s = strings.ToLower(s)
	if address, ok := t.exact[s]; ok {
		return address
	}
	// The longest suffix is the most specific pattern.
	for i := range len(s) {
		if s[i] != '.' {
			continue
		}
		if address, ok := t.wildcard[s[i:]]; ok {
			return address
		}
	}
	return t.wildcard[""]
}

func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.IndexByte(s, ':') != i {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// NullHosts is a host map that may be unset.
type NullHosts struct {
	Trie  *Hosts
	Valid bool
}

// NewNullHosts returns a set map.
func NewNullHosts(source map[string]Host) (NullHosts, error) {
	trie, err := NewHosts(source)
	if err != nil {
		return NullHosts{}, err
	}
	return NullHosts{Trie: trie, Valid: true}, nil
}

// UnmarshalJSON reads an object of pattern to address; null unsets.
func (n *NullHosts) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*n = NullHosts{}
		return nil
	}
	source := make(map[string]Host)
	if err := json.Unmarshal(data, &source); err != nil {
		return err
	}
	hosts, err := NewNullHosts(source)
	if err != nil {
		return err
	}
	*n = hosts
	return nil
}

// MarshalJSON writes the map as it was given, or null.
func (n NullHosts) MarshalJSON() ([]byte, error) {
	if !n.Valid || n.Trie == nil {
		return []byte("null"), nil
	}
	return json.Marshal(n.Trie.source)
}

// UnmarshalText reads the JSON form, as an environment variable holds it; an empty text unsets.
func (n *NullHosts) UnmarshalText(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		*n = NullHosts{}
		return nil
	}
	return n.UnmarshalJSON(data)
}

var errEmptyHost = errors.New("a host name pattern cannot be empty")

// checkHostPattern accepts a host name, an IP address, and one "*" in place of the first label.
func checkHostPattern(s string) error {
	if s == "" {
		return errEmptyHost
	}
	if s == "*" || net.ParseIP(s) != nil {
		return nil
	}
	name := strings.TrimPrefix(s, "*.")
	for label := range strings.SplitSeq(name, ".") {
		if !validLabel(label) {
			return fmt.Errorf("invalid host name pattern '%s'", s)
		}
	}
	return nil
}

func validLabel(label string) bool {
	if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, r := range label {
		ok := r == '-' || r == '_' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || r > 127
		if !ok {
			return false
		}
	}
	return true
}
