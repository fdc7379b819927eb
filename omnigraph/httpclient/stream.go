package httpclient

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.k6.io/k6/v2/lib"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// maxErrorBody bounds what is read of an answer that is no export.
const maxErrorBody = 1 << 20

// streaming gives a copy of a VU's state whose transport hands the rows of an export on as they arrive. MakeRequest, which
// would hold all of them in memory, sees an answer without a body, and times and counts the request as any other.
func streaming(state *lib.State, lines *wire.Lines) *lib.State {
	s := *state
	s.Transport = &exportTransport{next: state.Transport, lines: lines}
	return &s
}

// exportTransport carries the request of one export.
type exportTransport struct {
	next  http.RoundTripper
	lines *wire.Lines
}

// RoundTrip implements http.RoundTripper.
func (t *exportTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if succeeded(response.StatusCode) {
		response.Body = &exportBody{ReadCloser: response.Body, encoding: response.Header.Get("Content-Encoding"), lines: t.lines}
		response.Header.Del("Content-Encoding") // the body that MakeRequest sees is empty, and nothing to unpack
	} else {
		response.Body = &limitedBody{Reader: io.LimitReader(response.Body, maxErrorBody), Closer: response.Body}
	}
	return response, nil
}

// exportBody hands everything on at the first read, and is empty for its reader.
type exportBody struct {
	io.ReadCloser
	encoding string
	lines    *wire.Lines
	read     bool
}

// Read implements io.Reader.
func (b *exportBody) Read([]byte) (int, error) {
	if b.read {
		return 0, io.EOF
	}
	b.read = true
	rows, err := unpack(b.encoding, b.ReadCloser)
	if err == nil {
		_, err = io.Copy(b.lines, rows)
	}
	if err != nil && b.lines.Failed() == nil {
		return 0, err
	}
	// At its end, or given up by who takes the rows: the request itself went well.
	return 0, io.EOF
}

// errEncoding is a Content-Encoding that an export's rows can't be had of.
var errEncoding = errors.New("an export is unpacked from gzip and deflate only; leave others out of the header Accept-Encoding")

// unpack undoes a Content-Encoding while the body arrives.
func unpack(encoding string, body io.Reader) (io.Reader, error) {
	var rows io.Reader
	var err error
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case "gzip":
		rows, err = gzip.NewReader(body)
	case "deflate":
		rows, err = zlib.NewReader(body)
	default:
		err = errEncoding
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", encoding, err)
	}
	return rows, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

func succeeded(status int) bool { return status >= 200 && status <= 299 }
