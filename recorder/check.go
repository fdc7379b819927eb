package recorder

import (
	"errors"
	"fmt"
	"slices"
)

// Check finds contradictions within a record that was read: counts that do not add up, figures that do not follow from
// their histograms, a verdict that does not follow from the figures. An empty list means that there are none.
func (rec *Record) Check() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if rec.Invocation.ID == "" {
		add("the invocation has no id")
	}
	if rec.Invocation.End.Before(rec.Invocation.Start) {
		add("the run ended before it started")
	}
	seen := map[CellKey]bool{}
	for i := range rec.Cells {
		c := &rec.Cells[i]
		if seen[c.Key()] {
			add("cell %s: it is there twice", c.Label())
		}
		seen[c.Key()] = true
		for _, err := range c.check() {
			add("cell %s: %w", c.Label(), err)
		}
	}
	seenPairs := map[PairKey]bool{}
	for i := range rec.Pairs {
		p := &rec.Pairs[i]
		if seenPairs[p.Key()] {
			add("comparison %s: it is there twice", p.Label())
		}
		seenPairs[p.Key()] = true
		for _, rows := range p.Raw {
			if len(rows.A) != len(rows.B) || len(rows.A) != len(rows.FirstA) || len(rows.A) != len(rows.AtS) {
				add("comparison %s: the columns of its raw pairs differ in length", p.Label())
			}
		}
	}
	for _, r := range rec.Reasons {
		if ClassOf(r.Code) == "" {
			add("reason code %q is not known", r.Code)
		}
	}
	if verdict, reasons := Judge(rec); verdict != rec.Verdict || !slices.Equal(codesOf(reasons), codesOf(rec.Reasons)) {
		add("the verdict is %s for %v, the figures lead to %s for %v", rec.Verdict, codesOf(rec.Reasons), verdict, codesOf(reasons))
	}
	return problems
}

func codesOf(reasons []Reason) []string {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return codes
}

func (c *CellRecord) check() []error {
	var problems []error
	s, err := c.Sample()
	if err != nil {
		return []error{err}
	}
	if uint64(s.Len()) != c.N { // #nosec G115 -- a count
		problems = append(problems, fmt.Errorf("n is %d, its histogram holds %d", c.N, s.Len()))
	}
	var failed uint64
	for _, n := range c.Errors {
		failed += n
	}
	if failed != c.Failed {
		problems = append(problems, fmt.Errorf("failed is %d, its errors by kind add up to %d", c.Failed, failed))
	}
	if c.N == 0 && (c.P50 != nil || c.P95 != nil || c.P99 != nil) {
		problems = append(problems, errors.New("it has percentiles without a success"))
	}
	for _, rows := range c.Raw {
		if len(rows.AtS) != len(rows.MS) {
			problems = append(problems, errors.New("the columns of its raw values differ in length"))
		}
	}
	return problems
}
