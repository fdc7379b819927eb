package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// spikeRecord is a record as a spike leaves it: reads and writes at three levels, the spawn floor, and the same read
// on the fragmented and on the optimized store. Latencies are log-normal around the given medians.
func spikeRecord(t testing.TB) *recorder.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	rec := recorder.New(recorder.Config{})
	rec.SetSystem(recorder.System{Server: "0.8.0", CLI: "0.8.0", Build: "release"})
	rec.SetVersions("v2.2.0", "v0.1.0")
	rec.SetScript(recorder.Script{Path: "scripts/spike.js"})
	levels := []int{1, 4, 8}
	for i, workers := range levels {
		name := map[int]string{1: "_1", 4: "_4", 8: "_8"}[workers]
		pairsInto(rec, rng, "reads"+name, "query", "point_read", workers, 200, []float64{25.9, 33.3, 45.8}[i], []float64{5.1, 6.8, 10.7}[i])
		pairsInto(rec, rng, "reads"+name, "query", "list_memories", workers, 200, []float64{27.8, 36, 50}[i], []float64{5.5, 7.6, 12}[i])
		pairsInto(rec, rng, "writes"+name, "mutate", "add_memory", workers, 40, []float64{69.5, 643, 1653}[i], []float64{47.6, 488, 1429}[i])
		floor := rec.Cell(recorder.CellKey{Scenario: "floor" + name, Transport: "cli", Op: "version", Workers: workers, Phase: "measure"})
		for range 40 {
			floor.Record(logNormal(rng, 6.7+float64(workers), 0.1), recorder.OK)
		}
	}
	pairsInto(rec, rng, "fragmented", "query", "point_read", 0, 60, 196, 167)
	pairsInto(rec, rng, "optimized", "query", "point_read", 0, 60, 45.3, 7.7)
	for _, name := range []string{"reads_1", "reads_4", "reads_8", "writes_1"} {
		rec.SetScenario(recorder.Scenario{Name: name, Executor: "shared-iterations"})
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	return got
}

func pairsInto(rec *recorder.Recorder, rng *rand.Rand, scenario, op, query string, workers, n int, cliMS, httpMS float64) {
	cell := func(variant string) *recorder.Cell {
		return rec.Cell(recorder.CellKey{
			Scenario: scenario, Variant: variant, Transport: variant, Op: op, Query: query, Workers: workers, Phase: "measure",
		})
	}
	pair := rec.Pair(recorder.PairKey{Scenario: scenario, Op: op, Query: query, Workers: workers, Phase: "measure", A: "cli", B: "http"})
	for i := range n {
		a, b := logNormal(rng, cliMS, 0.15), logNormal(rng, httpMS, 0.15)
		cell("cli").Record(a, recorder.OK)
		cell("http").Record(b, recorder.OK)
		if op == "mutate" {
			cell("cli").AddAffected(1, 0)
			cell("http").AddAffected(1, 0)
		}
		pair.Record(float64(a)/1e6, float64(b)/1e6, i%2 == 0, false)
	}
}

func logNormal(rng *rand.Rand, medianMS, sigma float64) time.Duration {
	return time.Duration(medianMS * math.Exp(sigma*rng.NormFloat64()) * float64(time.Millisecond))
}

func inTerminal(t *testing.T, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.Terminal(&b, TerminalOptions{Width: 10_000}))
	return b.String()
}

func TestSpikeReportSaysWhatTheSpikesAuthorsConcluded(t *testing.T) {
	d := Build(spikeRecord(t))
	require.Len(t, d.Findings, 5)
	order := []struct{ text, next string }{
		{"Optimizing the store took point_read over HTTP", "omnigraph optimize really runs"},
		{"list_memories (reads): HTTP instead of CLI saves", "pooled HTTP client"},
		{"point_read (reads): HTTP instead of CLI saves", ""},
		{"add_memory (writes): HTTP instead of CLI saves", "several rows into one mutation"},
		{"adding writers slows the system down", "several rows into one mutation"},
	}
	for i, want := range order {
		assert.Contains(t, d.Findings[i].Text, want.text)
		assert.Contains(t, d.Findings[i].Next, want.next)
		if i < 4 {
			assert.Regexp(t, `\[[\d.]+, [\d.]+\]`, d.Findings[i].Text, "it has its interval")
		}
	}
}

func TestSpikeReportHasTheSpikesTable(t *testing.T) {
	d := Build(spikeRecord(t))
	var reads *Section
	for i := range d.Sections {
		if d.Sections[i].Title == "point_read (reads)" {
			reads = &d.Sections[i]
		}
	}
	require.NotNil(t, reads)
	table := reads.Tables[0]
	assert.Equal(t, []string{"ms unless a unit stands there", "1 worker", "4 workers", "8 workers"}, table.Header)
	rows := map[string][]string{}
	for _, r := range table.Rows {
		rows[r[0]] = r[1:]
	}
	for _, name := range []string{
		"CLI p50", "CLI p95", "HTTP p50", "HTTP p95", "subprocess share of p50, (CLI - HTTP) / CLI",
		"median difference in a pair, CLI - HTTP", "spawn floor, p50", "CLI operations/s", "HTTP operations/s",
	} {
		require.Contains(t, rows, name)
		for _, figure := range rows[name] {
			assert.NotEqual(t, none, figure, name)
		}
	}
	assert.Equal(t, []string{"200", "200", "200"}, rows["n, CLI"])
	assert.Equal(t, []string{"200", "200", "200"}, rows["n, pairs CLI/HTTP"])
	assert.Regexp(t, `^80\.\d % \[[\d.]+, [\d.]+\]$`, rows["subprocess share of p50, (CLI - HTTP) / CLI"][0])
	assert.Contains(t, reads.Notes, "CLI, HTTP: an interval of p99 needs 1000 samples, there are 200.")
	assert.Equal(t, "Fragments", d.Sections[0].Title)
}

func TestTheVerdictComesFirst(t *testing.T) {
	rec := spikeRecord(t)
	rec.Generator.MachineCPU = ptr(0.99)
	rec.Verdict, rec.Reasons = recorder.Judge(rec)
	d := Build(rec)
	assert.Contains(t, d.Meaning, "ratios and differences below hold")
	out := inTerminal(t, d)
	verdict, reason := strings.Index(out, "Directional: ratios"), strings.Index(out, "[shared_machine]")
	finding := strings.Index(out, "Optimizing the store")
	assert.Positive(t, verdict)
	assert.Less(t, verdict, reason)
	assert.Less(t, reason, finding)
}

func TestAnInvalidRunHasNoFindings(t *testing.T) {
	rec := spikeRecord(t)
	rec.Generator.GCShare = ptr(0.5)
	rec.Verdict, rec.Reasons = recorder.Judge(rec)
	d := Build(rec)
	assert.Empty(t, d.Findings)
	assert.Contains(t, d.Meaning, "nothing below is a result")
}

func TestAnEmulatorsFiguresAreLabelledAtTheTopOfEveryForm(t *testing.T) {
	rec := spikeRecord(t)
	rec.Emulator = &recorder.Emulator{CostModel: "default"}
	rec.Verdict, rec.Reasons = recorder.Judge(rec)
	const label = "emulator, cost model default: a model's figures, not a measurement"
	d := Build(rec)
	for name, out := range forms(t, d) {
		at := strings.Index(html.UnescapeString(out), label)
		require.Positive(t, at, name)
		assert.Less(t, strings.Count(out[:at], "\n"), 120, "%s: it stands at the top", name)
	}
}

func forms(t *testing.T, d *Document) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, render := range map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error { return d.Terminal(w, TerminalOptions{Width: 10_000, Color: true}) },
		"markdown": d.Markdown, "html": d.HTML, "json": d.JSON,
	} {
		var b bytes.Buffer
		require.NoError(t, render(&b), name)
		out[name] = b.String()
	}
	return out
}

func TestReportsArePureFunctionsOfTheRecord(t *testing.T) {
	rec := spikeRecord(t)
	first := forms(t, Build(rec))
	data, err := rec.Encode()
	require.NoError(t, err)
	again, err := recorder.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, first, forms(t, Build(again)))
}

func TestHTMLNeedsNothingElse(t *testing.T) {
	page := forms(t, Build(spikeRecord(t)))["html"]
	assert.NotContains(t, page, "<script")
	assert.NotRegexp(t, `(?i)(src|href)\s*=`, page)
	assert.NotContains(t, page, "@import")
	assert.NotContains(t, page, "url(")
	assert.Contains(t, page, "prefers-color-scheme: dark")
	assert.Contains(t, page, "@media print")
	assert.Contains(t, page, `<html lang="en">`)
	figures, alternatives := strings.Count(page, "<svg"), strings.Count(page, "<desc")
	assert.Greater(t, figures, 10)
	assert.Equal(t, figures, alternatives)
	assert.Equal(t, strings.Count(page, "<table"), strings.Count(page, `<table aria-label="`), "every table has a name")
	assert.NotContains(t, page, "NaN")
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1)
	seen := map[string]bool{}
	for _, m := range ids {
		assert.False(t, seen[m[1]], "id %s is there twice", m[1])
		seen[m[1]] = true
	}
}

// hostile is a name that would be markup if it were not escaped.
const hostile = "<script>alert(1)</script>|`*_"

func TestNamesFromARecordAreNeverMarkup(t *testing.T) {
	r := recorder.New(recorder.Config{})
	r.SetScript(recorder.Script{Path: hostile})
	cell := r.Cell(recorder.CellKey{Scenario: hostile, Variant: hostile, Transport: hostile, Op: "query", Query: hostile})
	for i := range 30 {
		cell.Record(time.Duration(i+1)*time.Millisecond, recorder.OK)
	}
	cell.Record(time.Millisecond, recorder.Failed(hostile))
	r.Event(hostile, hostile, 0)
	rec, err := r.Finish()
	require.NoError(t, err)
	out := forms(t, Build(rec))
	assert.NotContains(t, out["html"], "<script")
	assert.NotContains(t, out["markdown"], "<script")
	for _, line := range strings.Split(out["markdown"], "\n") {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "alert(1)") {
			assert.Contains(t, line, `\|`)
		}
	}
}

func TestMarkdownTablesHaveOneWidth(t *testing.T) {
	width := 0
	for _, line := range strings.Split(forms(t, Build(spikeRecord(t)))["markdown"], "\n") {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		columns := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if width != 0 {
			assert.Equal(t, width, columns, line)
		}
		width = columns
	}
}

func TestDegenerateRecordsHaveReports(t *testing.T) {
	one := func(r *recorder.Recorder, c recorder.Outcome) {
		r.Cell(recorder.CellKey{Scenario: "s", Variant: "cli", Transport: "cli", Op: "query", Workers: 1}).Record(time.Millisecond, c)
	}
	tests := map[string]struct {
		fill func(r *recorder.Recorder)
		want string
	}{
		"nothing":    {func(*recorder.Recorder) {}, "no operation was measured"},
		"one sample": {func(r *recorder.Recorder) { one(r, recorder.OK) }, "an interval of p50 needs 20 samples, there are 1"},
		"all failed": {func(r *recorder.Recorder) { one(r, recorder.Failed("timeout")) }, "none of 1 measured operations succeeded (1 timeout)"},
		"canceled":   {func(r *recorder.Recorder) { one(r, recorder.Canceled) }, "0 + 1 canceled"},
		"one side": {func(r *recorder.Recorder) {
			one(r, recorder.OK)
			r.Pair(recorder.PairKey{Scenario: "s", Op: "query", Workers: 1, A: "cli", B: "http"}).Record(1, 0, true, true)
		}, "can't be compared, since no pair has two successes"},
		"zero variance": {func(r *recorder.Recorder) {
			for range 300 {
				one(r, recorder.OK)
			}
		}, "1.00 [1.00, 1.00]"},
		"a pair without cells": {func(r *recorder.Recorder) {
			r.Pair(recorder.PairKey{Scenario: "s", A: "a", B: "b"}).Record(2, 1, true, false)
		}, "an interval needs 20 pairs, there are 1"},
		"extra sections of another form": {func(r *recorder.Recorder) {
			one(r, recorder.OK)
			for _, name := range []string{extraFindings, extraSections, extraCapacity, "aging", "batch:1"} {
				r.SetExtra(name, 7)
			}
		}, "has not the form that a report expects"},
		"findings of which one has no text": {func(r *recorder.Recorder) {
			one(r, recorder.OK)
			r.SetExtra(extraFindings, []any{map[string]any{"text": 5}, map[string]any{"text": "good"}})
		}, "section \"findings\" has not the form"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := recorder.New(recorder.Config{})
			tt.fill(r)
			rec, err := r.Finish()
			require.NoError(t, err)
			d := Build(rec)
			assert.Contains(t, inTerminal(t, d), tt.want)
			for _, f := range d.Findings {
				assert.NotEmpty(t, f.Text)
			}
			for form, out := range forms(t, d) {
				assert.NotContains(t, out, "NaN", form)
				assert.NotContains(t, out, "+Inf", form)
			}
		})
	}
}

func TestAScriptsOwnSectionsAreShown(t *testing.T) {
	r := recorder.New(recorder.Config{})
	for i := range 30 {
		r.Cell(recorder.CellKey{Scenario: "s", Transport: "http", Op: "query"}).Record(time.Duration(i+1)*time.Millisecond, recorder.OK)
	}
	r.SetExtra(extraFindings, []map[string]string{{"text": "The job runs.", "next": "Nothing to do."}})
	r.SetExtra(extraSections, []Section{{Title: "Jobs", Tables: []Table{{Caption: "c", Header: []string{"a", "b"}, Rows: [][]string{{"x", "1"}}}}}})
	rec, err := r.Finish()
	require.NoError(t, err)
	out := inTerminal(t, Build(rec))
	assert.Contains(t, out, "The job runs.")
	assert.Contains(t, out, "→ Nothing to do.")
	assert.Contains(t, out, "Jobs")
}

func TestAnErrorsShareIsShown(t *testing.T) {
	r := recorder.New(recorder.Config{})
	c := r.Cell(recorder.CellKey{Scenario: "s", Transport: "http", Op: "mutate", Query: "insert"})
	for range 30 {
		c.Record(time.Millisecond, recorder.OK)
	}
	for range 5 {
		c.Record(time.Millisecond, recorder.Failed("conflict_stale"))
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	d := Build(rec)
	assert.Equal(t, recorder.Directional, d.Verdict)
	out := inTerminal(t, d)
	assert.Contains(t, out, "30 + 5 failed")
	assert.Regexp(t, `conflict_stale\s+│\s+5`, out)
}

func TestFamiliesOfScenarios(t *testing.T) {
	tests := []struct {
		scenario string
		workers  int
		want     string
	}{
		{"reads_1", 1, "reads"},
		{"reads_16", 16, "reads"},
		{"full_scan_1", 1, "full_scan"},
		{"mix8", 8, "mix"},
		{"reads_16", 6, "reads_16"},
		{"reads_w4", 4, "reads"},
		{"reads-8vus", 8, "reads"},
		{"reads_4_warmup", 4, "reads"},
		{"reads_4_measure", 4, "reads"},
		{"batch_64", 1, "batch_64"},
		{"8", 8, "8"},
		{"default", 0, "default"},
		{"", 3, ""},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, family(tt.scenario, tt.workers), tt.scenario)
	}
}

func TestWhatIsNotMergedIsSaid(t *testing.T) {
	first := withExtra(t, map[string]string{"integrity:unique": `{"checked":5,"broken":5}`}, nil)
	second := withExtra(t, map[string]string{"integrity:unique": `{"checked":7,"broken":0}`}, nil)
	merged, err := recorder.Merge(first, second)
	require.NoError(t, err)
	assert.Contains(t, inTerminal(t, Build(merged)), "is not merged: integrity:unique stand here as the first record has them")
	assert.NotContains(t, inTerminal(t, Build(first)), "is not merged")
}

func TestATableFitsATerminalByWrappingItsWidestColumns(t *testing.T) {
	for name, d := range map[string]*Document{
		"spike": Build(spikeRecord(t)),
		"errors": Build(withExtra(t, nil, func(rec *recorder.Recorder) {
			c := rec.Cell(recorder.CellKey{Scenario: "writes", Transport: "http", Op: "mutate", Query: "set_importance", Workers: 8})
			c.Record(time.Millisecond, recorder.Failed("recovery_required"))
			c.NoteError("recovery_required", strings.Repeat("what the server said ", 20))
		})),
	} {
		var b bytes.Buffer
		require.NoError(t, d.Terminal(&b, TerminalOptions{}))
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, "%s: %s", name, line)
		}
	}
	assert.Equal(t, []int{5, 9}, columnWidths(Table{Header: []string{"a", "b"}, Rows: [][]string{{"aaaaa", "bbb bbbbb"}}}, 100))
	assert.Equal(t, []int{5, 7}, columnWidths(Table{Header: []string{"a", "b"}, Rows: [][]string{{"aaaaa", "bbb bbbbb"}}}, 19))
	assert.Equal(t, []int{5, 5}, columnWidths(Table{Header: []string{"a", "b"}, Rows: [][]string{{"aaaaa", "bbb bbbbb"}}}, 3), "no word is cut")
}

func TestManyScenariosAreASentenceOnATerminalAndATableElsewhere(t *testing.T) {
	rec := recorder.New(recorder.Config{})
	for i := range 18 {
		started, dropped := int64(100), int64(i)
		rec.SetScenario(recorder.Scenario{Name: fmt.Sprintf("step_%d", i), Executor: "constant-arrival-rate", Started: &started, Dropped: &dropped})
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	text := inTerminal(t, Build(got))
	assert.Contains(t, text, "18 scenarios in the open model; the least on time is step_17 with 85.5 %.")
	assert.NotContains(t, text, "iterations started")
	var b bytes.Buffer
	require.NoError(t, Build(got).Markdown(&b))
	assert.Contains(t, b.String(), "iterations started")
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00", 0.0123: "0.012", 0.9996: "1.00", 5.126: "5.13", 9.996: "10.0", 25.94: "25.9", 99.96: "100", 1653.6: "1,654", -12.34: "-12.3", 0.0002: "<0.001", -0.0002: "-<0.001",
	} {
		assert.Equal(t, want, ms(v))
	}
	assert.Equal(t, "1,234,567", count(1234567))
	assert.Equal(t, "-1,234", count(-1234))
	assert.Equal(t, "123", count(123))
	assert.Equal(t, "< 0.001", pValue(ptr(0.0001)))
	assert.Equal(t, "80.5 % [79.0, 82.0]", percentCI(ptr(0.805), &recorder.Interval{0.79, 0.82}))
}

func ptr[T any](v T) *T { return &v }

func TestMaintenanceBesideAnOpenLoadIsNoClosedModel(t *testing.T) {
	rec := recorder.New(recorder.Config{})
	load := rec.Cell(recorder.CellKey{Scenario: "soak", Transport: "http", Op: "query", Query: "q", Rate: 10, Phase: "measure"})
	for range 30 {
		load.Record(time.Millisecond, recorder.OK)
	}
	job := rec.Cell(recorder.CellKey{Scenario: "maintenance", Transport: "cli", Op: "optimize", Phase: "measure"})
	job.Record(time.Second, recorder.OK)
	job.Record(time.Second, recorder.Failed("cli_exit"))
	started, dropped := int64(30), int64(0)
	rec.SetScenario(recorder.Scenario{Name: "soak", Executor: "constant-arrival-rate", Started: &started, Dropped: &dropped})
	rec.SetScenario(recorder.Scenario{Name: "maintenance", Executor: "constant-vus"})
	got, err := rec.Finish()
	require.NoError(t, err)
	text := inTerminal(t, Build(got))
	assert.Contains(t, text, "1 + 1 failed (1 cli_exit)")
	assert.NotContains(t, text, "Closed model")
}
