package metrics

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The aggregations that thresholds and summaries name.
const (
	aggAvg   = "avg"
	aggCount = "count"
	aggMax   = "max"
	aggMed   = "med"
	aggMin   = "min"
	aggRate  = "rate"
	aggValue = "value"
)

var errMalformedThreshold = errors.New("malformed threshold expression")

// expression is a parsed threshold: aggregation, operator, number.
type expression struct {
	aggregation string  // as written, without spaces
	percentile  float64 // 0 to 1, of p(N) only
	isP         bool
	operator    string
	limit       float64
}

//nolint:gochecknoglobals // compiled once, never changed
var expressionForm = regexp.MustCompile(
	`^\s*(avg|count|max|med|min|rate|value|p\(\s*[0-9.]+\s*\))\s*(<=|>=|===|==|!=|<|>)\s*(\S+)\s*$`)

func parseExpression(source string) (*expression, error) {
	match := expressionForm.FindStringSubmatch(source)
	if match == nil {
		return nil, errMalformedThreshold
	}
	limit, err := strconv.ParseFloat(match[3], 64)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformedThreshold, err)
	}
	if math.IsNaN(limit) {
		return nil, fmt.Errorf("%w: nothing can be compared with NaN", errMalformedThreshold)
	}
	e := &expression{aggregation: strings.Join(strings.Fields(match[1]), ""), operator: match[2], limit: limit}
	if strings.HasPrefix(e.aggregation, "p(") {
		n, err := parsePercentile(e.aggregation)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformedThreshold, err)
		}
		e.isP, e.percentile = true, n/100
	}
	return e, nil
}

// supports says whether a metric of the type has the aggregation.
func (e *expression) supports(t MetricType) bool {
	if e.isP {
		return t == Trend
	}
	for _, name := range t.supportedAggregations() {
		if name == e.aggregation {
			return true
		}
	}
	return false
}

// holds says whether the value satisfies the condition.
func (e *expression) holds(value float64) bool {
	switch e.operator {
	case "<":
		return value < e.limit
	case "<=":
		return value <= e.limit
	case ">":
		return value > e.limit
	case ">=":
		return value >= e.limit
	case "==", "===":
		return value == e.limit
	default: // "!=", the expression's form allows no other
		return value != e.limit
	}
}
