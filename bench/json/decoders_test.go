package json

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"
	"github.com/grafana/sobek"
	jsoniter "github.com/json-iterator/go"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/internal/jsvalue"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// decoder is a library's way to decode into Go values.
type decoder struct {
	name      string
	unmarshal func([]byte, any) error
}

// decoders are the libraries; encoding/json's second version joins them where it is compiled in.
var decoders = []decoder{
	{"encoding-json", stdjson.Unmarshal},
	{"goccy", goccy.Unmarshal},
	{"sonic", sonic.ConfigStd.Unmarshal},
	{"jsoniter", jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal},
}

// body is one recorded answer with the operation that it answers.
type body struct {
	name, text string
	op         wire.Operation
}

func bodies(t testing.TB) []body {
	t.Helper()
	all := []body{{name: "point-read", op: wire.Operation{Op: wire.OpQuery}}, {name: "full-scan", op: wire.Operation{Op: wire.OpQuery}}, {name: "mutation", op: wire.Operation{Op: wire.OpMutate}}}
	for i := range all {
		data, err := os.ReadFile(filepath.Join("testdata", all[i].name+".json"))
		require.NoError(t, err)
		all[i].text = string(data)
	}
	return all
}

// envelope is what a result needs at once; the rows stay as they are until a script looks at them.
type envelope struct {
	RowCount      *int               `json:"row_count"`
	Rows          stdjson.RawMessage `json:"rows"`
	Columns       stdjson.RawMessage `json:"columns"`
	AffectedNodes *int               `json:"affected_nodes"`
	AffectedEdges *int               `json:"affected_edges"`
	ActorID       string             `json:"actor_id"`
}

// toJS makes a JS value of what a library decoded. The order of an object's members is lost by then.
func toJS(rt *sobek.Runtime, v any) sobek.Value {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = toJS(rt, item)
		}
		return rt.NewArray(items...)
	case map[string]any:
		o := rt.NewObject()
		for name, member := range v {
			_ = o.Set(name, toJS(rt, member)) // a new object takes any member
		}
		return o
	case nil:
		return sobek.Null()
	}
	return rt.ToValue(v)
}

func parser(t testing.TB, rt *sobek.Runtime) sobek.Callable {
	t.Helper()
	parse, ok := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	require.True(t, ok)
	return parse
}

func TestAllDecodersAgree(t *testing.T) {
	for _, b := range bodies(t) {
		success, problem := wire.ParseSuccess(&b.op, b.text)
		require.Nil(t, problem)
		rt := sobek.New()
		canonical, err := stdjson.Marshal(jsvalue.Decode(rt, b.text).Export())
		require.NoError(t, err)
		parsed, err := parser(t, rt)(sobek.Undefined(), rt.ToValue(b.text))
		require.NoError(t, err)
		same, err := stdjson.Marshal(parsed.Export())
		require.NoError(t, err)
		require.JSONEq(t, string(same), string(canonical), "JSON.parse")
		for _, d := range decoders {
			var value any
			require.NoError(t, d.unmarshal([]byte(b.text), &value), d.name)
			again, err := stdjson.Marshal(toJS(rt, value).Export())
			require.NoError(t, err)
			require.JSONEq(t, string(canonical), string(again), d.name)
			var e envelope
			require.NoError(t, d.unmarshal([]byte(b.text), &e), d.name)
			if b.op.Op == wire.OpQuery {
				require.Equal(t, success.RowCount, *e.RowCount, d.name)
				require.JSONEq(t, success.Rows, string(e.Rows), d.name)
			} else {
				require.Equal(t, success.AffectedNodes, *e.AffectedNodes, d.name)
			}
		}
	}
}

// TestBrokenAnswersAreRefused holds ours to it and logs which of the others are lenient.
func TestBrokenAnswersAreRefused(t *testing.T) {
	whole := bodies(t)[0].text
	for _, broken := range []string{
		whole[:len(whole)/2], whole + "}", "", "<html>", whole[:20] + "\x01" + whole[20:],
		inRows("tru"), inRows(`1 "b"`), inRows("01"), inRows(`"\q"`), inRows("[1,]"), inRows("\"\n\""), inRows("1e"), inRows("-"),
	} {
		_, problem := wire.ParseSuccess(&wire.Operation{Op: wire.OpQuery}, broken)
		require.NotNil(t, problem, broken)
		for _, d := range decoders {
			var e envelope
			if d.unmarshal([]byte(broken), &e) == nil {
				t.Logf("%s takes %.60q", d.name, broken)
			}
		}
	}
}

// inRows is an answer whose one row has something wrong in it.
func inRows(value string) string {
	return `{"row_count":1,"columns":["a"],"rows":[{"a":` + value + `}]}`
}

// BenchmarkEnvelope is what every operation pays: is the answer whole, and how many rows has it?
func BenchmarkEnvelope(b *testing.B) {
	for _, body := range bodies(b) {
		b.Run(body.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body.text)))
			for b.Loop() {
				if _, problem := wire.ParseSuccess(&body.op, body.text); problem != nil {
					b.Fatal(problem)
				}
			}
		})
		data := []byte(body.text)
		for _, d := range decoders {
			b.Run(body.name+"/"+d.name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					var e envelope
					if err := d.unmarshal(data, &e); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkJSValue is what a script pays that looks at the rows.
func BenchmarkJSValue(b *testing.B) {
	for _, body := range bodies(b) {
		rt := sobek.New()
		b.Run(body.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				jsvalue.Decode(rt, body.text)
			}
		})
		b.Run(body.name+"/JSON.parse", func(b *testing.B) {
			parse := parser(b, rt)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(sobek.Undefined(), rt.ToValue(body.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
		data := []byte(body.text)
		for _, d := range slices.Clone(decoders) {
			b.Run(body.name+"/"+d.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var value any
					if err := d.unmarshal(data, &value); err != nil {
						b.Fatal(err)
					}
					toJS(rt, value)
				}
			})
		}
	}
}
