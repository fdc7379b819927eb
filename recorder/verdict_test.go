package recorder

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ptr[T any](v T) *T { return &v }

// sound is a record of a run with nothing to say against it.
func sound() *Record {
	return &Record{
		Limits: DefaultLimits(),
		Generator: Generator{
			TickerLagP99: ptr(2.0), GCShare: ptr(0.001), MachineCPU: ptr(0.5), PeakFDs: 40, FDLimit: 1024,
			Queues: map[string]Queue{},
		},
		Scenarios:   []Scenario{{Name: "s", Model: "open", Started: ptr(int64(100)), Dropped: ptr(int64(0)), OnTimeShare: ptr(1.0)}},
		Cells:       []CellRecord{{Scenario: "s", Transport: "http", Op: "query", N: 100, Errors: map[string]uint64{}}},
		Pairs:       []PairRecord{{Scenario: "s", A: "cli", B: "http", N: 100, OrderEffectP: ptr(0.5)}},
		StateBefore: &State{Rows: map[string]int64{"Memory": 913}},
		StateAfter:  &State{Rows: map[string]int64{"Memory": 913}},
	}
}

func TestASoundRunIsValid(t *testing.T) {
	verdict, reasons := Judge(sound())
	assert.Equal(t, Valid, verdict)
	assert.Empty(t, reasons)
}

func TestEveryReasonCodeIsGivenForItsCause(t *testing.T) {
	tests := map[string]struct {
		spoil func(r *Record)
		want  Verdict
	}{
		"killed":            {func(r *Record) { r.Invocation.Partial = true }, Invalid},
		"identity_mismatch": {func(r *Record) { r.Reasons = []Reason{{"identity_mismatch", "server"}} }, Invalid},
		"no_success":        {func(r *Record) { r.Cells[0].N = 0; r.Cells[0].Canceled = 7 }, Invalid},
		"debug_build":       {func(r *Record) { r.System.Build = "debug" }, Invalid},
		"generator_lag":     {func(r *Record) { r.Generator.TickerLagP99 = ptr(50.1) }, Invalid},
		"fd_limit":          {func(r *Record) { r.Generator.PeakFDs = 1020 }, Invalid},
		"gc_pressure":       {func(r *Record) { r.Generator.GCShare = ptr(0.051) }, Invalid},
		"off_schedule":      {func(r *Record) { r.Scenarios[0].OnTimeShare = ptr(0.949) }, Invalid},
		"schedule_unknown":  {func(r *Record) { r.Scenarios[0].OnTimeShare = nil }, Directional},
		"ended_early":       {func(r *Record) { r.Invocation.EndedBy = "SIGINT" }, Directional},
		"errors_above_limit": {func(r *Record) {
			r.Cells[0].Failed, r.Cells[0].Errors = 2, map[string]uint64{"timeout": 2}
		}, Directional},
		"rows_changed":   {func(r *Record) { r.StateAfter.Rows["Memory"] = 914 }, Directional},
		"emulator":       {func(r *Record) { r.Emulator = &Emulator{CostModel: "default"} }, Directional},
		"shared_machine": {func(r *Record) { r.Generator.MachineCPU = ptr(0.91) }, Directional},
		"few_samples": {func(r *Record) {
			r.Cells = append(r.Cells, CellRecord{Scenario: "t", N: 5, Directional: true})
		}, Valid},
		"failed_pairs":  {func(r *Record) { r.Pairs[0].Failed = 3 }, Valid},
		"one_sided":     {func(r *Record) { r.Pairs[0].N, r.Pairs[0].Failed, r.Pairs[0].OrderEffectP = 0, 40, nil }, Valid},
		"order_effect":  {func(r *Record) { r.Pairs[0].OrderEffectP = ptr(0.049) }, Valid},
		"process_queue": {func(r *Record) { r.Generator.Queues["process_slot"] = Queue{N: 3} }, Valid},
		"rps_limit":     {func(r *Record) { r.Generator.Queues["rps_limit"] = Queue{N: 3} }, Valid},
		"policy_cap": {func(r *Record) {
			r.Cells[0].N, r.Cells[0].Failed, r.Cells[0].Errors = 1000, 1, map[string]uint64{admissionKind: 1}
		}, Valid},
		"clamped": {func(r *Record) { r.Cells[0].Over = 1 }, Valid},
	}
	for _, c := range Codes() {
		t.Run(c.Code, func(t *testing.T) {
			tt, ok := tests[c.Code]
			require.True(t, ok, "there is no test for this code")
			rec := sound()
			tt.spoil(rec)
			verdict, reasons := Judge(rec)
			assert.Equal(t, tt.want, verdict)
			assert.Equal(t, []string{c.Code}, codesOf(reasons))
			for _, r := range reasons {
				assert.NotEmpty(t, r.Text)
			}
			assert.NotEmpty(t, c.Meaning)
		})
	}
	assert.Len(t, tests, len(Codes()))
}

func TestReasonsThatDoNotApply(t *testing.T) {
	tests := map[string]func(r *Record){
		"queueing for a number of processes that the script chose": func(r *Record) {
			r.Generator.Queues["process_slot"] = Queue{N: 3}
			r.Generator.MaxProcessesSet = true
		},
		"rows that the run wrote itself": func(r *Record) {
			r.StateAfter.Rows["Memory"] = 950
			r.Cells[0].Op = "mutate"
		},
		"dropped iterations in the closed model": func(r *Record) { r.Scenarios[0] = Scenario{Name: "s", Model: "closed"} },
		"few samples in the warm-up": func(r *Record) {
			r.Cells = append(r.Cells, CellRecord{Scenario: "s", Phase: ptr(PhaseWarmup), N: 2, Failed: 9, Directional: true})
		},
		"few samples in setup": func(r *Record) { r.Cells = append(r.Cells, CellRecord{Op: "health", N: 1, Directional: true}) },
		"a single optimize": func(r *Record) {
			r.Cells = append(r.Cells, CellRecord{Scenario: "o", Op: "optimize", N: 1, Directional: true})
		},
		"an optimize that crashed and was made again": func(r *Record) {
			r.Cells = append(r.Cells, CellRecord{Scenario: "o", Op: "optimize", N: 1, Failed: 1, Errors: map[string]uint64{"cli_exit": 1}})
		},
		"one order effect among many comparisons": func(r *Record) {
			for range 20 {
				r.Pairs = append(r.Pairs, PairRecord{Scenario: "s", N: 100, OrderEffectP: ptr(0.04)})
			}
		},
		"a schedule broken on purpose": func(r *Record) {
			r.Scenarios[0].Probe, r.Scenarios[0].OnTimeShare = true, ptr(0.5)
			r.Cells[0].Failed, r.Cells[0].Errors = 50, map[string]uint64{"timeout": 50}
		},
		"nothing known of the generator": func(r *Record) { r.Generator = Generator{} },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			rec := sound()
			spoil(rec)
			verdict, reasons := Judge(rec)
			assert.Equal(t, Valid, verdict)
			assert.Empty(t, reasons)
		})
	}
}

func TestARunWithFewSamplesInEveryCellIsDirectional(t *testing.T) {
	rec := sound()
	rec.Cells[0].Directional = true
	verdict, _ := Judge(rec)
	assert.Equal(t, Directional, verdict)
}

func TestARunWithoutASuccessSaysWhatItGotInstead(t *testing.T) {
	rec := sound()
	rec.Cells[0].N, rec.Cells[0].Failed = 0, 45
	rec.Cells[0].Errors = map[string]uint64{"timeout": 5, "forbidden": 40}
	_, reasons := Judge(rec)
	require.NotEmpty(t, reasons)
	assert.Equal(t, Reason{"no_success", "none of 45 measured operations succeeded (40 forbidden, 5 timeout)"}, reasons[0])
}

func TestATinyPValueIsNeverWrittenAsZero(t *testing.T) {
	rec := sound()
	rec.Pairs[0].OrderEffectP = ptr(0.0)
	_, reasons := Judge(rec)
	require.Len(t, reasons, 1)
	assert.Contains(t, reasons[0].Text, "(p < 0.001 after Holm)")
	assert.Equal(t, "p = 0.049", pWords(0.049))
}

func TestTheWorstReasonDecides(t *testing.T) {
	rec := sound()
	rec.Generator.GCShare = ptr(0.2)
	rec.Generator.MachineCPU = ptr(0.99)
	rec.Cells[0].Over = 1
	verdict, reasons := Judge(rec)
	assert.Equal(t, Invalid, verdict)
	assert.Equal(t, []string{"gc_pressure", "shared_machine", "clamped"}, codesOf(reasons))
}

func TestAnEmptyRunIsInvalid(t *testing.T) {
	got, err := New(Config{}).Finish()
	require.NoError(t, err)
	assert.Equal(t, Invalid, got.Verdict)
	assert.Equal(t, []string{"no_success"}, codesOf(got.Reasons))
}

func TestAnOpenScenarioKnowsItsOnTimeShare(t *testing.T) {
	rec := New(Config{})
	rec.SetScenario(Scenario{Name: "open", Executor: "constant-arrival-rate", Started: ptr(int64(75)), Dropped: ptr(int64(25))})
	rec.SetScenario(Scenario{Name: "closed", Executor: "shared-iterations"})
	rec.SetScenario(Scenario{Name: "other"})
	cell := rec.Cell(CellKey{Scenario: "open", Transport: "http"})
	for i := range 75 {
		cell.Record(time.Duration(i+1)*time.Millisecond, OK)
	}
	got, err := rec.Finish()
	require.NoError(t, err)
	require.Len(t, got.Scenarios, 3)
	assert.Equal(t, "closed", got.Scenarios[0].Model)
	assert.InDelta(t, 0.75, *got.Scenarios[1].OnTimeShare, 1e-12)
	assert.Equal(t, "unknown", got.Scenarios[2].Model)
	c := got.Cells[0]
	assert.InDelta(t, 0.25, *c.DroppedShare, 1e-12)
	assert.InEpsilon(t, 38, *c.P50, 0.002)
	assert.InEpsilon(t, 50, *c.P50DropAware, 0.002, "half of 100 iterations, of which 25 never ran")
	assert.Nil(t, c.P95DropAware, "infinitely slow")
	assert.Equal(t, Invalid, got.Verdict)
}

func TestWhatIsKnownOfAnOpenScheduleCounts(t *testing.T) {
	const droppedTH, startedTH = "'dropped_iterations{scenario:s}': ['count>=0']", "'iterations{scenario:s}': ['count>=0']"
	tests := map[string]struct {
		started, dropped *int64
		probe            bool
		code             string
		says, not        []string
	}{
		"neither": {nil, nil, false, "schedule_unknown", []string{"its started and its dropped", droppedTH + " and " + startedTH}, nil},
		"started": {ptr(int64(75)), nil, false, "schedule_unknown", []string{"its dropped iterations are not known", droppedTH}, []string{startedTH}},
		"nothing due": {
			ptr(int64(0)), ptr(int64(0)), false, "schedule_unknown", []string{"none of its iterations started or was dropped"}, []string{"declare"},
		},
		"few dropped": {
			nil, ptr(int64(2)), false, "schedule_unknown", []string{"2 iterations were dropped, of how many is not known", startedTH}, []string{droppedTH},
		},
		"most dropped": {
			nil, ptr(int64(300)), false, "off_schedule",
			[]string{"dropped 300 iterations and made 100 operations: at most 25.0 %", startedTH}, []string{droppedTH},
		},
		"most dropped on purpose": {nil, ptr(int64(300)), true, "schedule_unknown", []string{"300 iterations were dropped"}, []string{droppedTH}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec := sound()
			rec.Scenarios[0] = Scenario{Name: "s", Model: "open", Started: tt.started, Dropped: tt.dropped, Probe: tt.probe}
			// Operations of other scenarios say nothing about this one.
			rec.Cells = append(rec.Cells, CellRecord{Scenario: "other", Op: "query", N: 1e6, Errors: map[string]uint64{}})
			verdict, reasons := Judge(rec)
			require.Len(t, reasons, 1)
			assert.Equal(t, tt.code, reasons[0].Code)
			assert.Equal(t, map[string]Verdict{"off_schedule": Invalid, "schedule_unknown": Directional}[tt.code], verdict)
			for _, words := range tt.says {
				assert.Contains(t, reasons[0].Text, words)
			}
			for _, words := range tt.not {
				assert.NotContains(t, reasons[0].Text, words)
			}
		})
	}
}

func TestWhereNothingWasDroppedTheScheduleWasKept(t *testing.T) {
	rec := New(Config{})
	rec.SetScenario(Scenario{Name: "open", Executor: "constant-arrival-rate", Dropped: ptr(int64(0))})
	rec.Cell(CellKey{Scenario: "open", Transport: "http"}).Record(time.Millisecond, OK)
	got, err := rec.Finish()
	require.NoError(t, err)
	require.NotNil(t, got.Scenarios[0].OnTimeShare)
	assert.InDelta(t, 1, *got.Scenarios[0].OnTimeShare, 0)
	assert.NotContains(t, codesOf(got.Reasons), "schedule_unknown")
}
