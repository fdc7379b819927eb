package omnigraph

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// unsendable finds in an object what its encoding does not say: half of a UTF-16 pair, and numbers that JSON has no
// form for. what names the object, as in "row 3".
func unsendable(o *sobek.Object, encoded []byte, what string) *wire.Error {
	if near, bad := loneSurrogate(encoded); bad {
		return loneSurrogateNear(what, near)
	}
	if path, value, bad := nonFinite(o, encoded); bad {
		return wire.NewError(wire.KindBadRequest, "%s: %s is %s, which JSON has no form for: it would be sent as null", what, path, value)
	}
	return nil
}

// nonFinite finds a NaN, an Infinity or an invalid date in an object, and where it is. JSON.stringify writes each as
// null, so that an encoding without one needs no closer look: most have none.
func nonFinite(o *sobek.Object, encoded []byte) (path, value string, found bool) {
	if !bytes.Contains(encoded, []byte("null")) {
		return "", "", false
	}
	return nonFiniteIn(o, "")
}

// nonFiniteIn goes through a value as JSON.stringify does, which has come to an end with it already.
func nonFiniteIn(v sobek.Value, path string) (string, string, bool) {
	o, ok := v.(*sobek.Object)
	if !ok {
		f, isFloat := exportedFloat(v)
		if isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return path, v.String(), true
		}
		return "", "", false
	}
	if o.ClassName() == "Date" {
		return path, "an invalid date", math.IsNaN(o.ToFloat())
	}
	if toJSON, ok := sobek.AssertFunction(o.Get("toJSON")); ok {
		stands, err := toJSON(o, sobek.Undefined())
		if err != nil {
			return "", "", false
		}
		if o, ok = stands.(*sobek.Object); !ok {
			return nonFiniteIn(stands, path)
		}
	}
	return nonFiniteMember(o, path)
}

// nonFiniteMember goes through an object's members. The object is not asked for its toJSON: that of what toJSON returned
// doesn't count.
func nonFiniteMember(o *sobek.Object, path string) (string, string, bool) {
	switch {
	case isFunction(o):
		return "", "", false // is left out
	case o.ClassName() == "Number":
		f := o.ToFloat()
		return path, o.String(), math.IsNaN(f) || math.IsInf(f, 0)
	case isArray(o):
		for i := range int(o.Get("length").ToInteger()) {
			index := strconv.Itoa(i)
			if p, value, found := nonFiniteIn(o.Get(index), path+"["+index+"]"); found {
				return p, value, true
			}
		}
		return "", "", false
	}
	for _, name := range o.Keys() {
		if p, value, found := nonFiniteIn(o.Get(name), strings.TrimPrefix(path+"."+name, ".")); found {
			return p, value, true
		}
	}
	return "", "", false
}

func exportedFloat(v sobek.Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	f, ok := v.Export().(float64)
	return f, ok
}
