// Package httpext makes the HTTP requests of a test and measures them: one trail of samples for each exchange.
package httpext

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"time"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/metrics"
)

// ParsedHTTPRequest is a request ready to be made. It serves one call: making it changes it.
type ParsedHTTPRequest struct {
	URL  *URL
	Body *bytes.Buffer // nil for none
	Req  *http.Request
	// Timeout bounds the whole request, redirects and body included. It has to be positive: with 0 it is over at
	// once.
	Timeout time.Duration
	// Auth is "digest", "ntlm" or empty, for which user info in the URL means basic authentication.
	Auth string
	// Throw makes transport failures errors; without it they are responses with Status 0.
	Throw        bool
	ResponseType ResponseType
	// ResponseCallback says whether a status (0 on failure) is as expected. Without one nothing counts as failed.
	ResponseCallback func(int) bool
	// Compressions are applied to the body, in this order.
	Compressions []CompressionType
	// Redirects is how many redirections are followed. If it is not Valid, stopping short logs a warning.
	Redirects null.Int
	// ActiveJar takes the cookies of responses and gives them to further hops; it may be nil. The cookies of the
	// first hop are set by SetRequestCookies.
	ActiveJar *cookiejar.Jar
	// Cookies are those of this request alone, by name.
	Cookies     map[string]*HTTPRequestCookie
	TagsAndMeta metrics.TagsAndMeta
}

// Request is what was asked for, as a response shows it.
type Request struct {
	Method  string                          `json:"method"`
	URL     string                          `json:"url"`
	Headers map[string][]string             `json:"headers"`
	Body    string                          `json:"body"`
	Cookies map[string][]*HTTPRequestCookie `json:"cookies"`
}

// HTTPRequestCookie is a cookie of one request. Replace keeps a cookie of that name in the jar from being sent too.
type HTTPRequestCookie struct {
	Name, Value string
	Replace     bool
}

// SetRequestCookies puts the cookies of the jar, which may be nil, and those of the request into its Cookie header.
func SetRequestCookies(req *http.Request, jar *cookiejar.Jar, reqCookies map[string]*HTTPRequestCookie) {
	if jar != nil {
		for _, cookie := range jar.Cookies(req.URL) {
			if own := reqCookies[cookie.Name]; own == nil || !own.Replace {
				req.AddCookie(cookie)
			}
		}
	}
	for name, cookie := range reqCookies {
		// #nosec G124 -- attributes such as Secure do not exist in a request's Cookie header
		req.AddCookie(&http.Cookie{Name: name, Value: cookie.Value})
	}
}
