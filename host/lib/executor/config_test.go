package executor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

func wholeTest(t *testing.T) *lib.ExecutionTuple {
	t.Helper()
	tuple, err := lib.NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	return tuple
}

func decode(t *testing.T, text string) lib.ExecutorConfig {
	t.Helper()
	var configs lib.ScenarioConfigs
	require.NoError(t, json.Unmarshal([]byte(`{"s": `+text+`}`), &configs))
	return configs["s"]
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"executor": "shared-iterations", "vus": 2, "iterations": 4}`:                                                               "4 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
		`{"executor": "per-vu-iterations", "iterations": 4, "exec": "f", "startTime": "1s"}`:                                         "4 iterations for each of 1 VUs (maxDuration: 10m0s, exec: f, startTime: 1s, gracefulStop: 30s)",
		`{"executor": "constant-vus", "vus": 3, "duration": 90000, "gracefulStop": "0s"}`:                                            "3 looping VUs for 1m30s",
		`{"executor": "ramping-vus", "stages": [{"duration": "1s", "target": 5}, {"duration": "500ms", "target": 2}]}`:               "Up to 5 looping VUs for 1.5s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
		`{"executor": "constant-arrival-rate", "rate": 5, "timeUnit": "2s", "duration": "1s", "preAllocatedVUs": 2, "maxVUs": 9}`:    "2.50 iterations/s for 1s (maxVUs: 2-9, gracefulStop: 30s)",
		`{"executor": "ramping-arrival-rate", "stages": [{"duration": "1s", "target": 30}], "timeUnit": "1m", "preAllocatedVUs": 2}`: "Up to 0.50 iterations/s for 1s over 1 stages (maxVUs: 2, gracefulStop: 30s)",
	}
	for text, want := range tests {
		assert.Equal(t, want, decode(t, text).GetDescription(wholeTest(t)), text)
	}
}

func TestValidationTellsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		`{"executor": "shared-iterations", "vus": 5, "iterations": 2, "maxDuration": "10ms"}`: {
			"the number of iterations (2) can't be less than the number of VUs (5)", "the maxDuration must be at least 1s, but is 10ms",
		},
		`{"executor": "shared-iterations", "vus": 0}`: {"the number of VUs must be more than 0"},
		`{"executor": "per-vu-iterations", "iterations": 0, "exec": ""}`: {
			"exec value cannot be empty", "the number of iterations must be more than 0",
		},
		`{"executor": "constant-vus", "startTime": "-1s", "gracefulStop": "-1s"}`: {
			"the startTime can't be negative", "the gracefulStop timeout can't be negative", "the duration is unspecified",
		},
		`{"executor": "constant-vus", "duration": "999ms"}`: {"the duration must be at least 1s, but is 999ms"},
		`{"executor": "ramping-vus"}`:                       {"at least one stage has to be specified"},
		`{"executor": "ramping-vus", "stages": [{}, {"duration": "-1s", "target": -1}]}`: {
			"stage 1 doesn't have a duration", "stage 1 doesn't have a target",
			"the duration for stage 2 can't be negative", "the target for stage 2 can't be negative",
		},
		`{"executor": "ramping-vus", "startVUs": 0, "stages": [{"duration": "1s", "target": 0}]}`: {
			"either startVUs or one of the stages' target values must be greater than 0",
		},
		`{"executor": "constant-arrival-rate", "timeUnit": "0"}`: {
			"the iteration rate isn't specified", "the timeUnit must be more than 0", "the duration is unspecified",
			"the number of preAllocatedVUs isn't specified",
		},
		`{"executor": "constant-arrival-rate", "rate": 0, "duration": "1s", "preAllocatedVUs": 5, "maxVUs": 2}`: {
			"the iteration rate must be more than 0", "maxVUs can't be less than preAllocatedVUs",
		},
		`{"executor": "ramping-arrival-rate", "startRate": -1, "preAllocatedVUs": 1}`: {
			"the startRate value can't be negative", "at least one stage has to be specified",
		},
	}
	for text, want := range tests {
		var got []string
		for _, err := range decode(t, text).Validate() {
			got = append(got, err.Error())
		}
		assert.Equal(t, want, got, text)
	}
}

func TestScenarioNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"a-b_C9": true, "a b": false, "ü": false, "": false} {
		assert.Equal(t, ok, len(NewBaseConfig(name, ConstantVUsType).Validate()) == 0, "%q", name)
	}
}

func TestJSONShowsWhatWasGiven(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(decode(t, `{"executor": "constant-vus", "vus": 2, "duration": "1m30s"}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"executor": "constant-vus", "startTime": null, "gracefulStop": null, "env": null, "exec": null,
		"tags": null, "vus": 2, "duration": "1m30s"}`, string(data))
}

func TestRampKeepsVUsForGracefulRampDown(t *testing.T) {
	t.Parallel()
	config, ok := decode(t, `{"executor": "ramping-vus", "startVUs": 2, "gracefulRampDown": "3s", "gracefulStop": "5s", "stages": [
		{"duration": "10s", "target": 2}, {"duration": "0s", "target": 0}, {"duration": "10s", "target": 0},
		{"duration": "0s", "target": 1}, {"duration": "1s", "target": 1}]}`).(*RampingVUsConfig)
	require.True(t, ok)
	slots := config.GetSlots(wholeTest(t))
	require.Len(t, slots, 2)
	assert.Equal(t, []time.Duration{13 * time.Second, 26 * time.Second}, slots[0].CutOff)
	assert.Equal(t, []lib.ExecutionStep{
		{PlannedVUs: 2}, {TimeOffset: 13 * time.Second}, {TimeOffset: 20 * time.Second, PlannedVUs: 1},
		{TimeOffset: 26 * time.Second},
	}, config.GetExecutionRequirements(wholeTest(t)))
}

func TestEveryIterationHasAProcessToRunIt(t *testing.T) {
	t.Parallel()
	sequence, err := lib.NewExecutionSegmentSequenceFromString("0,1/3,1/2,1")
	require.NoError(t, err)
	config, ok := decode(t, `{"executor": "shared-iterations", "vus": 4, "iterations": 10}`).(*SharedIterationsConfig)
	require.True(t, ok)
	total := int64(0)
	for _, text := range []string{"0:1/3", "1/3:1/2", "1/2:1"} {
		segment, err := lib.NewExecutionSegmentFromString(text)
		require.NoError(t, err)
		tuple, err := lib.NewExecutionTuple(segment, sequence)
		require.NoError(t, err)
		require.True(t, config.HasWork(tuple))
		total += config.GetIterations(tuple)
	}
	assert.EqualValues(t, 10, total)
}

func TestShortcuts(t *testing.T) {
	t.Parallel()
	minute := types.NullDurationFrom(time.Minute)
	stages := []lib.Stage{{Duration: minute, Target: null.IntFrom(3)}}
	scenarios := lib.ScenarioConfigs{"mine": NewPerVUIterationsConfig("mine")}
	tests := map[string]struct {
		opts     lib.Options
		want     string
		err      string
		warnings int
	}{
		"nothing":             {want: "1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"},
		"iterations":          {opts: lib.Options{Iterations: null.IntFrom(4)}, want: "4 iterations shared among 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"},
		"all of them":         {opts: lib.Options{Iterations: null.IntFrom(4), VUs: null.IntFrom(2), Duration: minute}, want: "4 iterations shared among 2 VUs (maxDuration: 1m0s, gracefulStop: 30s)"},
		"duration":            {opts: lib.Options{Duration: minute, VUs: null.IntFrom(2)}, want: "2 looping VUs for 1m0s (gracefulStop: 30s)"},
		"stages":              {opts: lib.Options{Stages: stages}, want: "Up to 3 looping VUs for 1m0s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)"},
		"VUs":                 {opts: lib.Options{VUs: null.IntFrom(3)}, want: "3 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)"},
		"VUs win":             {opts: lib.Options{VUs: null.IntFrom(3), Scenarios: scenarios}, want: "3 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)", warnings: 1},
		"empty scenarios":     {opts: lib.Options{Scenarios: lib.ScenarioConfigs{}}, want: "1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)", warnings: 1},
		"iterations, stages":  {opts: lib.Options{Iterations: null.IntFrom(4), Stages: stages}, err: "using `iterations` and `stages` options simultaneously is not allowed"},
		"duration, stages":    {opts: lib.Options{Duration: minute, Stages: stages}, err: "using `duration` and `stages` options simultaneously is not allowed"},
		"stages, scenarios":   {opts: lib.Options{Scenarios: scenarios, Stages: stages}, err: "using `stages` and `scenarios` options simultaneously is not allowed"},
		"duration, scenarios": {opts: lib.Options{Scenarios: scenarios, Duration: minute}, err: "using `duration` and `scenarios` options simultaneously is not allowed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logger, hook := logtest.NewNullLogger()
			opts, err := DeriveScenariosFromShortcuts(tc.opts, logger)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Contains(t, opts.Scenarios, lib.DefaultScenarioName)
			assert.Equal(t, tc.want, opts.Scenarios[lib.DefaultScenarioName].GetDescription(wholeTest(t)))
			assert.Len(t, hook.AllEntries(), tc.warnings)
		})
	}
}

func FuzzScenarios(f *testing.F) {
	f.Add(`{"a": {"executor": "ramping-vus", "stages": [{"duration": "1s", "target": 5}]}}`)
	f.Add(`{"a": {"executor": "constant-arrival-rate", "rate": 9223372036854775807, "timeUnit": "1ns", "duration": "1s", "preAllocatedVUs": 1}}`)
	f.Add(`{"a": {"executor": "ramping-arrival-rate", "stages": [{"duration": 0, "target": 5}], "preAllocatedVUs": 1}}`)
	f.Add(`{"a": {"executor": "shared-iterations", "maxDuration": "106751d", "gracefulStop": "106751d"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var configs lib.ScenarioConfigs
		if err := json.Unmarshal([]byte(text), &configs); err != nil {
			return
		}
		if len(configs.Validate()) > 0 {
			return
		}
		tuple, err := lib.NewExecutionTuple(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range configs {
			if c == nil || strings.Contains(c.GetType(), "ramping") {
				continue // their size follows the numbers given
			}
			_ = c.GetDescription(tuple)
			for _, step := range c.GetExecutionRequirements(tuple) {
				if step.TimeOffset < 0 {
					t.Errorf("%s: a step at %s", text, step.TimeOffset)
				}
			}
		}
	})
}
