package omnigraph

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/tidwall/gjson"
)

// summaryFacts are what only handleSummary's data tells: how many iterations each scenario started and dropped, and
// k6's own view of the metrics.
type summaryFacts struct {
	dropped    map[string]int64 // by scenario, "" for all
	iterations map[string]int64
	text       string
}

// readSummary reads handleSummary's data.
func readSummary(data gjson.Result) (*summaryFacts, error) {
	metrics := summaryMetrics(data)
	if metrics == nil {
		return nil, fmt.Errorf("report: argument data has no metrics; it takes what handleSummary gets")
	}
	f := &summaryFacts{dropped: map[string]int64{}, iterations: map[string]int64{}}
	for name, metric := range metrics {
		base, scenario := scenarioOf(name)
		count := int64(metric.Get("values.count").Float())
		switch base {
		case "dropped_iterations":
			f.dropped[scenario] = count
		case "iterations":
			f.iterations[scenario] = count
		}
	}
	f.text = metricsText(metrics, data.Get("options.summaryTrendStats").Array())
	return f, nil
}

// summaryMetrics gives a summary's metrics by name, of either of k6's forms: an object of them, or, with k6's option
// --new-machine-readable-summary, lists. It is nil for anything else.
func summaryMetrics(data gjson.Result) map[string]gjson.Result {
	if list := data.Get("metrics"); list.IsObject() {
		return list.Map()
	}
	if !data.Get("results.metrics").IsArray() {
		return nil
	}
	metrics := map[string]gjson.Result{}
	for _, list := range []string{"results.checks.metrics", "results.metrics"} {
		for _, metric := range data.Get(list).Array() {
			metrics[metric.Get("name").String()] = metric
		}
	}
	return metrics
}

// scenarioOf splits metric{scenario:X}; a selector of anything else gives a name that matches nothing.
func scenarioOf(name string) (base, scenario string) {
	base, selector, found := strings.Cut(name, "{")
	if !found {
		return name, ""
	}
	key, value, ok := strings.Cut(strings.TrimSuffix(selector, "}"), ":")
	if !ok || strings.TrimSpace(key) != "scenario" || strings.Contains(value, ",") {
		return name, ""
	}
	return base, strings.Trim(strings.TrimSpace(value), `"'`)
}

// metricsText shows k6's metrics, each with its sub-metrics below it and its thresholds marked. k6 prints no summary
// of its own once handleSummary returns something.
func metricsText(metrics map[string]gjson.Result, stats []gjson.Result) string {
	names := slices.Collect(maps.Keys(metrics))
	sort.Slice(names, func(i, j int) bool {
		a, _, subA := strings.Cut(names[i], "{")
		b, _, subB := strings.Cut(names[j], "{")
		if a != b {
			return a < b
		}
		return !subA && subB || subA == subB && names[i] < names[j]
	})
	width := 0
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = name
		if base, selector, found := strings.Cut(name, "{"); found && slices.Contains(names, base) {
			labels[i] = "  { " + strings.TrimSuffix(selector, "}") + " }"
		}
		width = max(width, len([]rune(labels[i])))
	}
	var b strings.Builder
	for i, name := range names {
		m := metrics[name]
		fmt.Fprintf(&b, "    %s%s: %s\n", labels[i], strings.Repeat(".", width+3-len([]rune(labels[i]))), valuesText(m, stats))
		m.Get("thresholds").ForEach(func(expression, result gjson.Result) bool {
			mark := "✓"
			if !result.Get("ok").Bool() {
				mark = "✗"
			}
			fmt.Fprintf(&b, "      %s %s\n", mark, expression)
			return true
		})
	}
	return b.String()
}

func valuesText(m gjson.Result, stats []gjson.Result) string {
	contains := m.Get("contains").String()
	v := m.Get("values")
	switch m.Get("type").String() {
	case "counter":
		return number(v.Get("count").Float(), contains) + "  " + number(v.Get("rate").Float(), contains) + "/s"
	case "gauge":
		return number(v.Get("value").Float(), contains)
	case "rate":
		matches, total := v.Get("passes").Int(), v.Get("passes").Int()+v.Get("fails").Int()
		if v.Get("total").Exists() { // the checks of the machine-readable summary
			matches, total = v.Get("matches").Int(), v.Get("total").Int()
		}
		return fmt.Sprintf("%.2f%%  %d out of %d", 100*v.Get("rate").Float(), matches, total)
	}
	values := map[string]float64{}
	var given []gjson.Result
	v.ForEach(func(stat, value gjson.Result) bool {
		given = append(given, stat)
		values[stat.String()] = value.Float()
		return true
	})
	if len(stats) == 0 { // the machine-readable summary does not say in which order they were asked for
		stats = given
	}
	var parts []string
	for _, stat := range stats {
		value, ok := values[stat.String()]
		switch {
		case !ok:
		case stat.String() == "count":
			parts = append(parts, "count="+number(value, "default"))
		default:
			parts = append(parts, stat.String()+"="+number(value, contains))
		}
	}
	return strings.Join(parts, " ")
}

// number writes a value in the unit of its metric: milliseconds as a time, bytes in powers of 1000.
func number(v float64, contains string) string {
	if v < 0 {
		return "-" + number(-v, contains)
	}
	switch contains {
	case "time":
		switch {
		case v >= 60_000:
			return fmt.Sprintf("%.1fmin", v/60_000)
		case v >= 1000:
			return fmt.Sprintf("%.2fs", v/1000)
		case v >= 1 || v == 0:
			return fmt.Sprintf("%.2fms", v)
		}
		return fmt.Sprintf("%.0fµs", v*1000)
	case "data":
		for _, unit := range []string{"B", "kB", "MB"} {
			if v < 1000 {
				return fmt.Sprintf("%.3g %s", v, unit)
			}
			v /= 1000
		}
		return fmt.Sprintf("%.3g GB", v)
	}
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d", int64(v))
	}
	return fmt.Sprintf("%.4g", v)
}
