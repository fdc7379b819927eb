package httpclient

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// k6's codes for a request that ran into its timeout and for an answer that can't be unpacked (section 2.4 of the
// interface contract).
const (
	codeTimeout    = 1050
	codeDecompress = 1701
)

// failure tells what it means that MakeRequest returned an error instead of a response.
func (c *Client) failure(ctx context.Context, err error, op *wire.Operation, spent time.Duration, sent bool) wire.Failure {
	rounded := spent.Round(100 * time.Microsecond)
	if ctx.Err() != nil {
		return wire.Failure{Kind: wire.KindCanceled, Sent: sent, Message: fmt.Sprintf("the iteration ended after %s, before the answer came", rounded)}
	}
	var k6err httpext.K6Error
	var netErr net.Error
	if errors.As(err, &k6err) && int(k6err.Code) == codeTimeout || errors.As(err, &netErr) && netErr.Timeout() && !isDial(err) {
		return timeoutFailure(op, spent, sent)
	}
	f := wire.Failure{Kind: wire.KindConnect, Sent: sent, Message: cause(err)}
	switch {
	case isDial(err), isTLS(err), isDNS(err):
		f.Sent = false
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.Sent = false
	case isDecompression(err):
		f.Kind = wire.KindProtocol
		f.Message = "the answer can't be unpacked: " + f.Message
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.Kind = wire.KindProtocol
		f.Message = fmt.Sprintf("the answer is cut off after %s: %s", rounded, f.Message)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF):
		f.Message = fmt.Sprintf("connection lost after %s: %s", rounded, f.Message)
	case isProtocol(err):
		f.Kind = wire.KindProtocol
		f.Message = "the answer can't be read as HTTP: " + f.Message
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		f.Message = "the limit of open files (ulimit -n) is reached: " + f.Message
	}
	return f
}

func timeoutFailure(op *wire.Operation, spent time.Duration, sent bool) wire.Failure {
	return wire.Failure{
		Kind: wire.KindTimeout, Sent: sent,
		Message: fmt.Sprintf("no answer within timeout %s (given up after %s)", op.Timeout, spent.Round(100*time.Microsecond)),
	}
}

// cause drops the request line that *url.Error puts in front, since an address may carry a password.
func cause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &authority) ||
		errors.As(err, &host) || errors.As(err, &alert)
}

// unreadableAnswer is how net/http, and k6 for a 101, tell of an answer that they can't take; they have no types for it.
var unreadableAnswer = []string{
	"malformed HTTP",
	"malformed MIME header",
	"malformed chunked encoding",
	"invalid byte in chunk length",
	"empty hex number for chunk length",
	"http chunk length too large",
	"chunked encoding contains too much non-data",
	"chunked line ends with bare LF",
	"invalid CR in chunked line",
	"bad Content-Length",
	"invalid empty Content-Length",
	"http: message cannot contain multiple Content-Length headers",
	"unsupported transfer encoding",
	"too many transfer encodings",
	"net/http: server response headers exceeded",
	"http: server gave HTTP response to HTTPS client",
	"unsupported response status: ",
}

// isProtocol tells answers that could not be read from broken connections.
func isProtocol(err error) bool {
	text := strings.TrimPrefix(cause(err), "net/http: HTTP/1.x transport connection broken: ")
	for _, start := range unreadableAnswer {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// isDecompression tells answers that aren't packed as their Content-Encoding says. k6 promises its code for them only
// where the error is its own.
func isDecompression(err error) bool {
	var k6err httpext.K6Error
	var corrupt flate.CorruptInputError
	return errors.As(err, &k6err) && int(k6err.Code) == codeDecompress || errors.As(err, &corrupt) || errors.Is(err, errEncoding) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum)
}
