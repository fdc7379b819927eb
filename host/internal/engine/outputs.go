package engine

import (
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/output"
)

// StartOutputs tells the outputs what they want to know and starts them. When one can't start, those before it
// are stopped again. The returned function stops all of them; it is to be called with the run's error.
func StartOutputs(
	outputs []output.Output, state *lib.TestRunState, abort func(error), logger logrus.FieldLogger,
) (stop func(runErr error), err error) {
	started := outputs[:0:0]
	stop = func(runErr error) {
		for _, o := range started {
			var err error
			if withError, ok := o.(output.WithStopWithTestError); ok {
				err = withError.StopWithTestError(runErr)
			} else {
				err = o.Stop()
			}
			if err != nil {
				logger.WithError(err).Errorf("stopping the output %s failed", o.Description())
			}
		}
	}
	for _, o := range outputs {
		if wants, ok := o.(output.WithThresholds); ok {
			wants.SetThresholds(state.Options.Thresholds)
		}
		if wants, ok := o.(output.WithBuiltinMetrics); ok {
			wants.SetBuiltinMetrics(state.BuiltinMetrics)
		}
		if wants, ok := o.(output.WithTestRunStop); ok {
			wants.SetTestRunStopCallback(func(reason error) {
				if reason == nil {
					reason = errors.New("an output stopped the test")
				}
				abort(errext.WithAbortReasonIfNone(reason, errext.AbortedByOutput))
			})
		}
		if err := o.Start(); err != nil {
			err = fmt.Errorf("starting the output %s: %w", o.Description(), err)
			stop(err)
			return nil, err
		}
		started = append(started, o)
	}
	return stop, nil
}
