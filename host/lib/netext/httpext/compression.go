package httpext

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// CompressionType is a way to compress a body.
type CompressionType uint

// The ways, named as in the Content-Encoding header.
const (
	CompressionTypeGzip CompressionType = iota
	CompressionTypeDeflate
	CompressionTypeZstd
	CompressionTypeBr
)

// String returns the name in the Content-Encoding header.
func (t CompressionType) String() string {
	switch t {
	case CompressionTypeGzip:
		return "gzip"
	case CompressionTypeDeflate:
		return "deflate"
	case CompressionTypeZstd:
		return "zstd"
	case CompressionTypeBr:
		return "br"
	}
	return fmt.Sprintf("CompressionType(%d)", uint(t))
}

// CompressionTypeString reads a name.
func CompressionTypeString(s string) (CompressionType, error) {
	switch s {
	case "gzip":
		return CompressionTypeGzip, nil
	case "deflate":
		return CompressionTypeDeflate, nil
	case "zstd":
		return CompressionTypeZstd, nil
	case "br":
		return CompressionTypeBr, nil
	}
	return 0, fmt.Errorf("%q is no compression; use gzip, deflate, zstd or br", s)
}

// MarshalText writes the name.
func (t CompressionType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name.
func (t *CompressionType) UnmarshalText(text []byte) error {
	parsed, err := CompressionTypeString(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// compressBody applies the compressions in their order and returns the value of the Content-Encoding header.
func compressBody(types []CompressionType, body *bytes.Buffer) (*bytes.Buffer, string, error) {
	names := make([]string, 0, len(types))
	for _, t := range types {
		packed := new(bytes.Buffer)
		w, err := compressor(t, packed)
		if err != nil {
			return nil, "", err
		}
		if _, err := w.Write(body.Bytes()); err != nil {
			return nil, "", fmt.Errorf("compressing the body with %s: %w", t, err)
		}
		if err := w.Close(); err != nil {
			return nil, "", fmt.Errorf("compressing the body with %s: %w", t, err)
		}
		body = packed
		names = append(names, t.String())
	}
	return body, strings.Join(names, ", "), nil
}

func compressor(t CompressionType, to io.Writer) (io.WriteCloser, error) {
	switch t {
	case CompressionTypeGzip:
		return gzip.NewWriter(to), nil
	case CompressionTypeDeflate:
		return zlib.NewWriter(to), nil
	case CompressionTypeZstd:
		return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	case CompressionTypeBr:
		return brotli.NewWriter(to), nil
	}
	return nil, fmt.Errorf("%s is no compression; use gzip, deflate, zstd or br", t)
}

// decompressBody undoes the encodings of a Content-Encoding header; an unknown one leaves the body as it is from
// there on. The error is a K6Error.
func decompressBody(contentEncoding string, body []byte) ([]byte, error) {
	encodings := strings.Split(contentEncoding, ",")
	for i := len(encodings) - 1; i >= 0 && len(body) > 0; i-- {
		t, err := CompressionTypeString(strings.ToLower(strings.TrimSpace(encodings[i])))
		if err != nil {
			return body, nil //nolint:nilerr // the script gets what the server sent
		}
		if body, err = decompress(t, body); err != nil {
			return nil, NewK6Error(decompressionErrorCode, fmt.Sprintf("error decompressing response body: %s: %s", t, err), err)
		}
	}
	return body, nil
}

func decompress(t CompressionType, body []byte) ([]byte, error) {
	var r io.Reader
	var err error
	switch t {
	case CompressionTypeGzip:
		r, err = gzip.NewReader(bytes.NewReader(body))
	case CompressionTypeDeflate:
		if isZlib(body) {
			r, err = zlib.NewReader(bytes.NewReader(body))
		} else {
			// Some servers send the bare deflate stream.
			r = flate.NewReader(bytes.NewReader(body))
		}
	case CompressionTypeZstd:
		var decoder *zstd.Decoder
		if decoder, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1)); err == nil {
			defer decoder.Close()
			r = decoder
		}
	default:
		r = brotli.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// isZlib says whether the data begins with a header of RFC 1950.
func isZlib(data []byte) bool {
	return len(data) >= 2 && data[0]&0x0f == 8 && (int(data[0])<<8|int(data[1]))%31 == 0
}
