package schedule

import (
	"sort"
	"time"
)

// A Need is a number of VUs that has to be ready from At on, until the next Need of the same list.
type Need struct {
	At time.Duration
	// Planned VUs are initialised before the test; up to Unplanned more may be added while it runs.
	Planned, Unplanned int64
}

// RampNeeds tells how many VUs the slots of a ramp hold over time. busy are the intervals of all slots,
// each already prolonged by the time for which its VU may finish its last iteration.
func RampNeeds(busy []Interval) []Need {
	type change struct {
		at    time.Duration
		delta int64
	}
	changes := make([]change, 0, 2*len(busy))
	for _, b := range busy {
		changes = append(changes, change{b.From, 1}, change{b.To, -1})
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].at < changes[j].at })
	var (
		needs []Need
		level int64
	)
	for i, c := range changes {
		level += c.delta
		if i+1 < len(changes) && changes[i+1].at == c.at {
			continue
		}
		if n := len(needs); n > 0 && needs[n-1].Planned == level {
			continue
		}
		needs = append(needs, Need{At: c.at, Planned: level})
	}
	return needs
}

// Sum adds up needs that share one clock.
func Sum(lists ...[]Need) []Need {
	type change struct {
		at                 time.Duration
		planned, unplanned int64
	}
	var changes []change
	for _, list := range lists {
		var last Need
		for _, n := range list {
			changes = append(changes, change{n.At, n.Planned - last.Planned, n.Unplanned - last.Unplanned})
			last = n
		}
	}
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].at < changes[j].at })
	var (
		sum []Need
		now Need
	)
	for i, c := range changes {
		now.At = c.at
		now.Planned += c.planned
		now.Unplanned += c.unplanned
		if i+1 < len(changes) && changes[i+1].at == c.at {
			continue
		}
		if n := len(sum); n > 0 && sum[n-1].Planned == now.Planned && sum[n-1].Unplanned == now.Unplanned {
			continue
		}
		sum = append(sum, now)
	}
	return sum
}

// Maxima are the highest number of planned VUs and the highest number of VUs altogether that needs reach,
// and the time of the last entry, which is the end of all of them.
func Maxima(needs []Need) (planned, all int64, end time.Duration) {
	for _, n := range needs {
		planned = max(planned, n.Planned)
		all = max(all, n.Planned+n.Unplanned)
		end = max(end, n.At)
	}
	return planned, all, end
}
