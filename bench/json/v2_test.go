//go:build goexperiment.jsonv2

package json

import "encoding/json/v2"

func init() { //nolint:gochecknoinits // joins a table that another file makes
	decoders = append(decoders, decoder{"encoding-json-v2", func(data []byte, v any) error { return json.Unmarshal(data, v) }})
}
