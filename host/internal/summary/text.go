package summary

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

const (
	markBlock   = "█"
	markOK      = "✓"
	markFailed  = "✗"
	markDetails = "↳"
)

// row is a metric with the sink that its line shows.
type row struct {
	metric *metrics.Metric
	sink   metrics.Sink
}

// compareRows sorts by name, submetrics after their parent.
func compareRows(a, b row) int {
	if byParent := strings.Compare(parentName(a.metric), parentName(b.metric)); byParent != 0 {
		return byParent
	}
	if (a.metric.Sub == nil) != (b.metric.Sub == nil) {
		if a.metric.Sub == nil {
			return -1
		}
		return 1
	}
	return strings.Compare(a.metric.Name, b.metric.Name)
}

func parentName(m *metrics.Metric) string {
	if m.Sub != nil {
		return m.Sub.Parent.Name
	}
	return m.Name
}

// Text returns the summary as it's shown on the screen.
func (s *Summary) Text() (string, error) {
	columns, err := s.resolvers()
	if err != nil {
		return "", err
	}
	t := &text{
		summary: s, columns: columns, human: humanize{unit: s.TimeUnit}, paint: paint{off: s.NoColor || !s.IsStdOutTTY},
	}
	t.line("")
	t.thresholds()
	t.totals()
	if s.Mode == ModeFull && s.Scopes != nil {
		t.scopes()
	}
	t.line("")
	t.line("")
	return t.out.String(), nil
}

// text writes the summary line by line.
type text struct {
	summary *Summary
	columns []column
	human   humanize
	paint   paint
	out     strings.Builder
}

func (t *text) line(parts ...string) {
	for _, part := range parts {
		t.out.WriteString(part)
	}
	t.out.WriteByte('\n')
}

// title starts a section.
func (t *text) title(indent, title string) {
	t.line(indent, t.paint.bold(title), " ")
	t.line("")
}

func (t *text) thresholds() {
	observed := t.summary.observed()
	inBlock := "" // the parent metric whose block is open
	any := false
	for _, m := range observed {
		if len(m.Thresholds.Thresholds) == 0 {
			continue
		}
		if !any {
			t.title("  ", markBlock+" THRESHOLDS")
			any = true
		}
		indent, name := "    ", m.Name
		if m.Sub == nil {
			inBlock = m.Name
		} else if m.Sub.Parent.Name == inBlock {
			indent, name = "      ", "{"+m.Sub.Suffix+"}"
		}
		t.line(indent, name)
		for _, threshold := range m.Thresholds.Thresholds {
			mark := t.paint.green(markOK)
			if threshold.LastFailed {
				mark = t.paint.red(markFailed)
			}
			t.line(indent, mark, " '", threshold.Source, "' ", t.aggregate(m, threshold))
		}
		t.line("")
	}
	if any {
		t.line("")
	}
}

// aggregate writes the value that a threshold is about, such as "p(95)=45.75ms".
func (t *text) aggregate(m *metrics.Metric, threshold *metrics.Threshold) string {
	name := threshold.Aggregation()
	var value string
	switch sink := m.Sink.(type) {
	case *metrics.CounterSink:
		value = t.human.value(sink.Value, m.Contains)
		if name == "rate" {
			value = t.human.value(sink.Rate(t.summary.Duration), m.Contains) + "/s"
		}
	case *metrics.GaugeSink:
		value = t.human.value(sink.Value, m.Contains)
	case *metrics.RateSink:
		value = percent(share(sink.Trues, sink.Total))
	case *metrics.TrendSink:
		resolvers, err := metrics.GetResolversForTrendColumns([]string{name})
		if err != nil {
			return name
		}
		value = t.trendValue(m, name, resolvers[name](sink))
	}
	return name + "=" + t.paint.cyan(value)
}

func (t *text) trendValue(m *metrics.Metric, stat string, value float64) string {
	if stat == "count" {
		return number(value)
	}
	return t.human.value(value, m.Contains)
}

func (t *text) totals() {
	var rows []row
	for _, m := range t.summary.observed() {
		rows = append(rows, row{metric: m, sink: m.Sink})
	}
	merged := mergeChecks(t.summary.Checks)
	lines := t.visible(rows)
	if len(lines) == 0 && len(merged) == 0 && !t.checksWereMade() {
		return
	}
	t.title("  ", markBlock+" TOTAL RESULTS")
	t.checks("    ", merged, t.allChecks())
	t.metrics("    ", rows)
}

// checksWereMade says whether the checks metric has samples, even if the tags that name the checks are off.
func (t *text) checksWereMade() bool {
	sink := t.allChecks()
	return sink != nil && sink.Total > 0
}

func (t *text) allChecks() *metrics.RateSink {
	for _, m := range t.summary.Metrics {
		if m.Name == metrics.ChecksName {
			sink, _ := m.Sink.(*metrics.RateSink)
			return sink
		}
	}
	return nil
}

// mergeChecks adds up the checks of one name.
func mergeChecks(checks []*lib.Check) []*lib.Check {
	var merged []*lib.Check
	byName := make(map[string]*lib.Check)
	for _, c := range checks {
		sum, ok := byName[c.Name]
		if !ok {
			sum = &lib.Check{Name: c.Name}
			byName[c.Name] = sum
			merged = append(merged, sum)
		}
		sum.Passes += c.Passes
		sum.Fails += c.Fails
	}
	return merged
}

// checks writes the totals and one line per check.
func (t *text) checks(indent string, checks []*lib.Check, sink *metrics.RateSink) {
	if sink == nil || sink.Total == 0 {
		return
	}
	duration := t.summary.Duration.Seconds()
	rate := 0.0
	if duration > 0 {
		rate = float64(sink.Total) / duration
	}
	outOf := func(part int64) []string {
		return []string{percent(share(part, sink.Total)), fmt.Sprintf("%d out of %d", part, sink.Total)}
	}
	t.table(indent, []tableRow{
		{name: "checks_total", cells: []string{number(float64(sink.Total)), number(rate) + "/s"}},
		{name: "checks_succeeded", cells: outOf(sink.Trues)},
		{name: "checks_failed", cells: outOf(sink.Total - sink.Trues)},
	})
	t.line("")
	for _, c := range checks {
		if c.Fails == 0 {
			t.line(indent, t.paint.green(markOK+" "+c.Name))
			continue
		}
		t.line(indent, t.paint.red(markFailed+" "+c.Name))
		t.line(indent, t.paint.red(fmt.Sprintf("  %s  %d%% — %s %d / %s %d",
			markDetails, 100*c.Passes/(c.Passes+c.Fails), markOK, c.Passes, markFailed, c.Fails)))
	}
	if len(checks) > 0 {
		t.line("")
	}
}

// visible leaves out the rows that the mode doesn't show.
func (t *text) visible(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		name := parentName(r.metric)
		return isHidden(name) || (t.summary.Mode != ModeFull && isHTTPDetail(name))
	})
}

// metrics writes the lists of metrics by family. All share one alignment.
func (t *text) metrics(indent string, rows []row) {
	var (
		table  []tableRow
		starts = make(map[int]family)
		shown  = t.visible(rows)
	)
	for _, f := range families() {
		parents := make(map[string]bool)
		first := true
		for _, r := range shown {
			if familyOf(parentName(r.metric)) != f {
				continue
			}
			if first {
				starts[len(table)] = f
				first = false
			}
			name := r.metric.Name
			switch {
			case r.metric.Sub == nil:
				parents[name] = true
			case parents[r.metric.Sub.Parent.Name]:
				name = "  { " + r.metric.Sub.Suffix + " }"
			}
			table = append(table, t.tableRow(name, r))
		}
	}
	if len(table) == 0 {
		return
	}
	lines := t.format(table)
	for i, line := range lines {
		if f, ok := starts[i]; ok {
			if i > 0 {
				t.line("")
			}
			t.line(indent, t.paint.bold(string(f)))
		}
		t.line(indent, line)
	}
	t.line("")
}

func (t *text) tableRow(name string, r row) tableRow {
	contains := r.metric.Contains
	switch sink := r.sink.(type) {
	case *metrics.CounterSink:
		return tableRow{name: name, cells: []string{
			t.human.value(sink.Value, contains), t.human.value(sink.Rate(t.summary.Duration), contains) + "/s",
		}}
	case *metrics.GaugeSink:
		return tableRow{name: name, cells: []string{
			t.human.value(sink.Value, contains),
			"min=" + t.human.value(sink.Min, contains), "max=" + t.human.value(sink.Max, contains),
		}}
	case *metrics.RateSink:
		return tableRow{name: name, cells: []string{
			percent(share(sink.Trues, sink.Total)), fmt.Sprintf("%d out of %d", sink.Trues, sink.Total),
		}}
	case *metrics.TrendSink:
		cells := make([]string, len(t.columns))
		for i, c := range t.columns {
			cells[i] = c.name + "=" + t.trendValue(r.metric, c.name, c.resolve(sink))
		}
		return tableRow{name: name, cells: cells, isTrend: true}
	default:
		return tableRow{name: name}
	}
}

// scopes writes the sections of groups and scenarios.
func (t *text) scopes() {
	for _, name := range t.summary.Scopes.root.order {
		t.scope("  ", markBlock+" GROUP: "+name, t.summary.Scopes.root.groups[name])
	}
	for _, scenario := range t.summary.Scopes.sortedScenarios() {
		t.scope("  ", markBlock+" SCENARIO: "+scenario.name, scenario)
	}
}

func (t *text) scope(indent, title string, sc *scope) {
	t.line("")
	t.title(indent, title)
	inner := indent + "  "
	for m, part := range sc.sinks {
		if m.Name == metrics.ChecksName {
			sink, _ := part.sink.(*metrics.RateSink)
			t.checks(inner, sc.checks.OrderedChecks, sink)
		}
	}
	t.metrics(inner, sc.rows())
	for _, name := range sc.order {
		t.scope(inner, markDetails+" GROUP: "+name, sc.groups[name])
	}
}

// tableRow is one line of an aligned list.
type tableRow struct {
	name    string
	cells   []string
	isTrend bool
}

func (t *text) table(indent string, rows []tableRow) {
	for _, line := range t.format(rows) {
		t.line(indent, line)
	}
}

// format aligns the rows: names are followed by dots up to a common width, every column of trends has a common
// width, and so has every column of the others, where another cell follows.
func (t *text) format(rows []tableRow) []string {
	nameWidth := 0
	var trendWidths, widths []int
	for _, r := range rows {
		nameWidth = max(nameWidth, utf8.RuneCountInString(r.name))
		target := &widths
		if r.isTrend {
			target = &trendWidths
		}
		for i, cell := range r.cells {
			if i >= len(*target) {
				*target = append(*target, 0)
			}
			(*target)[i] = max((*target)[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, r := range rows {
		dots := strings.Repeat(".", nameWidth+3-utf8.RuneCountInString(r.name))
		cells := make([]string, len(r.cells))
		for i, cell := range r.cells {
			padding := ""
			switch {
			case r.isTrend:
				padding = strings.Repeat(" ", trendWidths[i]-utf8.RuneCountInString(cell))
			case i < len(r.cells)-1:
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			}
			cells[i] = t.paint.cell(cell, i == 0 || r.isTrend) + padding
		}
		lines[n] = r.name + t.paint.faint(dots+":") + " " + strings.Join(cells, " ")
	}
	return lines
}
