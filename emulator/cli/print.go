package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// printer writes an answer for people.
type printer func(w io.Writer, doc *jsondoc.Value, format string)

func textOf(v *jsondoc.Value, name string) string {
	if m := v.Get(name); m != nil && m.Kind != jsondoc.Null {
		return m.Text
	}
	return ""
}

func numberOf(v *jsondoc.Value, name string) int {
	n, err := strconv.Atoi(textOf(v, name))
	if err != nil {
		return 0
	}
	return n
}

// show prints an answer, as JSON where asked.
func (inv *invocation) show(text []byte, err error, print printer) error {
	if err != nil {
		return err
	}
	doc, err := jsondoc.Parse(string(text))
	if err != nil {
		return &report{[]string{"error decoding response body", err.Error()}}
	}
	if inv.has("--json") || inv.get("--format") == "json" {
		fmt.Fprintf(inv.env.Stdout, "%s\n", indent(text))
		return nil
	}
	print(inv.env.Stdout, &doc, inv.get("--format"))
	return nil
}

func items(doc *jsondoc.Value, name string) []jsondoc.Value {
	if v := doc.Get(name); v != nil {
		return v.Items
	}
	return nil
}

// cell is a value as a table shows it.
func cell(v *jsondoc.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Kind == jsondoc.String:
		return v.Text
	}
	return string(jsondoc.Append(nil, v))
}

func printRows(w io.Writer, doc *jsondoc.Value, format string) {
	var columns []string
	for _, c := range items(doc, "columns") {
		columns = append(columns, c.Text)
	}
	rows := items(doc, "rows")
	target := doc.Get("target")
	head := func() {
		where := "branch " + textOf(target, "branch")
		if s := textOf(target, "snapshot"); s != "" {
			where = "snapshot " + s
		}
		fmt.Fprintf(w, "%d rows from %s via %s\n", len(rows), where, textOf(doc, "query_name"))
	}
	switch format {
	case "jsonl":
		fmt.Fprintf(w, `{"kind":"metadata","query_name":%s,"target":%s,"row_count":%d}`+"\n",
			jsondoc.AppendString(nil, textOf(doc, "query_name")), jsondoc.Append(nil, target), len(rows))
		for i := range rows {
			fmt.Fprintf(w, "%s\n", jsondoc.Append(nil, &rows[i]))
		}
	case "csv":
		printCSV(w, columns, rows)
	case "kv":
		head()
		if len(rows) == 0 {
			fmt.Fprintln(w, "(no rows)")
		}
		for i := range rows {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "row %d\n", i+1)
			for _, c := range columns {
				fmt.Fprintf(w, "%s: %s\n", c, cell(rows[i].Get(c)))
			}
		}
	default:
		head()
		printTable(w, columns, rows)
	}
}

func printCSV(w io.Writer, columns []string, rows []jsondoc.Value) {
	quote := func(s string) string {
		if strings.ContainsAny(s, ",\"\n\r") {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return s
	}
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = quote(c)
	}
	fmt.Fprintln(w, strings.Join(line, ","))
	for i := range rows {
		for j, c := range columns {
			line[j] = quote(cell(rows[i].Get(c)))
		}
		fmt.Fprintln(w, strings.Join(line, ","))
	}
}

func printTable(w io.Writer, columns []string, rows []jsondoc.Value) {
	widths := make([]int, len(columns))
	cells := make([][]string, len(rows))
	for j, c := range columns {
		widths[j] = utf8.RuneCountInString(c)
	}
	for i := range rows {
		cells[i] = make([]string, len(columns))
		for j, c := range columns {
			cells[i][j] = strings.ReplaceAll(cell(rows[i].Get(c)), "\n", `\n`)
			widths[j] = max(widths[j], utf8.RuneCountInString(cells[i][j]))
		}
	}
	line := func(parts []string) {
		padded := make([]string, len(parts))
		for j, p := range parts {
			padded[j] = p + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(p))
		}
		fmt.Fprintln(w, strings.Join(padded, " | "))
	}
	line(columns)
	dashes := make([]string, len(columns))
	for j := range dashes {
		dashes[j] = strings.Repeat("-", widths[j])
	}
	fmt.Fprintln(w, strings.Join(dashes, "-+-"))
	for _, c := range cells {
		line(c)
	}
}

func printMutation(w io.Writer, doc *jsondoc.Value, _ string) {
	fmt.Fprintf(w, "changed %s via %s: %d nodes, %d edges\n", textOf(doc, "branch"), textOf(doc, "query_name"), numberOf(doc, "affected_nodes"), numberOf(doc, "affected_edges"))
	if a := textOf(doc, "actor_id"); a != "" {
		fmt.Fprintf(w, "actor_id: %s\n", a)
	}
}

func printLoad(w io.Writer, doc *jsondoc.Value, _ string) {
	if doc.Get("total_entities") != nil {
		fmt.Fprintf(w, "loaded %s on branch %s with %s: %d entities\n", textOf(doc, "uri"), textOf(doc, "branch"), textOf(doc, "mode"), numberOf(doc, "total_entities"))
		return
	}
	fmt.Fprintf(w, "loaded %s on branch %s with %s: %d nodes across %d node types, %d edges across %d edge types\n",
		textOf(doc, "uri"), textOf(doc, "branch"), textOf(doc, "mode"), numberOf(doc, "nodes_loaded"), numberOf(doc, "node_types_loaded"),
		numberOf(doc, "edges_loaded"), numberOf(doc, "edge_types_loaded"))
}

func printSnapshot(w io.Writer, doc *jsondoc.Value, _ string) {
	branch := textOf(doc, "branch") + textOf(doc, "graph_branch")
	fmt.Fprintf(w, "branch: %s\nmanifest_version: %s\ninternal_schema_version: %s\n", branch,
		textOf(doc, "manifest_version")+textOf(doc, "graph_manifest_version"), textOf(doc, "internal_schema_version"))
	line := func(key, version, on, rows string) {
		if on == "" {
			on = "main"
		}
		fmt.Fprintf(w, "%s v%s branch=%s rows=%s\n", key, version, on, rows)
	}
	for _, t := range items(doc, "tables") {
		line(textOf(&t, "table_key"), textOf(&t, "table_version"), textOf(&t, "table_branch"), textOf(&t, "row_count"))
	}
	for _, t := range items(doc, "datasets") {
		line(textOf(&t, "entity_kind")+":"+textOf(&t, "type_name"), textOf(&t, "published_dataset_version"), textOf(&t, "native_dataset_branch"), textOf(&t, "entity_count"))
	}
}

func printBranches(w io.Writer, doc *jsondoc.Value, _ string) {
	for _, b := range items(doc, "branches") {
		fmt.Fprintln(w, b.Text)
	}
}

func printBranchCreated(w io.Writer, doc *jsondoc.Value, _ string) {
	fmt.Fprintf(w, "created branch %s from %s\n", textOf(doc, "name"), textOf(doc, "from"))
}

func printBranchDeleted(w io.Writer, doc *jsondoc.Value, _ string) {
	fmt.Fprintf(w, "deleted branch %s\n", textOf(doc, "name"))
}

func printMerged(w io.Writer, doc *jsondoc.Value, _ string) {
	fmt.Fprintf(w, "merged %s into %s: %s\n", textOf(doc, "source"), textOf(doc, "target"), textOf(doc, "outcome"))
}

func printCommit(w io.Writer, doc *jsondoc.Value, _ string) {
	branch := textOf(doc, "manifest_branch") + textOf(doc, "graph_branch")
	if branch == "" {
		branch = "main"
	}
	line := fmt.Sprintf("%s branch=%s version=%s", textOf(doc, "graph_commit_id"), branch, textOf(doc, "manifest_version")+textOf(doc, "graph_manifest_version"))
	if a := textOf(doc, "actor_id"); a != "" {
		line += " actor=" + a
	}
	fmt.Fprintln(w, line)
}

func printCommits(w io.Writer, doc *jsondoc.Value, format string) {
	for _, c := range items(doc, "commits") {
		printCommit(w, &c, format)
	}
}

func printSchema(w io.Writer, doc *jsondoc.Value, _ string) {
	fmt.Fprintln(w, textOf(doc, "schema_source"))
}

func printGraphs(w io.Writer, doc *jsondoc.Value, _ string) {
	for _, g := range items(doc, "graphs") {
		fmt.Fprintf(w, "%s %s\n", textOf(&g, "graph_id"), textOf(&g, "uri"))
	}
}

func printOptimized(w io.Writer, doc *jsondoc.Value, _ string) {
	tables := items(doc, "tables")
	fmt.Fprintf(w, "optimize %s — %d tables\n", textOf(doc, "uri"), len(tables))
	for _, t := range tables {
		what := "no-op"
		if numberOf(&t, "fragments_removed") > 0 {
			what = fmt.Sprintf("frags %d → %d ✓", numberOf(&t, "fragments_removed"), numberOf(&t, "fragments_added"))
		}
		fmt.Fprintf(w, "  %-40s %s\n", textOf(&t, "table_key"), what)
	}
}

func printCleaned(w io.Writer, doc *jsondoc.Value, _ string) {
	tables := items(doc, "tables")
	versions, bytes := 0, 0
	for _, t := range tables {
		versions += numberOf(&t, "old_versions_removed")
		bytes += numberOf(&t, "bytes_removed")
	}
	fmt.Fprintf(w, "cleanup %s (keep %s versions) — removed %d versions (%d bytes) across %d tables\n", textOf(doc, "uri"), textOf(doc, "keep_versions"), versions, bytes, len(tables))
}

func printRepaired(w io.Writer, doc *jsondoc.Value, _ string) {
	tables := items(doc, "tables")
	fmt.Fprintf(w, "repair %s — preview mode, %d tables\n", textOf(doc, "uri"), len(tables))
	for _, t := range tables {
		fmt.Fprintf(w, "  %-40s %-12s %-22s %s\n", textOf(&t, "table_key"), textOf(&t, "action"), textOf(&t, "classification"), textOf(&t, "manifest_version"))
	}
	fmt.Fprintln(w, "rerun with --confirm to publish verified maintenance drift")
}
