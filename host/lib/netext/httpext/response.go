package httpext

import (
	"fmt"
	"net/http"

	"go.k6.io/k6/v2/lib/netext"
)

// ResponseType says in what form a body is kept.
type ResponseType uint

// The forms: a string, bytes, or nothing at all.
const (
	ResponseTypeText ResponseType = iota
	ResponseTypeBinary
	ResponseTypeNone
)

// String returns the name that scripts use.
func (t ResponseType) String() string {
	switch t {
	case ResponseTypeText:
		return "text"
	case ResponseTypeBinary:
		return "binary"
	case ResponseTypeNone:
		return "none"
	}
	return fmt.Sprintf("ResponseType(%d)", uint(t))
}

// ResponseTypeString reads a name.
func ResponseTypeString(s string) (ResponseType, error) {
	switch s {
	case "text":
		return ResponseTypeText, nil
	case "binary":
		return ResponseTypeBinary, nil
	case "none":
		return ResponseTypeNone, nil
	}
	return 0, fmt.Errorf("%q is no response type; use text, binary or none", s)
}

// MarshalText writes the name.
func (t ResponseType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name.
func (t *ResponseType) UnmarshalText(text []byte) error {
	parsed, err := ResponseTypeString(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ResponseTimings are the steps of the last exchange of a request, in milliseconds.
type ResponseTimings struct {
	Duration       float64 `json:"duration"`
	Blocked        float64 `json:"blocked"`
	LookingUp      float64 `json:"looking_up"` // always 0: it is part of Blocked
	Connecting     float64 `json:"connecting"`
	TLSHandshaking float64 `json:"tls_handshaking"`
	Sending        float64 `json:"sending"`
	Waiting        float64 `json:"waiting"`
	Receiving      float64 `json:"receiving"`
}

// HTTPCookie is a cookie that a response set.
type HTTPCookie struct {
	Name, Value, Domain, Path string
	HTTPOnly, Secure          bool
	MaxAge                    int
	Expires                   int64 // milliseconds since the epoch, 0 for none
}

// Response is what came back for a request, after redirects. With a Status of 0 nothing did, and Error and ErrorCode
// say why.
type Response struct {
	RemoteIP       string                   `json:"remote_ip"`
	RemotePort     int                      `json:"remote_port"`
	URL            string                   `json:"url"`
	Status         int                      `json:"status"`
	StatusText     string                   `json:"status_text"`
	Proto          string                   `json:"proto"`
	Headers        map[string]string        `json:"headers"`
	Cookies        map[string][]*HTTPCookie `json:"cookies"`
	Body           any                      `json:"body"` // string, []byte or nil
	Timings        ResponseTimings          `json:"timings"`
	TLSVersion     string                   `json:"tls_version"`
	TLSCipherSuite string                   `json:"tls_cipher_suite"`
	OCSP           netext.OCSP              `json:"ocsp"`
	Error          string                   `json:"error"`
	ErrorCode      int                      `json:"error_code"`
	Request        *Request                 `json:"request"`
}

// NewResponse returns an empty response.
func NewResponse() *Response {
	return &Response{Request: &Request{}}
}

func (r *Response) setTLSInfo(res *http.Response) {
	if res.TLS == nil {
		return
	}
	info, staple := netext.ParseTLSConnState(res.TLS)
	r.TLSVersion, r.TLSCipherSuite, r.OCSP = info.Version, info.CipherSuite, staple
}

// joinedHeaders has one text per header, several values joined.
func joinedHeaders(header http.Header) map[string]string {
	result := make(map[string]string, len(header))
	for name, values := range header {
		switch len(values) {
		case 0:
		case 1:
			result[name] = values[0]
		default:
			text := values[0]
			for _, value := range values[1:] {
				text += ", " + value
			}
			result[name] = text
		}
	}
	return result
}

// setCookies collects the cookies that a response set.
func (r *Response) setCookies(res *http.Response) {
	if _, ok := res.Header["Set-Cookie"]; !ok {
		r.Cookies = make(map[string][]*HTTPCookie)
		return
	}
	cookies := res.Cookies()
	r.Cookies = make(map[string][]*HTTPCookie, len(cookies))
	for _, c := range cookies {
		cookie := &HTTPCookie{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path,
			HTTPOnly: c.HttpOnly, Secure: c.Secure, MaxAge: c.MaxAge,
		}
		if !c.Expires.IsZero() {
			cookie.Expires = c.Expires.UnixMilli()
		}
		r.Cookies[c.Name] = append(r.Cookies[c.Name], cookie)
	}
}
