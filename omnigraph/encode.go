package omnigraph

import (
	"bytes"
	"fmt"
	"strconv"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// encodeJSON encodes a JS value as JSON.stringify does.
func encodeJSON(o *sobek.Object) ([]byte, error) {
	encoded, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("not encodable as JSON: %w", err)
	}
	return encoded, nil
}

// loneSurrogate finds the first half of a UTF-16 pair without its other half in encoded JSON, where it stands as an
// escape, and gives the text around it.
func loneSurrogate(encoded []byte) (string, bool) {
	for i := 0; ; {
		at := bytes.IndexByte(encoded[i:], '\\')
		if at < 0 || i+at+1 >= len(encoded) {
			return "", false
		}
		i += at
		if encoded[i+1] != 'u' {
			i += 2
			continue
		}
		unit, ok := escapedUnit(encoded, i)
		switch {
		case ok && unit >= 0xd800 && unit <= 0xdbff:
			low, ok := escapedUnit(encoded, i+6)
			if !ok || low < 0xdc00 || low > 0xdfff {
				return around(encoded, i), true
			}
			i += 12
		case ok && unit >= 0xdc00 && unit <= 0xdfff:
			return around(encoded, i), true
		default:
			i += 6
		}
		if i >= len(encoded) {
			return "", false
		}
	}
}

// escapedUnit reads \uXXXX at i.
func escapedUnit(b []byte, i int) (uint64, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
	return n, err == nil
}

func around(b []byte, i int) string {
	const reach = 20
	return strconv.QuoteToASCII(string(b[max(0, i-reach):min(len(b), i+6)]))
}

// rows takes NDJSON text, bytes (as open(path, 'b') gives them) or a list of row objects, and gives NDJSON. What has no
// UTF-8 form is a problem of the operation, as it is in params.
func (a *arguments) rows(i int) ([]byte, *wire.Error, error) {
	v := a.call.Argument(i)
	const takes = "it takes NDJSON text, its bytes, or a list of rows such as {type, data} and {edge, from, to}"
	if common.IsNullish(v) {
		return nil, nil, fmt.Errorf("%s: argument rows got %s; %s", a.verb, describe(v), takes)
	}
	if o, ok := v.(*sobek.Object); ok && isArray(o) {
		return a.rowObjects(o)
	}
	exported := v.Export()
	data, err := common.ToBytes(exported)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: argument rows got %s; %s", a.verb, describe(v), takes)
	}
	text, isText := exported.(string)
	if isText {
		if at, bad := loneSurrogateIn(text, v); bad {
			return nil, loneSurrogateError("the text of the rows", at), nil
		}
	} else if a.async {
		data = bytes.Clone(data) // the script may write into its buffer once it has it back
	}
	return data, nil, nil
}

func (a *arguments) rowObjects(list *sobek.Object) ([]byte, *wire.Error, error) {
	var b bytes.Buffer
	for i := range int(list.Get("length").ToInteger()) {
		row, ok := list.Get(strconv.Itoa(i)).(*sobek.Object)
		if !ok || isArray(row) {
			return nil, nil, fmt.Errorf("%s: row %d got %s; it takes an object", a.verb, i, describe(list.Get(strconv.Itoa(i))))
		}
		encoded, err := encodeJSON(row)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: row %d is %w", a.verb, i, err)
		}
		if problem := unsendable(row, encoded, fmt.Sprintf("row %d", i)); problem != nil {
			return nil, problem, nil
		}
		b.Write(encoded)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil, nil
}

func loneSurrogateNear(what, near string) *wire.Error {
	return wire.NewError(wire.KindBadRequest, "%s holds a lone surrogate (half of a UTF-16 pair) near %s; such text has no UTF-8 form", what, near)
}
