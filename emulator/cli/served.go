package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// namelessGraph fails a call without --graph, naming what there is to choose from.
func (inv *invocation) namelessGraph(ctx context.Context) error {
	body, err := inv.do(ctx, http.MethodGet, inv.server+"/graphs", nil, nil)
	if err != nil {
		return err
	}
	doc, err := jsondoc.Parse(string(body))
	if err != nil {
		return &report{[]string{"error decoding response body", err.Error()}}
	}
	var ids []string
	if list := doc.Get("graphs"); list != nil {
		for i := range list.Items {
			if id := list.Items[i].Get("graph_id"); id != nil {
				ids = append(ids, id.Text)
			}
		}
	}
	noun := "graphs"
	if len(ids) == 1 {
		noun = "graph"
	}
	return fail("server scope '%s' has %d %s: [%s]; pass --graph <id> to select one (or set `default_graph` in your operator config)", inv.server, len(ids), noun, strings.Join(ids, ", "))
}

// do sends one request and returns a success's body.
func (inv *invocation) do(ctx context.Context, method, address string, body any, header http.Header) ([]byte, error) {
	var payload io.Reader
	if body != nil {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			return nil, fail("%v", err)
		}
		payload = &buf
	}
	req, err := http.NewRequestWithContext(ctx, method, address, payload)
	if err != nil {
		return nil, fail("builder error: %v", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := inv.env.Getenv(EnvToken); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if inv.generation >= graph.V013 {
		req.Header.Set("Omnigraph-Http-Api", "0.13")
	}
	req.Header.Set(costmodel.ClientHeader, "cli")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &report{transportCauses(address, err)}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, &report{[]string{"error decoding response body", "request or response body error", "error reading a body from connection", err.Error()}}
	}
	if res.StatusCode/100 == 2 {
		return text, nil
	}
	return nil, inv.refused(res, text)
}

// refused turns an error answer into this call's failure.
func (inv *invocation) refused(res *http.Response, text []byte) error {
	doc, err := jsondoc.Parse(string(text))
	if err != nil || doc.Get("error") == nil {
		return fail("server returned %s: %s", res.Status, text)
	}
	if res.StatusCode == http.StatusPreconditionFailed && inv.generation >= graph.V010 {
		return &document{body: string(indent(text)), code: 4}
	}
	if res.StatusCode == http.StatusTooManyRequests && inv.generation >= graph.V013 {
		return &document{body: string(indent(text)), code: 75}
	}
	return fail("%s", doc.Get("error").Text)
}

// transportCauses words a failed exchange as the real CLI's HTTP client does.
func transportCauses(address string, err error) []string {
	causes := []string{"error sending request for url (" + address + ")"}
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		causes = append(causes, "client error (Connect)", "tcp connect error")
		if errors.As(err, &errno) {
			return append(causes, osError(errno))
		}
		return append(causes, op.Err.Error())
	case errors.As(err, &errno):
		return append(causes, "client error (SendRequest)", "connection error", osError(errno))
	case errors.Is(err, io.EOF):
		return append(causes, "client error (SendRequest)", "connection closed before message completed")
	}
	return append(causes, err.Error())
}

func osError(e syscall.Errno) string {
	text := e.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(e))
}

func indent(text []byte) []byte {
	var buf bytes.Buffer
	if err := json.Indent(&buf, text, "", "  "); err != nil {
		return text
	}
	return buf.Bytes()
}

// source reads the query text of -e or --query; ok is false where neither is given.
func (inv *invocation) source() (text string, ok bool, err error) {
	if inv.has("--query-string") {
		if inv.get("--query-string") == "" {
			return "", true, fail("--query-string must not be empty")
		}
		return inv.get("--query-string"), true, nil
	}
	if !inv.has("--query") {
		return "", false, nil
	}
	b, err := os.ReadFile(inv.get("--query"))
	if err != nil {
		return "", false, fileError(err)
	}
	return string(b), true, nil
}

func fileError(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fail("%s", osError(errno))
	}
	return fail("%v", err)
}

// params reads --params or --params-file; nil where neither is given.
func (inv *invocation) params() (*jsondoc.Value, error) {
	text := inv.get("--params")
	if inv.has("--params-file") {
		b, err := os.ReadFile(inv.get("--params-file"))
		if err != nil {
			return nil, fileError(err)
		}
		text = string(b)
	} else if !inv.has("--params") {
		return nil, nil
	}
	doc, err := jsondoc.Parse(text)
	if err != nil {
		return nil, fail("%v", err)
	}
	return &doc, nil
}

func rawParams(v *jsondoc.Value) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return jsondoc.Append(nil, v)
}

func (inv *invocation) branch() string {
	if inv.has("--branch") {
		return inv.get("--branch")
	}
	return graph.MainBranch
}

func (inv *invocation) base() string { return inv.server + "/graphs/" + inv.graphID }

// announce names the write's target on stderr.
func (inv *invocation) announce() {
	if inv.has("--quiet") {
		return
	}
	target := inv.uri + " (direct, local)"
	if inv.server != "" {
		target = inv.base() + " (served)"
	}
	fmt.Fprintf(inv.env.Stderr, "omnigraph %s → %s\n", inv.command.path, target)
}

func (inv *invocation) confirm(what string) error {
	if inv.has("--yes") || inv.server == "" {
		return nil
	}
	return fail("refusing destructive `%s` against non-local target %s without confirmation; pass --yes to confirm (an interactive TTY would be prompted instead)", what, inv.base())
}

// served runs a command against a server.
func (inv *invocation) served(ctx context.Context) error {
	switch inv.command.path {
	case "query":
		return inv.servedQuery(ctx)
	case "mutate":
		return inv.servedMutate(ctx)
	case "load":
		return inv.servedLoad(ctx)
	case "snapshot":
		return inv.servedGet(ctx, "/snapshot?branch="+url.QueryEscape(inv.branch()), printSnapshot)
	case "export":
		body := map[string]any{"branch": inv.branch(), "type_names": orEmpty(inv.flags["--type"]), "table_keys": orEmpty(inv.flags["--table"])}
		text, err := inv.do(ctx, http.MethodPost, inv.base()+"/export", body, nil)
		if err != nil {
			return err
		}
		_, err = inv.env.Stdout.Write(text)
		return err
	case "branch list":
		return inv.servedGet(ctx, "/branches", printBranches)
	case "branch create":
		inv.announce()
		from := inv.get("--from")
		if from == "" {
			from = graph.MainBranch
		}
		return inv.servedPost(ctx, "/branches", map[string]string{"from": from, "name": inv.args[0]}, printBranchCreated)
	case "branch delete":
		if err := inv.confirm("branch delete"); err != nil {
			return err
		}
		inv.announce()
		text, err := inv.do(ctx, http.MethodDelete, inv.base()+"/branches/"+url.PathEscape(inv.args[0]), nil, nil)
		return inv.show(text, err, printBranchDeleted)
	case "branch merge":
		inv.announce()
		into := inv.get("--into")
		if into == "" {
			into = graph.MainBranch
		}
		return inv.servedPost(ctx, "/branches/merge", map[string]string{"source": inv.args[0], "target": into}, printMerged)
	case "commit list":
		path := "/commits"
		if inv.has("--branch") {
			path += "?branch=" + url.QueryEscape(inv.get("--branch"))
		}
		return inv.servedGet(ctx, path, printCommits)
	case "commit show":
		return inv.servedGet(ctx, "/commits/"+url.PathEscape(inv.args[0]), printCommit)
	case "schema show":
		return inv.servedGet(ctx, "/schema", printSchema)
	case "graphs list":
		address := inv.base() + "/graphs"
		if inv.generation >= graph.V010 {
			address = inv.server + "/graphs"
		}
		text, err := inv.do(ctx, http.MethodGet, address, nil, nil)
		return inv.show(text, err, printGraphs)
	}
	return fail("the emulator lacks `%s` against a server", inv.command.path)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (inv *invocation) servedGet(ctx context.Context, path string, print printer) error {
	text, err := inv.do(ctx, http.MethodGet, inv.base()+path, nil, nil)
	return inv.show(text, err, print)
}

func (inv *invocation) servedPost(ctx context.Context, path string, body any, print printer) error {
	text, err := inv.do(ctx, http.MethodPost, inv.base()+path, body, nil)
	return inv.show(text, err, print)
}

// stored is the body of a stored query's call.
type stored struct {
	Params         json.RawMessage `json:"params"`
	Branch         *string         `json:"branch"`
	Snapshot       *string         `json:"snapshot"`
	ExpectMutation bool            `json:"expect_mutation"`
}

func (inv *invocation) storedBody(mutation bool) (stored, error) {
	p, err := inv.params()
	b := stored{Params: rawParams(p), ExpectMutation: mutation}
	branch, snapshot := inv.branch(), inv.get("--snapshot")
	if inv.has("--snapshot") {
		b.Snapshot = &snapshot
	} else {
		b.Branch = &branch
	}
	return b, err
}

func (inv *invocation) queryName() *string {
	if len(inv.args) == 0 {
		return nil
	}
	return &inv.args[0]
}

// nameless refuses a query or a mutation that says neither what it runs nor what that is called.
func (inv *invocation) nameless() error {
	what := "query"
	if inv.command.path == "mutate" {
		what = "mutation"
	}
	return fail("provide a %[1]s name to invoke from the catalog, or -e '<gq>' / --query <file> for an ad-hoc %[1]s", what)
}

func (inv *invocation) servedQuery(ctx context.Context) error {
	text, adhoc, err := inv.source()
	if err != nil {
		return err
	}
	s, err := inv.storedBody(false)
	if err != nil {
		return err
	}
	if !adhoc {
		if len(inv.args) == 0 {
			return inv.nameless()
		}
		return inv.servedPost(ctx, "/queries/"+url.PathEscape(inv.args[0]), s, printRows)
	}
	return inv.servedPost(ctx, "/read", struct {
		Source   string          `json:"query_source"`
		Name     *string         `json:"query_name"`
		Params   json.RawMessage `json:"params"`
		Branch   *string         `json:"branch"`
		Snapshot *string         `json:"snapshot"`
	}{text, inv.queryName(), s.Params, s.Branch, s.Snapshot}, printRows)
}

func (inv *invocation) servedMutate(ctx context.Context) error {
	text, adhoc, err := inv.source()
	if err != nil {
		return err
	}
	s, err := inv.storedBody(true)
	if err != nil {
		return err
	}
	if !adhoc {
		if len(inv.args) == 0 {
			return inv.nameless()
		}
		path := "/queries/" + url.PathEscape(inv.args[0])
		if inv.has("--if-commit") {
			answer, err := inv.do(ctx, http.MethodPost, inv.base()+path+"/if-graph-commit", s, inv.condition())
			return inv.show(answer, err, printMutation)
		}
		return inv.servedPost(ctx, path, s, printMutation)
	}
	body := struct {
		Source string          `json:"query_source"`
		Name   *string         `json:"query_name,omitempty"`
		Params json.RawMessage `json:"params,omitempty"`
		Branch *string         `json:"branch"`
	}{text, inv.queryName(), s.Params, s.Branch}
	if !inv.has("--if-commit") {
		return inv.servedPost(ctx, "/change", body, printMutation)
	}
	answer, err := inv.do(ctx, http.MethodPost, inv.base()+"/mutate/if-graph-commit", body, inv.condition())
	return inv.show(answer, err, printMutation)
}

// condition is the header of a conditional mutation.
func (inv *invocation) condition() http.Header {
	return http.Header{http.CanonicalHeaderKey(server.IfCommitHeader): {inv.get("--if-commit")}}
}

func (inv *invocation) servedLoad(ctx context.Context) error {
	if inv.get("--mode") == string(graph.Overwrite) {
		if err := inv.confirm("load --mode overwrite"); err != nil {
			return err
		}
	}
	inv.announce()
	data, err := os.ReadFile(inv.get("--data"))
	if err != nil {
		return fileError(err)
	}
	text, err := inv.do(ctx, http.MethodPost, inv.base()+"/load", struct {
		Branch string  `json:"branch"`
		From   *string `json:"from"`
		Mode   string  `json:"mode"`
		Data   string  `json:"data"`
	}{inv.branch(), inv.optional("--from"), inv.get("--mode"), string(data)}, nil)
	if err != nil {
		return err
	}
	if inv.generation < graph.V010 {
		if text, err = inv.loadSummary(text, inv.base()); err != nil {
			return err
		}
	}
	return inv.show(text, nil, printLoad)
}

// loadSummary rewrites a load's answer as 0.8's CLI prints it.
func (inv *invocation) loadSummary(text []byte, uri string) ([]byte, error) {
	doc, err := jsondoc.Parse(string(text))
	if err != nil {
		return nil, &report{[]string{"error decoding response body", err.Error()}}
	}
	out := struct {
		URI       string `json:"uri"`
		Branch    string `json:"branch"`
		Mode      string `json:"mode"`
		Created   bool   `json:"branch_created"`
		Nodes     int    `json:"nodes_loaded"`
		Edges     int    `json:"edges_loaded"`
		NodeTypes int    `json:"node_types_loaded"`
		EdgeTypes int    `json:"edge_types_loaded"`
	}{URI: uri, Branch: textOf(&doc, "branch"), Mode: textOf(&doc, "mode")}
	if c := doc.Get("branch_created"); c != nil {
		out.Created = c.Bool
	}
	if tables := doc.Get("tables"); tables != nil {
		for i := range tables.Items {
			t := &tables.Items[i]
			n := numberOf(t, "rows_loaded")
			if strings.HasPrefix(textOf(t, "table_key"), "edge:") {
				out.Edges += n
				out.EdgeTypes++
			} else {
				out.Nodes += n
				out.NodeTypes++
			}
		}
	}
	return json.Marshal(out)
}
