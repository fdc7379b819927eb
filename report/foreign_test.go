package report

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// smallRecord is the JSON of a record with every kind of content, short enough to be changed thousands of times.
func smallRecord(t testing.TB) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	r := recorder.New(recorder.Config{MaxRaw: 3, MaxPairs: 3})
	r.SetVersions("v2.2.0", "v0.1.0")
	for _, name := range []string{"reads_1", "fragmented_read_1", "optimized_read_1"} {
		pairsInto(r, rng, name, "query", "point", 1, 25, 25, 5)
	}
	pairsInto(r, rng, "reads_8", "query", "point", 8, 25, 45, 10)
	pairsInto(r, rng, "w_1", "mutate", "insert", 1, 25, 70, 45)
	pairsInto(r, rng, "w_8", "mutate", "insert", 8, 25, 70, 45)
	c := r.Cell(recorder.CellKey{Scenario: "reads_1", Variant: "http", Transport: "http", Op: "query", Query: "point", Workers: 1, Phase: "measure"})
	c.RecordParts(1e6, recorder.Parts{recorder.PartWait: 5e5})
	c.Record(1e6, recorder.Failed("timeout"))
	r.Event("optimize", "x", 1)
	r.SetStateBefore(recorder.State{Rows: map[string]int64{"m": 1}})
	n := int64(3)
	r.SetScenario(recorder.Scenario{Name: "reads_1", Executor: "constant-arrival-rate", Started: &n, Dropped: &n})
	r.SetExtra(extraCapacity, map[string]any{"query": "point", "slo_p95_ms": 100, "steps": []any{
		map[string]any{"rate": 10, "p95_ms": []any{5, nil}, "limited_by": ""}, map[string]any{"rate": 20, "p95_ms": []any{500}},
	}})
	r.SetExtra("aging", map[string]any{"commits": []int{1, 2, 3}, "ms": []int{1, 2, 3}})
	rec, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	data, err := rec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// change replaces the at-th value of a JSON document, counted depth first, by another one; nil deletes members.
func change(v any, at *int, by any) any {
	*at--
	if *at == 0 {
		return by
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = change(v[k], at, by)
		}
	case []any:
		for i := range v {
			v[i] = change(v[i], at, by)
		}
	}
	return v
}

func replacements() []any {
	return []any{nil, 0, -1, 1e300, "", "x", true, []any{}, map[string]any{}, []any{nil}}
}

// use does with a record everything that a command does. It is enough that nothing panics.
func use(rec *recorder.Record) {
	d := Build(rec)
	docs := []*Document{d}
	if c, err := Compare(rec, rec, asRecorded); err == nil {
		docs = append(docs, c.Document())
	}
	if p, err := MakePlan([]*recorder.Record{rec}, PlanOptions{Rate: 10, SLOP95MS: 50, WriteRows: 5}); err == nil {
		docs = append(docs, p.Document())
	}
	for _, d := range docs {
		_ = d.Terminal(io.Discard, TerminalOptions{})
		_ = d.Markdown(io.Discard)
		_ = d.HTML(io.Discard)
		_ = d.JSON(io.Discard)
	}
	rec.Check()
}

func changed(t testing.TB, data []byte, at int, by any) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(change(doc, &at, by))
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := recorder.Decode(bytes.NewReader(encoded)); err == nil {
		use(rec)
	}
}

// Records come from other versions, other programs and careless hands: no change of a single value makes a report
// panic.
func FuzzReportsOfForeignRecords(f *testing.F) {
	data := smallRecord(f)
	for i := range 20 {
		f.Add(uint16(i*37), uint8(i))
	}
	f.Add(uint16(666), uint8(23)) // a latency of 1e300
	f.Fuzz(func(t *testing.T, at uint16, by uint8) {
		r := replacements()
		changed(t, data, int(at)+1, r[int(by)%len(r)])
	})
}
