package recorder

import (
	"fmt"
	"slices"
	"strings"
)

// Run describes a run by one level for every factor of five classes. Runs with the same point are repetitions of one
// series.
type Run struct {
	Point       string            `json:"point"`
	Data        map[string]string `json:"data"`
	State       map[string]string `json:"state"`
	Workload    map[string]string `json:"workload"`
	Environment map[string]string `json:"environment"`
	Protocol    map[string]string `json:"protocol"`
}

// unknownLevel stands for a level that nobody declared.
const unknownLevel = "unknown"

type factorClass struct {
	name    string
	factors []string
}

// factorClasses lists the factors of every class in the order of the point name.
func factorClasses() []factorClass {
	return []factorClass{
		{"data", []string{"provenance", "rows", "tables", "payload_bytes", "shape", "skew"}},
		{"state", []string{
			"f1_fragmentation", "f2_index_existence", "f3_index_freshness",
			"f4_deletion_history", "f5_compaction_recency", "history_depth",
		}},
		{"workload", []string{"operations", "delta_size", "mix", "contention", "arrival", "clients"}},
		{"environment", []string{"backend", "network", "warmth"}},
		{"protocol", []string{"deadline", "repetitions", "attribution", "schedule"}},
	}
}

func (r *Run) class(name string) *map[string]string {
	switch name {
	case "data":
		return &r.Data
	case "state":
		return &r.State
	case "workload":
		return &r.Workload
	case "environment":
		return &r.Environment
	default:
		return &r.Protocol
	}
}

// complete gives every factor a level and computes the point name. A factor that does not exist is an error: a
// misspelt level would otherwise read as "unknown".
func (r *Run) complete() error {
	var point strings.Builder
	for i, c := range factorClasses() {
		levels := r.class(c.name)
		full := make(map[string]string, len(c.factors))
		for name, level := range *levels {
			if !slices.Contains(c.factors, name) {
				return fmt.Errorf("run description: %s has no factor %q, it has %s",
					c.name, name, strings.Join(c.factors, ", "))
			}
			full[name] = level
		}
		if i > 0 {
			point.WriteByte(' ')
		}
		point.WriteString(c.name + "{")
		for j, f := range c.factors {
			if full[f] == "" {
				full[f] = unknownLevel
			}
			if j > 0 {
				point.WriteByte(',')
			}
			point.WriteString(f + "=" + strings.Map(pointRune, full[f]))
		}
		point.WriteByte('}')
		*levels = full
	}
	r.Point = point.String()
	return nil
}

// pointRune keeps the point name one line that can be taken apart again.
func pointRune(r rune) rune {
	switch r {
	case '{', '}', ',', '=', ' ', '\t', '\n', '\r':
		return '_'
	}
	return r
}
