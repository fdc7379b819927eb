package lib

import (
	"fmt"
	"net"
)

// IPNet is an IP network whose text form is a CIDR.
type IPNet struct {
	net.IPNet
}

// ParseCIDR reads a CIDR.
func ParseCIDR(s string) (*IPNet, error) {
	_, network, err := net.ParseCIDR(s)
	if err != nil {
		return nil, fmt.Errorf("failed to parse CIDR '%s': %w", s, err)
	}
	return &IPNet{IPNet: *network}, nil
}

// UnmarshalText reads a CIDR.
func (ipnet *IPNet) UnmarshalText(b []byte) error {
	network, err := ParseCIDR(string(b))
	if err != nil {
		return err
	}
	*ipnet = *network
	return nil
}

// MarshalText writes the CIDR.
func (ipnet *IPNet) MarshalText() ([]byte, error) { return []byte(ipnet.String()), nil }
