// Package faults decides when the emulator fails and how, so that what a real server does once a month can be
// had at will and the same way twice.
package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// Kind is a way to fail.
type Kind string

// What can happen to a request. Kinds that say so act after the request was carried out.
const (
	Latency          Kind = "latency"             // waits, then answers as ever
	AdmissionCap     Kind = "admission_cap"       // 429 with Retry-After
	ManifestConflict Kind = "manifest_conflict"   // 409, refresh and retry
	ReadSetConflict  Kind = "read_set_conflict"   // 409, reprepare
	KeyConflict      Kind = "key_conflict"        // 409, an appended key is known
	DatasetConflict  Kind = "dataset_conflict"    // 409 published_dataset_version_conflict
	IndexRebuild     Kind = "index_rebuild"       // 409, terminal
	MergeConflict    Kind = "merge_conflict"      // 409 of a branch merge
	Precondition     Kind = "precondition_failed" // 412
	BadGateway       Kind = "bad_gateway"         // 502 from a gateway, after the request was carried out
	GatewayTimeout   Kind = "gateway_timeout"     // 504 likewise
	RecoveryRequired Kind = "recovery_required"   // 503; for a write the outcome is unknown
	Unavailable      Kind = "unavailable"         // 503 graph_unavailable
	Internal         Kind = "internal"            // 500
	SidecarDiffers   Kind = "sidecar_differs"     // 500, the store is quarantined
	AheadOfManifest  Kind = "ahead_of_manifest"   // 500, the store needs repair
	ResetBefore      Kind = "reset_before"        // the connection is reset, nothing was done
	ResetAfter       Kind = "reset_after"         // the connection is reset after the request was carried out
	Truncated        Kind = "truncated"           // half of the body, then the connection ends
	Malformed        Kind = "malformed"           // 200 with a body that is no JSON
	WrongType        Kind = "wrong_content_type"  // the body as text/html
	SlowBody         Kind = "slow_body"           // the body in pieces
	Restart          Kind = "restart"             // the port closes, comes back without graphs, then with them
)

// What can happen to a call of the CLI stand-in.
const (
	CLIExit      Kind = "cli_exit"       // exits with Code and Message on stderr
	CLIGarbage   Kind = "cli_garbage"    // garbage on stdout, exit 0
	CLIErrorOK   Kind = "cli_error_ok"   // an error document on stdout, exit 0
	CLIHang      Kind = "cli_hang"       // never ends
	CLIHoldPipes Kind = "cli_hold_pipes" // ends, but a child keeps its pipes open for Delay
	CLIHuge      Kind = "cli_huge"       // Bytes of output
	CLISignal    Kind = "cli_signal"     // dies of SIGKILL
)

var serverKinds = []Kind{
	Latency, AdmissionCap, ManifestConflict, ReadSetConflict, KeyConflict, DatasetConflict, IndexRebuild, MergeConflict,
	Precondition, BadGateway, GatewayTimeout, RecoveryRequired, Unavailable, Internal, SidecarDiffers, AheadOfManifest,
	ResetBefore, ResetAfter, Truncated, Malformed, WrongType, SlowBody, Restart,
}

var cliKinds = []Kind{CLIExit, CLIGarbage, CLIErrorOK, CLIHang, CLIHoldPipes, CLIHuge, CLISignal}

// Duration is a time.Duration that JSON writes as "1.5s".
type Duration time.Duration

// UnmarshalJSON reads Go's form of a duration.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("a duration is a string such as \"1.5s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	if err == nil && v < 0 {
		err = errors.New("a duration must not be negative")
	}
	*d = Duration(v)
	return err
}

// MarshalJSON writes Go's form of a duration.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Rule says which calls fail and how. Empty conditions hold for every call.
type Rule struct {
	// Route is a route's name for a request; Command a command for the CLI (or "*"). One of them is set, or
	// neither: then the rule is for every request.
	Route   string `json:"route,omitempty"`
	Command string `json:"command,omitempty"`
	Actor   string `json:"actor,omitempty"`
	// Probability is that of each call to which the rule applies; 0 means 1.
	Probability float64 `json:"probability,omitempty"`
	// Skip lets so many calls pass first; Count is how many then fail, 0 without end.
	Skip  int `json:"skip,omitempty"`
	Count int `json:"count,omitempty"`
	// After and Until bound the time since the start; Until 0 is without end.
	After Duration `json:"after,omitempty"`
	Until Duration `json:"until,omitempty"`

	Kind Kind `json:"kind"`
	// Delay is the wait of latency, between the pieces of slow_body, and of cli_hold_pipes.
	Delay Duration `json:"delay,omitempty"`
	// RetryAfter is the header of admission_cap, in seconds; 0 is 60.
	RetryAfter int `json:"retry_after,omitempty"`
	// Closed and Missing are a restart's phases.
	Closed  Duration `json:"closed,omitempty"`
	Missing Duration `json:"missing,omitempty"`
	// Code, Message and Bytes are for the CLI's kinds.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
}

// Plan is a fault file.
type Plan struct {
	// Seed makes the draws; the same seed and the same calls fail the same way.
	Seed  uint64 `json:"seed"`
	Rules []Rule `json:"rules"`
}

// Parse reads a fault file; routes are the names that a rule may address.
func Parse(text []byte, routes []string) (Plan, error) {
	var p Plan
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("faults: %w", err)
	}
	for i, r := range p.Rules {
		if err := r.check(routes); err != nil {
			return Plan{}, fmt.Errorf("faults: rule %d: %w", i+1, err)
		}
	}
	return p, nil
}

// ReadFile reads a fault file from disk.
func ReadFile(path string, routes []string) (Plan, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- the user names the file
	if err != nil {
		return Plan{}, fmt.Errorf("faults: %w", err)
	}
	return Parse(text, routes)
}

func (r *Rule) check(routes []string) error {
	switch {
	case r.Command != "" && r.Route != "":
		return errors.New("a rule has a route or a command, not both")
	case r.Command != "" && !slices.Contains(cliKinds, r.Kind):
		return fmt.Errorf("kind is %q, a command's is one of %v", r.Kind, cliKinds)
	case r.Command == "" && !slices.Contains(serverKinds, r.Kind):
		return fmt.Errorf("kind is %q, a request's is one of %v", r.Kind, serverKinds)
	case r.Route != "" && !slices.Contains(routes, r.Route):
		return fmt.Errorf("route is %q, want one of %v", r.Route, routes)
	case r.Probability < 0 || r.Probability > 1:
		return fmt.Errorf("probability is %g, want 0 to 1", r.Probability)
	case r.Skip < 0 || r.Count < 0 || r.RetryAfter < 0 || r.Bytes < 0:
		return errors.New("a count is negative")
	case r.Code < 0 || r.Code > 255:
		return fmt.Errorf("code is %d, an exit code is 0 to 255", r.Code)
	case r.Until != 0 && r.Until <= r.After:
		return errors.New("until must lie behind after")
	}
	return nil
}

// Injector applies a plan. It may be used concurrently; the order in which calls come in decides which fail.
type Injector struct {
	now func() time.Time

	mu    sync.Mutex
	plan  Plan
	start time.Time
	rules []*counter
}

// counter is a rule with what it has seen.
type counter struct {
	rule  Rule
	rand  *rand.Rand
	seen  int
	fired int
}

// New makes an injector; now nil is time.Now.
func New(p Plan, now func() time.Time) *Injector {
	if now == nil {
		now = time.Now
	}
	in := &Injector{now: now}
	in.Set(p)
	return in
}

// Set replaces the plan; its time and its counts begin anew.
func (in *Injector) Set(p Plan) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.plan, in.start, in.rules = p, in.now(), nil
	for i, r := range p.Rules {
		// The seed decides the sequence, not a secret.
		in.rules = append(in.rules, &counter{rule: r, rand: rand.New(rand.NewPCG(p.Seed, uint64(i)))}) // #nosec G404 -- as said
	}
}

// Plan returns the plan in force.
func (in *Injector) Plan() Plan {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.plan
}

// Call is what a rule is held against.
type Call struct {
	Route   string
	Command string
	Actor   string
}

// Match returns the first rule that makes this call fail, or nil.
func (in *Injector) Match(c Call) *Rule {
	in.mu.Lock()
	defer in.mu.Unlock()
	age := in.now().Sub(in.start)
	for _, k := range in.rules {
		if k.applies(c, age) && k.draw() {
			r := k.rule
			return &r
		}
	}
	return nil
}

func (k *counter) applies(c Call, age time.Duration) bool {
	r := &k.rule
	switch {
	case (r.Command != "") != (c.Command != ""):
		return false
	case r.Command != "" && r.Command != "*" && r.Command != c.Command:
		return false
	case r.Route != "" && r.Route != c.Route, r.Actor != "" && r.Actor != c.Actor:
		return false
	}
	return age >= time.Duration(r.After) && (r.Until == 0 || age < time.Duration(r.Until))
}

func (k *counter) draw() bool {
	k.seen++
	if k.seen <= k.rule.Skip || (k.rule.Count > 0 && k.fired >= k.rule.Count) {
		return false
	}
	if p := k.rule.Probability; p > 0 && p < 1 && k.rand.Float64() >= p {
		return false
	}
	k.fired++
	return true
}

// Replay brings the counters to where they stand after the given calls, for a process that lives for one call
// only and learns from a file which ones went before.
func (in *Injector) Replay(calls []Call) {
	for _, c := range calls {
		in.Match(c)
	}
}
