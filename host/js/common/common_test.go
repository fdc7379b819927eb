package common

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"testing"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/metrics"
)

type named struct {
	StatusCode int
	RemoteIP   string
	OCSP       string
	URL        string
	TLSVersion string
	Other      int `js:"renamed"`
	Hidden     int `js:"-"`
	Optional   int `js:"opt,omitempty"`
}

func (named) JSON()        {}
func (named) HTML()        {}
func (named) SubmitForm()  {}
func (named) XConstructs() {}
func (named) X()           {}

func TestNames(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[named]()
	fields := make(map[string]string)
	for i := range typ.NumField() {
		fields[typ.Field(i).Name] = FieldName(typ, typ.Field(i))
	}
	assert.Equal(t, map[string]string{
		"StatusCode": "status_code", "RemoteIP": "remote_ip", "OCSP": "ocsp", "URL": "url",
		"TLSVersion": "tls_version", "Other": "renamed", "Hidden": "", "Optional": "opt",
	}, fields)
	methods := make(map[string]string)
	for i := range typ.NumMethod() {
		methods[typ.Method(i).Name] = MethodName(typ, typ.Method(i))
	}
	assert.Equal(t, map[string]string{
		"JSON": "json", "HTML": "html", "SubmitForm": "submitForm", "XConstructs": "Constructs", "X": "x",
	}, methods)
}

func TestMapperHidesFields(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	rt.SetFieldNameMapper(FieldNameMapper{})
	require.NoError(t, rt.Set("o", named{StatusCode: 7, Hidden: 1}))
	value, err := rt.RunString(`[o.status_code, o.Hidden, o.hidden, typeof o.json].join()`)
	require.NoError(t, err)
	assert.Equal(t, "7,,,function", value.String())
}

func TestBytes(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	for name, tc := range map[string]struct {
		in any
		ok bool
	}{
		"string": {"abc", true}, "bytes": {[]byte("abc"), true}, "buffer": {rt.NewArrayBuffer([]byte("abc")), true},
		"number": {7, false}, "nil": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := ToBytes(tc.in)
			text, textErr := ToString(tc.in)
			reader, readerErr := GetReader(tc.in)
			if !tc.ok {
				require.Error(t, err)
				require.Error(t, textErr)
				require.Error(t, readerErr)
				return
			}
			require.NoError(t, errors.Join(err, textErr, readerErr))
			all, err := io.ReadAll(reader)
			require.NoError(t, err)
			assert.Equal(t, []string{"abc", "abc", "abc"}, []string{string(data), text, string(all)})
		})
	}
}

func TestThrow(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	cause := errors.New("cause")
	require.NoError(t, rt.Set("f", func(sobek.FunctionCall) sobek.Value { Throw(rt, cause); return nil }))
	value, err := rt.RunString(`try { f() } catch (e) { e.name + e.message + (e instanceof Error) }`)
	require.NoError(t, err)
	assert.Equal(t, "GoErrorcausetrue", value.String())
	_, err = rt.RunString(`f()`)
	require.ErrorIs(t, err, cause)

	_, inner := rt.RunString(`throw new TypeError('inner')`)
	require.NoError(t, rt.Set("g", func(sobek.FunctionCall) sobek.Value { Throw(rt, inner); return nil }))
	value, err = rt.RunString(`try { g() } catch (e) { e.name + e.message }`)
	require.NoError(t, err)
	assert.Equal(t, "TypeErrorinner", value.String())
}

func TestAsyncFunctions(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	for code, want := range map[string]bool{
		"(async () => 1)": true, "(async function () {})": true, "({ async m() {} }).m": true,
		"(() => 1)": false, "(function () {})": false, "(class {})": false, "({})": false,
		"1": false, "null": false, "undefined": false,
	} {
		value, err := rt.RunString(code)
		require.NoError(t, err)
		assert.Equal(t, want, IsAsyncFunction(rt, value), code)
	}
	assert.True(t, IsNullish(nil))
}

func TestFreezeObject(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	value, err := rt.RunString(`var o = { a: { b: [1] } }; o.self = o; o`)
	require.NoError(t, err)
	require.NoError(t, FreezeObject(rt, value))
	for _, change := range []string{`o.x = 1`, `o.a.b = 1`, `o.a.b.push(2)`} {
		_, err := rt.RunString(`"use strict"; ` + change)
		require.ErrorContains(t, err, "TypeError", change)
	}
}

func TestInterruptCause(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	cause := errors.New("cause")
	rt.Interrupt(cause)
	_, err := rt.RunString(`for (;;);`)
	assert.Equal(t, cause, UnwrapSobekInterruptedError(err))
	assert.Equal(t, cause, UnwrapSobekInterruptedError(cause))
	rt.Interrupt("no error")
	_, err = rt.RunString(`for (;;);`)
	assert.Equal(t, err, UnwrapSobekInterruptedError(err))
}

func TestUserTags(t *testing.T) {
	t.Parallel()
	rt := sobek.New()
	for code, tc := range map[string]struct {
		want map[string]string
		err  string
	}{
		`({ a: 'x', b: 7, c: true, d: 1.5 })`: {want: map[string]string{"a": "x", "b": "7", "c": "true", "d": "1.5", "name": "n"}},
		`({ name: 'mine' })`:                  {want: map[string]string{"name": "mine"}},
		`null`:                                {want: map[string]string{"name": "n"}},
		`undefined`:                           {want: map[string]string{"name": "n"}},
		`({ a: {} })`:                         {err: "metric tag 'a'"},
		`({ a: null })`:                       {err: "metric tag 'a'"},
		`({ a: undefined })`:                  {err: "only String, Boolean and Number"},
		`({ a: Symbol('s') })`:                {err: "metric tag 'a'"},
		`({ a: [1] })`:                        {err: "metric tag 'a'"},
	} {
		t.Run(code, func(t *testing.T) {
			value, err := rt.RunString(code)
			require.NoError(t, err)
			tm := metrics.TagsAndMeta{Tags: metrics.NewRegistry().RootTagSet().With("name", "n")}
			err = ApplyCustomUserTags(rt, &tm, value)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, tm.Tags.Map())
		})
	}
	var tm metrics.TagsAndMeta
	require.NoError(t, ApplyCustomUserMetadata(&tm, "trace", rt.ToValue("id")))
	require.ErrorContains(t, ApplyCustomUserMetadata(&tm, "x", rt.NewObject()), "metric metadata 'x'")
	assert.Equal(t, map[string]string{"trace": "id"}, tm.Metadata)
}

func TestInitEnvironmentPaths(t *testing.T) {
	t.Parallel()
	env := InitEnvironment{CWD: &url.URL{Scheme: "file", Path: "/a/b/"}}
	for name, want := range map[string]string{"c.txt": "/a/b/c.txt", "../c.txt": "/a/c.txt", "/x/c.txt": "/x/c.txt", "./": "/a/b"} {
		assert.Equal(t, want, env.GetAbsFilePath(name))
	}
	err := NewInitContextError("not here")
	assert.Equal(t, "not here not here", fmt.Sprint(err.Error(), " ", err.String()))
}

func TestRandSourceIsInRange(t *testing.T) {
	t.Parallel()
	source, other := NewRandSource(), NewRandSource()
	same := true
	for range 100 {
		a, b := source(), other()
		assert.True(t, a >= 0 && a < 1)
		same = same && a == b
	}
	assert.False(t, same, "two sources are seeded differently")
}
