package wire

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Success is the decoded answer of an operation that succeeded. Rows stay encoded until somebody looks at them.
type Success struct {
	// Doc is the whole answer: a JSON document, or plain text for OpVersion, or NDJSON for OpExport.
	Doc string
	// RowCount is the number of rows or entries that the answer has.
	RowCount int
	// Rows is a JSON array: a query's rows, or the entries of a listing with the same field names for every
	// generation of the server. Empty where the operation has no rows.
	Rows string
	// Columns is a JSON array of names, or empty.
	Columns string
	// Mutation says that the answer is a mutation's.
	Mutation                     bool
	AffectedNodes, AffectedEdges int
	// ActorID and Commit are what the server said, or empty. Commit is the id of the commit that a write made or
	// that a read saw.
	ActorID, Commit string
}

// ParseSuccess decodes the answer of a successful operation. Anything but one document of the shape that the operation
// has is an error of kind protocol, for a write with an unknown outcome: an empty or cut-off answer is not zero rows.
func ParseSuccess(o *Operation, doc string) (Success, *Error) {
	s, problem := parseSuccess(o.Op, doc)
	if problem != "" {
		e := &Error{Kind: KindProtocol, Message: fmt.Sprintf("the answer to %s %s", o.Op, problem)}
		return Success{}, e.settle(o.MayWrite())
	}
	return s, nil
}

func parseSuccess(op Op, doc string) (Success, string) {
	switch op {
	case OpVersion:
		return parseVersion(doc)
	case OpExport:
		return parseExport(doc)
	}
	if strings.TrimSpace(doc) == "" {
		return Success{}, "is empty"
	}
	if !gjson.Valid(doc) {
		return Success{}, "is not one JSON document: it begins with " + excerpt(doc)
	}
	root := gjson.Parse(doc)
	if !root.IsObject() {
		return Success{}, "is not a JSON object: it begins with " + excerpt(doc)
	}
	if e := root.Get("error"); e.Type == gjson.String {
		return Success{}, "says success and carries an error: " + CleanMessage(e.String())
	}
	f := scanFields(root)
	s := Success{Doc: doc}
	switch op {
	case OpQuery:
		return s, f.rows(&s)
	case OpMutate:
		return s, f.mutation(&s)
	case OpInvoke:
		if f.affectedNodes.Exists() {
			return s, f.mutation(&s)
		}
		return s, f.rows(&s)
	case OpLoad:
		return s, parseLoad(root, &s)
	case OpSnapshot:
		return s, parseSnapshot(root, &s)
	case OpSchema:
		return s, need(root, "schema_source", gjson.String)
	case OpHealth:
		return s, need(root, "status", gjson.String)
	case OpBranches:
		return s, listing(root, "branches", &s, nil)
	case OpQueries:
		return s, listing(root, "queries", &s, nil)
	case OpGraphs:
		return s, listing(root, "graphs", &s, graphEntry)
	case OpCommits:
		return s, parseCommits(root, &s)
	case OpBranchCreate, OpBranchDelete:
		s.ActorID = root.Get("actor_id").String()
		return s, need(root, "name", gjson.String)
	case OpBranchMerge:
		s.ActorID = root.Get("actor_id").String()
		return s, need(root, "outcome", gjson.String)
	case OpOptimize, OpCleanup, OpRepair:
		return s, listing(root, "tables", &s, nil)
	}
	return s, "has a shape that this client does not know"
}

// fields are the top-level members that the hot operations need, found in one pass.
type fields struct {
	rowCount, columns, rowArray          gjson.Result
	affectedNodes, affectedEdges         gjson.Result
	actorID, commit, graphCommit, target gjson.Result
}

func scanFields(root gjson.Result) fields {
	var f fields
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "row_count":
			f.rowCount = value
		case "columns":
			f.columns = value
		case "rows":
			f.rowArray = value
		case "affected_nodes":
			f.affectedNodes = value
		case "affected_edges":
			f.affectedEdges = value
		case "actor_id":
			f.actorID = value
		case "commit":
			f.commit = value
		case "graph_commit_id":
			f.graphCommit = value
		case "target":
			f.target = value
		}
		return true
	})
	return f
}

func (f *fields) rows(s *Success) string {
	if !isCount(f.rowCount) {
		return "has no row_count"
	}
	if !f.rowArray.IsArray() {
		return "has no rows"
	}
	s.RowCount = int(f.rowCount.Num)
	s.Rows = f.rowArray.Raw
	if f.columns.IsArray() {
		s.Columns = f.columns.Raw
	}
	s.Commit = f.graphCommit.String()
	return ""
}

func (f *fields) mutation(s *Success) string {
	if !isCount(f.affectedNodes) || !isCount(f.affectedEdges) {
		return "has no affected_nodes and affected_edges"
	}
	s.Mutation = true
	s.AffectedNodes, s.AffectedEdges = int(f.affectedNodes.Num), int(f.affectedEdges.Num)
	s.ActorID = f.actorID.String()
	if f.commit.IsObject() {
		s.Commit = f.commit.Get("graph_commit_id").String()
	}
	return ""
}

// isCount takes a whole number that is not negative and that fits; a count is nothing else.
func isCount(v gjson.Result) bool {
	return v.Type == gjson.Number && v.Num >= 0 && v.Num <= math.MaxInt32 && v.Num == math.Trunc(v.Num)
}

// count reads a count; what is none counts as 0.
func count(v gjson.Result) int {
	if !isCount(v) {
		return 0
	}
	return int(v.Num)
}

func need(root gjson.Result, field string, typ gjson.Type) string {
	if root.Get(field).Type != typ {
		return "has no " + field
	}
	return ""
}

func listing(root gjson.Result, field string, s *Success, entry func(gjson.Result) string) string {
	list := root.Get(field)
	if !list.IsArray() {
		return "has no " + field
	}
	entries := list.Array()
	s.RowCount = len(entries)
	s.Rows = list.Raw
	if entry != nil {
		encoded := make([]string, len(entries))
		for i, e := range entries {
			encoded[i] = entry(e)
		}
		s.Rows = "[" + strings.Join(encoded, ",") + "]"
	}
	return ""
}

func graphEntry(e gjson.Result) string {
	return object("graph", e.Get("graph_id"), "uri", e.Get("uri"))
}

// parseLoad reads what three generations call the loaded rows: per table, per entity kind, or as two sums.
func parseLoad(root gjson.Result, s *Success) string {
	s.Mutation = true
	s.ActorID = root.Get("actor_id").String()
	s.Commit = root.Get("commit.graph_commit_id").String()
	switch {
	case root.Get("tables").IsArray():
		root.Get("tables").ForEach(func(_, t gjson.Result) bool {
			n := count(t.Get("rows_loaded"))
			if strings.HasPrefix(t.Get("table_key").String(), "edge:") {
				s.AffectedEdges += n
			} else {
				s.AffectedNodes += n
			}
			return true
		})
	case root.Get("nodes").IsArray() || root.Get("edges").IsArray():
		for _, n := range root.Get("nodes.#.entities_loaded").Array() {
			s.AffectedNodes += count(n)
		}
		for _, n := range root.Get("edges.#.entities_loaded").Array() {
			s.AffectedEdges += count(n)
		}
	case isCount(root.Get("nodes_loaded")):
		s.AffectedNodes = count(root.Get("nodes_loaded"))
		s.AffectedEdges = count(root.Get("edges_loaded"))
	default:
		return "does not say how many rows were loaded"
	}
	return ""
}

// parseSnapshot gives each table as {entity, type, rowCount, version, path}, whatever the generation calls them.
func parseSnapshot(root gjson.Result, s *Success) string {
	if root.Get("datasets").IsArray() {
		return listing(root, "datasets", s, func(e gjson.Result) string {
			return object("entity", e.Get("entity_kind"), "type", e.Get("type_name"), "rowCount", e.Get("entity_count"),
				"version", e.Get("published_dataset_version"), "path", e.Get("dataset_path"))
		})
	}
	return listing(root, "tables", s, func(e gjson.Result) string {
		entity, name, _ := strings.Cut(e.Get("table_key").String(), ":")
		return object("entity", text(entity), "type", text(name), "rowCount", e.Get("row_count"),
			"version", e.Get("table_version"), "path", e.Get("table_path"))
	})
}

// parseCommits gives each commit as {id, branch, version, parentId, mergedParentId, actorId, createdAt}, newest first:
// servers before 0.9 list them the other way round.
func parseCommits(root gjson.Result, s *Success) string {
	list := root.Get("commits")
	if !list.IsArray() {
		return "has no commits"
	}
	commits := list.Array()
	version := func(c gjson.Result) gjson.Result {
		return either(c, "graph_manifest_version", "manifest_version")
	}
	slices.SortStableFunc(commits, func(a, b gjson.Result) int {
		return cmp.Compare(version(b).Int(), version(a).Int())
	})
	s.RowCount = len(commits)
	encoded := make([]string, len(commits))
	for i, c := range commits {
		encoded[i] = object("id", c.Get("graph_commit_id"), "branch", either(c, "graph_branch", "manifest_branch"),
			"version", version(c), "parentId", c.Get("parent_commit_id"), "mergedParentId", c.Get("merged_parent_commit_id"),
			"actorId", c.Get("actor_id"), "createdAt", c.Get("created_at"))
	}
	s.Rows = "[" + strings.Join(encoded, ",") + "]"
	if len(commits) > 0 {
		s.Commit = commits[0].Get("graph_commit_id").String()
	}
	return ""
}

func either(r gjson.Result, names ...string) gjson.Result {
	for _, name := range names {
		if v := r.Get(name); v.Exists() {
			return v
		}
	}
	return gjson.Result{}
}

func text(s string) gjson.Result {
	return gjson.Result{Type: gjson.String, Str: s, Raw: string(gjson.AppendJSONString(nil, s))}
}

// object encodes name/value pairs in the order given; what is not there becomes null.
func object(pairs ...any) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := pairs[i].(string)
		value, _ := pairs[i+1].(gjson.Result)
		b.WriteString(`"` + name + `":`)
		if value.Raw == "" {
			b.WriteString("null")
		} else {
			b.WriteString(value.Raw)
		}
	}
	b.WriteByte('}')
	return b.String()
}

func parseVersion(doc string) (Success, string) {
	line := strings.TrimSpace(doc)
	if !strings.HasPrefix(line, "omnigraph") {
		return Success{}, "is not a version: it begins with " + excerpt(doc)
	}
	return Success{Doc: line}, ""
}

// parseExport counts the lines of an export and checks that each is a JSON object.
func parseExport(doc string) (Success, string) {
	s := Success{Doc: doc}
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] != '{' || !gjson.Valid(line) {
			return Success{}, fmt.Sprintf("has a line %d that is not a JSON object: %s", s.RowCount+1, excerpt(line))
		}
		s.RowCount++
	}
	return s, ""
}

func excerpt(s string) string {
	const limit = 80
	s = strings.TrimSpace(s)
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return fmt.Sprintf("%q", CleanMessage(s))
}
