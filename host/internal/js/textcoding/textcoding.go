// Package textcoding gives scripts TextEncoder and TextDecoder, after the Encoding Standard of the WHATWG.
package textcoding

import (
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// NewEncoder makes the constructor TextEncoder of a runtime.
func NewEncoder(rt *sobek.Runtime) *sobek.Object {
	ctor := rt.ToValue(func(sobek.ConstructorCall) *sobek.Object { return nil }).ToObject(rt)
	proto := ctor.Get("prototype").ToObject(rt)
	getter(rt, proto, "encoding", func(sobek.FunctionCall) sobek.Value { return rt.ToValue("utf-8") })
	method(rt, proto, "encode", func(call sobek.FunctionCall) sobek.Value {
		text := ""
		if !sobek.IsUndefined(call.Argument(0)) {
			text = toUTF8(call.Argument(0))
		}
		return newUint8Array(rt, []byte(text))
	})
	method(rt, proto, "encodeInto", func(call sobek.FunctionCall) sobek.Value { return encodeInto(rt, call) })
	_ = ctor.DefineDataProperty("name", rt.ToValue("TextEncoder"), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	return ctor
}

func encodeInto(rt *sobek.Runtime, call sobek.FunctionCall) sobek.Value {
	target, ok := call.Argument(1).Export().([]byte)
	if !ok {
		panic(rt.NewTypeError("TextEncoder.encodeInto needs a Uint8Array as its second argument"))
	}
	read, written := 0, 0
	for _, r := range toUTF8(call.Argument(0)) {
		size := utf8.RuneLen(r)
		if written+size > len(target) {
			break
		}
		utf8.EncodeRune(target[written:], r)
		written += size
		read += utf16.RuneLen(r)
	}
	result := rt.NewObject()
	_ = result.Set("read", read)
	_ = result.Set("written", written)
	return result
}

// toUTF8 returns a value as text in which every lone surrogate is the replacement character.
func toUTF8(v sobek.Value) string {
	s, ok := v.ToString().(sobek.String)
	if !ok {
		return v.String()
	}
	units := make([]uint16, s.Length())
	for i := range units {
		units[i] = s.CharAt(i)
	}
	return string(utf16.Decode(units))
}

func newUint8Array(rt *sobek.Runtime, data []byte) *sobek.Object {
	array, err := rt.New(rt.Get("Uint8Array"), rt.ToValue(rt.NewArrayBuffer(data)))
	if err != nil {
		panic(err)
	}
	return array
}

type decoder struct {
	name      string
	encoding  encoding.Encoding
	fatal     bool
	ignoreBOM bool

	stream  transform.Transformer // of a decode call with stream: true that more is to follow
	pending []byte
	bomSeen bool
}

// NewDecoder makes the constructor TextDecoder of a runtime.
func NewDecoder(rt *sobek.Runtime) *sobek.Object {
	states := sobek.NewSymbol("decoder")
	of := func(this sobek.Value) *decoder {
		if obj, ok := this.(*sobek.Object); ok {
			if held := obj.GetSymbol(states); held != nil {
				if d, ok := held.Export().(*decoder); ok {
					return d
				}
			}
		}
		panic(rt.NewTypeError("this is not a TextDecoder"))
	}
	ctor := rt.ToValue(func(call sobek.ConstructorCall) *sobek.Object {
		d := newDecoder(rt, call)
		_ = call.This.DefineDataPropertySymbol(states, rt.ToValue(d), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE)
		return nil
	}).ToObject(rt)
	proto := ctor.Get("prototype").ToObject(rt)
	getter(rt, proto, "encoding", func(c sobek.FunctionCall) sobek.Value { return rt.ToValue(of(c.This).name) })
	getter(rt, proto, "fatal", func(c sobek.FunctionCall) sobek.Value { return rt.ToValue(of(c.This).fatal) })
	getter(rt, proto, "ignoreBOM", func(c sobek.FunctionCall) sobek.Value { return rt.ToValue(of(c.This).ignoreBOM) })
	method(rt, proto, "decode", func(call sobek.FunctionCall) sobek.Value {
		data, err := bytesOf(call.Argument(0))
		if err != nil {
			panic(rt.NewTypeError(err.Error()))
		}
		text, err := of(call.This).decode(data, flag(rt, call.Argument(1), "stream"))
		if err != nil {
			panic(rt.NewTypeError(err.Error()))
		}
		return rt.ToValue(text)
	})
	_ = ctor.DefineDataProperty("name", rt.ToValue("TextDecoder"), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	return ctor
}

func newDecoder(rt *sobek.Runtime, call sobek.ConstructorCall) *decoder {
	label := "utf-8"
	if v := call.Argument(0); !sobek.IsUndefined(v) {
		label = strings.TrimSpace(v.String())
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		panic(newRangeError(rt, "TextDecoder does not know the encoding \""+label+"\""))
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		name = strings.ToLower(label)
	}
	if name == "utf-16" {
		name = "utf-16le"
	}
	return &decoder{
		name: name, encoding: enc,
		fatal:     flag(rt, call.Argument(1), "fatal"),
		ignoreBOM: flag(rt, call.Argument(1), "ignoreBOM"),
	}
}

func newRangeError(rt *sobek.Runtime, text string) *sobek.Object {
	obj, err := rt.New(rt.Get("RangeError"), rt.ToValue(text))
	if err != nil {
		return rt.NewTypeError(text)
	}
	return obj
}

var (
	errMalformed = errors.New("the data is not valid in the decoder's encoding")
	errNoBytes   = errors.New("TextDecoder.decode needs an ArrayBuffer or a view of one")
)

func (d *decoder) newTransformer() transform.Transformer {
	switch d.name {
	case "utf-8":
		return encoding.Nop.NewDecoder() // malformed input is dealt with below
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	default:
		return d.encoding.NewDecoder()
	}
}

func (d *decoder) decode(data []byte, more bool) (string, error) {
	if d.stream == nil {
		d.stream, d.pending, d.bomSeen = d.newTransformer(), nil, false
	}
	data = append(d.pending, data...)
	d.pending = nil
	if d.name == "utf-8" && more {
		cut := len(data) - incompleteTail(data)
		data, d.pending = data[:cut], append([]byte(nil), data[cut:]...)
	}
	out, used, err := transformAll(d.stream, data, !more)
	if errors.Is(err, transform.ErrShortSrc) && more {
		d.pending, err = append([]byte(nil), data[used:]...), nil
	}
	if !more {
		d.stream = nil
	}
	if err != nil {
		return "", errMalformed
	}
	if d.fatal && (!utf8.Valid(out) || d.name != "utf-8" && strings.ContainsRune(string(out), utf8.RuneError)) {
		d.stream, d.pending = nil, nil
		return "", errMalformed
	}
	text := replaceMalformed(out)
	if !d.bomSeen && text != "" {
		d.bomSeen = true
		if !d.ignoreBOM {
			text = strings.TrimPrefix(text, "\ufeff")
		}
	}
	return text, nil
}

func transformAll(t transform.Transformer, src []byte, atEOF bool) (out []byte, used int, err error) {
	buf := make([]byte, len(src)*3+64)
	for {
		n, read, err := t.Transform(buf, src[used:], atEOF)
		out = append(out, buf[:n]...)
		used += read
		if !errors.Is(err, transform.ErrShortDst) {
			return out, used, err
		}
	}
}

// incompleteTail returns how many bytes at the end may be the start of a character.
func incompleteTail(data []byte) int {
	for n := 1; n <= min(3, len(data)); n++ {
		b := data[len(data)-n]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(data[len(data)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// replaceMalformed puts one replacement character for each maximal part of a malformed sequence.
func replaceMalformed(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			size = malformedLength(data)
		}
		b.WriteRune(r)
		data = data[size:]
	}
	return b.String()
}

// malformedLength returns the length of the longest start of data that begins some valid character.
func malformedLength(data []byte) int {
	n := 1
	for n < min(4, len(data)) && !utf8.FullRune(data[:n]) && !utf8.FullRune(data[:n+1]) {
		n++
	}
	return n
}

func bytesOf(v sobek.Value) ([]byte, error) {
	if v == nil || sobek.IsUndefined(v) {
		return nil, nil
	}
	switch data := v.Export().(type) {
	case sobek.ArrayBuffer:
		return data.Bytes(), nil
	case []byte:
		return data, nil
	}
	obj, ok := v.(*sobek.Object)
	if !ok {
		return nil, errNoBytes
	}
	buffer, ok := exportOf(obj.Get("buffer")).(sobek.ArrayBuffer)
	if !ok {
		return nil, errNoBytes
	}
	from := int(obj.Get("byteOffset").ToInteger())
	return buffer.Bytes()[from : from+int(obj.Get("byteLength").ToInteger())], nil
}

func exportOf(v sobek.Value) any {
	if v == nil {
		return nil
	}
	return v.Export()
}

func flag(rt *sobek.Runtime, options sobek.Value, name string) bool {
	if options == nil || sobek.IsUndefined(options) || sobek.IsNull(options) {
		return false
	}
	v := options.ToObject(rt).Get(name)
	return v != nil && v.ToBoolean()
}

func getter(rt *sobek.Runtime, obj *sobek.Object, name string, f func(sobek.FunctionCall) sobek.Value) {
	_ = obj.DefineAccessorProperty(name, rt.ToValue(f), nil, sobek.FLAG_TRUE, sobek.FLAG_TRUE)
}

func method(rt *sobek.Runtime, obj *sobek.Object, name string, f func(sobek.FunctionCall) sobek.Value) {
	_ = obj.DefineDataProperty(name, rt.ToValue(f), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE)
}
