package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func TestParseSuccessOfTheRealCLI(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		op   Op
		want Success // Doc and what is JSON in it aside
		rows string  // JSON of Rows, empty if only its presence counts
	}{
		"ok/query":              {OpQuery, Success{RowCount: 1}, `[{"m.slug":"mem-0001","m.title":"T 1"}]`},
		"ok/query without rows": {OpQuery, Success{}, `[]`},
		"ok/query of everything through a dropped pattern": {OpQuery, Success{RowCount: 5}, ``},
		"ok/mutate":          {OpMutate, Success{Mutation: true, AffectedNodes: 1, ActorID: "act-load"}, ``},
		"ok/mutate nothing":  {OpMutate, Success{Mutation: true, ActorID: "act-load"}, ``},
		"ok/stored read":     {OpInvoke, Success{RowCount: 1}, ``},
		"ok/stored mutation": {OpInvoke, Success{Mutation: true, AffectedNodes: 1, ActorID: "act-load"}, ``},
		"ok/load":            {OpLoad, Success{Mutation: true, AffectedNodes: 5}, ``},
		"ok/load edges":      {OpLoad, Success{Mutation: true, AffectedEdges: 1}, ``},
		"ok/snapshot":        {OpSnapshot, Success{RowCount: 4}, ``},
		"ok/schema":          {OpSchema, Success{}, ``},
		"ok/branches":        {OpBranches, Success{RowCount: 1}, `["main"]`},
		"ok/branch create":   {OpBranchCreate, Success{ActorID: "act-load"}, ``},
		"ok/branch merge":    {OpBranchMerge, Success{ActorID: "act-load"}, ``},
		"ok/branch delete":   {OpBranchDelete, Success{ActorID: "act-load"}, ``},
		"ok/export":          {OpExport, Success{RowCount: 1}, ``},
		"ok/version":         {OpVersion, Success{}, ``},
		"ok/optimize":        {OpOptimize, Success{RowCount: 5}, ``},
		"ok/cleanup":         {OpCleanup, Success{RowCount: 4}, ``},
		"ok/repair":          {OpRepair, Success{RowCount: 4}, ``},
		"ok/store query":     {OpQuery, Success{RowCount: 1}, ``},
		"ok/store snapshot":  {OpSnapshot, Success{RowCount: 4}, ``},
		// Nothing matched, so the server never looked at the missing parameter.
		"parameter missing in a mutation": {OpMutate, Success{Mutation: true, ActorID: "act-load"}, ``},
	}
	for name, run := range recordings(t) {
		if run.Exit != 0 || name == "ok/commits" {
			continue
		}
		test, ok := tests[name]
		require.True(t, ok, "no expectation for the recording %q", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := &Operation{Op: test.op}
			got, err := ParseSuccess(op, run.Stdout)
			require.Nil(t, err)
			require.NotEmpty(t, got.Doc)
			if test.rows != "" {
				require.JSONEq(t, test.rows, got.Rows)
			}
			got.Doc, got.Rows, got.Columns = "", "", ""
			require.Equal(t, test.want, got)

			// The same answer, cut off anywhere, is no answer, except for what has no end of its own.
			if test.op == OpVersion || test.op == OpExport {
				return
			}
			text := strings.TrimSpace(run.Stdout)
			for cut := range len(text) {
				_, err := ParseSuccess(op, text[:cut])
				require.NotNil(t, err, "cut at %d", cut)
				require.Equal(t, KindProtocol, err.Kind)
				require.Equal(t, op.MayWrite(), err.Indeterminate)
			}
			_, err = ParseSuccess(op, text+text)
			require.NotNil(t, err, "two documents")
		})
	}
}

func TestLoadOfNewerCLIs(t *testing.T) {
	t.Parallel()
	const commit = `"commit":{"graph_commit_id":"01M","graph_branch":"main","graph_manifest_version":7},"actor_id":"act-load"`
	tests := []struct {
		name, doc string
		want      Success
	}{
		{"0.10", `{"uri":"u","branch":"main","mode":"merge","nodes":[{"name":"Memory","entities_loaded":5},{"name":"Project","entities_loaded":2}],"edges":[{"name":"RelatesTo","entities_loaded":3}],"total_entities":10,` + commit + `}`, Success{Mutation: true, AffectedNodes: 7, AffectedEdges: 3, ActorID: "act-load", Commit: "01M"}},
		{"0.10, edges alone", `{"nodes":[],"edges":[{"name":"RelatesTo","entities_loaded":3}],"commit":null}`, Success{Mutation: true, AffectedEdges: 3}},
		{"0.8 over HTTP", `{"tables":[{"table_key":"node:Memory","rows_loaded":5},{"table_key":"edge:RelatesTo","rows_loaded":3}],"actor_id":"act-load"}`, Success{Mutation: true, AffectedNodes: 5, AffectedEdges: 3, ActorID: "act-load"}},
	}
	for _, test := range tests {
		got, err := ParseSuccess(&Operation{Op: OpLoad}, test.doc)
		require.Nil(t, err, test.name)
		got.Doc = ""
		require.Equal(t, test.want, got, test.name)
	}
}

func TestCommitsOfTheRealCLIComeNewestFirst(t *testing.T) {
	t.Parallel()
	got, err := ParseSuccess(&Operation{Op: OpCommits}, recordings(t)["ok/commits"].Stdout)
	require.Nil(t, err)
	require.Greater(t, got.RowCount, 3)
	require.Regexp(t, `^\[\{"id":"`+got.Commit+`",`, got.Rows)
}

func FuzzParseSuccessOfTheCLI(f *testing.F) {
	ops := Ops()
	for _, run := range recordings(f) {
		for i := range ops {
			f.Add(i, run.Stdout)
		}
	}
	f.Fuzz(func(t *testing.T, i int, doc string) {
		op := &Operation{Op: ops[uint(i)%uint(len(ops))]}
		got, err := ParseSuccess(op, doc)
		switch {
		case err != nil:
			if err.Kind != KindProtocol || err.Message == "" || err.Indeterminate != op.MayWrite() {
				t.Fatalf("%+v", err)
			}
			if got != (Success{}) {
				t.Fatalf("a failure with an answer: %+v", got)
			}
		case got.Rows != "" && !gjson.Valid(got.Rows):
			t.Fatalf("rows are no JSON: %q", got.Rows)
		case got.Columns != "" && !gjson.Valid(got.Columns):
			t.Fatalf("columns are no JSON: %q", got.Columns)
		}
	})
}
