package recorder

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadRefusesWhatIsNoRecord(t *testing.T) {
	tests := map[string]struct{ content, want string }{
		"empty":            {"", "not a run record"},
		"garbage":          {"hello", "not a run record"},
		"another document": {`{"a": 1}`, "schema"},
		"another version":  {`{"schema": "xk6-omnigraph/record/99", "verdict": "valid"}`, "expected"},
		"unknown verdict":  {`{"schema": "` + Schema + `", "verdict": "fine"}`, "verdict"},
		"broken histogram": {`{"schema": "` + Schema + `", "verdict": "valid", "cells": [{"histogram": "!!"}]}`, "cell 0"},
		"broken zstd":      {"\x28\xb5\x2f\xfdxxxx", "decompress"},
		"partial header":   {`{"partial":"x"`, "header line"},
		"partial first":    {`{"partial":"x","cell":{}}` + "\n", "header line"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o600))
			_, err := Read(path)
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, path)
		})
	}
	_, err := Read(filepath.Join(t.TempDir(), "none.json"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAFailedWriteLeavesThePreviousRecord(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record.json")
	rec := finished(t)
	require.NoError(t, rec.Write(path))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	rec.Extra = map[string]any{"x": func() {}}
	require.Error(t, rec.Write(path))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file stays")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err = finished(t).Write(filepath.Join(file, "record.json"))
	var pathErr *fs.PathError
	require.True(t, errors.As(err, &pathErr), "a folder that is a file: %v", err)
}

func TestABrokenLastLineOfAPartialFileIsWhereReadingEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.partial.ndjson")
	rec := New(Config{})
	rec.SetPartialPath(path)
	for _, name := range []string{"a", "b", "c"} {
		rec.Cell(CellKey{Scenario: name}).Record(time.Millisecond, OK)
	}
	require.NoError(t, rec.Flush())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	got, err := Decode(bytes.NewReader(data[:len(data)-20]))
	require.NoError(t, err)
	assert.Len(t, got.Cells, 2)
	assert.Equal(t, "killed", got.Reasons[0].Code)
	require.NoError(t, rec.Close())
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, fs.ErrNotExist, "once the record is written, the partial file goes")
}

func TestFlushingGoesOnByItselfAndAProblemIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	warnings := make(chan error, 100)
	rec := New(Config{FlushEvery: time.Millisecond, Warn: func(err error) { warnings <- err }})
	rec.SetPartialPath(filepath.Join(file, "x.ndjson")) // a folder that is a file
	rec.Start(t.Context())
	require.ErrorContains(t, <-warnings, "partial file")
	good := filepath.Join(dir, "good.partial.ndjson")
	rec.SetPartialPath(good)
	require.Eventually(t, func() bool { _, err := os.Stat(good); return err == nil }, time.Minute, time.Millisecond)
	require.NoError(t, rec.Close())
	assert.Empty(t, warnings)
}

func TestALargeRunMakesASmallRecord(t *testing.T) {
	rec := New(Config{})
	const operations = 200_000
	for _, query := range []string{"point", "scan", "insert"} {
		http := rec.Cell(CellKey{Scenario: "mix", Variant: "http", Transport: "http", Op: "query", Query: query})
		cli := rec.Cell(CellKey{Scenario: "mix", Variant: "cli", Transport: "cli", Op: "query", Query: query})
		pair := rec.Pair(PairKey{Scenario: "mix", Op: "query", Query: query, A: "cli", B: "http"})
		for i := range operations / 6 {
			d := time.Duration(5000+i%3000) * time.Microsecond
			http.Record(d, OK)
			cli.Record(5*d, OK)
			pair.Record(float64(5*d)/1e6, float64(d)/1e6, i%2 == 0, false)
		}
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	data, err := got.Encode()
	require.NoError(t, err)
	t.Logf("%d operations: %d KB", operations, len(data)>>10)
	assert.Less(t, len(data), 1<<20)
	assert.Empty(t, got.Check())
}

func TestRunDescriptionsAreComplete(t *testing.T) {
	rec := New(Config{})
	require.ErrorContains(t, rec.SetRun(Run{Data: map[string]string{"row": "913"}}), `no factor "row"`)
	require.NoError(t, rec.SetRun(Run{Data: map[string]string{"rows": "913", "shape": "a=b {c}"}}))
	got, err := rec.Finish()
	require.NoError(t, err)
	assert.Contains(t, got.Run.Point, "data{provenance=unknown,rows=913,")
	assert.Contains(t, got.Run.Point, "shape=a_b__c_,")
	assert.Equal(t, "unknown", got.Run.State["f1_fragmentation"])
	assert.Equal(t, 5, strings.Count(got.Run.Point, "{"))
}

func TestCheckFindsContradictions(t *testing.T) {
	tests := map[string]struct {
		spoil func(r *Record)
		want  string
	}{
		"count and histogram":  {func(r *Record) { r.Cells[0].N++ }, "its histogram holds"},
		"failed and kinds":     {func(r *Record) { r.Cells[0].Failed = 1 }, "errors by kind"},
		"a cell twice":         {func(r *Record) { r.Cells = append(r.Cells, r.Cells[0]) }, "twice"},
		"verdict":              {func(r *Record) { r.Verdict = Invalid }, "the figures lead to"},
		"unknown code":         {func(r *Record) { r.Reasons = []Reason{{Code: "x"}} }, "not known"},
		"columns":              {func(r *Record) { r.Cells[0].Raw[0].MS = nil }, "columns"},
		"columns of pairs":     {func(r *Record) { r.Pairs[0].Raw[0].A = nil }, "columns"},
		"time runs backwards":  {func(r *Record) { r.Invocation.End = r.Invocation.Start.Add(-1) }, "before it started"},
		"no id":                {func(r *Record) { r.Invocation.ID = "" }, "no id"},
		"percentile of nought": {func(r *Record) { r.Cells[0].N, r.Cells[0].Histogram = 0, "" }, "without a success"},
		"endless rows":         {func(r *Record) { r.Cells[0].Rows = 1e18 }, "rows is 1000000000000000000, more than any run makes"},
		"endless canceled":     {func(r *Record) { r.Cells[0].Canceled = 1e18 }, "canceled is"},
		"a rate beyond any":    {func(r *Record) { r.Cells[0].Canceled = 1e14 }, "more than any generator makes"},
		"attempts of nobody":   {func(r *Record) { r.Cells[0].Attempts = 1e9 }, "first attempts"},
		"retries of nobody":    {func(r *Record) { r.Cells[0].Retries = r.Cells[0].Attempts + 7 }, "all attempts only"},
		"percentile":           {func(r *Record) { *r.Cells[0].P50 *= 0.9 }, "p50_ms is"},
		"rate":                 {func(r *Record) { r.Cells[0].OpsPerS = new(float64) }, "ops_per_s is 0"},
		"negative time":        {func(r *Record) { r.Cells[0].SpanS = -1 }, "less than no time"},
		"hours of nobody":      {func(r *Record) { r.Cells[0].Over = r.Cells[0].N + 1 }, "over_an_hour"},
		"endless pairs":        {func(r *Record) { r.Pairs[0].N = 1e18 }, "more than any run makes"},
		"p50's interval":       {func(r *Record) { r.Cells[0].P50CI = &Interval{0.1, 0.2} }, "p50_ci_ms is [0.1, 0.2], it takes one that holds p50_ms, "},
		"p95's interval":       {func(r *Record) { r.Cells[0].P95CI = &Interval{1e6, 2e6} }, "p95_ci_ms is [1e+06, 2e+06], it takes one that holds p95_ms"},
		"p99's interval":       {func(r *Record) { r.Cells[0].P99, r.Cells[0].P99CI = nil, &Interval{1, 2} }, "it takes a value of p99_ms, which is null"},
		"upside down": {func(r *Record) {
			r.Cells[0].P50CI = &Interval{*r.Cells[0].P50 + 1, *r.Cells[0].P50 - 1}
		}, "it takes the lower bound first"},
		"interval of pairs":   {func(r *Record) { r.Pairs[0].MedianDiffCI = &Interval{-9e6, -8e6} }, "median_diff_ci_ms is"},
		"interval of a share": {func(r *Record) { r.Pairs[0].ShareCI = &Interval{-9, -8} }, "share_ci is"},
		"busy time":           {func(r *Record) { r.Cells[0].BusyS *= 10 }, "it takes the sum of its histogram's durations, "},
		"endless run":         {func(r *Record) { r.Invocation.DurationS = 1e9 }, "invocation.duration_s is 1e+09, it takes what lies between start and end"},
		"emulated server":     {func(r *Record) { r.System.Server = "0.8.0-emulator" }, "system.server is \"0.8.0-emulator\", it takes the block emulator"},
		"emulated CLI":        {func(r *Record) { r.System.CLI = "0.8.0-emulator" }, "system.cli is"},
		"interval of a part": {func(r *Record) {
			r.Cells[0].Decomposition = &Decomposition{N: 1, Parts: []PartRecord{{Part: "wait", MeanMS: 3, MeanCI: &Interval{4, 5}}}}
		}, "part wait: mean_ci_ms is [4, 5], it takes one that holds mean_ms, 3"},
		"more pairs": {func(r *Record) { r.Pairs[0].N++ }, "its raw pairs are of"},
	}
	assert.Empty(t, finished(t).Check())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec := finished(t)
			tt.spoil(rec)
			assert.ErrorContains(t, errors.Join(rec.Check()...), tt.want)
		})
	}
}

func TestANullIsNotReadAsAZero(t *testing.T) {
	data, err := finished(t).Encode()
	require.NoError(t, err)
	edit := func(change func(doc map[string]any)) error {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(data, &doc))
		change(doc)
		edited, err := json.Marshal(doc)
		require.NoError(t, err)
		_, err = Decode(bytes.NewReader(edited))
		return err
	}
	cell := func(doc map[string]any) map[string]any { return doc["cells"].([]any)[0].(map[string]any) }
	require.NoError(t, edit(func(map[string]any) {}), "what a run writes has nulls only where they are meant")
	require.NoError(t, edit(func(doc map[string]any) { cell(doc)["workers"] = nil; doc["extra"] = map[string]any{"x": nil} }))
	for want, change := range map[string]func(doc map[string]any){
		"cells[0].scenario is null": func(doc map[string]any) { cell(doc)["scenario"] = nil },
		"cells[0].n is null":        func(doc map[string]any) { cell(doc)["n"] = nil },
		"cells[1] is null":          func(doc map[string]any) { doc["cells"].([]any)[1] = nil },
		"invocation.start is null":  func(doc map[string]any) { doc["invocation"].(map[string]any)["start"] = nil },
		"machine is null":           func(doc map[string]any) { doc["machine"] = nil },
		"errors.timeout is null":    func(doc map[string]any) { cell(doc)["errors"] = map[string]any{"timeout": nil} },
	} {
		assert.ErrorContains(t, edit(change), want)
	}
}

func FuzzDecodeSample(f *testing.F) {
	rec := New(Config{})
	cell := rec.Cell(CellKey{Scenario: "s"})
	cell.Record(time.Millisecond, OK)
	cell.Record(time.Minute, OK)
	hdr, err := cell.ok.export()
	if err != nil {
		f.Fatal(err)
	}
	good, err := encode(hdr)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 0, byte(0))
	f.Add("HISTFAAAACF4nJNpmSzMwMDAxAABzFCa4f9/BAsA", 3, byte(7))
	f.Add("AAAA", 0, byte(0)) // too short for the library's decoder
	// Damage below the compression is what reaches the decoder's inner parts.
	f.Fuzz(func(t *testing.T, encoded string, at int, with byte) {
		for _, text := range []string{encoded, damaged(encoded, at, with)} {
			if s, err := decodeSample(text); err == nil && s.Len() < 0 {
				t.Fatal("negative count")
			}
		}
	})
}

// damaged changes one byte of the payload within the compression.
func damaged(encoded string, at int, with byte) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) < 9 {
		return encoded
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return encoded
	}
	payload, err := io.ReadAll(io.LimitReader(z, 1<<16))
	if err != nil || len(payload) == 0 {
		return encoded
	}
	payload[uint(at)%uint(len(payload))] = with
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(payload)
	_ = w.Close()
	head := append([]byte{}, raw[:8]...)
	binary.BigEndian.PutUint32(head[4:], uint32(out.Len()))
	return base64.StdEncoding.EncodeToString(append(head, out.Bytes()...))
}

func FuzzDecode(f *testing.F) {
	rec, err := New(Config{}).Finish()
	if err != nil {
		f.Fatal(err)
	}
	data, err := rec.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	partial, err := encodePartial(rec)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(partial)
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if rec, err := Decode(bytes.NewReader(data)); err == nil {
			rec.Check()
		}
	})
}

func TestADeclaredEmulatorIsLabelled(t *testing.T) {
	rec := New(Config{})
	rec.SetSystem(System{Server: "0.8.0-emulator+default"})
	got, err := rec.Finish()
	require.NoError(t, err)
	assert.Equal(t, &Emulator{CostModel: "unknown", Version: "0.8.0-emulator+default"}, got.Emulator)
	assert.Contains(t, codesOf(got.Reasons), "emulator")
	assert.Empty(t, got.Check())
}
