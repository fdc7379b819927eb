package http

import (
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// CookieJar is a cookie jar as scripts have it.
type CookieJar struct {
	jar *cookiejar.Jar
}

// cookieJar is http.cookieJar(): the jar of the VU.
func (m *module) cookieJar(sobek.FunctionCall) sobek.Value {
	state := m.vu.State()
	if state == nil {
		common.Throw(m.rt, errors.New("http.cookieJar: a VU has no cookie jar in the init context"))
	}
	return m.rt.ToValue(&CookieJar{jar: state.CookieJar})
}

// newCookieJar is new http.CookieJar(): an empty jar.
func (m *module) newCookieJar(call sobek.ConstructorCall) *sobek.Object {
	jar, err := cookiejar.New(nil)
	if err != nil {
		common.Throw(m.rt, err)
	}
	object := m.rt.ToValue(&CookieJar{jar: jar}).ToObject(m.rt)
	if err := object.SetPrototype(call.This.Prototype()); err != nil {
		common.Throw(m.rt, err)
	}
	return object
}

// CookiesForURL returns the values of the cookies that would be sent to an address, by name.
func (j *CookieJar) CookiesForURL(address string) (map[string][]string, error) {
	u, err := parseCookieURL(address)
	if err != nil {
		return nil, err
	}
	values := make(map[string][]string)
	for _, cookie := range j.jar.Cookies(u) {
		values[cookie.Name] = append(values[cookie.Name], cookie.Value)
	}
	return values, nil
}

// Set puts a cookie into the jar, as if the address had set it.
func (j *CookieJar) Set(address, name, value string, options map[string]any) (bool, error) {
	u, err := parseCookieURL(address)
	if err != nil {
		return false, err
	}
	// #nosec G124 -- whether a cookie is Secure or HttpOnly is for the script to say
	cookie := &nethttp.Cookie{Name: name, Value: value}
	for key, option := range options {
		if err := setCookieOption(cookie, key, option); err != nil {
			return false, err
		}
	}
	j.jar.SetCookies(u, []*nethttp.Cookie{cookie})
	return true, nil
}

// #nosec G124 -- whether a cookie is Secure or HttpOnly is for the script to say
func setCookieOption(cookie *nethttp.Cookie, key string, option any) error {
	if option == nil {
		return nil
	}
	switch key {
	case "domain":
		cookie.Domain = fmt.Sprint(option)
	case "path":
		cookie.Path = fmt.Sprint(option)
	case "expires":
		text := fmt.Sprint(option)
		expires, err := time.Parse(time.RFC1123, text)
		if err != nil {
			return fmt.Errorf("the cookie option expires has to look like %q, not %q", time.RFC1123, text)
		}
		cookie.Expires = expires
	case "max_age":
		switch age := option.(type) {
		case int64:
			cookie.MaxAge = int(age)
		case float64:
			cookie.MaxAge = int(age)
		default:
			return fmt.Errorf("the cookie option max_age has to be a number of seconds, not %v", option)
		}
	case "secure":
		cookie.Secure, _ = option.(bool)
	case "http_only":
		cookie.HttpOnly, _ = option.(bool)
	}
	return nil
}

// Clear deletes all cookies that would be sent to an address.
func (j *CookieJar) Clear(address string) error {
	u, err := parseCookieURL(address)
	if err != nil {
		return err
	}
	j.expire(u, j.jar.Cookies(u))
	return nil
}

// Delete deletes the cookies of a name that would be sent to an address.
func (j *CookieJar) Delete(address, name string) error {
	u, err := parseCookieURL(address)
	if err != nil {
		return err
	}
	for _, cookie := range j.jar.Cookies(u) {
		if cookie.Name == name {
			j.expire(u, []*nethttp.Cookie{cookie})
		}
	}
	return nil
}

// expire deletes cookies. A jar does not tell the domain and path that it keeps a cookie under, so it is tried for
// each that the address could mean.
func (j *CookieJar) expire(u *neturl.URL, cookies []*nethttp.Cookie) {
	var gone []*nethttp.Cookie
	for _, cookie := range cookies {
		for _, path := range pathsAbove(u.Path) {
			for _, domain := range domainsAbove(u.Hostname()) {
				// #nosec G124 -- a cookie that is being deleted
				gone = append(gone, &nethttp.Cookie{Name: cookie.Name, Domain: domain, Path: path, MaxAge: -1})
			}
		}
	}
	j.jar.SetCookies(u, gone)
}

// domainsAbove lists the domains whose cookies are sent to a host; an empty one stands for the host itself.
func domainsAbove(host string) []string {
	domains := []string{""}
	if net.ParseIP(host) != nil {
		return domains
	}
	for i := 0; i < len(host); i++ {
		if host[i] == '.' {
			domains = append(domains, host[i+1:])
		}
	}
	return domains
}

// pathsAbove lists the paths whose cookies are sent to a path: "/a/b" gives "/a/b", "/a/b/", "/a", "/a/" and "/".
func pathsAbove(path string) []string {
	paths := []string{"/"}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			paths = append(paths, path[:i], path[:i+1])
		}
	}
	if len(path) > 1 {
		paths = append(paths, path)
	}
	return paths
}

func parseCookieURL(address string) (*neturl.URL, error) {
	u, err := neturl.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of a cookie: %w", err)
	}
	return u, nil
}
