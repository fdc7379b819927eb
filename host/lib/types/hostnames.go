package types

import (
	"bytes"
	"encoding/json"
	"strings"
)

// HostnameTrie is a set of host-name patterns, matched from the top-level domain down.
type HostnameTrie struct {
	source   []string
	exact    map[string]string // lower-cased name to the pattern as given
	wildcard map[string]string // by suffix, as in Hosts
}

// NewHostnameTrie returns the set; a pattern is a host name, optionally starting with "*.".
func NewHostnameTrie(source []string) (*HostnameTrie, error) {
	t := &HostnameTrie{source: source, exact: make(map[string]string), wildcard: make(map[string]string)}
	for _, pattern := range source {
		name := strings.ToLower(pattern)
		if err := checkHostPattern(name); err != nil {
			return nil, err
		}
		if suffix, ok := strings.CutPrefix(name, "*"); ok {
			t.wildcard[suffix] = pattern
		} else {
			t.exact[name] = pattern
		}
	}
	return t, nil
}

// Contains says whether a pattern matches the host name, and which.
func (t *HostnameTrie) Contains(s string) (matchedPattern string, matchFound bool) {
	if t == nil {
		return "", false
	}
	s = strings.ToLower(s)
	if pattern, ok := t.exact[s]; ok {
		return pattern, true
	}
	for i := range len(s) {
		if s[i] != '.' {
			continue
		}
		if pattern, ok := t.wildcard[s[i:]]; ok {
			return pattern, true
		}
	}
	pattern, ok := t.wildcard[""]
	return pattern, ok
}

// NullHostnameTrie is a pattern set that may be unset.
type NullHostnameTrie struct {
	Trie  *HostnameTrie
	Valid bool
}

// NewNullHostnameTrie returns a set one.
func NewNullHostnameTrie(source []string) (NullHostnameTrie, error) {
	trie, err := NewHostnameTrie(source)
	if err != nil {
		return NullHostnameTrie{}, err
	}
	return NullHostnameTrie{Trie: trie, Valid: true}, nil
}

// UnmarshalText reads a comma-separated list; an empty text unsets.
func (d *NullHostnameTrie) UnmarshalText(data []byte) error {
	if len(data) == 0 {
		*d = NullHostnameTrie{}
		return nil
	}
	return d.set(strings.Split(string(data), ","))
}

// UnmarshalJSON reads a list of patterns; null unsets.
func (d *NullHostnameTrie) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*d = NullHostnameTrie{}
		return nil
	}
	var patterns []string
	if err := json.Unmarshal(data, &patterns); err != nil {
		return err
	}
	return d.set(patterns)
}

func (d *NullHostnameTrie) set(patterns []string) error {
	trie, err := NewNullHostnameTrie(patterns)
	if err != nil {
		return err
	}
	*d = trie
	return nil
}

// MarshalJSON writes the patterns as given, or null.
func (d NullHostnameTrie) MarshalJSON() ([]byte, error) {
	if !d.Valid || d.Trie == nil {
		return []byte("null"), nil
	}
	return json.Marshal(d.Trie.source)
}
