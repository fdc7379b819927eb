package report

import (
	"fmt"
	"slices"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// admission is what admission.js keeps of one of its steps: bursts, or deliveries with a way to wait.
type admission struct {
	Actors     int         `json:"actors"`
	Bursts     []burst     `json:"bursts"`
	Patience   float64     `json:"patience"`
	Deliveries []delivered `json:"deliveries"`
}

type burst struct {
	Sent       uint64  `json:"sent"`
	Admitted   uint64  `json:"admitted"`
	Refused    uint64  `json:"refused"`
	Other      uint64  `json:"other"`
	RetryAfter float64 `json:"retryAfter"` // s, 0 where none was given
	Message    string  `json:"message"`
}

type delivered struct {
	Clients   uint64  `json:"clients"`
	Delivered uint64  `json:"delivered"`
	Attempts  uint64  `json:"attempts"`
	Seconds   float64 `json:"seconds"`
	Asked     float64 `json:"asked"` // the longest Retry-After, s
}

// admissionAnswer says where the cap bites and which way to wait delivers.
func admissionAnswer(rec *recorder.Record, groups []*group) answer {
	bursts := Table{Caption: "Bursts of concurrent inserts", Header: []string{"actors", "sent", "admitted", "refused", "other failures", "Retry-After, s"}}
	waits := Table{Caption: "One insert a client to deliver, by what a client does after a refusal", Header: []string{"after a refusal", "clients", "delivered", "attempts an insert", "until the last, s"}}
	var out answer
	for _, name := range []string{"burst", "spread"} {
		var a admission
		if !extra(rec, "admission:"+name, &a) {
			continue
		}
		for _, b := range a.Bursts {
			retryAfter := none
			if b.RetryAfter > 0 {
				retryAfter = ms(b.RetryAfter)
			}
			bursts.Rows = append(bursts.Rows, []string{count(a.Actors), count(b.Sent), count(b.Admitted), count(b.Refused), count(b.Other), retryAfter})
		}
		if f := burstFinding(a); f != nil {
			out.findings = append(out.findings, *f)
		}
	}
	words := map[string]string{"at_once": "again after 20 ms", "backoff": "exponential, with jitter", "as_told": "as Retry-After says"}
	var best string
	var fewest, seconds float64
	trials := 0
	for _, name := range []string{"at_once", "backoff", "as_told"} {
		var a admission
		if !extra(rec, "admission:"+name, &a) {
			continue
		}
		trials = max(trials, len(a.Deliveries))
		for _, d := range a.Deliveries {
			perInsert := float64(d.Attempts) / float64(max(d.Clients, 1))
			waits.Rows = append(waits.Rows, []string{words[name], count(d.Clients), count(d.Delivered), ms(perInsert), ms(d.Seconds)})
			if d.Delivered == d.Clients && (best == "" || perInsert < fewest) {
				best, fewest, seconds = name, perInsert, d.Seconds
			}
			if name == "as_told" && d.Delivered < d.Clients && d.Asked > a.Patience {
				out.findings = append(out.findings, Finding{
					Text: fmt.Sprintf("The server asks for %s s of patience after a refusal, more than the %s s allowed here: %s of %s clients gave up.",
						ms(d.Asked), ms(a.Patience), count(d.Clients-d.Delivered), count(d.Clients)),
				})
			}
		}
	}
	if len(bursts.Rows)+len(waits.Rows) == 0 {
		return answer{}
	}
	if best != "" && fewest > 1 {
		out.findings = append(out.findings, Finding{
			Text: fmt.Sprintf("All inserts get through with the fewest attempts (%s an insert, %s s until the last) where clients wait so after a refusal: %s (%s of each way).",
				ms(fewest), ms(seconds), words[best], counted(trials, "trial")),
			Next: "Bound the writes in flight on the client's side below the cap: what is never refused needs no waiting.",
		})
	}
	s := Section{Title: "Admission"}
	for _, t := range []Table{bursts, waits} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	out.sections = []Section{s}
	for _, g := range groups {
		if slices.Contains([]string{"burst", "spread", "at_once", "backoff", "as_told"}, g.family) {
			out.claims = append(out.claims, g)
		}
	}
	return out
}

func burstFinding(a admission) *Finding {
	if len(a.Bursts) == 0 {
		return nil
	}
	admitted, refused := a.Bursts[0].Admitted, uint64(0)
	message := ""
	for _, b := range a.Bursts {
		admitted = min(admitted, b.Admitted)
		refused += b.Refused
		if b.Message != "" {
			message = b.Message
		}
	}
	sent := a.Bursts[0].Sent
	switch {
	case refused == 0 && a.Actors > 1:
		return &Finding{Text: fmt.Sprintf("Spread over %s, a burst of %s concurrent inserts met no cap.", counted(a.Actors, "actor"), count(sent))}
	case refused == 0:
		return &Finding{
			Text: fmt.Sprintf("%s concurrent inserts of one actor met no cap.", count(sent)),
			Next: "Raise ADMISSION_BURST to find it.",
		}
	case a.Actors > 1:
		return &Finding{Text: fmt.Sprintf("Even spread over %s, a burst of %s met the cap.", counted(a.Actors, "actor"), count(sent))}
	default:
		return &Finding{
			Text: fmt.Sprintf("The per-actor cap bites: of %s concurrent inserts of one actor %s were admitted (%q).", count(sent), count(admitted), message),
			Next: "A 429 is a policy and no sign of a busy server: keep fewer writes in flight, or use several actors.",
		}
	}
}
