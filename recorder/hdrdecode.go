package recorder

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	hdrOuterHeader = 8  // cookie, length of the compressed part
	hdrInnerHeader = 40 // cookie, length, offset, digits, lowest, highest, ratio
	// maxHDRPayload bounds a histogram's decompressed form. One of an hour in microseconds takes at most 9 bytes for
	// each of its 23,000 counts.
	maxHDRPayload = 1 << 20
	// maxHDRValue bounds the highest value that a histogram may claim, since that decides how much memory it takes.
	maxHDRValue = int64(1) << 40
)

// decodeHistogram decodes a histogram that may come from anywhere. The library takes its input for sound, and would
// allocate what a damaged header asks for or run past its end: so the header is checked first, and a panic in the
// library is an error here.
func decodeHistogram(encoded string) (h *hdrhistogram.Histogram, err error) {
	if err := checkEncoded(encoded); err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	defer func() {
		if r := recover(); r != nil {
			h, err = nil, fmt.Errorf("decode histogram: it is damaged (%v)", r)
		}
	}()
	h, err = hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if h.TotalCount() < 0 {
		return nil, errors.New("decode histogram: it is damaged (negative count)")
	}
	for _, b := range h.Distribution() {
		if b.Count < 0 {
			return nil, errors.New("decode histogram: it is damaged (negative count)")
		}
	}
	return h, nil
}

func checkEncoded(encoded string) error {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("it is not base64: %w", err)
	}
	if len(raw) < hdrOuterHeader {
		return errors.New("it is too short")
	}
	if int64(binary.BigEndian.Uint32(raw[4:])) != int64(len(raw)-hdrOuterHeader) {
		return errors.New("its length is not the one it states")
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[hdrOuterHeader:]))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	payload, err := io.ReadAll(io.LimitReader(z, maxHDRPayload+1))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	if len(payload) > maxHDRPayload {
		return errors.New("it is too large")
	}
	if len(payload) < hdrInnerHeader {
		return errors.New("its header is too short")
	}
	digits := binary.BigEndian.Uint32(payload[12:])
	lowest := int64(binary.BigEndian.Uint64(payload[16:]))  // #nosec G115 -- checked next
	highest := int64(binary.BigEndian.Uint64(payload[24:])) // #nosec G115 -- checked next
	if digits < 1 || digits > 3 || lowest < 1 || highest < 2*lowest || highest > maxHDRValue {
		return fmt.Errorf("its range %d to %d with %d digits is none that a record has", lowest, highest, digits)
	}
	return nil
}
