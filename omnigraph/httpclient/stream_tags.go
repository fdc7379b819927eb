package httpclient

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
)

// k6's codes of requests that got no answer, as far as an export can meet them (section 2.4 of the interface contract).
const (
	codeOther       = 1000
	codeNoSuchHost  = 1101
	codeBrokenPipe  = 1201
	codeDialTimeout = 1211
	codeRefused     = 1212
	codeReset       = 1220
	// codeStatus is added to a status from 400 on.
	codeStatus = 1000
)

// requestFailure gives k6's code and text for a request that failed on its way.
func requestFailure(err error, timedOut bool) (int, string) {
	var op *net.OpError
	var dns *net.DNSError
	named := errors.As(err, &op)
	switch {
	case timedOut:
		return codeTimeout, "request timeout"
	case errors.As(err, &dns) && dns.IsNotFound:
		return codeNoSuchHost, "lookup: no such host"
	case named && op.Op == "dial" && op.Timeout():
		return codeDialTimeout, "dial: i/o timeout"
	case named && errors.Is(err, syscall.ECONNREFUSED):
		return codeRefused, op.Op + ": connection refused"
	case named && errors.Is(err, syscall.ECONNRESET):
		return codeReset, op.Op + ": connection reset by peer"
	case named && errors.Is(err, syscall.EPIPE):
		return codeBrokenPipe, op.Op + ": broken pipe"
	}
	return codeOther, cause(err)
}

// transportTags sets the system tags that tell of the connection and of what went wrong on it.
func transportTags(enabled *metrics.SystemTagSet, tags *metrics.TagsAndMeta, response *http.Response, trail *httpext.Trail, err error, timedOut bool) {
	set := func(tag metrics.SystemTag, value string) {
		if value != "" {
			tags.SetSystemTagOrMetaIfEnabled(enabled, tag, value)
		}
	}
	if trail.ConnRemoteAddr != nil {
		host, _, _ := net.SplitHostPort(trail.ConnRemoteAddr.String())
		set(metrics.TagIP, host)
	}
	switch {
	case err != nil:
		code, text := requestFailure(err, timedOut)
		set(metrics.TagErrorCode, strconv.Itoa(code))
		set(metrics.TagError, text)
	case response.StatusCode >= http.StatusBadRequest:
		set(metrics.TagErrorCode, strconv.Itoa(codeStatus+response.StatusCode))
	}
	if response != nil && response.TLS != nil {
		set(metrics.TagTLSVersion, tlsVersion(response.TLS.Version))
	}
}

// tlsVersion is a version as k6 writes it.
func tlsVersion(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "tls1.0"
	case tls.VersionTLS11:
		return "tls1.1"
	case tls.VersionTLS12:
		return "tls1.2"
	case tls.VersionTLS13:
		return "tls1.3"
	}
	return ""
}
