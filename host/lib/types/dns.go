package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/guregu/null.v3"
)

// DNSConfig says how host names are resolved.
type DNSConfig struct {
	// TTL is how long an answer is kept: a duration, a number of seconds (milliseconds as a bare number), "inf"
	// or "0".
	TTL    null.String   `json:"ttl"`
	Select NullDNSSelect `json:"select"`
	Policy NullDNSPolicy `json:"policy"`
	Valid  bool          `json:"-"`
}

// DefaultDNSConfig returns ttl=5m, select=random, policy=preferIPv4, as unset values.
func DefaultDNSConfig() DNSConfig {
	return DNSConfig{
		TTL:    null.NewString("5m", false),
		Select: NullDNSSelect{DNSrandom, false},
		Policy: NullDNSPolicy{DNSpreferIPv4, false},
	}
}

// String returns the text form, "ttl=5m,select=random,policy=preferIPv4".
func (c DNSConfig) String() string {
	return fmt.Sprintf("ttl=%s,select=%s,policy=%s", c.TTL.String, c.Select.DNSSelect, c.Policy.DNSPolicy)
}

// UnmarshalJSON reads an object of any of the three fields.
func (c *DNSConfig) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	var fields struct {
		TTL    null.String   `json:"ttl"`
		Select NullDNSSelect `json:"select"`
		Policy NullDNSPolicy `json:"policy"`
	}
	// The time to live may be given as a number.
	var loose map[string]json.RawMessage
	if err := json.Unmarshal(data, &loose); err != nil {
		return err
	}
	if ttl, ok := loose["ttl"]; ok && len(ttl) > 0 && ttl[0] != '"' && ttl[0] != 'n' {
		loose["ttl"] = json.RawMessage(`"` + string(ttl) + `"`)
		data, _ = json.Marshal(loose) //nolint:errchkjson // raw messages that were just parsed
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if err := checkTTL(fields.TTL); err != nil {
		return err
	}
	c.TTL, c.Select, c.Policy = fields.TTL, fields.Select, fields.Policy
	c.Valid = fields.TTL.Valid || fields.Select.Valid || fields.Policy.Valid
	return nil
}

// MarshalText writes the text form.
func (c DNSConfig) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalJSON writes the three fields.
func (c DNSConfig) MarshalJSON() ([]byte, error) {
	type fields DNSConfig
	return json.Marshal(fields(c))
}

// UnmarshalText reads the text form; any of the three may be missing.
func (c *DNSConfig) UnmarshalText(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		*c = DefaultDNSConfig()
		return nil
	}
	result := DNSConfig{Valid: true}
	for pair := range strings.SplitSeq(string(text), ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return fmt.Errorf("invalid DNS setting '%s', it has to be key=value", pair)
		}
		var err error
		switch key {
		case "ttl":
			result.TTL = null.StringFrom(value)
			err = checkTTL(result.TTL)
		case "select":
			err = result.Select.UnmarshalText([]byte(value))
		case "policy":
			err = result.Policy.UnmarshalText([]byte(value))
		default:
			err = fmt.Errorf("unknown DNS setting '%s', known are ttl, select and policy", key)
		}
		if err != nil {
			return err
		}
	}
	*c = result
	return nil
}

func checkTTL(ttl null.String) error {
	if !ttl.Valid || ttl.String == "inf" || ttl.String == "" {
		return nil
	}
	d, err := ParseExtendedDuration(ttl.String)
	if err != nil {
		return fmt.Errorf("invalid DNS TTL '%s': %w", ttl.String, err)
	}
	if d < 0 {
		return fmt.Errorf("invalid DNS TTL '%s': it can't be negative", ttl.String)
	}
	return nil
}

// DNSSelect is how one of several addresses is picked.
type DNSSelect uint8

// The ways to pick an address.
const (
	DNSfirst DNSSelect = iota + 1
	DNSroundRobin
	DNSrandom
)

func dnsSelectNames() []string { return []string{"first", "roundRobin", "random"} }

// String returns the name that options use.
func (s DNSSelect) String() string { return nameOf(dnsSelectNames(), uint8(s), "DNSSelect") }

// MarshalJSON writes the name.
func (s DNSSelect) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText writes the name.
func (s DNSSelect) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name.
func (s *DNSSelect) UnmarshalText(text []byte) error {
	v, err := valueOf(dnsSelectNames(), string(text), "DNS selection")
	if err != nil {
		return err
	}
	*s = DNSSelect(v)
	return nil
}

// UnmarshalJSON reads the name.
func (s *DNSSelect) UnmarshalJSON(data []byte) error {
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return err
	}
	return s.UnmarshalText([]byte(name))
}

// DNSPolicy is which address family is wanted.
type DNSPolicy uint8

// The address family policies.
const (
	DNSpreferIPv4 DNSPolicy = iota + 1
	DNSpreferIPv6
	DNSonlyIPv4
	DNSonlyIPv6
	DNSany
)

func dnsPolicyNames() []string {
	return []string{"preferIPv4", "preferIPv6", "onlyIPv4", "onlyIPv6", "any"}
}

// String returns the name that options use.
func (p DNSPolicy) String() string { return nameOf(dnsPolicyNames(), uint8(p), "DNSPolicy") }

// MarshalJSON writes the name.
func (p DNSPolicy) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// MarshalText writes the name.
func (p DNSPolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the name.
func (p *DNSPolicy) UnmarshalText(text []byte) error {
	v, err := valueOf(dnsPolicyNames(), string(text), "DNS policy")
	if err != nil {
		return err
	}
	*p = DNSPolicy(v)
	return nil
}

// UnmarshalJSON reads the name.
func (p *DNSPolicy) UnmarshalJSON(data []byte) error {
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return err
	}
	return p.UnmarshalText([]byte(name))
}

func nameOf(names []string, v uint8, kind string) string {
	if v < 1 || int(v) > len(names) {
		return fmt.Sprintf("%s(%d)", kind, v)
	}
	return names[v-1]
}

func valueOf(names []string, name, kind string) (uint8, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("invalid %s '%s', it has to be one of: %s", kind, name, strings.Join(names, ", "))
	}
	return uint8(i + 1), nil // #nosec -- the lists are short
}

// NullDNSSelect is a DNSSelect that may be unset.
type NullDNSSelect struct {
	DNSSelect
	Valid bool
}

// UnmarshalText reads the name; an empty text unsets.
func (n *NullDNSSelect) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*n = NullDNSSelect{}
		return nil
	}
	if err := n.DNSSelect.UnmarshalText(text); err != nil {
		return err
	}
	n.Valid = true
	return nil
}

// UnmarshalJSON reads the name; null unsets.
func (n *NullDNSSelect) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*n = NullDNSSelect{}
		return nil
	}
	if err := n.DNSSelect.UnmarshalJSON(data); err != nil {
		return err
	}
	n.Valid = true
	return nil
}

// MarshalJSON writes the name, or null.
func (n NullDNSSelect) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return n.DNSSelect.MarshalJSON()
}

// NullDNSPolicy is a DNSPolicy that may be unset.
type NullDNSPolicy struct {
	DNSPolicy
	Valid bool
}

// UnmarshalText reads the name; an empty text unsets.
func (n *NullDNSPolicy) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*n = NullDNSPolicy{}
		return nil
	}
	if err := n.DNSPolicy.UnmarshalText(text); err != nil {
		return err
	}
	n.Valid = true
	return nil
}

// UnmarshalJSON reads the name; null unsets.
func (n *NullDNSPolicy) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*n = NullDNSPolicy{}
		return nil
	}
	if err := n.DNSPolicy.UnmarshalJSON(data); err != nil {
		return err
	}
	n.Valid = true
	return nil
}

// MarshalJSON writes the name, or null.
func (n NullDNSPolicy) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return n.DNSPolicy.MarshalJSON()
}

// Apply returns the settings with those that are set in other taken from there.
func (c DNSConfig) Apply(other DNSConfig) DNSConfig {
	if other.TTL.Valid {
		c.TTL = other.TTL
	}
	if other.Select.Valid {
		c.Select = other.Select
	}
	if other.Policy.Valid {
		c.Policy = other.Policy
	}
	c.Valid = c.Valid || other.Valid
	return c
}
