package common

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/serenize/snaker"
)

// FieldName returns the name under which JavaScript sees a struct's field: that of its js tag, or its own in snake
// case. An empty name hides it.
func FieldName(_ reflect.Type, f reflect.StructField) string {
	if f.PkgPath != "" && !f.Anonymous {
		return ""
	}
	if tag, ok := f.Tag.Lookup("js"); ok {
		name, _, _ := strings.Cut(tag, ",")
		if name == "-" {
			return ""
		}
		if name != "" {
			return name
		}
	}
	if name, ok := wholeWords[f.Name]; ok {
		return name
	}
	return snaker.CamelToSnake(f.Name)
}

// MethodName returns the name under which JavaScript sees a method: its own with a small first letter, without the
// X of a constructor.
func MethodName(_ reflect.Type, m reflect.Method) string {
	name := m.Name
	if len(name) > 1 && name[0] == 'X' && unicode.IsUpper(rune(name[1])) {
		return name[1:]
	}
	if whole, ok := wholeWords[name]; ok {
		return whole
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(first)) + name[size:]
}

// wholeWords are names that are one word although they are written in capitals.
var wholeWords = map[string]string{
	"HTML": "html",
	"JSON": "json",
	"OCSP": "ocsp",
	"URL":  "url",
}

// FieldNameMapper makes Go's names look like JavaScript's; it implements sobek.FieldNameMapper.
type FieldNameMapper struct{}

// FieldName is the function FieldName.
func (FieldNameMapper) FieldName(t reflect.Type, f reflect.StructField) string {
	return FieldName(t, f)
}

// MethodName is the function MethodName.
func (FieldNameMapper) MethodName(t reflect.Type, m reflect.Method) string { return MethodName(t, m) }
