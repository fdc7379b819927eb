package httpext

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"golang.org/x/net/http2"

	"go.k6.io/k6/v2/lib/netext"
)

// errCode is what the error_code tag and field show.
type errCode uint32

const (
	defaultErrorCode       errCode = 1000
	defaultNetNonTCPCode   errCode = 1010
	invalidURLErrorCode    errCode = 1020
	requestTimeoutCode     errCode = 1050
	defaultDNSCode         errCode = 1100
	dnsNoSuchHostCode      errCode = 1101
	blackListedIPCode      errCode = 1110
	blockedHostnameCode    errCode = 1111
	defaultTCPCode         errCode = 1200
	tcpBrokenPipeCode      errCode = 1201
	netUnknownErrnoCode    errCode = 1202
	tcpDialCode            errCode = 1210
	tcpDialTimeoutCode     errCode = 1211
	tcpDialRefusedCode     errCode = 1212
	tcpDialUnknownErrno    errCode = 1213
	tcpResetByPeerCode     errCode = 1220
	defaultTLSCode         errCode = 1300
	tlsRecordHeaderCode    errCode = 1301
	x509UnknownAuthority   errCode = 1310
	x509HostnameCode       errCode = 1311
	statusErrorCodeOffset  errCode = 1000
	http2GoAwayCode        errCode = 1610
	http2StreamCode        errCode = 1630
	http2ConnectionCode    errCode = 1650
	decompressionErrorCode errCode = 1701
)

const (
	requestTimeoutMsg       = "request timeout"
	invalidURLErrorCodeMsg  = "invalid URL"
	dnsNoSuchHostMsg        = "lookup: no such host"
	blackListedIPMsg        = "ip is blacklisted"
	blockedHostnameMsg      = "hostname is blocked"
	tcpDialTimeoutMsg       = "dial: i/o timeout"
	tcpDialRefusedMsg       = "dial: connection refused"
	tcpBrokenPipeMsg        = "%s: broken pipe"
	tcpResetByPeerMsg       = "%s: connection reset by peer"
	tcpUnknownErrnoMsg      = "%s: %s (errno %d)"
	tlsRecordHeaderMsg      = "tls: the server's answer is no TLS"
	x509UnknownAuthorityMsg = "x509: unknown authority"
	x509HostnameMsg         = "x509: certificate doesn't match hostname"
)

// http2UnknownCode stands for HTTP/2 error codes beyond those of RFC 9113, which end at 0xd.
const http2CodeLimit = 0xd

// K6Error is an error with the code that the error_code tag shows.
type K6Error struct {
	Code          errCode
	Message       string
	OriginalError error
}

// NewK6Error makes a K6Error.
func NewK6Error(code errCode, msg string, originalErr error) K6Error {
	return K6Error{Code: code, Message: msg, OriginalError: originalErr}
}

// Error returns the message.
func (k K6Error) Error() string { return k.Message }

// Unwrap returns the error behind it, or nil.
func (k K6Error) Unwrap() error { return k.OriginalError }

// errorCodeForError gives an error of the transport its code and the text of the error tag.
func errorCodeForError(err error) (errCode, string) {
	var k6Err K6Error
	if errors.As(err, &k6Err) {
		return k6Err.Code, k6Err.Message
	}
	if code, msg, ok := blockedError(err); ok {
		return code, msg
	}
	if code, msg, ok := http2Error(err); ok {
		return code, msg
	}
	if code, msg, ok := tlsError(err); ok {
		return code, msg
	}
	if code, msg, ok := netError(err); ok {
		return code, msg
	}
	if isTimeout(err) {
		return requestTimeoutCode, requestTimeoutMsg
	}
	return defaultErrorCode, innermostURLError(err).Error()
}

func blockedError(err error) (errCode, string, bool) {
	if blacklisted := new(netext.BlackListedIPError); errors.As(err, blacklisted) {
		return blackListedIPCode, blackListedIPMsg, true
	}
	if blocked := new(netext.BlockedHostError); errors.As(err, blocked) {
		return blockedHostnameCode, blockedHostnameMsg, true
	}
	return 0, "", false
}

func http2Error(err error) (errCode, string, bool) {
	if goAway := new(http2.GoAwayError); errors.As(err, goAway) {
		return http2GoAwayCode + http2Offset(goAway.ErrCode), "http2: received GoAway with " + goAway.ErrCode.String(), true
	}
	if stream := new(http2.StreamError); errors.As(err, stream) {
		return http2StreamCode + http2Offset(stream.Code), "http2: stream error with " + stream.Code.String(), true
	}
	if conn := new(http2.ConnectionError); errors.As(err, conn) {
		code := http2.ErrCode(*conn)
		return http2ConnectionCode + http2Offset(code), "http2: connection error with " + code.String(), true
	}
	return 0, "", false
}

// http2Offset is 1 + the code, and 0 for codes that no standard names.
func http2Offset(code http2.ErrCode) errCode {
	if code > http2CodeLimit {
		return 0
	}
	return errCode(code) + 1
}

func tlsError(err error) (errCode, string, bool) {
	if header := new(tls.RecordHeaderError); errors.As(err, header) || errors.Is(err, http.ErrSchemeMismatch) {
		return tlsRecordHeaderCode, tlsRecordHeaderMsg, true
	}
	if authority := new(x509.UnknownAuthorityError); errors.As(err, authority) {
		return x509UnknownAuthority, x509UnknownAuthorityMsg, true
	}
	if hostname := new(x509.HostnameError); errors.As(err, hostname) {
		return x509HostnameCode, x509HostnameMsg, true
	}
	var verification *tls.CertificateVerificationError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	if errors.As(err, &verification) || errors.As(err, &invalid) || errors.As(err, &alert) {
		return defaultTLSCode, innermostURLError(err).Error(), true
	}
	// crypto/tls has no type for what it finds wrong itself.
	if text := innermostURLError(err).Error(); strings.HasPrefix(text, "tls: ") || strings.HasPrefix(text, "remote error: tls: ") {
		return defaultTLSCode, text, true
	}
	return 0, "", false
}

func netError(err error) (errCode, string, bool) {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		if dns.IsNotFound {
			return dnsNoSuchHostCode, dnsNoSuchHostMsg, true
		}
		return defaultDNSCode, dns.Error(), true
	}
	op := (*net.OpError)(nil)
	if !errors.As(err, &op) {
		return bareErrno(err)
	}
	if op.Net != "" && !strings.HasPrefix(op.Net, "tcp") {
		return defaultNetNonTCPCode, op.Error(), true
	}
	if op.Op == "dial" {
		return dialError(op)
	}
	var errno syscall.Errno
	switch {
	case errors.Is(op, syscall.ECONNRESET):
		return tcpResetByPeerCode, fmt.Sprintf(tcpResetByPeerMsg, op.Op), true
	case errors.Is(op, syscall.EPIPE):
		return tcpBrokenPipeCode, fmt.Sprintf(tcpBrokenPipeMsg, op.Op), true
	case errors.As(op, &errno):
		return netUnknownErrnoCode, fmt.Sprintf(tcpUnknownErrnoMsg, op.Op, errno.Error(), int(errno)), true
	case op.Timeout():
		return requestTimeoutCode, requestTimeoutMsg, true
	}
	return defaultTCPCode, op.Error(), true
}

func dialError(op *net.OpError) (errCode, string, bool) {
	var errno syscall.Errno
	switch {
	case op.Timeout():
		return tcpDialTimeoutCode, tcpDialTimeoutMsg, true
	case errors.Is(op, syscall.ECONNREFUSED):
		return tcpDialRefusedCode, tcpDialRefusedMsg, true
	case errors.As(op, &errno):
		return tcpDialUnknownErrno, fmt.Sprintf(tcpUnknownErrnoMsg, op.Op, errno.Error(), int(errno)), true
	}
	return tcpDialCode, op.Error(), true
}

// bareErrno classifies an error number that no net.OpError carries.
func bareErrno(err error) (errCode, string, bool) {
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return tcpResetByPeerCode, fmt.Sprintf(tcpResetByPeerMsg, "read"), true
	case errors.Is(err, syscall.EPIPE):
		return tcpBrokenPipeCode, fmt.Sprintf(tcpBrokenPipeMsg, "write"), true
	}
	return 0, "", false
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// innermostURLError drops the "Get URL:" in front of an error's text.
func innermostURLError(err error) error {
	for {
		var urlErr *url.Error
		if !errors.As(err, &urlErr) || urlErr.Err == nil {
			return err
		}
		err = urlErr.Err
	}
}
