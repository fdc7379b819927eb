package executor

import (
	"go.k6.io/k6/v2/internal/schedule"
	"go.k6.io/k6/v2/lib"
)

//nolint:gochecknoinits // the types of executors are known to lib by registration
func init() {
	lib.RegisterExecutorConfigType(SharedIterationsType, decoder(NewSharedIterationsConfig))
	lib.RegisterExecutorConfigType(PerVUIterationsType, decoder(NewPerVUIterationsConfig))
	lib.RegisterExecutorConfigType(ConstantVUsType, decoder(NewConstantVUsConfig))
	lib.RegisterExecutorConfigType(RampingVUsType, decoder(NewRampingVUsConfig))
	lib.RegisterExecutorConfigType(ConstantArrivalRateType, decoder(NewConstantArrivalRateConfig))
	lib.RegisterExecutorConfigType(RampingArrivalRateType, decoder(NewRampingArrivalRateConfig))
}

// decoder reads a scenario's JSON over its defaults; unknown keys are errors.
func decoder[C lib.ExecutorConfig](defaults func(name string) C) lib.ExecutorConfigDecoder {
	return func(name string, rawJSON []byte) (lib.ExecutorConfig, error) {
		config := defaults(name)
		if err := lib.StrictJSONUnmarshal(rawJSON, config); err != nil {
			return nil, err
		}
		return config, nil
	}
}

// steps are needs as lib passes them on.
func steps(needs []schedule.Need) []lib.ExecutionStep {
	out := make([]lib.ExecutionStep, len(needs))
	for i, n := range needs {
		out[i] = lib.ExecutionStep{
			TimeOffset:      n.At,
			PlannedVUs:      uint64(max(n.Planned, 0)),   // #nosec G115 -- not negative
			MaxUnplannedVUs: uint64(max(n.Unplanned, 0)), // #nosec G115 -- not negative
		}
	}
	return out
}
