package httpext

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
)

// redirectMethod says how a request continues after a redirection: with which method, and whether with its body. It
// is empty if the status asks for no other request (RFC 9110, section 15.4).
func redirectMethod(method string, status int) (next string, keepBody bool) {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if method == http.MethodGet || method == http.MethodHead {
			return method, false
		}
		return http.MethodGet, false
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return method, true
	}
	return "", false
}

// redirectTarget resolves the Location header against the address that sent it.
func redirectTarget(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("failed to parse Location header %q: %w", location, err)
	}
	if to.Fragment == "" && from.Fragment != "" {
		// RFC 9110, section 10.2.2: the fragment is inherited.
		to.Fragment, to.RawFragment = from.Fragment, from.RawFragment
	}
	return to, nil
}

// nextHop makes the request that follows a redirection.
func nextHop(
	last *http.Request, res *http.Response, to *url.URL, method string, keepBody bool, body []byte,
) (*http.Request, error) {
	next := &http.Request{
		Method: method, URL: to, Proto: last.Proto, ProtoMajor: last.ProtoMajor, ProtoMinor: last.ProtoMinor,
		Header: last.Header.Clone(),
	}
	switch {
	case body != nil:
		setBody(next, body)
	case keepBody && last.GetBody != nil:
		// The caller gave the request a body itself.
		again, err := last.GetBody()
		if err != nil {
			return nil, fmt.Errorf("sending the body again: %w", err)
		}
		next.Body, next.GetBody, next.ContentLength = again, last.GetBody, last.ContentLength
	default:
		next.Header.Del("Content-Type")
		next.Header.Del("Content-Length")
		next.Header.Del("Content-Encoding")
	}
	if last.Host != "" && last.Host != last.URL.Host && !isAbsolute(res.Header.Get("Location")) {
		// A Host header set by hand holds as long as the server does not name another one.
		next.Host = last.Host
	}
	if !sameSite(last.URL, to) {
		for _, name := range []string{"Authorization", "Www-Authenticate", "Cookie", "Cookie2", "Proxy-Authorization"} {
			next.Header.Del(name)
		}
	}
	next.Header.Del("Referer")
	if referer := refererFor(last.URL, to); referer != "" {
		next.Header.Set("Referer", referer)
	}
	return next, nil
}

func isAbsolute(location string) bool {
	u, err := url.Parse(location)
	return err == nil && u.Host != ""
}

// sameSite says whether headers that authorise a request may go along to another address: to the same host and to
// those below it.
func sameSite(from, to *url.URL) bool {
	source, target := strings.ToLower(from.Hostname()), strings.ToLower(to.Hostname())
	return source == target || (source != "" && strings.HasSuffix(target, "."+source) && !strings.Contains(source, ":"))
}

// refererFor is empty on the way from https to http.
func refererFor(from, to *url.URL) string {
	if from.Scheme == "https" && to.Scheme == "http" {
		return ""
	}
	clean := *from
	clean.User = nil
	clean.Fragment, clean.RawFragment = "", ""
	return clean.String()
}

// renewCookies replaces the jar's cookies in the header of a hop: those of the address before, and what the response
// set or deleted, give way to those of the new address. Cookies that the script set itself stay.
func renewCookies(next *http.Request, last *http.Request, res *http.Response, jar *cookiejar.Jar, sent []*http.Cookie) {
	if jar == nil {
		return
	}
	var own []*http.Cookie
	if sameSite(last.URL, next.URL) {
		set := res.Cookies()
		for _, cookie := range next.Cookies() {
			fromJar := slices.ContainsFunc(sent, func(c *http.Cookie) bool {
				return c.Name == cookie.Name && c.Value == cookie.Value
			})
			renewed := slices.ContainsFunc(set, func(c *http.Cookie) bool { return c.Name == cookie.Name })
			if !fromJar && !renewed {
				own = append(own, cookie)
			}
		}
	}
	next.Header.Del("Cookie")
	for _, cookie := range jar.Cookies(next.URL) {
		if !slices.ContainsFunc(own, func(c *http.Cookie) bool { return c.Name == cookie.Name }) {
			next.AddCookie(cookie)
		}
	}
	for _, cookie := range own {
		next.AddCookie(cookie)
	}
}

// setBody gives a request a body that it can send more than once.
func setBody(req *http.Request, body []byte) {
	req.ContentLength = int64(len(body))
	if len(body) == 0 {
		req.Body = http.NoBody
		req.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
		return
	}
	// Of io.NopCloser around a bytes.Reader the transport knows that it cannot block, and sends it together with the
	// headers; with a type of our own it would take one packet more.
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}
