package netext

import (
	"fmt"
	"net"

	"go.k6.io/k6/v2/lib"
)

// BlackListedIPError says that an address lies in one of the networks of the blacklistIPs option.
type BlackListedIPError struct {
	ip  net.IP
	net *lib.IPNet
}

// Error names the address and the network that forbids it.
func (e BlackListedIPError) Error() string {
	return fmt.Sprintf("IP (%s) is in a blacklisted range (%s)", e.ip, e.net.String())
}

// BlockedHostError says that a host name fits a pattern of the blockHostnames option.
type BlockedHostError struct {
	hostname string
	match    string
}

// Error names the host and the pattern that forbids it.
func (e BlockedHostError) Error() string {
	return fmt.Sprintf("hostname (%s) is in a blocked pattern (%s)", e.hostname, e.match)
}
