package omnigraph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumbersThatJSONHasNoFormForAreRefusedByName(t *testing.T) {
	t.Parallel()
	server := newStub(t, answer(200, written))
	r := newRuntime(t)
	r.js(fmt.Sprintf(`const og = connect(%q, {graph: "g", checkParams: false})`, server.URL))
	r.enter()
	for code, want := range map[string]string{
		`og.query("query q($n: F64) {}", {n: NaN})`:                                         "params: n is NaN",
		`og.mutate("query q($n: F64) {}", {a: null, n: -Infinity})`:                         "params: n is -Infinity",
		`og.invoke("get", {list: [1, [2, 0/0]]})`:                                           "params: list[1][1] is NaN",
		`og.query("query q() {}", {deep: {er: {x: Infinity}}})`:                             "params: deep.er.x is Infinity",
		`og.query("query q() {}", {n: new Number(NaN)})`:                                    "params: n is NaN",
		`og.query("query q() {}", {at: new Date(NaN)})`:                                     "params: at is an invalid date",
		`og.query("query q() {}", {n: {toJSON() { return {v: NaN} }}})`:                     "params: n.v is NaN",
		`og.query("query q() {}", {n: new Float64Array([1, NaN])})`:                         "params: n.1 is NaN",
		`og.load([{type: "M", data: {n: 1}}, {type: "M", data: {n: NaN}}])`:                 "row 1: data.n is NaN",
		`og.mutateMany("query q($n: F64) { insert M { n: $n } }", [{n: 1}, {n: Infinity}])`: "row 1: n is Infinity",
	} {
		res := r.export(r.js(code))
		require.Equal(t, false, res["ok"], code)
		problem, _ := res["error"].(map[string]any)
		assert.Equal(t, "bad_request", problem["kind"], code)
		assert.Contains(t, problem["message"], want, code)
	}
	assert.Empty(t, server.asked())
	for _, code := range []string{
		`og.mutate("query q() {}", {a: null, s: "null", l: [null, undefined], f() { return NaN }, d: new Date(0)})`,
		`og.mutate("query q() {}", {self: {toJSON() { return this }, a: null}})`,
		`og.mutate("query q() {}", {again: {toJSON() { return {toJSON: this.toJSON, a: null} }}})`,
	} {
		assert.Equal(t, true, r.export(r.js(code))["ok"], code)
	}
	assert.Len(t, server.asked(), 3)
}

func TestOptionsThatAreNoNumberThrow(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for code, want := range map[string]string{
		`record({name: "a", settings: {rate: NaN}})`:            "option settings.rate got NaN",
		`record({name: "a", run: {data: {rows: 1/0}}})`:         "option run.data.rows got Infinity",
		`new HTTPClient({tags: {a: NaN}})`:                      `"a" with NaN`,
		`new HTTPClient({retry: {budget: NaN}})`:                "budget with NaN",
		`new HTTPClient({retry: {maxElapsed: Infinity}})`:       "maxElapsed with Infinity",
		`new HTTPClient({pool: "shared", maxConnections: NaN})`: "NaN",
		`levels([NaN], {duration: "1s"})`:                       "NaN",
		`levels([1], {duration: NaN})`:                          "NaN",
	} {
		assert.Contains(t, r.throws(code), want, code)
	}
}
