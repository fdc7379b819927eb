package common

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/grafana/sobek"
)

// ToBytes returns the bytes of a string, a byte slice or an ArrayBuffer. The slice may share the value's memory.
func ToBytes(data any) ([]byte, error) {
	switch v := data.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	case sobek.ArrayBuffer:
		return v.Bytes(), nil
	default:
		return nil, fmt.Errorf("invalid type %T, expected string, []byte or ArrayBuffer", data)
	}
}

// ToString returns a string, a byte slice or an ArrayBuffer as a string.
func ToString(data any) (string, error) {
	if s, ok := data.(string); ok {
		return s, nil
	}
	b, err := ToBytes(data)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// GetReader returns a reader of a string, a byte slice, an ArrayBuffer or what is a reader already.
func GetReader(data any) (io.Reader, error) {
	switch v := data.(type) {
	case io.Reader:
		return v, nil
	case string:
		return strings.NewReader(v), nil
	}
	b, err := ToBytes(data)
	if err != nil {
		return nil, fmt.Errorf("invalid type %T, expected string, []byte, io.Reader or ArrayBuffer", data)
	}
	return bytes.NewReader(b), nil
}
