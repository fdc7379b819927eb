package report

import (
	"encoding/json"
	"slices"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// answer is what one of the shipped scenarios says in its own words about what it was made to find out.
type answer struct {
	findings []Finding
	// observed are findings about what the server was seen to do, such as a row that is there twice. An invalid run has
	// no findings: there they are told in a section of their own, without an advice (seenSection).
	observed []Finding
	sections []Section
	// claims are the groups that the sections show already.
	claims []*group
}

// answerOf asks every scenario's section for what it has to say of the record.
func answerOf(rec *recorder.Record, groups []*group) answer {
	var all answer
	for _, ask := range []func(*recorder.Record, []*group) answer{
		deathAnswer, agingAnswer, batchAnswer, writersAnswer, integrityAnswer, noiseAnswer, capacityAnswer,
		mixAnswer, soakAnswer, watchAnswer, admissionAnswer, outageAnswer,
	} {
		a := ask(rec, groups)
		all.findings = append(all.findings, a.findings...)
		all.observed = append(all.observed, a.observed...)
		all.sections = append(all.sections, a.sections...)
		all.claims = append(all.claims, a.claims...)
	}
	return all
}

// others are the groups that no scenario's own section shows.
func (a *answer) others(groups []*group) []*group {
	var out []*group
	for _, g := range groups {
		if !slices.Contains(a.claims, g) {
			out = append(out, g)
		}
	}
	return out
}

// trusted are the findings that the record's verdict lets stand.
func (a *answer) trusted(rec *recorder.Record) []Finding {
	if rec.Verdict == recorder.Invalid {
		return nil
	}
	return append(slices.Clone(a.observed), a.findings...)
}

// seenSection keeps what an invalid run saw of the server from being lost, without making it a result.
func (a *answer) seenSection(rec *recorder.Record) []Section {
	if rec.Verdict != recorder.Invalid || len(a.observed) == 0 {
		return nil
	}
	s := Section{
		Title: "Seen in an invalid run",
		Text:  []string{"Not findings: the reasons above may be what caused them. Mend those and repeat the run before acting on any."},
	}
	for _, f := range a.observed {
		s.Notes = append(s.Notes, f.Text)
	}
	return []Section{s}
}

// extra reads what a script kept for its own section. A record from elsewhere may hold anything there, so that what
// does not fit is as good as absent.
func extra(rec *recorder.Record, section string, into any) bool {
	value, ok := rec.Extra[section]
	if !ok {
		return false
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return false
	}
	return json.Unmarshal(encoded, into) == nil
}
