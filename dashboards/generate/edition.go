package main

import "fmt"

// edition is a way in which the experimental-prometheus-rw output of k6 writes trends, and how a percentile is asked
// for there.
type edition struct {
	file, uid, title, description string
	native                        bool
	metrics                       metricList
}

func editions(list metricList) []edition {
	return []edition{
		{
			file: "omnigraph-trend-stats.json", uid: "omnigraph-trend-stats", metrics: list,
			title: "omnigraph under load (trend stats)",
			description: "For k6 with K6_PROMETHEUS_RW_TREND_STATS=p(50),p(95),p(99),max. k6 computes each percentile of a series over the " +
				"whole run so far; percentiles of several series can't be averaged, so the slowest series is shown.",
		},
		{
			file: "omnigraph-native-histograms.json", uid: "omnigraph-native-histograms", metrics: list, native: true,
			title: "omnigraph under load (native histograms)",
			description: "For k6 with K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM=true and a Prometheus with native histograms. " +
				"Percentiles are of the operations within the window, over all series and instances; buckets are 9 % wide.",
		},
	}
}

// The percentiles of an edition: the one that the viewer chose, and the median.
const (
	chosen = "$quantile"
	median = "median"
)

// series names the series that holds a trend, or in the trend-stats edition one of its percentiles.
func (e edition) series(trend, quantile string) string {
	if e.native {
		switch e.metrics[trend].contains {
		case "time":
			return "k6_" + trend + "_seconds"
		case "data":
			return "k6_" + trend + "_bytes"
		}
		return "k6_" + trend
	}
	if quantile == median {
		quantile = "p50"
	}
	return "k6_" + trend + "_" + quantile
}

func number(quantile string) string {
	if quantile == median {
		return "0.5"
	}
	return quantile
}

// now is a percentile of a trend at each moment: of the window, or where k6 sent percentiles only, of the run so far.
func (e edition) now(trend, quantile, selector, by string) string {
	if e.native {
		return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (rate(%s{%s}[$__rate_interval])))",
			number(quantile), by, e.series(trend, quantile), selector)
	}
	return fmt.Sprintf("max by (%s) (%s{%s})", by, e.series(trend, quantile), selector)
}

// overall is a percentile of a trend over the range that is looked at. It stays when the run has been over for long.
// Of histograms it is the increase, without what a series began with: last_over_time, which would have that, too, takes
// native histograms in later versions of Prometheus only.
func (e edition) overall(trend, quantile, selector, by string) string {
	if e.native {
		return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (increase(%s{%s}[$__range])))",
			number(quantile), by, e.series(trend, quantile), selector)
	}
	return fmt.Sprintf("max by (%s) (last_over_time(%s{%s}[$__range]))", by, e.series(trend, quantile), selector)
}

// perSecond is a counter's rate within the window.
func perSecond(name, selector, by string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", by, counter(name), selector)
}

// total is what a counter came to. It is its largest value within the range, not its present one, which Prometheus
// forgets five minutes after the run, and not its increase, which misses the first value of every series.
func total(name, selector, by string) string {
	return fmt.Sprintf("sum by (%s) (max_over_time(%s{%s}[$__range]))", by, counter(name), selector)
}

// orZero gives 0 in place of series that are not there, where others are.
func orZero(expr, others string) string { return fmt.Sprintf("(%s or 0 * %s)", expr, others) }
