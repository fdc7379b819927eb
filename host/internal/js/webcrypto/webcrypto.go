// Package webcrypto gives scripts the part of the Web Cryptography API that load tests use: random values, UUIDs
// and digests.
package webcrypto

import (
	"crypto/rand"
	"crypto/sha1" // #nosec -- scripts may ask for it
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// maxRandomBytes is the most that getRandomValues fills at a time, as the API's specification has it.
const maxRandomBytes = 65536

// New makes the global object crypto.
func New(vu modules.VU) *sobek.Object {
	rt := vu.Runtime()
	obj := rt.NewObject()
	_ = obj.Set("getRandomValues", func(call sobek.FunctionCall) sobek.Value { return getRandomValues(rt, call) })
	_ = obj.Set("randomUUID", func(sobek.FunctionCall) sobek.Value { return rt.ToValue(randomUUID()) })
	_ = obj.Set("subtle", newSubtle(vu))
	return obj
}

func newSubtle(vu modules.VU) *sobek.Object {
	rt := vu.Runtime()
	subtle := rt.NewObject()
	_ = subtle.Set("digest", func(call sobek.FunctionCall) sobek.Value { return digest(vu, call) })
	for _, name := range []string{
		"encrypt", "decrypt", "sign", "verify", "generateKey", "deriveKey", "deriveBits",
		"importKey", "exportKey", "wrapKey", "unwrapKey",
	} {
		_ = subtle.Set(name, func(sobek.FunctionCall) sobek.Value {
			common.Throw(rt, fmt.Errorf("crypto.subtle.%s is not part of the embedded host, the real k6 has it", name))
			return nil
		})
	}
	return subtle
}

func getRandomValues(rt *sobek.Runtime, call sobek.FunctionCall) sobek.Value {
	array, ok := call.Argument(0).(*sobek.Object)
	if !ok {
		panic(rt.NewTypeError("crypto.getRandomValues needs a typed array of integers"))
	}
	view, ok := bytesOf(array)
	if !ok {
		panic(rt.NewTypeError("crypto.getRandomValues needs a typed array of integers"))
	}
	if kind := array.GetSymbol(sobek.SymToStringTag); kind == nil || !integerArrays[kind.String()] {
		panic(newError(rt, "TypeMismatchError", errors.New("crypto.getRandomValues needs a typed array of integers")))
	}
	if len(view) > maxRandomBytes {
		panic(newError(rt, "QuotaExceededError",
			fmt.Errorf("crypto.getRandomValues fills at most %d bytes, not %d", maxRandomBytes, len(view))))
	}
	if _, err := rand.Read(view); err != nil {
		common.Throw(rt, fmt.Errorf("crypto.getRandomValues: %w", err))
	}
	return array
}

// integerArrays are the kinds of typed arrays that any bytes make sense in, as the API's specification has it.
var integerArrays = map[string]bool{
	"Int8Array": true, "Uint8Array": true, "Uint8ClampedArray": true, "Int16Array": true, "Uint16Array": true,
	"Int32Array": true, "Uint32Array": true, "BigInt64Array": true, "BigUint64Array": true,
}

// bytesOf returns the memory of an ArrayBuffer's view.
func bytesOf(view *sobek.Object) ([]byte, bool) {
	buffer := view.Get("buffer")
	if buffer == nil {
		return nil, false
	}
	memory, ok := buffer.Export().(sobek.ArrayBuffer)
	if !ok {
		return nil, false
	}
	from := int(view.Get("byteOffset").ToInteger())
	return memory.Bytes()[from : from+int(view.Get("byteLength").ToInteger())], true
}

// randomUUID returns a version 4 UUID (RFC 9562, section 5.4).
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func digest(vu modules.VU, call sobek.FunctionCall) sobek.Value {
	rt := vu.Runtime()
	promise, resolve, reject := rt.NewPromise()
	settle := func() error {
		sum, err := newHash(call.Argument(0))
		if err != nil {
			return reject(newError(rt, "NotSupportedError", err))
		}
		data, err := input(call.Argument(1))
		if err != nil {
			return reject(newError(rt, "TypeError", err))
		}
		_, _ = sum.Write(data) // a hash takes everything
		return resolve(rt.NewArrayBuffer(sum.Sum(nil)))
	}
	if err := settle(); err != nil {
		common.Throw(rt, err)
	}
	return rt.ToValue(promise)
}

// newError makes a JavaScript error with a name of the Web's.
func newError(rt *sobek.Runtime, name string, err error) *sobek.Object {
	ctor := rt.Get("Error")
	if name == "TypeError" {
		ctor = rt.Get(name)
	}
	obj, newErr := rt.New(ctor, rt.ToValue(err.Error()))
	if newErr != nil {
		return rt.NewGoError(err)
	}
	_ = obj.DefineDataProperty("name", rt.ToValue(name), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	return obj
}

func newHash(algorithm sobek.Value) (hash.Hash, error) {
	name := algorithm
	if obj, ok := algorithm.(*sobek.Object); ok {
		if inner := obj.Get("name"); inner != nil {
			name = inner
		}
	}
	if common.IsNullish(name) {
		return nil, errors.New("crypto.subtle.digest needs the name of an algorithm")
	}
	switch strings.ToUpper(name.String()) {
	case "SHA-1":
		return sha1.New(), nil // #nosec -- scripts may ask for it
	case "SHA-256":
		return sha256.New(), nil
	case "SHA-384":
		return sha512.New384(), nil
	case "SHA-512":
		return sha512.New(), nil
	default:
		return nil, fmt.Errorf("crypto.subtle.digest does not know %q, only SHA-1, SHA-256, SHA-384 and SHA-512", name.String())
	}
}

func input(v sobek.Value) ([]byte, error) {
	if obj, ok := v.(*sobek.Object); ok {
		if buffer, ok := obj.Export().(sobek.ArrayBuffer); ok {
			return buffer.Bytes(), nil
		}
		if data, ok := bytesOf(obj); ok {
			return data, nil
		}
	}
	return nil, errors.New("crypto.subtle.digest needs an ArrayBuffer or a view of one")
}
