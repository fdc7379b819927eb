package wire

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOperationsBecomeRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		op           Operation
		method, path string
		body         string
	}{
		{"query", Operation{Op: OpQuery, Graph: "g", Text: "query q() {}", Params: json.RawMessage(`{"a":1}`), Branch: "b", Name: "q"}, "POST", "/graphs/g/query", `{"query":"query q() {}","name":"q","params":{"a":1},"branch":"b"}`},
		{"query of a snapshot", Operation{Op: OpQuery, Graph: "g", Text: "query q() {}", Snapshot: "s"}, "POST", "/graphs/g/query", `{"query":"query q() {}","snapshot":"s"}`},
		{"names with dots", Operation{Op: OpInvoke, Graph: "...", Name: ".a."}, "POST", "/graphs/.../queries/.a.", `{}`},
		{"query, prepared text", Operation{Op: OpQuery, Graph: "g", TextJSON: EncodeText("ü\x00\"\n<&>")}, "POST", "/graphs/g/query", `{"query":"ü\u0000\"\n<&>"}`},
		{"mutate", Operation{Op: OpMutate, Graph: "a b/c", Text: "x"}, "POST", "/graphs/a%20b%2Fc/mutate", `{"query":"x"}`},
		{"conditional", Operation{Op: OpMutate, Graph: "g", Text: "x", IfCommit: "01A"}, "POST", "/graphs/g/mutate/if-graph-commit", `{"query":"x"}`},
		{"invoke", Operation{Op: OpInvoke, Graph: "g", Name: "get memory"}, "POST", "/graphs/g/queries/get%20memory", `{}`},
		{"load", Operation{Op: OpLoad, Graph: "g", Data: []byte("{\"a\":\"ä\"}\n"), Mode: "merge", Branch: "b", From: "main"}, "POST", "/graphs/g/load", `{"data":"{\"a\":\"ä\"}\n","mode":"merge","branch":"b","from":"main"}`},
		{"export", Operation{Op: OpExport, Graph: "g", TypeNames: []string{"Memory", "Project"}}, "POST", "/graphs/g/export", `{"type_names":["Memory","Project"]}`},
		{"branch create", Operation{Op: OpBranchCreate, Graph: "g", Branch: "b", From: "main"}, "POST", "/graphs/g/branches", `{"name":"b","from":"main"}`},
		{"branch merge", Operation{Op: OpBranchMerge, Graph: "g", Source: "b"}, "POST", "/graphs/g/branches/merge", `{"source":"b"}`},
		{"branch delete", Operation{Op: OpBranchDelete, Graph: "g", Branch: "a/b"}, "DELETE", "/graphs/g/branches/a%2Fb", ""},
		{"snapshot", Operation{Op: OpSnapshot, Graph: "g", Branch: "a&b"}, "GET", "/graphs/g/snapshot?branch=a%26b", ""},
		{"commits", Operation{Op: OpCommits, Graph: "g"}, "GET", "/graphs/g/commits", ""},
		{"schema", Operation{Op: OpSchema, Graph: "g"}, "GET", "/graphs/g/schema", ""},
		{"branches", Operation{Op: OpBranches, Graph: "g"}, "GET", "/graphs/g/branches", ""},
		{"queries", Operation{Op: OpQueries, Graph: "g"}, "GET", "/graphs/g/queries", ""},
		{"graphs", Operation{Op: OpGraphs}, "GET", "/graphs", ""},
		{"health", Operation{Op: OpHealth}, "GET", "/healthz", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := EncodeRequest(&c.op, nil)
			require.Nil(t, err)
			assert.Equal(t, c.method, r.Method)
			assert.Equal(t, c.path, r.Path)
			if c.body == "" {
				assert.Nil(t, r.Body)
				assert.Empty(t, r.ContentType)
				return
			}
			assert.JSONEq(t, c.body, string(r.Body))
			assert.Equal(t, "application/json", r.ContentType)
		})
	}
	for _, op := range []Op{OpVersion, OpOptimize, OpCleanup, OpRepair} {
		_, err := EncodeRequest(&Operation{Op: op, Graph: "g"}, nil)
		require.NotNil(t, err)
		assert.Equal(t, KindUnsupported, err.Kind)
	}
	_, err := EncodeRequest(&Operation{Op: OpQuery, Text: "x"}, nil)
	require.NotNil(t, err)
	assert.Contains(t, err.Message, "graph")
}

func TestRetryAfterIsReadAsSecondsOrDate(t *testing.T) {
	t.Parallel()
	const date = "Mon, 30 Nov 2026 12:00:00 GMT"
	for value, want := range map[string]time.Duration{
		"60": time.Minute, " 1.5 ": 1500 * time.Millisecond, "": 0, "0": 0, "-5": 0, "soon": 0, "NaN": 0, "1e300": maxRetryAfter, "Inf": maxRetryAfter,
		"Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 30 Nov 2026 11:00:00 GMT": 0,
	} {
		assert.Equal(t, want, ParseRetryAfter(value, date), value)
	}
}

func TestEveryKindIsListedOnceAndEveryOperationIsOfferedSomewhere(t *testing.T) {
	t.Parallel()
	seen := map[ErrorKind]bool{}
	for _, k := range KindTable() {
		assert.False(t, seen[k.Kind], k.Kind)
		seen[k.Kind] = true
		assert.True(t, k.Kind.Known())
		assert.NotEmpty(t, k.Meaning)
	}
	assert.False(t, ErrorKind("oops").Known())
	assert.Len(t, Ops(), len(opTable))
	for _, op := range Ops() {
		assert.True(t, op.Offered(TransportHTTP) || op.Offered(TransportCLI), op)
	}
}

func FuzzClassifyStatus(f *testing.F) {
	f.Add(409, `{"error":"stale view of 'x'","code":"conflict","manifest_conflict":{}}`, true)
	f.Add(500, `{"error":"could not read 'ahead of manifest'","code":"internal"}`, false)
	f.Add(200, "", true)
	f.Fuzz(func(t *testing.T, status int, body string, write bool) {
		e := ClassifyStatus(Answer{Status: status, Body: body}, write, "secret-token")
		if !e.Kind.Known() || e.Message == "" {
			t.Fatalf("%+v", e)
		}
		if !write && e.Indeterminate {
			t.Fatal("a read has no outcome that could be unknown")
		}
	})
}
