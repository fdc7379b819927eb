// Package summary turns what a test run measured into its end-of-test summary: the text on the screen, the data for
// the script's handleSummary(), and the files that --summary-export and its machine-readable form write.
package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// Mode is how much of a summary there is.
type Mode string

// The modes.
const (
	ModeCompact  Mode = "compact"
	ModeFull     Mode = "full"
	ModeDisabled Mode = "disabled"
)

// ParseMode reads a mode's name; an empty one means compact.
func ParseMode(name string) (Mode, error) {
	switch mode := Mode(name); mode {
	case "":
		return ModeCompact, nil
	case ModeCompact, ModeFull, ModeDisabled:
		return mode, nil
	default:
		return "", fmt.Errorf("invalid summary mode '%s', it has to be one of: %s, %s, %s",
			name, ModeCompact, ModeFull, ModeDisabled)
	}
}

// Summary is the result of a run. All samples must have been aggregated before any method is called.
type Summary struct {
	Mode     Mode
	Metrics  []*metrics.Metric // those of the registry; the ones not observed are left out of everything
	Root     *lib.Group        // the tree of groups and checks
	Checks   []*lib.Check      // the checks of all groups, in the order of their first sample
	Scopes   *Scopes           // what full mode shows besides, nil else
	Duration time.Duration     // of the test run

	TrendStats []string // the columns of trends; empty means the default ones
	TimeUnit   string   // "s", "ms", "us", or "" for one that fits the value
	SetupData  []byte   // JSON, nil without

	NoColor     bool
	IsStdOutTTY bool
	IsStdErrTTY bool

	// For the machine-readable form.
	Execution  string // "local"
	Script     string // the source text
	K6Version  string
	FinishedAt time.Time
}

func (s *Summary) trendStats() []string {
	if len(s.TrendStats) > 0 {
		return s.TrendStats
	}
	return lib.DefaultSummaryTrendStats
}

// observed returns the metrics and submetrics that have a sample or a threshold, sorted by name, each submetric
// after its parent.
func (s *Summary) observed() []*metrics.Metric {
	var all []*metrics.Metric
	byName := func(a, b *metrics.Metric) int { return strings.Compare(a.Name, b.Name) }
	for _, m := range slices.SortedFunc(slices.Values(s.Metrics), byName) {
		if m.Sub != nil {
			continue
		}
		if m.Observed {
			all = append(all, m)
		}
		subs := make([]*metrics.Metric, 0, len(m.Submetrics))
		for _, sub := range m.Submetrics {
			if sub.Metric.Observed {
				subs = append(subs, sub.Metric)
			}
		}
		slices.SortFunc(subs, byName)
		all = append(all, subs...)
	}
	return all
}

// resolvers returns the trend columns with the functions that compute them, in order.
func (s *Summary) resolvers() ([]column, error) {
	stats := s.trendStats()
	byName, err := metrics.GetResolversForTrendColumns(stats)
	if err != nil {
		return nil, err
	}
	columns := make([]column, len(stats))
	for i, stat := range stats {
		columns[i] = column{name: stat, resolve: byName[stat]}
	}
	return columns, nil
}

// column is one statistic of a trend.
type column struct {
	name    string
	resolve func(*metrics.TrendSink) float64
}
