package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The answers of both generations, recorded from real servers and shortened.
const (
	snapshot08 = `{"branch":"main","manifest_version":4,"internal_schema_version":4,"tables":[{"table_key":"edge:BelongsTo","table_path":"edges/ffdb976f911cae02","table_version":1,"table_branch":null,"row_count":0},{"table_key":"node:Memory","table_path":"nodes/16e1bead7b9c95ce","table_version":6,"table_branch":null,"row_count":50}]}`
	snapshot10 = `{"graph_branch":"main","graph_manifest_version":4,"internal_schema_version":4,"datasets":[{"entity_kind":"edge","type_name":"BelongsTo","dataset_path":"edges/ffdb976f911cae02","published_dataset_version":1,"native_dataset_branch":null,"entity_count":0},{"entity_kind":"node","type_name":"Memory","dataset_path":"nodes/16e1bead7b9c95ce","published_dataset_version":6,"native_dataset_branch":null,"entity_count":50}]}`
	commits08  = `{"commits":[{"graph_commit_id":"01A","manifest_branch":null,"manifest_version":1,"parent_commit_id":null,"merged_parent_commit_id":null,"actor_id":null,"created_at":1},{"graph_commit_id":"01B","manifest_branch":null,"manifest_version":4,"parent_commit_id":"01A","merged_parent_commit_id":null,"actor_id":"act-load","created_at":2}]}`
	commits10  = `{"commits":[{"graph_commit_id":"01B","graph_branch":null,"graph_manifest_version":4,"parent_commit_id":"01A","merged_parent_commit_id":null,"actor_id":"act-load","created_at":2},{"graph_commit_id":"01A","graph_branch":null,"graph_manifest_version":1,"parent_commit_id":null,"merged_parent_commit_id":null,"actor_id":null,"created_at":1}]}`
)

func success(t *testing.T, op Op, doc string) Success {
	t.Helper()
	s, err := ParseSuccess(&Operation{Op: op}, doc)
	require.Nil(t, err)
	return s
}

func TestBothGenerationsOfServersGiveTheSameEntries(t *testing.T) {
	t.Parallel()
	old, recent := success(t, OpSnapshot, snapshot08), success(t, OpSnapshot, snapshot10)
	assert.JSONEq(t, old.Rows, recent.Rows)
	assert.JSONEq(t, `[{"entity":"edge","type":"BelongsTo","rowCount":0,"version":1,"path":"edges/ffdb976f911cae02"},{"entity":"node","type":"Memory","rowCount":50,"version":6,"path":"nodes/16e1bead7b9c95ce"}]`, old.Rows)
	assert.Equal(t, 2, old.RowCount)

	old, recent = success(t, OpCommits, commits08), success(t, OpCommits, commits10)
	assert.JSONEq(t, old.Rows, recent.Rows, "newest first from either")
	assert.Equal(t, "01B", old.Commit)
	assert.Equal(t, "01B", recent.Commit)
}

func TestLoadsOfEveryShapeCountNodesAndEdges(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"0.8 over HTTP":    `{"uri":"x","branch":"main","base_branch":null,"branch_created":false,"mode":"append","tables":[{"table_key":"node:Memory","rows_loaded":5},{"table_key":"node:Project","rows_loaded":2},{"table_key":"edge:BelongsTo","rows_loaded":3}],"actor_id":"act-load"}`,
		"0.8 over the CLI": `{"uri":"x","branch":"main","mode":"append","branch_created":false,"nodes_loaded":7,"edges_loaded":3,"node_types_loaded":2,"edge_types_loaded":1}`,
		"0.10":             `{"branch":"main","mode":"append","nodes":[{"name":"Memory","entities_loaded":5},{"name":"Project","entities_loaded":2}],"edges":[{"name":"BelongsTo","entities_loaded":3}],"total_entities":10,"commit":{"graph_commit_id":"01C"}}`,
	} {
		s := success(t, OpLoad, doc)
		assert.Equal(t, 7, s.AffectedNodes, name)
		assert.Equal(t, 3, s.AffectedEdges, name)
		assert.True(t, s.Mutation, name)
	}
}

func TestAnswersOfAnotherShapeAreNoSuccess(t *testing.T) {
	t.Parallel()
	for _, op := range Ops() {
		for _, doc := range []string{"", " ", "null", "[]", "7", `"x"`, `{`, `{}`, `{"error":"oops"}`, `{"row_count":1}`, `{"rows":[]}`, `{} {}`, "<html>"} {
			if op == OpExport && (doc == "" || doc == " " || doc == "{}" || doc == `{"error":"oops"}` || doc == `{"row_count":1}` || doc == `{"rows":[]}`) {
				continue // lines of objects, or none at all, are an export
			}
			_, err := ParseSuccess(&Operation{Op: op}, doc)
			require.NotNil(t, err, "%s %q", op, doc)
			assert.Equal(t, KindProtocol, err.Kind, "%s %q", op, doc)
			assert.Equal(t, op.IsWrite(), err.Indeterminate, "%s %q", op, doc)
		}
	}
}

func TestAStoredQuerysAnswerTellsWhetherItWrote(t *testing.T) {
	t.Parallel()
	read := success(t, OpInvoke, `{"query_name":"q","target":{},"row_count":0,"columns":[],"rows":[]}`)
	assert.False(t, read.Mutation)
	wrote := success(t, OpInvoke, `{"branch":"main","query_name":"q","affected_nodes":2,"affected_edges":1,"actor_id":"a","commit":{"graph_commit_id":"01D"}}`)
	assert.True(t, wrote.Mutation)
	assert.Equal(t, "01D", wrote.Commit)
	assert.Equal(t, 2, wrote.AffectedNodes)
}

func FuzzParseSuccess(f *testing.F) {
	for _, doc := range []string{snapshot08, snapshot10, commits08, commits10, `{"row_count":1e99,"rows":[{}],"columns":7}`, "{", `{"nodes":[{"entities_loaded":"x"}]}`} {
		f.Add(uint8(0), doc)
	}
	ops := Ops()
	f.Fuzz(func(t *testing.T, which uint8, doc string) {
		o := &Operation{Op: ops[int(which)%len(ops)]}
		s, err := ParseSuccess(o, doc)
		if err != nil {
			if err.Kind != KindProtocol || err.Message == "" {
				t.Fatalf("%+v", err)
			}
			return
		}
		if s.RowCount < 0 || s.AffectedNodes < 0 || s.AffectedEdges < 0 {
			t.Fatalf("negative counts: %+v", s)
		}
	})
}
