package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// phased is a run of successes (or failures) every 100 ms, one letter for each: o for a success, x for a failure, - for
// nothing. Of several runs each is of an operation of its own, at the same time.
func phased(t *testing.T, kind string, runs ...string) *recorder.Record {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := recorder.New(recorder.Config{Now: func() time.Time { return now }})
	for at := range len(runs[0]) {
		now = now.Add(100 * time.Millisecond)
		for i, run := range runs {
			c := r.Cell(recorder.CellKey{Scenario: "s", Transport: "http", Op: "query", Query: fmt.Sprintf("point%d", i), Workers: 1})
			switch run[at] {
			case 'o':
				c.Record(20*time.Millisecond, recorder.OK)
			case 'x':
				c.Record(time.Millisecond, recorder.Failed(kind))
			}
		}
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	return rec
}

func TestAServerThatDiedIsSaidFirst(t *testing.T) {
	t.Parallel()
	often := strings.Repeat
	rec := phased(t, "connect", often("o", 100)+often("x", 50))
	d := Build(rec)
	require.NotEmpty(t, d.Findings)
	assert.Equal(t, "From about 10.0 s after the run's start on every operation failed, until the last at 15.0 s (the run's failures: 50 connect).", d.Findings[0].Text)

	rec.Verdict = recorder.Invalid
	assert.Contains(t, inTerminal(t, Build(rec)), "every operation failed", "what was seen of the server is not lost in an invalid run")

	for name, run := range map[string]string{
		"it came back":          often("o", 100) + often("x", 50) + "oo",
		"failures all along":    often("ooox", 50),
		"the last one failed":   often("o", 100) + "x",
		"a pause and a failure": often("o", 100) + often("-", 50) + "x",
		"rare operations":       often("o"+often("-", 9), 5) + often("-", 20) + "xxx",
		"nothing ever":          often("x", 100),
		"nothing failed":        often("o", 100),
		"a short end of many":   often("o", 1000) + often("x", 30),
	} {
		assert.NotContains(t, said(Build(phased(t, "connect", run))), "every operation failed", name)
	}

	for name, tt := range map[string]struct {
		runs []string
		died bool
	}{
		"both die":                                {[]string{often("o", 100) + often("x", 50), often("o", 100) + often("x", 50)}, true},
		"what was refused before is refused on":   {[]string{often("o", 100) + often("-", 50), often("o", 70) + often("x", 80)}, false},
		"one was refused before, the other dies":  {[]string{often("o", 100) + often("x", 50), often("o", 70) + often("x", 80)}, true},
		"what comes next never succeeds":          {[]string{often("o", 100) + often("-", 50), often("-", 100) + often("x", 50)}, true},
		"what never succeeded goes on for longer": {[]string{often("o", 100) + often("-", 50), often("x", 150)}, false},
	} {
		text := said(Build(phased(t, "connect", tt.runs...)))
		assert.Equal(t, tt.died, strings.Contains(text, "From about 10.0 s after the run's start on every operation failed"), "%s: %s", name, text)
	}
}
