package httpext

import (
	"fmt"
	"net/url"
)

// URL is a parsed address together with the name that its requests have in metrics.
type URL struct {
	// Name is what the url and name tags show; it differs from the address for template literals.
	Name string
	// URL is the address as it was given.
	URL string
	// CleanURL is the address with user name and password masked.
	CleanURL string

	u *url.URL
	// target is the address as it is asked for, user info masked: CleanURL in normal form.
	target string
}

// NewURL parses an address. The error is a K6Error.
func NewURL(urlString, name string) (URL, error) {
	u, err := url.Parse(urlString)
	if err != nil {
		return URL{}, NewK6Error(invalidURLErrorCode, fmt.Sprintf("%s: %s", invalidURLErrorCodeMsg, err), err)
	}
	result := URL{Name: name, URL: urlString, u: u}
	result.CleanURL = result.Clean()
	if name == urlString {
		result.Name = result.CleanURL
	}
	result.target = cleanURL(u)
	return result, nil
}

// ToURL turns what a script gives as an address into a URL: a URL (made by the url`…` template) or a string.
func ToURL(u any) (URL, error) {
	switch given := u.(type) {
	case URL:
		return given, nil
	case *URL:
		if given == nil {
			break
		}
		return *given, nil
	case string:
		return NewURL(given, given)
	}
	return URL{}, NewK6Error(invalidURLErrorCode, fmt.Sprintf("%s: %#v", invalidURLErrorCodeMsg, u), nil)
}

// Clean returns the address with user name and password masked.
func (u URL) Clean() string {
	if u.CleanURL != "" {
		return u.CleanURL
	}
	if u.u == nil || u.u.User == nil {
		return u.URL
	}
	return cleanURL(u.u)
}

// GetURL returns the parsed address, or nil for the zero value.
func (u URL) GetURL() *url.URL { return u.u }

const (
	maskedUser         = "****"
	maskedUserPassword = "****:****"
)

// cleanURL writes an address with its user info masked.
func cleanURL(u *url.URL) string {
	if u.User == nil {
		return u.String()
	}
	masked := *u
	masked.User = nil
	mask := maskedUser
	if _, hasPassword := u.User.Password(); hasPassword {
		mask = maskedUserPassword
	}
	if masked.Host == "" {
		return masked.String()
	}
	// The mask has characters that url.UserPassword would escape, so it goes in through the host.
	text := masked.String()
	prefix := len(masked.Scheme)
	if prefix > 0 {
		prefix++
	}
	prefix += len("//")
	return text[:prefix] + mask + "@" + text[prefix:]
}
