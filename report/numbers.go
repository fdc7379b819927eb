package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// none stands in a table where there is no figure.
const none = "–"

// ms writes milliseconds, or another quantity, with about three significant digits, commas between thousands, and never
// an exponent. What is not 0 is not written as 0.
func ms(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.0005:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 0:
		return "-<0.001"
	default:
		return "<0.001"
	}
}

func msOr(v *float64) string {
	if v == nil {
		return none
	}
	return ms(*v)
}

// msCI writes a figure with its interval: "25.9 [25.1, 26.8]".
func msCI(v *float64, ci *recorder.Interval) string {
	if v == nil {
		return none
	}
	if ci == nil {
		return ms(*v)
	}
	return fmt.Sprintf("%s [%s, %s]", ms(*v), ms(ci[0]), ms(ci[1]))
}

// percent writes a share as a percentage.
func percent(v float64) string { return strconv.FormatFloat(v*100, 'f', 1, 64) + " %" }

func percentCI(v *float64, ci *recorder.Interval) string {
	if v == nil {
		return none
	}
	if ci == nil {
		return percent(*v)
	}
	return fmt.Sprintf("%s [%s, %s]", percent(*v), percentBare(ci[0]), percentBare(ci[1]))
}

func percentBare(v float64) string { return strconv.FormatFloat(v*100, 'f', 1, 64) }

func times(v float64) string {
	if v >= 9.95 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func count[T ~int | ~int64 | ~uint64](n T) string { return grouped(fmt.Sprint(n)) }

// grouped puts commas between thousands.
func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted is "1 worker", "4 workers".
func counted[T ~int | ~int64 | ~uint64](n T, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// pValue writes a p value without pretending to more than it says.
func pValue(p *float64) string {
	switch {
	case p == nil:
		return none
	case *p < 0.001:
		return "< 0.001"
	default:
		return strconv.FormatFloat(*p, 'f', 3, 64)
	}
}

// joinWords is "a", "a and b", "a, b and c".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
