package summary

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// humanize writes values for people; unit is the fixed unit of time, "" for one that fits.
type humanize struct {
	unit string
}

// value writes a value of the type.
func (h humanize) value(v float64, contains metrics.ValueType) string {
	switch contains {
	case metrics.Time:
		return h.time(v)
	case metrics.Data:
		return dataSize(v)
	default:
		return number(v)
	}
}

// number writes up to six decimals.
func number(v float64) string {
	return trimZeros(strconv.FormatFloat(v, 'f', 6, 64))
}

// percent writes a share as a percentage with two decimals, cut off so that 99.999 % is not shown as 100.
func percent(share float64) string {
	return strconv.FormatFloat(truncate(share*100, 2), 'f', 2, 64) + "%"
}

// dataSize writes an amount of data in powers of 1000, with one decimal below 10.
func dataSize(v float64) string {
	units := [...]string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	i := 0
	for v >= 1000 && i < len(units)-1 {
		v /= 1000
		i++
	}
	decimals := 0
	if v < 10 && (i > 0 || v != math.Trunc(v)) {
		decimals = 1
	}
	return sign + strconv.FormatFloat(v, 'f', decimals, 64) + " " + units[i]
}

// time writes milliseconds.
func (h humanize) time(ms float64) string {
	switch h.unit {
	case "s":
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + "s"
	case "ms":
		return strconv.FormatFloat(ms, 'f', 2, 64) + "ms"
	case "us":
		return strconv.FormatFloat(ms*1000, 'f', 2, 64) + "µs"
	}
	if math.Abs(ms) >= 1e15 { // beyond what a duration can hold
		return number(ms/1000) + "s"
	}
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	switch {
	case ms == 0:
		return "0s"
	case ms < 0.001:
		return sign + short(ms*1e6) + "ns"
	case ms < 1:
		return sign + short(ms*1000) + "µs"
	case ms < 1000:
		return sign + short(ms) + "ms"
	case ms < 60_000:
		return sign + short(ms/1000) + "s"
	}
	seconds := int64(ms / 1000)
	text := strconv.FormatInt(seconds%60, 10) + "s"
	text = strconv.FormatInt(seconds/60%60, 10) + "m" + text
	if hours := seconds / int64(time.Hour/time.Second); hours > 0 {
		text = strconv.FormatInt(hours, 10) + "h" + text
	}
	return sign + text
}

// short cuts off after two decimals.
func short(v float64) string {
	return trimZeros(strconv.FormatFloat(truncate(v, 2), 'f', 2, 64))
}

// truncate cuts off decimals. A value that is a rounding error below the next one counts as that one: 0.29·100 is
// 28.999999999999996.
func truncate(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	scaled := v * scale
	if nearest := math.Round(scaled); math.Abs(scaled-nearest) <= 1e-9*math.Abs(scaled) {
		return nearest / scale
	}
	return math.Trunc(scaled) / scale
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}
