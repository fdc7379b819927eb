package report

import (
	"fmt"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// outages is what outage.js keeps of a run through a restart.
type outages struct {
	Seconds  float64                 `json:"seconds"` // watched
	Reads    []outage                `json:"reads"`
	Writes   []outage                `json:"writes"`
	Sent     uint64                  `json:"sent"`
	Outcomes map[string]writeOutcome `json:"outcomes"`
}

type outage struct {
	Seconds float64           `json:"seconds"`
	Failed  uint64            `json:"failed"`
	Kinds   map[string]uint64 `json:"kinds"`
}

// writeOutcome is what became of the writes that the client took as acknowledged, refused, or unknown.
type writeOutcome struct {
	Sent    uint64 `json:"sent"`
	There   uint64 `json:"there"`
	Missing uint64 `json:"missing"`
	Doubled uint64 `json:"doubled"`
}

// outageAnswer says what a restart cost, and whether the store holds what was acknowledged.
func outageAnswer(rec *recorder.Record, _ []*group) answer {
	var o outages
	if !extra(rec, "outage", &o) || o.Seconds <= 0 {
		return answer{}
	}
	s := Section{Title: "Outages"}
	t := Table{Caption: "From the first failure to the next success", Header: []string{"operation", "unavailable, s", "failed", "kinds"}}
	for _, set := range []struct {
		name string
		list []outage
	}{{"reads", o.Reads}, {"writes", o.Writes}} {
		for _, one := range set.list {
			t.Rows = append(t.Rows, []string{set.name, ms(one.Seconds), count(one.Failed), recorder.ErrorWords(one.Kinds)})
		}
	}
	var out answer
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
		out.findings = append(out.findings, Finding{
			Text: fmt.Sprintf("Reads were unavailable for %s, writes for %s.", outageWords(o.Reads), outageWords(o.Writes)),
			Next: "Give clients a retry with a total time above the longest of these, and repeat only what the error says may be repeated.",
		})
	} else {
		out.findings = append(out.findings, Finding{
			Text: fmt.Sprintf("No outage in %s s.", ms(o.Seconds)),
			Next: "Restart the server while the scenario runs.",
		})
	}
	if len(o.Outcomes) > 0 {
		s.Tables = append(s.Tables, outcomeTable(o.Outcomes))
		var kept []Finding
		out.observed, kept = outcomeFindings(o)
		out.findings = append(out.findings, kept...)
	}
	out.sections = []Section{s}
	return out
}

func outageWords(list []outage) string {
	if len(list) == 0 {
		return "no time"
	}
	words := make([]string, len(list))
	for i, o := range list {
		words[i] = ms(o.Seconds) + " s"
	}
	return joinWords(words)
}

func outcomeTable(outcomes map[string]writeOutcome) Table {
	t := Table{Caption: "Inserts by what the client was told, and what is in the store", Header: []string{"the client was told", "sent", "there once", "missing", "there twice or more"}}
	for _, name := range []string{"acknowledged", "refused", "unknown"} {
		o := outcomes[name]
		t.Rows = append(t.Rows, []string{name, count(o.Sent), count(o.There), count(o.Missing), count(o.Doubled)})
	}
	return t
}

// outcomeFindings tells what was seen to break a promise apart from the claim that none was broken.
func outcomeFindings(o outages) (out, kept []Finding) {
	ack, refused, unknown := o.Outcomes["acknowledged"], o.Outcomes["refused"], o.Outcomes["unknown"]
	if ack.Missing > 0 {
		out = append(out, Finding{
			Text: fmt.Sprintf("The server lost writes: %s of %s acknowledged inserts are not there.", count(ack.Missing), count(ack.Sent)),
			Next: "Don't take an acknowledged write as done over a restart: read it back.",
		})
	}
	if doubled := ack.Doubled + refused.Doubled + unknown.Doubled; doubled > 0 {
		out = append(out, Finding{Text: fmt.Sprintf("%s there twice or more, though each was sent once.", counted(doubled, "row"))})
	}
	if refused.There > 0 {
		out = append(out, Finding{Text: fmt.Sprintf("%s of %s inserts that were refused are there all the same.", count(refused.There), count(refused.Sent))})
	}
	if len(out) == 0 {
		kept = append(kept, Finding{Text: fmt.Sprintf("Every one of %s acknowledged inserts is there once, and none of %s refused ones.", count(ack.Sent), count(refused.Sent))})
	}
	if unknown.Sent > 0 {
		out = append(out, Finding{
			Text: fmt.Sprintf("Of %s with an unknown outcome %s there.", counted(unknown.Sent, "insert"), are(unknown.There)),
			Next: "After an unknown outcome read before you repeat: a repeated insert may be there twice.",
		})
	}
	return out, kept
}

func are(n uint64) string {
	if n == 1 {
		return "1 is"
	}
	return count(n) + " are"
}
