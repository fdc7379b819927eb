package report

import (
	"fmt"
	"math"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// watch is what optimize-watch.js saw of the history, over HTTP alone.
type watch struct {
	Now       float64 `json:"now"` // seconds since 1970, by the generator's clock
	Total     uint64  `json:"total"`
	Waiting   float64 `json:"waiting"` // users' commits since the system's last
	System    uint64  `json:"system"`
	Optimizes []struct {
		At    float64 `json:"at"`
		Users uint64  `json:"users"` // commits right before it
	} `json:"optimizes"`
	Newest float64 `json:"newest"` // time of the newest commit
	During int64   `json:"during"` // commits that came while it watched
	Reads  struct {
		Commits []float64 `json:"commits"`
		MS      []float64 `json:"ms"`
	} `json:"reads"`
	ExpectMinutes float64 `json:"expectMinutes"`
	MaxCommits    float64 `json:"maxCommits"`
	Seconds       float64 `json:"seconds"`
}

// watchAnswer answers yes, no or unknown, with the evidence.
func watchAnswer(rec *recorder.Record, _ []*group) answer {
	var w watch
	if !extra(rec, "watch", &w) || w.Now <= 0 {
		return answer{}
	}
	verdict, why, next := w.judge()
	t := Table{Caption: "Evidence from the commit history", Header: []string{"", "found"}, Rows: [][]string{
		{"commits in the history", count(w.Total)},
		{"made by the system (optimize or a direct load)", count(w.System)},
		{"of these after commits of users: optimizes", count(len(w.Optimizes))},
		{"users' commits since the last one of the system", whole(w.Waiting)},
	}}
	if len(w.Optimizes) > 0 {
		t.Rows = append(t.Rows, []string{"last optimize", span((w.Now-w.Optimizes[0].At)/3600) + " ago"})
	}
	if gap, ok := w.medianGap(); ok {
		t.Rows = append(t.Rows, []string{"median time between two optimizes", span(gap / 3600)})
	}
	s := Section{Title: "Optimize job", Tables: []Table{t}}
	fit := analysis.FitFragmentation(pointsOf(w.Reads.Commits, w.Reads.MS))
	switch {
	case fit.Slope.Value != nil:
		s.Notes = append(s.Notes, fmt.Sprintf("Point reads got %s ms slower with every commit while it watched.", msCI(fit.Slope.Value, fit.Slope.CI)))
	case w.During <= 0:
		s.Notes = append(s.Notes, "No commit came while it watched, so that its reads tell nothing about what a commit costs.")
	default:
		s.Notes = append(s.Notes, "What a commit costs reads is not known: "+fit.Note+".")
	}
	s.Notes = append(s.Notes, "Ages compare the server's times with the generator's clock. A direct load looks like an optimize in the history.")
	return answer{
		observed: []Finding{{Text: fmt.Sprintf("Is the optimize job running? %s: %s.", verdict, why), Next: next}},
		sections: []Section{s},
	}
}

// judge answers the question. A job shows in the history only where there was something to optimize.
func (w *watch) judge() (verdict, why, next string) {
	const look = "Look at the job's own schedule and log."
	users := float64(w.Total) - float64(w.System)
	switch {
	case users == 0:
		return "Unknown", "the history holds no commit of a user, so that there was nothing to optimize", look
	case w.Waiting > w.MaxCommits && len(w.Optimizes) == 0:
		return "No", fmt.Sprintf("%s of users still to be optimized (at most %s should be), and no optimize shows in the history", counted(int64(w.Waiting), "commit"), whole(w.MaxCommits)),
			"Set up a scheduled omnigraph optimize: fragmentation.js says how often it has to run."
	case w.Waiting > w.MaxCommits:
		return "No", fmt.Sprintf("%s of users still to be optimized (at most %s should be); the last optimize was %s ago", counted(int64(w.Waiting), "commit"), whole(w.MaxCommits), w.lastAge()),
			"See why the job has stopped, or run it more often: fragmentation.js says how often it has to run."
	case len(w.Optimizes) == 0:
		return "Unknown", fmt.Sprintf("no optimize shows in the history, but there are only %s of users to optimize (up to %s may wait)", counted(int64(w.Waiting), "commit"), whole(w.MaxCommits)), look
	case w.Waiting > 0 && w.Now-w.Optimizes[0].At > 2*w.ExpectMinutes*60:
		return "No", fmt.Sprintf("%s of users still to be optimized, and the last optimize was %s ago, where every %s is expected", counted(int64(w.Waiting), "commit"), w.lastAge(), span(w.ExpectMinutes/60)),
			"See why the job has stopped (WATCH_EXPECT_MINUTES says how often it should run)."
	}
	return "Yes", fmt.Sprintf("%s of users still to be optimized, the last optimize was %s ago", counted(int64(w.Waiting), "commit"), w.lastAge()), ""
}

func (w *watch) lastAge() string {
	if len(w.Optimizes) == 0 {
		return "never"
	}
	return span(math.Max(0, w.Now-w.Optimizes[0].At) / 3600)
}

// medianGap is the usual time between two optimizes, in seconds.
func (w *watch) medianGap() (float64, bool) {
	var gaps []float64
	for i := 1; i < len(w.Optimizes); i++ {
		gaps = append(gaps, w.Optimizes[i-1].At-w.Optimizes[i].At)
	}
	if len(gaps) == 0 {
		return 0, false
	}
	return analysis.NewSample(gaps).Quantile(0.5), true
}

// whole writes a count that a script gave.
func whole(v float64) string { return count(int64(math.Round(v))) }
