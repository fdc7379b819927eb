package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/policy"
)

const text = `
version: 1
groups:
  w: [ann, bob]
  r: [cid]
rules:
  - id: change-main
    allow: {actors: {group: w}, actions: [read, change], branch_scope: [main]}
  - id: branch-any
    allow: {actors: {group: w}, actions: [branch_create], target_branch_scope: any}
  - id: read
    allow: {actors: {group: r}, actions: [read], branch_scope: any}
`

func TestCheck(t *testing.T) {
	t.Parallel()
	b, err := policy.Parse([]byte(text))
	require.NoError(t, err)
	set := policy.Set{b}
	for _, tt := range []struct {
		request policy.Request
		want    string
	}{
		{policy.Request{Actor: "ann", Action: policy.Change, Branch: "main"}, ""},
		{policy.Request{Actor: "ann", Action: policy.Change, Branch: "side"}, "policy denied action 'change' on branch 'side' for actor 'ann'"},
		{policy.Request{Actor: "bob", Action: policy.BranchCreate, Branch: "main", Target: "x"}, ""},
		{policy.Request{Actor: "cid", Action: policy.BranchCreate, Branch: "main", Target: "x"}, "policy denied action 'branch_create' on branch 'main' targeting branch 'x' for actor 'cid'"},
		{policy.Request{Actor: "cid", Action: policy.BranchDelete, Target: "x"}, "policy denied action 'branch_delete' targeting branch 'x' for actor 'cid'"},
		{policy.Request{Actor: "dan", Action: policy.GraphList}, "policy denied action 'graph_list' for unknown actor 'dan'"},
		{policy.Request{Actor: "cid", Action: policy.Read, Branch: "side"}, ""},
	} {
		err := set.Check(tt.request)
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
	require.NoError(t, policy.Set{}.Check(policy.Request{Actor: "dan", Action: policy.Admin}), "no policy, no refusal")
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version: 2": "version is 2, want 1",
		"version: 1\nrules: [{id: a, allow: {actors: {group: nope}, actions: [read]}}]":                                      `rule a allows the unknown group "nope"`,
		"version: 1\ngroups: {g: [x]}\nrules: [{id: a, allow: {actors: {group: g}, actions: [fly]}}]":                        `rule a allows the unknown action "fly"`,
		"version: 1\ngroups: {g: [x]}\nrules: [{id: a, allow: {actors: {group: g}, actions: [read], branch_scope: {a: b}}}]": "branch scope: want any",
		"{": "policy: ",
	} {
		_, err := policy.Parse([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := policy.Parse(text)
		if err != nil {
			return
		}
		_ = policy.Set{b}.Check(policy.Request{Actor: "ann", Action: policy.Read, Branch: "main"})
	})
}
