package omnigraph

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// transportOf tells which transport an address belongs to: http and https in any case are HTTP; any other scheme, a
// bare path, or a single letter before the colon (a Windows drive) is the CLI's.
func transportOf(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if found {
		switch strings.ToLower(scheme) {
		case "http", "https":
			return wire.TransportHTTP
		}
		return wire.TransportCLI
	}
	// "http:/host" and "http:host" are slips of an HTTP address rather than paths.
	if scheme, _, found = strings.Cut(address, ":"); found {
		switch strings.ToLower(scheme) {
		case "http", "https":
			return wire.TransportHTTP
		}
	}
	return wire.TransportCLI
}

// uriScheme is how an address begins that is a URI. A Windows drive is a single letter, and no slashes follow it.
var uriScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// checkStore reports a store address that can't be one.
func checkStore(address string) error {
	if m := uriScheme.FindStringSubmatch(address); m != nil {
		switch strings.ToLower(m[1]) {
		case "file", "s3":
		default:
			return fmt.Errorf("has the scheme %q; a store is a local path, file:// or s3:// address, a server an http:// or https:// address", m[1])
		}
	}
	if m := uriScheme.FindString(address); m != "" {
		authority, _, _ := strings.Cut(address[len(m):], "/")
		if strings.Contains(authority, "@") {
			return fmt.Errorf("holds a user or password, which the CLI has no safe way to take; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
		}
	}
	if strings.ContainsAny(address, "\x00\n\r") {
		return fmt.Errorf("holds a control character; it takes a local path, file:// or s3:// address")
	}
	return nil
}
