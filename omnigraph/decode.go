package omnigraph

import (
	"github.com/grafana/sobek"

	"github.com/mitodl/xk6-omnigraph/internal/jsvalue"
)

// decodeJSON makes a JS value of JSON that is known to be valid. docs/json.md says why it is done this way.
func decodeJSON(rt *sobek.Runtime, document string) sobek.Value {
	return jsvalue.Decode(rt, document)
}
