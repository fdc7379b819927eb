package lib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// StrictJSONUnmarshal is json.Unmarshal that refuses unknown fields and anything after the value.
func StrictJSONUnmarshal(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("unexpected data after the JSON value at offset %d", decoder.InputOffset())
	}
	return nil
}
