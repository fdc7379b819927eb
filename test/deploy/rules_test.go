package deploy

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryAlertIsTestedBothWays holds the rules' own tests, which promtool runs: each alert is shown to fire, and to
// stay silent, and each recorded series has a value that was worked out by hand or feeds such an alert.
func TestEveryAlertIsTestedBothWays(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Record, Expr, For string
				Labels                   map[string]string
				Annotations              map[string]string
			}
		}
	}
	into(t, "dashboards/rules/omnigraph.rules.yml", &rules)
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
			PromqlExprTest []struct{ Expr string } `json:"promql_expr_test"`
		}
	}
	into(t, "dashboards/rules/omnigraph.rules.test.yml", &tests)
	fires, silent, shown := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, a := range test.AlertRuleTest {
			if len(a.ExpAlerts) > 0 {
				fires[a.Alertname] = true
			} else {
				silent[a.Alertname] = true
			}
		}
		for _, e := range test.PromqlExprTest {
			shown[e.Expr] = true
		}
	}
	alerts := 0
	var expressions string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				expressions += r.Expr + "\n"
			}
		}
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				used := regexp.MustCompile(regexp.QuoteMeta(r.Record) + `\b`).MatchString(expressions)
				assert.True(t, shown[r.Record] || used, "%s has no test", r.Record)
				continue
			}
			alerts++
			assert.True(t, fires[r.Alert], "no test shows that %s fires", r.Alert)
			assert.True(t, silent[r.Alert], "no test shows that %s stays silent", r.Alert)
			assert.NotEmpty(t, r.For, "%s fires at a single sample", r.Alert)
			assert.Contains(t, []string{"info", "warning", "critical"}, r.Labels["severity"], r.Alert)
			assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
			for _, link := range regexp.MustCompile(`docs/[a-z-]+\.md`).FindAllString(r.Annotations["description"], -1) {
				assert.FileExists(t, root+"/"+link, r.Alert)
			}
		}
	}
	require.GreaterOrEqual(t, alerts, 5)
}
