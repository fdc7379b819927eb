package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// judgePeriod is the time between evaluations of the thresholds.
const judgePeriod = 2 * time.Second

// ThresholdError is the reason for an abort by thresholds.
type ThresholdError struct {
	// Metrics are the names of those whose thresholds were crossed at that time.
	Metrics []string
}

// Error names the metrics.
func (e *ThresholdError) Error() string {
	return fmt.Sprintf("thresholds on metrics '%s' were crossed; at least one has abortOnFail enabled,"+
		" stopping test prematurely", strings.Join(e.Metrics, ", "))
}

// ExitCode is that of crossed thresholds.
func (*ThresholdError) ExitCode() exitcodes.ExitCode { return exitcodes.ThresholdsHaveFailed }

// AbortReason is the threshold.
func (*ThresholdError) AbortReason() errext.AbortReason { return errext.AbortedByThreshold }

// StartJudging evaluates the thresholds now and then, and aborts the test when one that asks for it is crossed,
// until the returned function is called.
func StartJudging(aggregator *Aggregator, e *Engine) (stop func()) {
	if !aggregator.HasThresholds() {
		return func() {}
	}
	done := make(chan struct{})
	var judge sync.WaitGroup
	judge.Go(func() {
		ticker := time.NewTicker(judgePeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				crossed, abort := aggregator.Judge(e.exec.GetCurrentTestRunDuration(), false)
				if abort {
					e.Abort(&ThresholdError{Metrics: crossed})
					return
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		judge.Wait()
	}
}
