// Package jsvalue makes JS values of JSON, for results whose rows a script looks at. It is apart from the module that
// uses it so that bench/json can compare it with other decoders.
package jsvalue

import (
	"github.com/grafana/sobek"
	"github.com/tidwall/gjson"
)

// Decode makes a JS value of JSON that is known to be valid, as JSON.parse would. The runtime's own JSON.parse reads
// token by token through encoding/json, which costs a point read several times what this does. It has to be called
// where the runtime may be used.
func Decode(rt *sobek.Runtime, document string) sobek.Value {
	return toValue(rt, gjson.Parse(document))
}

func toValue(rt *sobek.Runtime, v gjson.Result) sobek.Value {
	switch v.Type {
	case gjson.String:
		return rt.ToValue(v.Str)
	case gjson.Number:
		return rt.ToValue(v.Num)
	case gjson.True:
		return rt.ToValue(true)
	case gjson.False:
		return rt.ToValue(false)
	case gjson.JSON:
		if v.IsArray() {
			var items []any
			v.ForEach(func(_, item gjson.Result) bool {
				items = append(items, toValue(rt, item))
				return true
			})
			return rt.NewArray(items...)
		}
		o := rt.NewObject()
		v.ForEach(func(key, item gjson.Result) bool {
			if key.Str == "__proto__" {
				// Set would change the object's prototype; JSON.parse makes an own member of it.
				_ = o.DefineDataProperty(key.Str, toValue(rt, item), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE)
			} else {
				_ = o.Set(key.Str, toValue(rt, item))
			}
			return true
		})
		return o
	}
	return sobek.Null()
}
