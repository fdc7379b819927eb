package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// noNulls refuses a document in which null stands where the type has no "not known": encoding/json reads it as the zero
// value, so that a scenario without a name would count as setup().
func noNulls(data []byte, t reflect.Type) error {
	if !bytes.Contains(data, []byte("null")) {
		return nil
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	return nullIn(doc, t, "the record")
}

// nullIn names the first null in a value that its type does not allow.
func nullIn(v any, t reflect.Type, at string) error {
	switch t.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Pointer:
		if v == nil {
			return nil
		}
		return nullIn(v, t.Elem(), at)
	case reflect.Slice, reflect.Map:
		if v == nil {
			return nil
		}
	default:
	}
	if v == nil {
		return fmt.Errorf("%s is null", at)
	}
	switch v := v.(type) {
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for i, e := range v {
			if err := nullIn(e, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		return nullInObject(v, t, at)
	}
	return nil
}

func nullInObject(v map[string]any, t reflect.Type, at string) error {
	switch t.Kind() {
	case reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := nullIn(v[name], t.Elem(), at+"."+name); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if e, ok := v[name]; ok {
				if err := nullIn(e, t.Field(i).Type, strings.TrimPrefix(at+"."+name, "the record.")); err != nil {
					return err
				}
			}
		}
	default:
	}
	return nil
}
