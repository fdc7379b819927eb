package graph

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// valueKind says which field of a Value counts.
type valueKind uint8

const (
	kindNull valueKind = iota
	kindString
	kindBool
	kindInt
	kindUint
	kindFloat32
	kindFloat
	kindDate
	kindDateTime
	kindList
)

// Value is one property's value, in 32 bytes: the number or the text, by kind. A list is its JSON text.
type Value struct {
	num  uint64
	text string
	kind valueKind
}

func stringValue(s string) Value { return Value{kind: kindString, text: s} }
func intValue(n int64) Value     { return Value{kind: kindInt, num: uint64(n)} } // #nosec G115 -- bits, not a number
func uintValue(n uint64) Value   { return Value{kind: kindUint, num: n} }
func floatValue(f float64) Value { return Value{kind: kindFloat, num: math.Float64bits(f)} }

func float32Value(f float64) Value {
	return Value{kind: kindFloat32, num: math.Float64bits(float64(float32(f)))}
}

func boolValue(b bool) Value {
	v := Value{kind: kindBool}
	if b {
		v.num = 1
	}
	return v
}

// IsNull reports whether the value is absent.
func (v Value) IsNull() bool { return v.kind == kindNull }

func (v Value) int() int64     { return int64(v.num) } // #nosec G115 -- bits, not a number
func (v Value) float() float64 { return math.Float64frombits(v.num) }

// clone makes the value independent of the document that its text was cut from.
func (v Value) clone() Value {
	v.text = strings.Clone(v.text)
	return v
}

// appendJSON appends v as the server writes it.
func (v Value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case kindNull:
		return append(dst, "null"...)
	case kindString:
		return jsondoc.AppendString(dst, v.text)
	case kindBool:
		return strconv.AppendBool(dst, v.num != 0)
	case kindInt:
		return strconv.AppendInt(dst, v.int(), 10)
	case kindUint:
		return strconv.AppendUint(dst, v.num, 10)
	case kindFloat32, kindFloat:
		return jsondoc.AppendFloat(dst, v.float(), 64)
	case kindDate:
		dst = append(dst, '"')
		dst = appendDate(dst, time.Unix(v.int()*secondsPerDay, 0).UTC())
		return append(dst, '"')
	case kindDateTime:
		t := time.UnixMilli(v.int()).UTC()
		dst = append(dst, '"')
		dst = appendDate(dst, t)
		dst = t.AppendFormat(dst, "T15:04:05.000Z")
		return append(dst, '"')
	case kindList:
		return append(dst, v.text...)
	}
	return dst
}

// String is the value as an id: the text that a key of this value gives its node.
func (v Value) String() string {
	if v.kind == kindString {
		return v.text
	}
	return strings.Trim(string(v.appendJSON(nil)), `"`)
}

func (v Value) numeric() bool { return v.kind >= kindInt && v.kind <= kindFloat }

func (v Value) asFloat() float64 {
	switch v.kind {
	case kindInt, kindDate, kindDateTime:
		return float64(v.int())
	case kindUint:
		return float64(v.num)
	}
	return v.float()
}

// compare orders two values; ok is false where they can't be compared (a null on either side, or kinds that
// have no order between them).
func compare(a, b Value) (order int, ok bool) {
	switch {
	case a.kind == kindNull || b.kind == kindNull:
		return 0, false
	case a.numeric() && b.numeric():
		if a.kind == kindInt && b.kind == kindInt {
			return cmp.Compare(a.int(), b.int()), true
		}
		if a.kind == kindUint && b.kind == kindUint {
			return cmp.Compare(a.num, b.num), true
		}
		if a.kind == kindFloat32 || b.kind == kindFloat32 {
			// As the column has it: 0.1 is what 32 bits make of it.
			return cmp.Compare(float32(a.asFloat()), float32(b.asFloat())), true
		}
		return cmp.Compare(a.asFloat(), b.asFloat()), true
	case a.kind != b.kind:
		return 0, false
	case a.kind == kindString || a.kind == kindList:
		return strings.Compare(a.text, b.text), true
	case a.kind == kindBool:
		return cmp.Compare(a.num, b.num), true
	}
	return cmp.Compare(a.int(), b.int()), true
}

// holds evaluates `a op b`; a comparison with null is false.
func holds(a Value, op string, b Value) bool {
	if op == "contains" {
		return listContains(a, b)
	}
	c, ok := compare(a, b)
	if !ok {
		return false
	}
	switch op {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func listContains(list, item Value) bool {
	if list.kind != kindList || item.kind == kindNull {
		return false
	}
	doc, err := jsondoc.Parse(list.text)
	if err != nil {
		return false
	}
	want := string(item.appendJSON(nil))
	for i := range doc.Items {
		e := &doc.Items[i]
		if e.Kind == jsondoc.Number && item.numeric() {
			if n, err := strconv.ParseFloat(e.Text, 64); err == nil && n == item.asFloat() {
				return true
			}
			continue
		}
		if string(jsondoc.Append(nil, e)) == want {
			return true
		}
	}
	return false
}

// fromParam converts a request's parameter to its declared type.
func fromParam(name string, t schema.Type, v *jsondoc.Value) (Value, error) {
	if v.Kind == jsondoc.Null {
		if !t.Optional {
			return Value{}, badRequest("param '%s': null is not accepted for non-nullable parameter", name)
		}
		return Value{}, nil
	}
	if !t.List {
		return scalarParam(name, t.Kind, v)
	}
	if v.Kind != jsondoc.Array {
		return Value{}, badRequest("param '%s': expected array for %s", name, schema.Type{Kind: t.Kind, List: true})
	}
	text := []byte{'['}
	for i := range v.Items {
		if i > 0 {
			text = append(text, ',')
		}
		item, err := scalarParam(name, t.Kind, &v.Items[i])
		if err != nil {
			return Value{}, err
		}
		text = item.appendJSON(text)
	}
	return Value{kind: kindList, text: string(append(text, ']'))}, nil
}

var jsonNames = map[jsondoc.Kind]string{
	jsondoc.Null: "null", jsondoc.Bool: "boolean", jsondoc.Number: "number",
	jsondoc.String: "string", jsondoc.Array: "array", jsondoc.Object: "object",
}

func scalarParam(name string, kind schema.Kind, v *jsondoc.Value) (Value, error) {
	switch kind {
	case schema.String:
		if v.Kind != jsondoc.String {
			return Value{}, badRequest("param '%s': expected string, got %s", name, jsonNames[v.Kind])
		}
		return stringValue(v.Text), nil
	case schema.Bool:
		if v.Kind != jsondoc.Bool {
			return Value{}, badRequest("param '%s': expected boolean", name)
		}
		return boolValue(v.Bool), nil
	case schema.F32, schema.F64:
		if v.Kind != jsondoc.Number {
			return Value{}, badRequest("param '%s': expected float", name)
		}
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil {
			return Value{}, badRequest("param '%s': expected float", name)
		}
		return floatValue(f), nil
	case schema.Date, schema.DateTime:
		if v.Kind != jsondoc.String {
			return Value{}, badRequest("param '%s': expected %s string", name, strings.ToLower(kind.String()))
		}
		// The text is checked where it is used: a parameter that no clause uses may be anything.
		return Value{kind: kindString, text: v.Text}, nil
	}
	return integerParam(name, kind, v)
}

func integerParam(name string, kind schema.Kind, v *jsondoc.Value) (Value, error) {
	unsigned := kind == schema.U64 || kind == schema.U32
	what := "integer"
	if unsigned {
		what = "unsigned integer"
	}
	text := v.Text
	switch {
	case v.Kind == jsondoc.String:
		if !validInteger(text, kind) {
			return Value{}, badRequest("param '%s': expected %s string, got '%s'", name, what, text)
		}
	case v.Kind != jsondoc.Number:
		return Value{}, badRequest("param '%s': expected %s", name, what)
	case !v.IsInteger() || !validInteger(text, kind):
		return Value{}, badRequest("param '%s': expected %s number", name, what)
	}
	if unsigned {
		n, err := strconv.ParseUint(text, 10, 64)
		switch {
		case err != nil:
			return Value{}, badRequest("param '%s': expected %s number", name, what)
		case kind == schema.U32 && n > math.MaxUint32:
			return Value{}, badRequest("param '%s': value %s exceeds U32", name, text)
		case n > math.MaxInt64:
			return Value{}, badRequest("param '%s': value %s exceeds current engine range for U64 (max 9223372036854775807)", name, text)
		}
		return uintValue(n), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Value{}, badRequest("param '%s': expected %s number", name, what)
	}
	if kind == schema.I32 && (n > math.MaxInt32 || n < math.MinInt32) {
		return Value{}, badRequest("param '%s': value %s exceeds I32", name, text)
	}
	return intValue(n), nil
}

func validInteger(text string, kind schema.Kind) bool {
	if kind == schema.U64 || kind == schema.U32 {
		_, err := strconv.ParseUint(text, 10, 64)
		return err == nil
	}
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// fromRow converts a loaded record's property; ok is false where the value does not fit the type, which for
// an optional property means null.
func fromRow(p *schema.Property, v *jsondoc.Value) (_ Value, ok bool, _ error) {
	t := p.Type
	if v == nil || v.Kind == jsondoc.Null {
		return Value{}, false, nil
	}
	if t.List {
		if v.Kind != jsondoc.Array {
			return Value{}, false, badRequest("list property '%s' expects a JSON array, got %s", p.Name, jsondoc.Append(nil, v))
		}
		text := []byte{'['}
		for i := range v.Items {
			if i > 0 {
				text = append(text, ',')
			}
			if err := listRange(t.Kind, &v.Items[i]); err != nil {
				return Value{}, false, err
			}
			item, ok, err := scalarFromRow(t.Kind, &v.Items[i])
			if err != nil {
				return Value{}, false, err
			}
			if !ok {
				item = Value{}
			}
			text = item.appendJSON(text)
		}
		return Value{kind: kindList, text: string(append(text, ']'))}, true, nil
	}
	return scalarFromRow(t.Kind, v)
}

// listRange refuses what a list of 32-bit numbers can't hold: only outside lists the server lets numbers wrap around.
func listRange(kind schema.Kind, v *jsondoc.Value) error {
	if !v.IsInteger() {
		return nil
	}
	// What not even 64 bits hold is refused with its own words later.
	if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		switch {
		case kind == schema.I32 && (n > math.MaxInt32 || n < math.MinInt32):
			return badRequest("list value %s exceeds Int32 range", v.Text)
		case kind == schema.U32 && n > math.MaxUint32:
			return badRequest("list value %s exceeds UInt32 range", v.Text)
		}
	}
	return nil
}

func scalarFromRow(kind schema.Kind, v *jsondoc.Value) (Value, bool, error) {
	switch kind {
	case schema.String:
		return stringValue(v.Text), v.Kind == jsondoc.String, nil
	case schema.Bool:
		return boolValue(v.Bool), v.Kind == jsondoc.Bool, nil
	case schema.I32, schema.I64:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if kind == schema.I32 {
			n = int64(int32(n)) // #nosec G115 -- the server wraps around, too
		}
		return intValue(n), v.Kind == jsondoc.Number && err == nil, nil
	case schema.U32, schema.U64:
		n, err := strconv.ParseUint(v.Text, 10, 64)
		if kind == schema.U32 {
			n = uint64(uint32(n)) // #nosec G115 -- as above
		}
		return uintValue(n), v.Kind == jsondoc.Number && err == nil, nil
	case schema.F32, schema.F64:
		f, err := strconv.ParseFloat(v.Text, 64)
		if kind == schema.F32 {
			return float32Value(f), v.Kind == jsondoc.Number && err == nil, nil
		}
		return floatValue(f), v.Kind == jsondoc.Number && err == nil, nil
	}
	if v.Kind == jsondoc.Number {
		n, err := strconv.ParseInt(v.Text, 10, 64)
		k := kindDateTime
		if kind == schema.Date {
			k = kindDate
		}
		return Value{kind: k, num: uint64(n)}, err == nil, nil // #nosec G115 -- bits, not a number
	}
	if v.Kind != jsondoc.String {
		return Value{}, false, nil
	}
	t, err := parseTemporal(kind, v.Text)
	return t, err == nil, err
}

// fromLiteral is a query literal's value and the name of its type in messages.
func fromLiteral(x any) (Value, schema.Type) {
	switch x := x.(type) {
	case string:
		return stringValue(x), schema.Type{Kind: schema.String}
	case int64:
		return intValue(x), schema.Type{Kind: schema.I64}
	case float64:
		return floatValue(x), schema.Type{Kind: schema.F64}
	case bool:
		return boolValue(x), schema.Type{Kind: schema.Bool}
	}
	return Value{}, schema.Type{}
}

// toColumn fits a mutation's value to its property, as strictly as the server: an integer is no float, a
// float no integer, and an integer too large for its column wraps around.
func toColumn(owner string, p *schema.Property, v Value) (Value, error) {
	if v.kind == kindNull {
		return v, nil
	}
	t := p.Type
	if t.List {
		return v, nil
	}
	wrong := func(to string) error {
		name := map[valueKind]string{kindInt: "Integer", kindUint: "Integer", kindFloat: "Float", kindString: "String", kindBool: "Bool"}[v.kind]
		return badRequest("cannot convert %s(%s) to %s", name, v.appendJSON(nil), to)
	}
	switch t.Kind {
	case schema.String:
		if !t.Allows(v.text) {
			return v, badRequest("invalid enum value '%s' for %s.%s (expected: %s)", v.text, owner, p.Name, t.EnumList())
		}
	case schema.I32, schema.I64:
		if v.kind != kindInt && v.kind != kindUint {
			return v, wrong(columnType(t.Kind))
		}
		if t.Kind == schema.I32 {
			return intValue(int64(int32(v.int()))), nil // #nosec G115 -- the server wraps around, too
		}
		return intValue(v.int()), nil
	case schema.U32, schema.U64:
		if v.kind != kindInt && v.kind != kindUint {
			return v, wrong(columnType(t.Kind))
		}
		if t.Kind == schema.U32 {
			return uintValue(uint64(uint32(v.num))), nil // #nosec G115 -- as above
		}
		return uintValue(v.num), nil
	case schema.F32, schema.F64:
		if v.kind != kindFloat && v.kind != kindFloat32 {
			return v, wrong(map[schema.Kind]string{schema.F32: "Float32", schema.F64: "Float64"}[t.Kind])
		}
		if t.Kind == schema.F32 {
			return float32Value(v.float()), nil
		}
	case schema.Date, schema.DateTime:
		if v.kind == kindString {
			return parseTemporal(t.Kind, v.text)
		}
	}
	return v, nil
}
