package main

import (
	"encoding/json"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// sizes of panels, in Grafana's grid.
const (
	statHeight  = 4
	graphHeight = 8
)

var datasource = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// render writes an edition's dashboard as JSON.
func render(e edition) ([]byte, error) {
	b := dashboard.NewDashboardBuilder(e.title) //nolint:staticcheck // every Grafana reads this form, the newer one only Grafana 12
	b.Uid(e.uid).
		Description(e.description).
		Tags([]string{"k6", "omnigraph", "load test"}).
		Timezone("browser").
		Time("now-30m", "now").
		Refresh("5s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair)
	for _, v := range variables(e) {
		b.WithVariable(v)
	}
	for _, m := range marks() {
		b.Annotation(dashboard.NewAnnotationQueryBuilder().
			Name(m.name).Datasource(datasource).Enable(true).IconColor(m.color).
			Expr(m.expr).TitleFormat(m.title).TagKeys("testid").Step("5s").UseValueForTime(false))
	}
	for _, s := range sections(e) {
		b.WithRow(dashboard.NewRowBuilder(s.title))
		for _, p := range s.panels {
			b.WithPanel(p.builder())
		}
	}
	d, err := b.Build()
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

func variables(e edition) []cog.Builder[dashboard.VariableModel] {
	label := func(name, title, metric string, all bool) cog.Builder[dashboard.VariableModel] {
		v := dashboard.NewQueryVariableBuilder(name).Label(title).Datasource(datasource).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(" + metric + ", " + name + ")")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
		if all {
			// .* and not the list of values, so that series without the label are kept.
			v.IncludeAll(true).Multi(true).AllValue(".*").Current(option("All", "$__all"))
		}
		return v
	}
	ops := counter("omnigraph_ops") + `{testid=~"$testid"}`
	return []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"),
		label("testid", "Test", counter("omnigraph_ops"), false),
		dashboard.NewQueryVariableBuilder("baseline").Label("Baseline test").Datasource(datasource).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(" + counter("omnigraph_ops") + ", testid)")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc),
		label("instance", "Instance", ops, true),
		label("scenario", "Scenario", ops, true),
		label("transport", "Transport", ops, true),
		label("op", "Operation", ops, true),
		quantiles(e),
		dashboard.NewTextBoxVariableBuilder("target").Label("Target, iterations/s").DefaultValue(dashboard.StringOrMap{String: cog.ToPtr("0")}),
	}
}

// quantiles is the choice of a percentile. Which ones k6 sends is the user's choice, so that they are looked up, in the
// names of all of the extension's trends.
func quantiles(e edition) cog.Builder[dashboard.VariableModel] {
	if e.native {
		return dashboard.NewCustomVariableBuilder("quantile").Label("Percentile").
			Values(dashboard.StringOrMap{String: cog.ToPtr("p50 : 0.5, p90 : 0.9, p95 : 0.95, p99 : 0.99, p99.9 : 0.999")}).
			Current(option("p95", "0.95"))
	}
	return dashboard.NewQueryVariableBuilder("quantile").Label("Percentile").Datasource(datasource).
		Query(dashboard.StringOrMap{String: cog.ToPtr(`label_values({__name__=~"k6_omnigraph_.+_(p[0-9]+|min|med|max)"}, __name__)`)}).
		Regex(`/_(p[0-9]+|min|med|max)$/`).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc).
		Current(option("p95", "p95"))
}

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Text:  dashboard.StringOrArrayOfString{String: &text},
		Value: dashboard.StringOrArrayOfString{String: &value},
	}
}

func (p panel) builder() cog.Builder[dashboard.Panel] {
	width := uint32(p.width) // #nosec G115 -- of 24
	switch p.kind {
	case single:
		b := statPanel().Title(p.title).Description(p.description).Datasource(datasource).Unit(p.unit).
			Height(statHeight).Span(width)
		if p.decimals > 0 {
			b.Decimals(float64(p.decimals))
		}
		for i, q := range p.queries {
			b.WithTarget(q.target(i).Instant())
		}
		return b
	case list:
		b := table.NewPanelBuilder().Title(p.title).Description(p.description).Datasource(datasource).Unit(p.unit).
			Height(graphHeight).Span(width)
		if p.decimals > 0 {
			b.Decimals(float64(p.decimals))
		}
		for i, q := range p.queries {
			b.WithTarget(q.target(i).Instant().Format(prometheus.PromQueryFormatTable))
		}
		return b
	}
	b := timeseries.NewPanelBuilder().Title(p.title).Description(p.description).Datasource(datasource).Unit(p.unit).
		Height(graphHeight).Span(width).LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeAuto).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"}))
	if p.decimals > 0 {
		b.Decimals(float64(p.decimals))
	}
	for i, q := range p.queries {
		b.WithTarget(q.target(i).Range())
	}
	return b
}

func statPanel() *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeNone)
}

// refIDs name the queries of a panel.
const refIDs = "ABCDEFGH"

func (q query) target(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(datasource).Expr(q.expr).LegendFormat(q.legend).RefId(refIDs[i : i+1])
}
