package lib

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// ExecutorConfig is the configuration of one scenario.
type ExecutorConfig interface {
	GetName() string
	GetType() string
	GetExec() string // the function to run
	GetEnv() map[string]string
	GetTags() map[string]string
	GetStartTime() time.Duration
	GetGracefulStop() time.Duration
	// Validate returns everything wrong with it.
	Validate() []error
	// HasWork says whether this process has anything to do for the scenario.
	HasWork(et *ExecutionTuple) bool
	// GetDescription returns one line for the user, such as "2 looping VUs for 10s".
	GetDescription(et *ExecutionTuple) string
	// GetExecutionRequirements returns the VUs needed over time, relative to the scenario's own start.
	GetExecutionRequirements(et *ExecutionTuple) []ExecutionStep
}

// ExecutionStep is how many VUs are needed from an offset on, until the next step.
type ExecutionStep struct {
	TimeOffset      time.Duration
	PlannedVUs      uint64 // to be initialized before the start
	MaxUnplannedVUs uint64 // may be initialized later
}

// ScenarioConfigs are the scenarios by name.
type ScenarioConfigs map[string]ExecutorConfig

// ExecutorConfigDecoder makes a scenario's configuration from the JSON object that the script has for it.
type ExecutorConfigDecoder func(name string, rawJSON []byte) (ExecutorConfig, error)

//nolint:gochecknoglobals // executors register in init functions: the registry has to be global
var executorTypes = struct {
	sync.RWMutex
	decoders map[string]ExecutorConfigDecoder
}{decoders: make(map[string]ExecutorConfigDecoder)}

// RegisterExecutorConfigType makes an executor type known. It panics if the type is taken.
func RegisterExecutorConfigType(executorType string, decoder ExecutorConfigDecoder) {
	executorTypes.Lock()
	defer executorTypes.Unlock()
	if _, ok := executorTypes.decoders[executorType]; ok {
		panic(fmt.Sprintf("executor type %q is registered twice", executorType))
	}
	executorTypes.decoders[executorType] = decoder
}

// UnmarshalJSON reads an object of scenarios. Each names its executor type; its other keys are that executor's.
func (scs *ScenarioConfigs) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	result := make(ScenarioConfigs, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		config, err := decodeScenario(name, raw[name])
		if err != nil {
			return errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
		}
		result[name] = config
	}
	*scs = result
	return nil
}

func decodeScenario(name string, raw json.RawMessage) (ExecutorConfig, error) {
	var head struct {
		Type string `json:"executor"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("scenario '%s' can't be read: %w", name, err)
	}
	if strings.TrimSpace(head.Type) == "" {
		return nil, fmt.Errorf("scenario '%s' doesn't have a specified executor type", name)
	}
	executorTypes.RLock()
	decode, ok := executorTypes.decoders[head.Type]
	executorTypes.RUnlock()
	if !ok {
		return nil, fmt.Errorf("unknown executor type '%s'", head.Type)
	}
	return decode(name, raw)
}

// Sorted returns the configurations by start time, then by name.
func (scs ScenarioConfigs) Sorted() []ExecutorConfig {
	return slices.SortedFunc(maps.Values(scs), func(a, b ExecutorConfig) int {
		if a.GetStartTime() != b.GetStartTime() {
			return int(min(max(a.GetStartTime()-b.GetStartTime(), -1), 1))
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
}

// Validate returns everything wrong with the scenarios, one error per scenario.
func (scs ScenarioConfigs) Validate() []error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(scs)) {
		errs := scs[name].Validate()
		if len(errs) == 0 {
			continue
		}
		texts := make([]string, len(errs))
		for i, err := range errs {
			texts[i] = err.Error()
		}
		problems = append(problems, fmt.Errorf("scenario %s has configuration errors: %s", name, strings.Join(texts, ", ")))
	}
	return problems
}

// ScenarioOptions are the options of a scenario that concern modules.
type ScenarioOptions struct {
	Browser map[string]any `json:"browser"`
}
