package analysis

import "math"

// Little is the check of Little's law, L = lambda W (Little, 1961): the operations in flight, found from rate and
// mean duration, against the workers that there were.
type Little struct {
	// InFlight is the mean number of operations in flight: the sum of all durations over the time they span.
	InFlight float64
	// Busy is InFlight as a share of the workers, nil if their number is not known.
	Busy *float64
	// Holds is false if more operations were in flight than there were workers to wait for them: then durations or
	// counts are wrong.
	Holds bool
	// Known is false where nothing was measured.
	Known bool
}

// littleSlack is how much above the workers' number clocks and rounding may lead.
const littleSlack = 1.02

// CheckLittle checks a closed model's figures: busyS is the sum of the operations' durations, spanS the time from the
// first start to the last end, in seconds; workers is 0 if not known.
func CheckLittle(busyS, spanS float64, workers int) Little {
	if !(spanS > 0) || !(busyS >= 0) || math.IsInf(busyS, 0) || math.IsInf(spanS, 0) {
		return Little{Holds: true}
	}
	l := Little{InFlight: busyS / spanS, Holds: true, Known: true}
	if workers > 0 {
		busy := l.InFlight / float64(workers)
		l.Busy = &busy
		l.Holds = busy <= littleSlack
	}
	return l
}
