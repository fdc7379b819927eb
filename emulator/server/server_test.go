package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

type answer struct {
	status int
	header http.Header
	text   string
}

func (a answer) doc(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.text), &v), a.text)
	return v
}

func ask(t testing.TB, h http.Handler, method, path, body string, header ...string) answer {
	t.Helper()
	req := authorized(httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body.String()}
}

const insertProject = `{"query":"query w($s: String) { insert Project { slug: $s, name: \"n\" } }","params":{"s":"new"}}`

func TestNewerGenerationsAnswerInTheirShapes(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{Generation: graph.V010})
	require.Equal(t, "0.10.0-emulator", ask(t, s, "GET", "/healthz", "").doc(t)["version"])

	read := ask(t, s, "POST", "/graphs/council/query", pointRead).doc(t)
	require.Contains(t, read, "graph_commit_id")

	made := ask(t, s, "POST", "/graphs/council/mutate", insertProject).doc(t)
	commit, ok := made["commit"].(map[string]any)
	require.True(t, ok)
	require.Contains(t, commit, "graph_manifest_version")
	require.NotContains(t, commit, "manifest_version")
	nothing := ask(t, s, "POST", "/graphs/council/mutate", `{"query":"query w() { delete Project where slug = \"none\" }"}`).doc(t)
	require.Contains(t, nothing, "commit")
	require.Nil(t, nothing["commit"])

	commits, ok := ask(t, s, "GET", "/graphs/council/commits", "").doc(t)["commits"].([]any)
	require.True(t, ok)
	newest, ok := commits[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, commit["graph_commit_id"], newest["graph_commit_id"], "newest first")

	snapshot := ask(t, s, "GET", "/graphs/council/snapshot", "").doc(t)
	require.Contains(t, snapshot, "datasets")
	require.Equal(t, "main", snapshot["graph_branch"])

	load := ask(t, s, "POST", "/graphs/council/load/ndjson?mode=merge", `{"type":"Project","data":{"slug":"x","name":"x"}}`, "Content-Type", "application/x-ndjson").doc(t)
	require.InDelta(t, 1, load["total_entities"], 0)
	require.Equal(t, 404, ask(t, s, "GET", "/graphs/council/snapshot?branch=nope", "").status)

	head, ok := newest["graph_commit_id"].(string)
	require.True(t, ok)
	lost := ask(t, s, "POST", "/graphs/council/mutate/if-graph-commit", insertProject, server.IfCommitHeader, head)
	require.Equal(t, 412, lost.status)
	require.NotContains(t, lost.doc(t), "code")
	require.Contains(t, lost.doc(t), "precondition_failure")
	require.Equal(t, 400, ask(t, s, "POST", "/graphs/council/mutate/if-graph-commit", insertProject).status)
	stored := func(name, expected string) answer {
		return ask(t, s, "POST", "/graphs/council/queries/"+name+"/if-graph-commit", `{"params":{"slug":"mem-0001"}}`, server.IfCommitHeader, expected)
	}
	require.Equal(t, 412, stored("forget", head).status)
	require.Equal(t, 400, stored("forget", "").status)
	require.Equal(t, 400, stored("get_memory", head).status)
	now, ok := ask(t, s, "POST", "/graphs/council/query", pointRead).doc(t)["graph_commit_id"].(string)
	require.True(t, ok)
	require.Equal(t, 200, stored("forget", now).status)
	known := ask(t, s, "POST", "/graphs/council/load", `{"mode":"append","data":"{\"type\":\"Project\",\"data\":{\"slug\":\"x\",\"name\":\"x\"}}"}`)
	require.Equal(t, 409, known.status)
	require.Contains(t, known.doc(t), "key_conflict")

	old := demoServer(t, server.Options{})
	require.Equal(t, 404, ask(t, old, "POST", "/graphs/council/load/ndjson", "").status)
	require.Equal(t, 404, ask(t, old, "POST", "/graphs/council/mutate/if-graph-commit", "{}").status)
	require.Equal(t, 404, ask(t, old, "POST", "/graphs/council/queries/forget/if-graph-commit", "{}").status)
}

func TestTheContractHeaderIsRequiredFrom013On(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{Generation: graph.V013})
	for _, value := range []string{"", "0.10"} {
		a := ask(t, s, "GET", "/graphs/council/schema", "", "Omnigraph-Http-Api", value)
		require.Equal(t, 400, a.status)
		require.Equal(t, "api_contract_mismatch", a.doc(t)["code"])
	}
	a := ask(t, s, "GET", "/graphs/council/schema", "", "Omnigraph-Http-Api", "0.13")
	require.Equal(t, 200, a.status)
	require.Equal(t, "0.13", a.header.Get("Omnigraph-Http-Api"))
}

func TestACostedServerSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	m := &costmodel.Model{Name: "free"}
	s := demoServer(t, server.Options{Cost: m})
	for _, path := range []string{"/healthz", "/graphs", "/nope", "/graphs/council/schema", "/graphs/nope/schema", "/openapi.json"} {
		require.Equal(t, "free", ask(t, s, "GET", path, "").header.Get(costmodel.Header), path)
	}
	require.Equal(t, "free", ask(t, s, "POST", "/graphs/council/query", "{").header.Get(costmodel.Header))
	require.Equal(t, "0.8.0-emulator+free", ask(t, s, "GET", "/healthz", "").doc(t)["version"])
	require.Equal(t, costmodel.None, ask(t, demoServer(t, server.Options{}), "GET", "/healthz", "").header.Get(costmodel.Header))
}

// slow is a cost model whose commits take a while.
var slow = &costmodel.Model{Name: "slow", CommitMS: 100}

func TestTheAdmissionCapIsPerActor(t *testing.T) {
	t.Parallel()
	// The bubble's time stands still until all four are in flight.
	synctest.Test(t, func(t *testing.T) {
		s := demoServer(t, server.Options{Cost: slow, MaxInflight: 2})
		results := make(chan answer, 4)
		for range 4 {
			go func() {
				req := authorized(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphs/council/mutate", strings.NewReader(insertProject)))
				w := httptest.NewRecorder()
				s.ServeHTTP(w, req)
				results <- answer{w.Code, w.Header(), w.Body.String()}
			}()
		}
		counts := map[int]int{}
		for range 4 {
			a := <-results
			counts[a.status]++
			if a.status == 429 {
				require.JSONEq(t, `{"error":"actor in-flight count cap 2 exceeded","code":"too_many_requests"}`, a.text)
				require.Equal(t, "60", a.header.Get("Retry-After"))
				other := ask(t, s, "POST", "/graphs/council/mutate", insertProject, "Authorization", "Bearer "+demo.Tokens["act-load-2"])
				require.Equal(t, 200, other.status, "another actor has a cap of its own")
			}
		}
		require.Equal(t, map[int]int{200: 2, 429: 2}, counts)
		require.Equal(t, 200, ask(t, s, "POST", "/graphs/council/mutate", insertProject).status, "the places are free again")
	})
}

func TestTheBytesCap(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{MaxInflightBytes: 50})
	a := ask(t, s, "POST", "/graphs/council/mutate", insertProject)
	require.Equal(t, 429, a.status)
	require.Contains(t, a.text, "byte cap 50 exceeded")
}

func TestDemoQueriesRun(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{})
	count := ask(t, s, "POST", "/graphs/council/queries/count_memories", "")
	require.Contains(t, count.text, `"rows":[{"n":913}]`)
	require.Equal(t, 200, ask(t, s, "POST", "/graphs/council/queries/related", `{"params":{"slug":"mem-0100"}}`).status)
	require.Equal(t, 403, ask(t, s, "POST", "/graphs/council/mutate", insertProject, "Authorization", "Bearer "+demo.Tokens["act-reader"]).status)
	list := ask(t, s, "GET", "/openapi.json", "").doc(t)
	require.Contains(t, list["paths"], "/graphs/{graph_id}/query")
}

// FuzzRequest sends whatever comes to a server: it answers something, in JSON where it says so.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/graphs/council/query", "application/json", pointRead)
	f.Add("POST", "/graphs/council/mutate", "application/json", insertProject)
	f.Add("POST", "/graphs/council/load", "application/json", `{"data":"{\"type\":\"Project\",\"data\":{\"slug\":\"x\",\"name\":\"x\"}}","mode":"append","branch":"b","from":"main"}`)
	f.Add("POST", "/graphs/council/branches", "application/json", `{"name":"b"}`)
	f.Add("POST", "/graphs/council/branches/merge", "application/json", `{"source":"b","target":null}`)
	f.Add("POST", "/graphs/council/queries/get_memory", "", `{"params":{"slug":"a"},"expect_mutation":null}`)
	f.Add("POST", "/graphs/council/export", "application/x+json", `{"type_names":["Memory"],"table_keys":[]}`)
	f.Add("DELETE", "/graphs/council/branches/%2e%2e", "", "")
	f.Add("GET", "/graphs/council/commits?branch=%zz", "", "")
	s := demoServer(f, server.Options{Generation: graph.V010})
	f.Fuzz(func(t *testing.T, method, path, contentType, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://emulator"+path, strings.NewReader(body))
		if err != nil || req.URL.Host != "emulator" {
			t.Skip()
		}
		req = authorized(req)
		req.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		res := w.Result()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode < 200 || res.StatusCode > 599 {
			t.Fatalf("status %d", res.StatusCode)
		}
		if res.Header.Get("Content-Type") == "application/json" && len(text) > 0 && !json.Valid(text) {
			t.Fatalf("says JSON and is not: %q", text)
		}
	})
}
