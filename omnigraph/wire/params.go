package wire

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// CheckParams holds a JSON object of parameters against a query's header and names the first that is missing, unknown
// or of another type.
//
// It exists because a 0.8 server drops a read's inline pattern whose parameter is missing, so that a point read turns
// into a full scan and looks like a slow one. A nil error means that the parameters fit.
func CheckParams(h *QueryHeader, params []byte) *Error {
	given := gjson.ParseBytes(params)
	var problem *Error
	seen := 0
	given.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		for i := range h.Params {
			if h.Params[i].Name == name {
				seen++
				problem = checkParam(h, &h.Params[i], value)
				return problem == nil
			}
		}
		problem = NewError(KindBadRequest, "params: query %s does not declare %s; it takes %s", h.Name, name, h.declared())
		return false
	})
	if problem != nil || seen == len(h.Params) {
		return problem
	}
	for i := range h.Params {
		p := &h.Params[i]
		if !p.Optional && !has(given, p.Name) {
			return NewError(KindBadRequest, "params: query %s needs %s of type %s, which is missing", h.Name, p.Name, p.Type)
		}
	}
	return nil
}

// has looks a member up by its exact name; gjson paths would give dots and stars in it a meaning.
func has(object gjson.Result, name string) bool {
	found := false
	object.ForEach(func(key, _ gjson.Result) bool {
		found = key.String() == name
		return !found
	})
	return found
}

func (h *QueryHeader) declared() string {
	if len(h.Params) == 0 {
		return "no parameters"
	}
	names := make([]string, len(h.Params))
	for i, p := range h.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func checkParam(h *QueryHeader, p *Param, v gjson.Result) *Error {
	if v.Type == gjson.Null {
		if p.Optional {
			return nil
		}
		return NewError(KindBadRequest, "params: %s of query %s is null but not optional; it takes %s", p.Name, h.Name, p.Type)
	}
	if fits(p.Type, v) {
		return nil
	}
	return NewError(KindBadRequest, "params: %s of query %s takes %s, got %s", p.Name, h.Name, p.Type, excerptValue(v))
}

func excerptValue(v gjson.Result) string {
	const limit = 60
	raw := v.Raw
	if len(raw) > limit {
		raw = strings.ToValidUTF8(raw[:limit], "") + "…"
	}
	return raw
}

// fits tells whether a JSON value can be of a type, by its name in .gq (String, I32, …) or in a catalog of stored
// queries (string, int, …), which does not tell sizes and signs apart. Types that this client does not know fit
// everything.
func fits(typ string, v gjson.Result) bool {
	if inner, ok := strings.CutPrefix(typ, "["); ok {
		if !v.IsArray() {
			return false
		}
		inner = strings.TrimSuffix(inner, "]")
		all := true
		v.ForEach(func(_, e gjson.Result) bool {
			all = e.Type == gjson.Null || fits(inner, e)
			return all
		})
		return all
	}
	switch typ {
	case "String", "DateTime", "Date", "Blob", "string", "datetime", "date", "blob":
		return v.Type == gjson.String
	case "Bool", "bool":
		return v.Type == gjson.True || v.Type == gjson.False
	case "I32":
		return fitsInteger(v, 32, true)
	case "U32":
		return fitsInteger(v, 32, false)
	case "I64":
		return fitsInteger(v, 64, true)
	case "U64":
		return fitsInteger(v, 64, false)
	case "int":
		return fitsInteger(v, 32, true) || fitsInteger(v, 32, false)
	case "bigint":
		return fitsInteger(v, 64, true) || fitsInteger(v, 64, false)
	case "F32", "F64", "float":
		if v.Type == gjson.String {
			_, err := strconv.ParseFloat(v.Str, 64)
			return err == nil
		}
		return v.Type == gjson.Number
	}
	return true
}

// fitsInteger takes a whole number, also as a string: the server reads both, and JSON numbers lose digits beyond 2^53.
func fitsInteger(v gjson.Result, bits int, signed bool) bool {
	switch v.Type {
	case gjson.Number:
		low, high := 0.0, math.Ldexp(1, bits)
		if signed {
			low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
		}
		return v.Num == math.Trunc(v.Num) && v.Num >= low && v.Num < high
	case gjson.String:
		var err error
		if signed {
			_, err = strconv.ParseInt(v.Str, 10, bits)
		} else {
			_, err = strconv.ParseUint(v.Str, 10, bits)
		}
		return err == nil
	}
	return false
}

// forEachMember calls fn for each member of a JSON object that is known to be valid.
func forEachMember(object []byte, fn func(name, raw string)) {
	gjson.ParseBytes(object).ForEach(func(key, value gjson.Result) bool {
		fn(key.String(), value.Raw)
		return true
	})
}
