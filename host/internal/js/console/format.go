// Package console is the global object console of scripts: it sends what they print to the log.
package console

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// maxDepth bounds how deeply nested values are shown.
const maxDepth = 32

// Format joins values as console.log shows them.
func Format(rt *sobek.Runtime, args []sobek.Value) string {
	if len(args) == 1 && sobek.IsString(args[0]) {
		return args[0].String()
	}
	f := formatter{rt: rt}
	for i, arg := range args {
		if i > 0 {
			f.out.WriteByte(' ')
		}
		f.top(arg)
	}
	return f.out.String()
}

type formatter struct {
	rt   *sobek.Runtime
	out  strings.Builder
	path []*sobek.Object // the objects that the value lies in
}

// top shows an argument: strings as they are.
func (f *formatter) top(v sobek.Value) {
	if sobek.IsString(v) {
		f.out.WriteString(v.String())
		return
	}
	f.value(v)
}

func (f *formatter) value(v sobek.Value) {
	if v == nil {
		f.out.WriteString("undefined")
		return
	}
	obj, ok := v.(*sobek.Object)
	if !ok {
		if sobek.IsString(v) {
			f.out.WriteString(strconv.Quote(v.String()))
			return
		}
		if symbol, ok := v.(*sobek.Symbol); ok {
			f.out.WriteString("Symbol(" + symbol.String() + ")")
			return
		}
		f.out.WriteString(v.String())
		return
	}
	for _, outer := range f.path {
		if outer == obj {
			f.out.WriteString("[Circular]")
			return
		}
	}
	if len(f.path) >= maxDepth {
		f.out.WriteString("[Object]")
		return
	}
	f.path = append(f.path, obj)
	f.object(obj)
	f.path = f.path[:len(f.path)-1]
}

func (f *formatter) object(obj *sobek.Object) {
	if _, isFunction := sobek.AssertFunction(obj); isFunction {
		f.out.WriteString("[object Function]")
		return
	}
	switch obj.ClassName() {
	case "Error":
		f.out.WriteString(obj.String())
		return
	case "Array":
		f.list(obj)
		return
	case "Date":
		f.date(obj)
		return
	case "String", "Number", "Boolean", "RegExp", "Symbol":
		f.out.WriteString(obj.String())
		return
	}
	if f.bytes(obj) {
		return
	}
	f.properties(obj)
}

func (f *formatter) date(obj *sobek.Object) {
	if t, ok := obj.Export().(time.Time); ok {
		f.out.WriteString(strconv.Quote(t.UTC().Format("2006-01-02T15:04:05.000Z")))
		return
	}
	f.out.WriteString("Invalid Date")
}

func (f *formatter) list(obj *sobek.Object) {
	n := int(obj.Get("length").ToInteger())
	if n == 0 {
		f.out.WriteString("[]")
		return
	}
	f.out.WriteString("[ ")
	for i := range n {
		if i > 0 {
			f.out.WriteString(", ")
		}
		f.value(obj.Get(strconv.Itoa(i)))
	}
	f.out.WriteString(" ]")
}

// bytes shows typed arrays and buffers.
func (f *formatter) bytes(obj *sobek.Object) bool {
	if isBuffer(obj) {
		buffer, ok := obj.Export().(sobek.ArrayBuffer)
		if !ok {
			return false
		}
		f.out.WriteString("ArrayBuffer(" + strconv.Itoa(len(buffer.Bytes())) + ") ")
		f.byteList(buffer.Bytes())
		return true
	}
	if obj.Get("BYTES_PER_ELEMENT") == nil || !isBuffer(obj.Get("buffer")) {
		return false
	}
	name := "TypedArray"
	if ctor, ok := obj.Get("constructor").(*sobek.Object); ok {
		name = ctor.Get("name").String()
	}
	f.out.WriteString(name + "(" + obj.Get("length").String() + ") ")
	f.list(obj)
	return true
}

func isBuffer(v sobek.Value) bool {
	obj, ok := v.(*sobek.Object)
	return ok && obj.ExportType() == reflect.TypeFor[sobek.ArrayBuffer]()
}

func (f *formatter) byteList(data []byte) {
	if len(data) == 0 {
		f.out.WriteString("[]")
		return
	}
	f.out.WriteString("[ ")
	for i, b := range data {
		if i > 0 {
			f.out.WriteString(", ")
		}
		f.out.WriteString(strconv.Itoa(int(b)))
	}
	f.out.WriteString(" ]")
}

func (f *formatter) properties(obj *sobek.Object) {
	keys := obj.Keys()
	if len(keys) == 0 {
		f.out.WriteString("{}")
		return
	}
	f.out.WriteString("{ ")
	for i, key := range keys {
		if i > 0 {
			f.out.WriteString(", ")
		}
		f.out.WriteString(key + ": ")
		f.value(obj.Get(key))
	}
	f.out.WriteString(" }")
}
