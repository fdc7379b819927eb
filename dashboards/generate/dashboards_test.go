package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// expression is one that a dashboard holds, as its JSON says it.
type expression struct {
	where, expr string
	instant     bool
	mark        bool // of an annotation: it may have no value
}

// dashboardFile is what the tests read of a dashboard.
type dashboardFile struct {
	Panels []struct {
		Title, Type, Description string
		Datasource               struct{ UID string }
		FieldConfig              struct {
			Defaults struct {
				Unit     string
				Decimals *float64
			}
		}
		Targets []struct {
			Expr    string
			Instant bool
		}
	}
	Annotations struct{ List []struct{ Name, Expr string } }
	Templating  struct {
		List []struct {
			Name, Regex string
			AllValue    *string
			IncludeAll  bool
			Query       any
		}
	}
}

func checkedIn(t *testing.T) []edition {
	t.Helper()
	list, err := readMetrics(filepath.Join(target, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	return editions(list)
}

func read(t *testing.T, e edition) dashboardFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(target, e.file))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboardFile
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func expressions(t *testing.T, e edition) []expression {
	t.Helper()
	d := read(t, e)
	var all []expression
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, expression{where: p.Title, expr: q.Expr, instant: q.Instant})
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			all = append(all, expression{where: a.Name, expr: a.Expr, mark: true})
		}
	}
	if len(all) < 30 {
		t.Fatalf("%s has only %d expressions", e.file, len(all))
	}
	return all
}

// filled puts values in place of Grafana's variables.
func filled(e edition, expr, rng string, values map[string]string) string {
	quantile := "p95"
	if e.native {
		quantile = "0.95"
	}
	replacements := []string{"$__rate_interval", "10s", "$__range", rng, "$quantile", quantile, "$target", "20"}
	for _, name := range []string{"testid", "baseline", "instance", "scenario", "transport", "op"} {
		value, ok := values[name]
		if !ok {
			value = ".*"
		}
		replacements = append(replacements, "$"+name, value)
	}
	return strings.NewReplacer(replacements...).Replace(expr)
}

func TestTheCheckedInDashboardsAreWhatTheModelSays(t *testing.T) {
	for _, e := range checkedIn(t) {
		want, err := render(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(target, e.file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from what the model says: run make dashboards", e.file)
		}
	}
}

var trendSuffix = regexp.MustCompile(`_(p\d+|min|med|max)$`)

// metricOf finds the metric that a series belongs to, and tells whether the output writes a series of that name.
func (e edition) metricOf(series string) (string, bool) {
	name, ok := strings.CutPrefix(series, "k6_")
	if !ok {
		return "", false
	}
	for _, m := range e.metrics {
		switch {
		case m.kind == "counter" && name == m.name+"_total", m.kind == "gauge" && name == m.name, m.kind == "rate" && name == m.name+"_rate":
			return m.name, true
		case m.kind == "trend" && e.native && series == e.series(m.name, median):
			return m.name, true
		case m.kind == "trend" && !e.native && trendSuffix.MatchString(name) && trendSuffix.ReplaceAllString(name, "") == m.name:
			return m.name, true
		}
	}
	return "", false
}

func TestEveryExpressionParsesAndNamesMetricsThatExist(t *testing.T) {
	promql := parser.NewParser(parser.Options{})
	for _, e := range checkedIn(t) {
		used := map[string]bool{}
		for _, x := range expressions(t, e) {
			node, err := promql.ParseExpr(filled(e, x.expr, "30m", nil))
			if err != nil {
				t.Errorf("%s, %s: %v", e.file, x.where, err)
				continue
			}
			parser.Inspect(node, func(n parser.Node, _ []parser.Node) error {
				v, ok := n.(*parser.VectorSelector)
				if !ok {
					return nil
				}
				name := v.Name
				for _, m := range v.LabelMatchers {
					if m.Name == "__name__" && m.Value != "" {
						name = m.Value
					}
				}
				metric, ok := e.metricOf(name)
				if !ok {
					t.Errorf("%s, %s: no metric writes the series %q", e.file, x.where, name)
				}
				used[metric] = true
				return nil
			})
		}
		for _, m := range e.metrics {
			// The running ratio of failures is left out on purpose: it hides what happens now.
			if strings.HasPrefix(m.name, "omnigraph_") && !used[m.name] && m.name != "omnigraph_op_failed" {
				t.Errorf("%s shows nothing of %s", e.file, m.name)
			}
		}
	}
}

func TestTheKnownFaultsOfDashboardsAreAvoided(t *testing.T) {
	for _, e := range checkedIn(t) {
		d := read(t, e)
		titles := map[string]bool{}
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			if titles[p.Title] {
				t.Errorf("%s has two panels %q", e.file, p.Title)
			}
			titles[p.Title] = true
			if p.Datasource.UID != "${datasource}" {
				t.Errorf("%s, %s: the data source is %q, not the viewer's choice", e.file, p.Title, p.Datasource.UID)
			}
			if share := strings.Contains(strings.ToLower(p.Title), "failed") && p.FieldConfig.Defaults.Unit == "percentunit"; share &&
				(p.FieldConfig.Defaults.Decimals == nil || *p.FieldConfig.Defaults.Decimals < 4) {
				t.Errorf("%s, %s: rounding hides small shares", e.file, p.Title)
			}
			for _, q := range p.Targets {
				if regexp.MustCompile(`\bavg\b|avg_over_time`).MatchString(q.Expr) {
					t.Errorf("%s, %s: an average of percentiles is no percentile: %s", e.file, p.Title, q.Expr)
				}
				if strings.Contains(q.Expr, "_failed_rate") {
					t.Errorf("%s, %s: a ratio since the start hides what happens now: %s", e.file, p.Title, q.Expr)
				}
				if q.Instant && !strings.Contains(q.Expr, "[$__range]") {
					t.Errorf("%s, %s: the figure vanishes five minutes after the run: %s", e.file, p.Title, q.Expr)
				}
			}
		}
		have := map[string]bool{}
		for _, v := range d.Templating.List {
			have[v.Name] = true
			if v.IncludeAll && (v.AllValue == nil || *v.AllValue != ".*") {
				t.Errorf("%s: all of %s leaves out series without the label", e.file, v.Name)
			}
			if query, ok := v.Query.(string); ok && v.Name == "quantile" && strings.Contains(query, "http_req_duration") {
				t.Errorf("%s: the percentiles are looked up in http_req_duration only", e.file)
			}
		}
		for _, name := range []string{"datasource", "testid", "baseline", "instance", "scenario", "transport", "op", "quantile", "target"} {
			if !have[name] {
				t.Errorf("%s has no variable %s", e.file, name)
			}
		}
		if len(d.Annotations.List) < 2 {
			t.Errorf("%s has %d annotations", e.file, len(d.Annotations.List))
		}
	}
}
