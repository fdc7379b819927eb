package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// ledger is __cluster/state.json, as far as the emulator needs it.
type ledger struct {
	Version          int                `json:"version"`
	StateRevision    int                `json:"state_revision"`
	AppliedRevision  appliedRevision    `json:"applied_revision"`
	ResourceStatuses map[string]status  `json:"resource_statuses"`
	Observations     map[string]observe `json:"observations"`
}

type appliedRevision struct {
	ConfigDigest string              `json:"config_digest"`
	Resources    map[string]resource `json:"resources"`
}

type resource struct {
	Digest string `json:"digest"`
}

type status struct {
	Status     string   `json:"status"`
	Conditions []string `json:"conditions,omitempty"`
	Message    string   `json:"message,omitempty"`
}

type observe struct {
	Kind       string    `json:"kind"`
	Address    string    `json:"address"`
	GraphURI   string    `json:"graph_uri"`
	ObservedAt time.Time `json:"observed_at"`
	Exists     bool      `json:"exists"`
	Manifest   *uint64   `json:"manifest_version"`
	Digest     *string   `json:"schema_digest"`
	Desired    string    `json:"desired_schema_digest"`
	Matches    bool      `json:"schema_matches_desired"`
	Error      string    `json:"error,omitempty"`
}

func statePath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return filepath.Join(abs, "__cluster", "state.json")
}

func readLedger(dir string) (*ledger, error) {
	text, err := os.ReadFile(statePath(dir))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's state: %w", err)
	}
	l := &ledger{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read the cluster's state: %w", err)
	}
	return l, nil
}

// write replaces the ledger as a whole, so that no reader sees half of it.
func (l *ledger) write(dir string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the cluster's state: %w", err)
	}
	path := statePath(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("make the cluster's state folder: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}
	return nil
}

// Observed is the state_observations of an answer.
type Observed struct {
	StatePath     string `json:"state_path"`
	LockPath      string `json:"lock_path"`
	StateFound    bool   `json:"state_found"`
	ConfigDigest  string `json:"applied_config_digest,omitempty"`
	StateRevision int    `json:"state_revision"`
	StateCAS      string `json:"state_cas,omitempty"`
	ResourceCount int    `json:"resource_count"`
	Locked        bool   `json:"locked"`
	LockAcquired  bool   `json:"lock_acquired"`
	LockID        string `json:"acquired_lock_id,omitempty"`
}

func observed(dir string, l *ledger) Observed {
	path := statePath(dir)
	o := Observed{StatePath: path, LockPath: filepath.Join(filepath.Dir(path), "lock.json")}
	if l == nil {
		return o
	}
	o.StateFound = true
	o.ConfigDigest = l.AppliedRevision.ConfigDigest
	o.StateRevision = l.StateRevision
	o.ResourceCount = len(l.AppliedRevision.Resources)
	if text, err := os.ReadFile(path); err == nil { // #nosec G304 -- the cluster's own file
		o.StateCAS = "sha256:" + digest(text)
	}
	return o
}

// locked marks what was observed under the cluster's lock.
func (o Observed) locked() Observed {
	o.LockAcquired, o.LockID = true, graph.NewID()
	return o
}

// Validation is the answer of `cluster validate`.
type Validation struct {
	OK              bool              `json:"ok"`
	ConfigDir       string            `json:"config_dir"`
	ConfigFile      string            `json:"config_file"`
	ResourceDigests map[string]string `json:"resource_digests"`
	Resources       []Resource        `json:"resources"`
	Dependencies    []Dependency      `json:"dependencies"`
	Diagnostics     []Diagnostic      `json:"diagnostics"`
}

// Validate checks a configuration.
func Validate(dir string) Validation {
	c := Load(dir)
	v := Validation{
		OK: c.OK(), ConfigDir: dir, ConfigFile: filepath.Join(dir, ConfigName), ResourceDigests: map[string]string{},
		Resources: c.Resources, Dependencies: c.Dependencies, Diagnostics: c.Diagnostics,
	}
	for _, r := range c.Resources {
		v.ResourceDigests[r.Address] = r.Digest
	}
	return v
}

// Import is the answer of `cluster import`.
type Import struct {
	OK               bool               `json:"ok"`
	Operation        string             `json:"operation"`
	ConfigDir        string             `json:"config_dir"`
	Observations     Observed           `json:"state_observations"`
	ResourceDigests  map[string]string  `json:"resource_digests"`
	ResourceStatuses map[string]status  `json:"resource_statuses"`
	Graphs           map[string]observe `json:"observations"`
	Diagnostics      []Diagnostic       `json:"diagnostics"`
}

// Bootstrap makes the state ledger of a cluster that has none.
func Bootstrap(dir string, now time.Time) (Import, error) {
	c := Load(dir)
	out := Import{
		OK: c.OK(), Operation: "import", ConfigDir: dir, ResourceDigests: map[string]string{},
		ResourceStatuses: map[string]status{}, Graphs: map[string]observe{}, Diagnostics: c.Diagnostics,
	}
	out.Observations = observed(dir, nil)
	if !out.OK {
		return out, nil
	}
	old, err := readLedger(dir)
	if err == nil {
		out.OK = false
		out.Observations = observed(dir, old).locked()
		out.ResourceStatuses, out.Graphs = old.ResourceStatuses, old.Observations
		for address, r := range old.AppliedRevision.Resources {
			out.ResourceDigests[address] = r.Digest
		}
		out.Diagnostics = append(out.Diagnostics, Diagnostic{
			Code: "state_already_exists", Severity: "error", Path: "__cluster/state.json",
			Message: "import creates initial state only when state.json is missing; use `cluster refresh` for an existing state ledger",
		})
		return out, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return out, err
	}
	for _, name := range sortedKeys(c.Schemas) {
		missing := status{Status: "drifted", Conditions: []string{"graph_missing"}, Message: "derived graph root is missing"}
		out.ResourceStatuses["graph."+name] = missing
		out.ResourceStatuses["schema."+name] = missing
		out.Graphs["graph."+name] = observe{
			Kind: "graph", Address: "graph." + name, GraphURI: c.GraphDir(name), ObservedAt: now.UTC(),
			Desired: digest([]byte(c.Schemas[name].Source)), Error: missing.Message,
		}
	}
	l := &ledger{
		Version: 1, StateRevision: 1, ResourceStatuses: out.ResourceStatuses, Observations: out.Graphs,
		AppliedRevision: appliedRevision{ConfigDigest: c.Digest, Resources: map[string]resource{}},
	}
	if err := l.write(dir); err != nil {
		return out, err
	}
	out.Observations = observed(dir, l).locked()
	return out, nil
}

// Change is one thing that an apply did.
type Change struct {
	Resource     string `json:"resource"`
	Operation    string `json:"operation"`
	BeforeDigest string `json:"before_digest,omitempty"`
	AfterDigest  string `json:"after_digest,omitempty"`
	Disposition  string `json:"disposition"`
}

// Apply is the answer of `cluster apply`.
type Apply struct {
	OK              bool    `json:"ok"`
	ConfigDir       string  `json:"config_dir"`
	Actor           *string `json:"actor,omitempty"`
	DesiredRevision struct {
		ConfigDigest string `json:"config_digest,omitempty"`
	} `json:"desired_revision"`
	Observations     Observed          `json:"state_observations"`
	Changes          []Change          `json:"changes"`
	AppliedCount     int               `json:"applied_count"`
	DeferredCount    int               `json:"deferred_count"`
	Converged        bool              `json:"converged"`
	StateWritten     bool              `json:"state_written"`
	ResourceStatuses map[string]status `json:"resource_statuses"`
	Diagnostics      []Diagnostic      `json:"diagnostics"`
}

// Converge makes the graphs that the configuration names and records its resources in the ledger.
func Converge(dir, actor string) (Apply, error) {
	c := Load(dir)
	out := Apply{OK: c.OK(), ConfigDir: dir, Changes: []Change{}, ResourceStatuses: map[string]status{}, Diagnostics: c.Diagnostics}
	if actor != "" {
		out.Actor = &actor
	}
	out.DesiredRevision.ConfigDigest = c.Digest
	out.Observations = observed(dir, nil)
	if !out.OK {
		return out, nil
	}
	l, err := readLedger(dir)
	if errors.Is(err, os.ErrNotExist) {
		out.OK = false
		out.Observations = out.Observations.locked()
		out.Diagnostics = append(out.Diagnostics, Diagnostic{
			Code: "state_missing", Severity: "error", Path: "__cluster/state.json",
			Message: "apply requires an existing state.json; run `cluster import` to bootstrap state",
		})
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if err := c.converge(l, &out); err != nil {
		return out, err
	}
	if len(out.Changes) > 0 {
		l.StateRevision++
		l.AppliedRevision.ConfigDigest = c.Digest
		if err := l.write(dir); err != nil {
			return out, err
		}
		out.StateWritten = true
	}
	out.AppliedCount = len(out.Changes)
	out.Converged = true
	out.Observations = observed(dir, l).locked()
	out.ResourceStatuses = l.ResourceStatuses
	return out, nil
}

func (c *Config) converge(l *ledger, out *Apply) error {
	wanted := map[string]bool{}
	statuses := map[string]status{}
	for _, r := range c.Resources {
		wanted[r.Address] = true
		statuses[r.Address] = status{Status: "applied"}
		old, known := l.AppliedRevision.Resources[r.Address]
		if r.Kind == "graph" {
			if err := c.makeGraph(r.Address[len("graph."):], known && old.Digest != r.Digest); err != nil {
				return err
			}
		}
		ch := Change{Resource: r.Address, Operation: "create", AfterDigest: r.Digest, Disposition: "applied"}
		switch {
		case known && old.Digest == r.Digest:
			continue
		case known:
			ch.Operation, ch.BeforeDigest = "update", old.Digest
		}
		out.Changes = append(out.Changes, ch)
		l.AppliedRevision.Resources[r.Address] = resource{Digest: r.Digest}
	}
	for _, address := range sortedKeys(l.AppliedRevision.Resources) {
		if !wanted[address] {
			out.Changes = append(out.Changes, Change{Resource: address, Operation: "delete", BeforeDigest: l.AppliedRevision.Resources[address].Digest, Disposition: "applied"})
			delete(l.AppliedRevision.Resources, address)
		}
	}
	l.ResourceStatuses = statuses
	return nil
}

// makeGraph creates a graph's store unless it is there. The emulator does not migrate: a store whose schema
// differs from the configuration's is an error.
func (c *Config) makeGraph(name string, changed bool) error {
	dir := c.GraphDir(name)
	g, err := graph.Create(dir, c.Schemas[name].Source, false, graph.Options{URI: dir})
	if errors.Is(err, graph.ErrExists) {
		if changed {
			return fmt.Errorf("graph %s: the emulator does not migrate schemas; remove %s to start anew", name, dir)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("make graph %s: %w", name, err)
	}
	return g.Close()
}

// NotReadyError says why a cluster cannot be served.
type NotReadyError struct{ Dir, Reason string }

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the cluster at '%s' is not ready to serve:\n  %s", e.Dir, e.Reason)
}

// Ready checks that a cluster was applied and returns its configuration.
func Ready(dir string) (*Config, error) {
	l, err := readLedger(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NotReadyError{dir, "[cluster_state_missing] __cluster/state.json: no cluster state ledger; run `cluster import` and `cluster apply` first"}
	}
	if err != nil {
		return nil, err
	}
	c := Load(dir)
	if !c.OK() {
		d := c.Diagnostics[0]
		return nil, &NotReadyError{dir, fmt.Sprintf("[%s] %s: %s", d.Code, d.Path, d.Message)}
	}
	if len(l.AppliedRevision.Resources) == 0 {
		return nil, &NotReadyError{dir, "[cluster_not_applied] __cluster/state.json: nothing was applied; run `cluster apply` first"}
	}
	return c, nil
}
