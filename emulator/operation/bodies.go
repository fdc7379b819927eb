package operation

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// appendRead appends a read's answer.
func appendRead(dst []byte, res *graph.Result, t graph.Target, g graph.Generation) []byte {
	dst = append(dst, `{"query_name":`...)
	dst = jsondoc.AppendString(dst, res.QueryName)
	dst = append(dst, `,"target":{"branch":`...)
	dst = appendNullable(dst, t.Branch)
	dst = append(dst, `,"snapshot":`...)
	dst = appendNullable(dst, t.Snapshot)
	dst = append(dst, `},"row_count":`...)
	dst = strconv.AppendInt(dst, int64(res.RowCount), 10)
	dst = append(dst, `,"columns":[`...)
	for i, c := range res.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsondoc.AppendString(dst, c)
	}
	dst = append(dst, `],"rows":`...)
	dst = append(dst, res.Rows...)
	if g >= graph.V010 {
		dst = append(dst, `,"graph_commit_id":`...)
		dst = jsondoc.AppendString(dst, res.Commit.ID)
	}
	return append(dst, '}')
}

func appendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsondoc.AppendString(dst, s)
}

// mutationBody is a mutation's answer in 0.8.
type mutationBody struct {
	Branch string   `json:"branch"`
	Query  string   `json:"query_name"`
	Nodes  int      `json:"affected_nodes"`
	Edges  int      `json:"affected_edges"`
	Actor  nullable `json:"actor_id"`
}

// mutationJSON is a mutation's answer.
func mutationJSON(res *graph.MutationResult, actor string, g graph.Generation) any {
	b := mutationBody{Branch: res.Branch, Query: res.QueryName, Nodes: res.Nodes, Edges: res.Edges, Actor: nullable(actor)}
	if g < graph.V010 {
		return b
	}
	return struct {
		mutationBody
		Commit any `json:"commit"`
	}{b, commitJSON(res.Commit, g)}
}

type tableBody struct {
	Key     string   `json:"table_key"`
	Path    string   `json:"table_path"`
	Version uint64   `json:"table_version"`
	Branch  nullable `json:"table_branch"`
	Rows    int      `json:"row_count"`
}

type datasetBody struct {
	Kind    string   `json:"entity_kind"`
	Name    string   `json:"type_name"`
	Path    string   `json:"dataset_path"`
	Version uint64   `json:"published_dataset_version"`
	Branch  nullable `json:"native_dataset_branch"`
	Count   int      `json:"entity_count"`
}

func entityKind(edge bool) string {
	if edge {
		return "edge"
	}
	return "node"
}

// snapshotJSON is a snapshot's answer.
func snapshotJSON(s graph.Snapshot, g graph.Generation) any {
	if g >= graph.V010 {
		sets := make([]datasetBody, len(s.Tables))
		for i, t := range s.Tables {
			sets[i] = datasetBody{entityKind(t.Edge), t.Name, t.Path, t.Version, nullable(t.Branch), t.Rows}
		}
		return struct {
			Branch   string        `json:"graph_branch"`
			Version  uint64        `json:"graph_manifest_version"`
			Internal int           `json:"internal_schema_version"`
			Datasets []datasetBody `json:"datasets"`
		}{s.Branch, s.ManifestVersion, graph.InternalSchemaVersion, sets}
	}
	tables := make([]tableBody, len(s.Tables))
	for i, t := range s.Tables {
		tables[i] = tableBody{t.Key, t.Path, t.Version, nullable(t.Branch), t.Rows}
	}
	return struct {
		Branch   string      `json:"branch"`
		Version  uint64      `json:"manifest_version"`
		Internal int         `json:"internal_schema_version"`
		Tables   []tableBody `json:"tables"`
	}{s.Branch, s.ManifestVersion, graph.InternalSchemaVersion, tables}
}

// commitsJSON is a history's answer: oldest first in 0.8, newest first from 0.9 on.
func commitsJSON(list []*graph.Commit, g graph.Generation) any {
	out := make([]any, len(list))
	for i, c := range list {
		out[i] = commitJSON(c, g)
	}
	if g >= graph.V010 {
		slices.Reverse(out)
	}
	return struct {
		Commits []any `json:"commits"`
	}{out}
}

type loadedTable struct {
	Key  string `json:"table_key"`
	Rows int    `json:"rows_loaded"`
}

type loadedEntity struct {
	Name     string `json:"name"`
	Entities int    `json:"entities_loaded"`
}

type loadHead struct {
	URI     string  `json:"uri"`
	Branch  string  `json:"branch"`
	Base    *string `json:"base_branch"`
	Created bool    `json:"branch_created"`
	Mode    string  `json:"mode"`
}

// loadJSON is a load's answer.
func loadJSON(uri string, res *graph.LoadResult, mode graph.LoadMode, from *string, actor string, g graph.Generation) any {
	head := loadHead{uri, res.Branch, from, res.BranchCreated, string(mode)}
	if g < graph.V010 {
		tables := make([]loadedTable, 0, len(res.Tables))
		for _, t := range res.Tables {
			tables = append(tables, loadedTable{t.Key, t.Rows})
		}
		return struct {
			loadHead
			Tables []loadedTable `json:"tables"`
			Actor  nullable      `json:"actor_id"`
		}{head, tables, nullable(actor)}
	}
	nodes, edges := []loadedEntity{}, []loadedEntity{}
	total := 0
	for _, t := range res.Tables {
		total += t.Rows
		if t.Edge {
			edges = append(edges, loadedEntity{t.Name, t.Rows})
		} else {
			nodes = append(nodes, loadedEntity{t.Name, t.Rows})
		}
	}
	return struct {
		loadHead
		Nodes  []loadedEntity `json:"nodes"`
		Edges  []loadedEntity `json:"edges"`
		Total  int            `json:"total_entities"`
		Actor  nullable       `json:"actor_id"`
		Commit any            `json:"commit"`
	}{head, nodes, edges, total, nullable(actor), commitJSON(res.Commit, g)}
}

// nullable is a string that is null when empty.
type nullable string

// MarshalJSON writes null for the empty string.
func (n nullable) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(n))
}

// commitBody is a commit of 0.8.
type commitBody struct {
	ID           string   `json:"graph_commit_id"`
	Branch       nullable `json:"manifest_branch"`
	Version      uint64   `json:"manifest_version"`
	Parent       nullable `json:"parent_commit_id"`
	MergedParent nullable `json:"merged_parent_commit_id"`
	Actor        nullable `json:"actor_id"`
	CreatedAt    int64    `json:"created_at"`
}

// newCommitBody is a commit from 0.10 on.
type newCommitBody struct {
	ID           string   `json:"graph_commit_id"`
	Branch       nullable `json:"graph_branch"`
	Version      uint64   `json:"graph_manifest_version"`
	Parent       nullable `json:"parent_commit_id"`
	MergedParent nullable `json:"merged_parent_commit_id"`
	Actor        nullable `json:"actor_id"`
	CreatedAt    int64    `json:"created_at"`
}

// commitJSON is a commit as an API generation shows it; nil is null.
func commitJSON(c *graph.Commit, g graph.Generation) any {
	if c == nil {
		return nil
	}
	b := commitBody{
		ID: c.ID, Branch: nullable(c.Branch), Version: c.Version, Parent: nullable(c.Parent),
		MergedParent: nullable(c.MergedParent), Actor: nullable(c.Actor), CreatedAt: c.CreatedAt.UnixMicro(),
	}
	if g >= graph.V010 {
		return newCommitBody(b)
	}
	return b
}
