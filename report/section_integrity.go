package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// promise is what integrity.js keeps of one promise of the store.
type promise struct {
	Checked  uint64   `json:"checked"`
	Broken   uint64   `json:"broken"`
	Unknown  uint64   `json:"unknown"`
	Examples []string `json:"examples"`
	Rounds   int      `json:"rounds"`
	Writers  int      `json:"writers"`
}

// promiseWords are the promises in the order of the script: what is promised, and what a broken one means to a user.
var promiseWords = []struct{ name, text, next string }{
	{"once", "every acknowledged insert is there exactly once", "Don't take an acknowledged write as done: read it back before relying on it."},
	{"unique", "a key is unique, also among concurrent inserts",
		"Let one writer at a time insert a key (a queue, a lock, or one owner for each key range), and look for duplicate keys in the data that is there already."},
	{"updates", "no acknowledged update is lost", "Let one writer own a row until this is mended."},
	{"whole", "a commit is seen whole or not at all", "Don't read rows of one commit as belonging together."},
	{"own_writes", "reads see one's own acknowledged writes", "Wait for a write to be readable before going on from it."},
	{"never_back", "reads never go back", "Don't compare reads by time: a later read may show an older state."},
}

// integrityAnswer says which of its promises the store kept. That one was kept is a claim, and needs a run that can be
// trusted; that one was broken was seen.
func integrityAnswer(rec *recorder.Record, groups []*group) answer {
	t := Table{Caption: "Promises under concurrent load", Header: []string{"promise", "checked", "broken", "not decided", "kept"}}
	var out answer
	var kept []string
	names := []string{}
	s := Section{Title: "Promises"}
	for _, w := range promiseWords {
		var p promise
		if !extra(rec, "integrity:"+w.name, &p) {
			continue
		}
		names = append(names, w.name)
		verdict := "yes, as far as checked"
		switch {
		case p.Broken > 0:
			verdict = "no"
			out.observed = append(out.observed, Finding{
				Text: fmt.Sprintf("The server broke a promise: %s. %s of %s checks failed, for example: %s.",
					w.text, count(p.Broken), count(p.Checked), strings.Join(p.Examples, "; ")),
				Next: w.next,
			})
		case p.Checked == 0:
			verdict = "not known"
		case rec.Verdict == recorder.Invalid:
			verdict = "not judged"
		default:
			kept = append(kept, fmt.Sprintf("%s (%s)", w.text, counted(p.Checked, "check")))
		}
		t.Rows = append(t.Rows, []string{w.text, count(p.Checked), count(p.Broken), count(p.Unknown), verdict})
	}
	if len(t.Rows) == 0 {
		return answer{}
	}
	if len(kept) > 0 {
		out.findings = append(out.findings, Finding{Text: "Kept as far as checked: " + strings.Join(kept, "; ") + "."})
	}
	s.Tables = []Table{t}
	s.Notes = []string{
		"Not decided: the outcome of a write was unknown, or it was not acknowledged.",
		"No violation in so many checks is no proof; a violation is one.",
	}
	out.sections = []Section{s}
	for _, g := range groups {
		if slices.Contains(names, g.family) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}
