// Package policy decides what an actor may do, from the policy files of a rig.
package policy

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Action is something that a rule can allow.
type Action string

// The actions.
const (
	Read         Action = "read"
	Export       Action = "export"
	Change       Action = "change"
	SchemaApply  Action = "schema_apply"
	BranchCreate Action = "branch_create"
	BranchDelete Action = "branch_delete"
	BranchMerge  Action = "branch_merge"
	InvokeQuery  Action = "invoke_query"
	Admin        Action = "admin"
	GraphList    Action = "graph_list"
)

var known = []Action{Read, Export, Change, SchemaApply, BranchCreate, BranchDelete, BranchMerge, InvokeQuery, Admin, GraphList}

// Bundle is one policy file.
type Bundle struct {
	groups map[string][]string
	rules  []rule
}

type rule struct {
	group   string
	actions []Action
	// branches limits a rule about branches; empty is any.
	branches []string
}

// document is the file's form.
type document struct {
	Version int                 `yaml:"version"`
	Groups  map[string][]string `yaml:"groups"`
	Rules   []struct {
		ID    string `yaml:"id"`
		Allow struct {
			Actors struct {
				Group string `yaml:"group"`
			} `yaml:"actors"`
			Actions           []Action `yaml:"actions"`
			BranchScope       scope    `yaml:"branch_scope"`
			TargetBranchScope scope    `yaml:"target_branch_scope"`
		} `yaml:"allow"`
	} `yaml:"rules"`
}

// scope is `any`, the name of a branch, or a list of names.
type scope []string

func (s *scope) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = scope{n.Value}
		return nil
	}
	var list []string
	if err := n.Decode(&list); err != nil {
		return fmt.Errorf("branch scope: want any, a branch's name or a list of names: %w", err)
	}
	*s = list
	return nil
}

// Parse reads a policy file.
func Parse(text []byte) (*Bundle, error) {
	var doc document
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if doc.Version != 1 {
		return nil, fmt.Errorf("policy: version is %d, want 1", doc.Version)
	}
	b := &Bundle{groups: doc.Groups}
	for _, r := range doc.Rules {
		if _, ok := doc.Groups[r.Allow.Actors.Group]; !ok {
			return nil, fmt.Errorf("policy: rule %s allows the unknown group %q", r.ID, r.Allow.Actors.Group)
		}
		nr := rule{group: r.Allow.Actors.Group, actions: r.Allow.Actions}
		for _, a := range r.Allow.Actions {
			if !slices.Contains(known, a) {
				return nil, fmt.Errorf("policy: rule %s allows the unknown action %q", r.ID, a)
			}
		}
		for _, s := range [...]scope{r.Allow.BranchScope, r.Allow.TargetBranchScope} {
			if !slices.Equal(s, scope{"any"}) {
				nr.branches = append(nr.branches, s...)
			}
		}
		b.rules = append(b.rules, nr)
	}
	return b, nil
}

// Knows reports whether the actor is in any group.
func (b *Bundle) Knows(actor string) bool {
	for _, members := range b.groups {
		if slices.Contains(members, actor) {
			return true
		}
	}
	return false
}

func (b *Bundle) allows(actor string, action Action, branch string) bool {
	for _, r := range b.rules {
		if slices.Contains(r.actions, action) && slices.Contains(b.groups[r.group], actor) &&
			(len(r.branches) == 0 || slices.Contains(r.branches, branch)) {
			return true
		}
	}
	return false
}

// Set is the bundles that apply to one graph or to the cluster. Without any bundle everything is allowed.
type Set []*Bundle

// Request is what an actor wants to do. Branch and Target are named in the refusal where they are set.
type Request struct {
	Actor  string
	Action Action
	Branch string
	Target string
}

// Denied is a refusal, in the server's words.
type Denied struct {
	Request
	unknown bool
}

func (d *Denied) Error() string {
	s := fmt.Sprintf("policy denied action '%s'", d.Action)
	if d.Branch != "" {
		s += fmt.Sprintf(" on branch '%s'", d.Branch)
	}
	if d.Target != "" {
		s += fmt.Sprintf(" targeting branch '%s'", d.Target)
	}
	if d.unknown {
		return s + fmt.Sprintf(" for unknown actor '%s'", d.Actor)
	}
	return s + fmt.Sprintf(" for actor '%s'", d.Actor)
}

// Check returns nil or a *Denied.
func (s Set) Check(r Request) error {
	if len(s) == 0 {
		return nil
	}
	branch := r.Branch
	if r.Target != "" {
		branch = r.Target
	}
	known := false
	for _, b := range s {
		if b.allows(r.Actor, r.Action, branch) {
			return nil
		}
		known = known || b.Knows(r.Actor)
	}
	return &Denied{Request: r, unknown: !known}
}
