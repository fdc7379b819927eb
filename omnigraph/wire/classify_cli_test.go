package wire

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded is one run of the real CLI, with build paths and addresses replaced. The names that begin with `stub/` ran
// against a stub that answers what a 0.8.0 server never does.
type recorded struct {
	Name   string   `json:"name"`
	Args   []string `json:"args"`
	Exit   int      `json:"exit"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

func recordings(t testing.TB) map[string]recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/cli-0.8.0.json")
	require.NoError(t, err)
	var list []recorded
	require.NoError(t, json.Unmarshal(data, &list))
	byName := map[string]recorded{}
	for _, r := range list {
		byName[r.Name] = r
	}
	require.Len(t, byName, len(list), "names are unique")
	return byName
}

func TestClassifyExitOfTheRealCLI(t *testing.T) {
	t.Parallel()
	// unknown: the outcome would be unknown if the operation is a write. message: how the message begins.
	tests := map[string]struct {
		kind    ErrorKind
		unknown bool
		status  int
		message string
	}{
		"no token":                           {kind: KindUnauthorized, message: "missing bearer token"},
		"wrong token":                        {kind: KindUnauthorized, message: "invalid bearer token"},
		"policy":                             {kind: KindForbidden, message: "policy denied action 'change' on branch 'main' for actor 'act-reader'"},
		"stored query unknown":               {kind: KindNotFound, message: "stored query not found"},
		"stored query not granted":           {kind: KindNotFound, message: "stored query not found"},
		"graph unknown":                      {kind: KindNotFound, message: "graph 'nope' not found"},
		"parse error":                        {kind: KindBadRequest, message: "parse error:  --> 1:1\n"},
		"type error":                         {kind: KindBadRequest, message: "type error: T1"},
		"parameter of the wrong type":        {kind: KindBadRequest, message: "param 'i': expected integer string, got 'abc'"},
		"parameter missing in a filter":      {kind: KindBadRequest, message: "parameter 's' not provided"},
		"enum value":                         {kind: KindBadRequest, message: "type error: T3: property `kind` expects one of"},
		"property missing":                   {kind: KindBadRequest, message: "type error: T12: insert for `Memory`"},
		"edge to a missing node":             {kind: KindBadRequest, message: "dst 'zz' not found in Memory"},
		"mutation over query":                {kind: KindBadRequest, message: "type error: mutation query cannot be"},
		"query over mutate":                  {kind: KindBadRequest, message: "mutation execution called on a read query"},
		"stored mutation over query":         {kind: KindBadRequest, message: "'forget' is a mutation — use omnigraph mutate forget"},
		"stored read over mutate":            {kind: KindBadRequest, message: "'get_memory' is a read — use omnigraph query get_memory"},
		"branch not there":                   {kind: KindNotFound, message: "storage: Not found: data/rig/graphs"},
		"branch exists":                      {kind: KindInternal, unknown: true, message: "storage: Encountered internal error."},
		"load to a branch that is not there": {kind: KindNotFound, message: "branch 'zz' not found; pass `from` to create it"},
		"delete a branch that is not there":  {kind: KindNotFound, message: "branch 'zz' not found"},
		"merge a branch that is not there":   {kind: KindNotFound, message: "storage: Not found: "},
		"snapshot not there":                 {kind: KindNotFound, message: "commit '01ZZZZ"},
		"refused connection":                 {kind: KindConnect, message: "error sending request for url (http://127.0.0.1:1/graphs/council/read): client error (Connect): tcp connect error: Connection refused (os error 111)"},
		"refused connection of a write":      {kind: KindConnect, message: "error sending request for url"},
		"unknown host":                       {kind: KindConnect, message: "error sending request for url"},
		"TLS against a plain server":         {kind: KindConnect, message: "error sending request for url"},
		"usage: unknown argument":            {kind: KindUnsupported, message: "error: unexpected argument '--nope' found"},
		"usage: unknown command":             {kind: KindUnsupported, message: "error: unrecognized subcommand 'dance'"},
		"usage: condition":                   {kind: KindUnsupported, message: "error: unexpected argument '--if-commit' found"},
		"usage: no value":                    {kind: KindCLIExit, message: "error: the following required arguments"},
		"no key of a row":                    {kind: KindBadRequest, message: "error: invalid value 'bogus' for '--mode <MODE>'"},
		"graphs list":                        {kind: KindUnsupported, message: "server scope 'http://127.0.0.1:8080' has 1 graph"},
		"graphs list with a graph":           {kind: KindUnsupported, status: 404, message: "server returned 404 Not Found:"},
		"optimize on a server":               {kind: KindUnsupported, message: "`optimize` is a direct (storage-native) command"},
		"stored query on a store":            {kind: KindUnsupported, message: "by-name invocation needs a server"},
		"store that is not there":            {kind: KindNotFound, message: "storage: Dataset at path data/nope.omni/__manifest was not found"},
		"optimize a store that is not there": {kind: KindNotFound, message: "storage: Dataset at path"},
		"params that are no JSON":            {kind: KindProtocol, unknown: true, message: "key must be a string at line 1 column 2"},
		"data file that is not there":        {kind: KindBadRequest, message: "No such file or directory (os error 2)"},
		"query file that is not there":       {kind: KindBadRequest, message: "No such file or directory (os error 2)"},
		"data of an unknown type":            {kind: KindBadRequest, message: "record 1: unknown node type 'Nope'"},
		"data that is no JSON":               {kind: KindBadRequest, message: "invalid JSON at record 1: EOF while parsing"},
		"overwrite without consent":          {kind: KindBadRequest, message: "refusing destructive `load --mode overwrite`"},
		"branch delete without consent":      {kind: KindBadRequest, message: "refusing destructive `branch delete`"},
		"load too large":                     {kind: KindResourceLimit, status: 413, message: "server returned 413 Payload Too Large: Failed to buffer"},
		"query too large":                    {kind: KindResourceLimit, status: 413, message: "server returned 413 Payload Too Large: Failed to buffer"},
		"words of another kind in user data": {kind: KindBadRequest, message: "type error: T6"},
		"cleanup without a limit":            {kind: KindCLIExit, unknown: true, message: "cleanup requires at least one of"},
		"merge conflict":                     {kind: KindMergeConflict, message: "merge conflicts: node:Memory:mem-0001 (divergent_update)"},
		"stale view":                         {kind: KindConflictStale, message: "stale view of 'node:Memory': expected manifest table version"},
		"admission cap":                      {kind: KindAdmissionCapped, message: "actor in-flight count cap 2 exceeded"},
		"broken pipe":                        {kind: KindCLIExit, unknown: true, message: "The application panicked (crashed)."},
		"stub/404-empty":                     {kind: KindUnsupported, status: 404, message: "server returned 404 Not Found:"},
		"stub/405-empty":                     {kind: KindUnsupported, status: 405, message: "server returned 405 Method Not Allowed:"},
		"stub/500-document":                  {kind: KindInternal, unknown: true, message: "storage: disk on fire"},
		"stub/500-empty":                     {kind: KindInternal, unknown: true, status: 500, message: "server returned 500 Internal Server Error:"},
		"stub/500-html":                      {kind: KindInternal, unknown: true, status: 500, message: "server returned 500 Internal Server Error: <html>"},
		"stub/502-html":                      {kind: KindUnavailable, unknown: true, status: 502, message: "server returned 502 Bad Gateway: <html>"},
		"stub/503-empty":                     {kind: KindUnavailable, status: 503, message: "server returned 503 Service Unavailable:"},
		"stub/503-text":                      {kind: KindUnavailable, status: 503, message: "server returned 503 Service Unavailable: upstream unavailable"},
		"stub/503-recovery":                  {kind: KindRecoveryRequired, unknown: true, status: 503, message: "server returned 503 Service Unavailable: {"},
		"stub/503-graph":                     {kind: KindGraphUnavailable, status: 503, message: "server returned 503 Service Unavailable: {"},
		"stub/504":                           {kind: KindUnavailable, unknown: true, status: 504, message: "server returned 504 Gateway Timeout:"},
		"stub/429":                           {kind: KindAdmissionCapped, message: "actor in-flight count cap 16 exceeded"},
		"stub/429-gateway":                   {kind: KindAdmissionCapped, status: 429, message: "server returned 429 Too Many Requests: slow down"},
		"stub/409-unknown":                   {kind: KindCLIExit, unknown: true, message: "a conflict of a new kind"},
		"stub/409-key":                       {kind: KindConflictKey, message: "node type 'Project' already has id 'pl'"},
		"stub/409-read-set":                  {kind: KindConflictStale, message: "write authority 'graph_head:main' changed"},
		"stub/412":                           {kind: KindPreconditionFailed, message: "precondition failed on branch 'main'"},
		"stub/413-limit":                     {kind: KindResourceLimit, status: 413, message: "server returned 413 Payload Too Large: {"},
		"stub/400-contract":                  {kind: KindVersionMismatch, status: 400, message: "server returned 400 Bad Request: {"},
		"stub/401-html":                      {kind: KindUnauthorized, status: 401, message: "server returned 401 Unauthorized: <html>"},
		"stub/200-html":                      {kind: KindProtocol, unknown: true, message: "expected value at line 1 column 1"},
		"stub/200-empty":                     {kind: KindProtocol, unknown: true, message: "EOF while parsing a value at line 1 column 0"},
		"stub/200-other":                     {kind: KindProtocol, unknown: true, message: "missing field `query_name` at line 1 column 17"},
		"stub/200-other-write":               {kind: KindProtocol, unknown: true, message: "missing field `branch` at line 1 column 17"},
		"stub/302":                           {kind: KindProtocol, unknown: true, status: 302, message: "server returned 302 Found:"},
		"stub/close":                         {kind: KindConnect, unknown: true, message: "error sending request for url (http://127.0.0.1:8081/close/graphs/council/change): client error (SendRequest): connection closed before message completed"},
		"stub/half":                          {kind: KindProtocol, unknown: true, message: "error decoding response body: error reading a body from connection: end of file before message length reached"},
	}
	runs := recordings(t)
	for name, run := range runs {
		if run.Exit == 0 {
			continue
		}
		want, ok := tests[name]
		require.True(t, ok, "no expectation for the recording %q", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, write := range []bool{false, true} {
				e := ClassifyExit(Exit{Code: run.Exit, Stdout: run.Stdout, Stderr: run.Stderr}, write)
				require.Equal(t, want.kind, e.Kind, e.Message)
				require.Equal(t, want.kind.Retryable(), e.Retryable)
				require.Equal(t, write && want.unknown, e.Indeterminate)
				require.Equal(t, want.status, e.Status)
				require.Equal(t, run.Exit, e.ExitCode)
				require.True(t, strings.HasPrefix(e.Message, want.message), e.Message)
				require.NotContains(t, e.Message, "\x1b")
				if name != "broken pipe" { // A panic is no report; all of it is told.
					require.NotContains(t, e.Message, "Location:", "the backtrace is nobody's concern")
				}
				require.Zero(t, e.RetryAfter, "the CLI does not tell")
			}
		})
	}
	for name := range tests {
		require.Contains(t, runs, name, "an expectation without a recording")
	}
}

func TestClassifyExitWithDocuments(t *testing.T) {
	t.Parallel()
	const lost = `{"error":"precondition failed on branch 'main': expected head 'a' but current is b","precondition_failure":{"expected":"a","actual":"b"}}`
	tests := []struct {
		name string
		exit Exit
		kind ErrorKind
		code string
	}{
		{"exit 4, document on stdout", Exit{Code: 4, Stdout: lost}, KindPreconditionFailed, ""},
		{"exit 4 without a word", Exit{Code: 4}, KindPreconditionFailed, ""},
		{"exit 75", Exit{Code: 75, Stderr: "Error: \n   0: busy\n"}, KindAdmissionCapped, ""},
		{"document decides", Exit{Code: 1, Stdout: lost}, KindPreconditionFailed, ""},
		{"document on stderr", Exit{Code: 1, Stderr: `{"error":"no","code":"forbidden"}`}, KindForbidden, "forbidden"},
		{"document behind the target's line", Exit{Code: 1, Stderr: "omnigraph load → x (served)\n" + `{"error":"no","code":"not_found"}`}, KindNotFound, "not_found"},
		{"fields before the code", Exit{Code: 1, Stdout: `{"error":"x","code":"conflict","key_conflict":{}}`}, KindConflictKey, "conflict"},
		{"conflict by its words", Exit{Code: 1, Stdout: `{"error":"stale view of 'node:A': x","code":"conflict"}`}, KindConflictStale, "conflict"},
		{"conflict of a new kind", Exit{Code: 1, Stdout: `{"error":"x","code":"conflict"}`}, KindConflict, "conflict"},
		{"internal with the store's words", Exit{Code: 1, Stdout: `{"error":"occ recovery sidecar 01X manifest delta differs","code":"internal"}`}, KindStoreQuarantined, "internal"},
		{"internal", Exit{Code: 1, Stdout: `{"error":"x","code":"internal"}`}, KindInternal, "internal"},
		{"unknown code falls to the words", Exit{Code: 1, Stdout: `{"error":"invalid bearer token","code":"new"}`}, KindUnauthorized, "new"},
		{"document that is no error", Exit{Code: 1, Stdout: `{"rows":[]}`, Stderr: "Error: \n   0: invalid bearer token\n"}, KindUnauthorized, ""},
		{"row that looks like one, among others", Exit{Code: 1, Stdout: "{\"error\":\"x\",\"code\":\"forbidden\"}\n{}"}, KindCLIExit, ""},
		{"quarantined", Exit{Code: 1, Stderr: "Error: \n   0: occ recovery sidecar 01X: manifest delta differs\n"}, KindStoreQuarantined, ""},
		{"needs repair, by the table's key", Exit{Code: 1, Stderr: "Error: \n   0: table 'node:Memory' head is ahead of manifest; run `omnigraph repair`\n"}, KindNeedsRepair, ""},
		{"branch that can't be made", Exit{Code: 1, Stderr: "Error: \n   0: cannot create branch 'main'\n"}, KindBadRequest, ""},
		{"branch that can't be deleted", Exit{Code: 1, Stderr: "Error: \n   0: cannot delete branch 'main'\n"}, KindBadRequest, ""},
		{"loaded row without a property", Exit{Code: 1, Stderr: "Error: \n   0: non-nullable property 'name' has null or invalid values\n"}, KindBadRequest, ""},
		{"inserts among deletes", Exit{Code: 1, Stderr: "Error: \n   0: mutation 'a' on the same query mixes inserts/updates and deletes; split into separate mutations\n"}, KindBadRequest, ""},
		{"no graph's name", Exit{Code: 1, Stderr: "Error: \n   0: graph_id 'a%2Fb' must match ^[a-zA-Z0-9-]{1,64}$\n"}, KindBadRequest, ""},
		{"a quotation of such words", Exit{Code: 1, Stderr: "Error: \n   0: cannot read 'table node:Memory is ahead of manifest'\n"}, KindCLIExit, ""},
		{"needs repair", Exit{Code: 1, Stderr: "Error: \n   0: storage: table node:Memory is ahead of manifest\n"}, KindNeedsRepair, ""},
		{"index", Exit{Code: 1, Stderr: "Error: \n   0: full_text_index_rebuild_required: Memory.title\n"}, KindIndexRebuildRequired, ""},
		{"a crash's leftovers, cleared away by another write", Exit{Code: 1, Stderr: "Error: \n   0: storage read failed for '/d/rig/graphs/council.omni/__recovery/01M8.json': Object at location /d/rig/graphs/council.omni/__recovery/01M8.json not found: No such file or directory (os error 2)\n"}, KindRecoveryRequired, ""},
		{"an object of the store that can't be read", Exit{Code: 1, Stderr: "Error: \n   0: storage read failed for '/d/rig/graphs/council.omni/_schema.pg': Permission denied\n"}, KindInternal, ""},
		{"an object of the store that can't be written", Exit{Code: 1, Stderr: "Error: \n   0: storage write failed for '/d/rig/graphs/council.omni/__recovery/01M8.json': No space left on device\n"}, KindInternal, ""},
		{"store's version", Exit{Code: 1, Stderr: "Error: \n   0: storage version mismatch: 4 and 5\n"}, KindVersionMismatch, ""},
		{"the CLI's own time-out", Exit{Code: 1, Stderr: "Error: \n   0: error sending request for url (http://h/)\n   1: operation timed out\n"}, KindTimeout, ""},
		{"user's words after the beginning", Exit{Code: 1, Stderr: "Error: \n   0: row 'stale view of 'x'' is odd\n"}, KindCLIExit, ""},
		{"user's words as a cause", Exit{Code: 1, Stderr: "Error: \n   0: something\n   1: invalid bearer token\n"}, KindCLIExit, ""},
		{"no report", Exit{Code: 1, Stderr: "invalid bearer token"}, KindCLIExit, ""},
		{"usage words with another code", Exit{Code: 1, Stderr: "error: unexpected argument '--x' found"}, KindCLIExit, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := ClassifyExit(test.exit, true)
			require.Equal(t, test.kind, e.Kind, e.Message)
			require.Equal(t, test.code, e.Code)
			require.NotEmpty(t, e.Message)
		})
	}
}

// The server says these with 400, which the CLI does not pass on.
func TestARefusalOfTheServerIsKnownByHowItBegins(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"@unique violation on Project.slug: value 'u' held by 'u' and 'u'",
		"@card violation on edge One: source 'a' has 2 edges (max 1)",
		"cannot update @key property 'slug' — delete and re-insert instead",
		"cannot convert Utf8(x) to Int32",
		"node Project missing @key property 'slug'",
		"node Project has explicit id 'a' that does not match @key property 'slug' value 'b'",
		"branch_merge requires distinct source and target branches",
		"unknown table 'node:Nope'",
		"alias 'x' not found for ordering",
		"column 'p.slug' not found in wide batch",
		"invalid Date literal 'x'",
		"list property 'tags' expects a JSON array, got string",
		"list value 9999999999 exceeds Int32 range",
		"unsupported projection expression: Aggregate of an aggregate",
		"match has a clause whose variables nothing binds",
		"params must be a JSON object",
		"query file contains multiple queries; pass --name",
	} {
		e := ClassifyExit(Exit{Code: 1, Stderr: "Error: \n   0: " + message + "\n"}, true)
		require.Equal(t, KindBadRequest, e.Kind, message)
		require.False(t, e.Indeterminate, message)
	}
}

func TestARequestThatTheCLICouldNotSendWholeWasNotDone(t *testing.T) {
	t.Parallel()
	for cause, unknown := range map[string]bool{
		"error writing a body to connection":         false,
		"connection closed before message completed": true,
	} {
		e := ClassifyExit(Exit{Code: 1, Stderr: "Error: \n   0: error sending request for url (http://h/)\n   1: client error (SendRequest)\n   2: " + cause + "\n   3: Broken pipe (os error 32)\n"}, true)
		require.Equal(t, KindConnect, e.Kind)
		require.Equal(t, unknown, e.Indeterminate, cause)
	}
}

func TestClassifyExitOfASignal(t *testing.T) {
	t.Parallel()
	e := ClassifyExit(Exit{Code: -1, Signal: "SIGSEGV", Stderr: "Error: \n   0: invalid bearer token s3cret-s3cret\n"}, true, "s3cret-s3cret")
	require.Equal(t, KindCLISignal, e.Kind)
	require.Equal(t, -1, e.ExitCode)
	require.True(t, e.Indeterminate)
	require.Equal(t, "the CLI was ended by signal SIGSEGV: invalid bearer token [redacted]", e.Message)
	require.False(t, ClassifyExit(Exit{Code: -1, Signal: "SIGSEGV"}, false).Indeterminate)
}

func TestParseReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stderr, message string
		causes                []string
	}{
		{"plain", "Error: \n   0: a\n", "a", nil},
		{"causes", "Error: \n   0: a\n   1: b\n   2: c\n\nLocation:\n   x:1\n", "a", []string{"b", "c"}},
		{"colours", "\x1b[31mError:\x1b[0m \n   0: \x1b[91ma\x1b[0m\n", "a", nil},
		{"several lines", "Error: \n   0: a\n  b\n\n  c\n   1: d\n", "a\n  b\n\n  c", []string{"d"}},
		{"numbers that don't count on", "Error: \n   0: a\n   7: b\n", "a\n   7: b", nil},
		{"target's line", "omnigraph branch create → x (served)\nError: \n   0: a\n", "a", nil},
		{"carriage returns", "Error: \r\n   0: a\r\n   1: b\r\n", "a", []string{"b"}},
		{"backtrace without a location", "Error: \n   0: a\n  ━━━━ BACKTRACE ━━━━\n   1: main\n", "a", nil},
		{"other text before", "warning: x\nError: \n   0: a\n", "", nil},
		{"no cause", "Error: \n", "", nil},
		{"nothing", "", "", nil},
	}
	for _, test := range tests {
		r := ParseReport(test.stderr)
		require.Equal(t, test.message, r.Message, test.name)
		require.Equal(t, test.causes, append([]string(nil), r.Causes...), test.name)
	}
}

func FuzzClassifyExit(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.Exit, r.Stdout, r.Stderr)
	}
	f.Add(1, `{"error":"x","code":"conflict","key_conflict":{}}`, "")
	f.Add(4, "", "Error:\n   0: a\n   1: b\n")
	f.Add(75, "\x1b[", "Error: \n   0: \x1b]0;x\x07\xff\n")
	f.Fuzz(func(t *testing.T, code int, stdout, stderr string) {
		const secret = "s3cret-s3cret"
		e := ClassifyExit(Exit{Code: code, Stdout: stdout + secret, Stderr: stderr + secret}, true, secret)
		switch {
		case !e.Kind.Known():
			t.Fatalf("unknown kind %q", e.Kind)
		case e.Message == "":
			t.Fatal("no message")
		case strings.Contains(e.Message, secret):
			t.Fatalf("secret in %q", e.Message)
		case e.Retryable != e.Kind.Retryable():
			t.Fatal("retryability does not follow from the kind")
		case e.ExitCode != code:
			t.Fatalf("exit code %d became %d", code, e.ExitCode)
		}
		if ClassifyExit(Exit{Code: code, Stdout: stdout, Stderr: stderr}, false).Indeterminate {
			t.Fatal("a read is indeterminate")
		}
	})
}

func FuzzParseReport(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.Stderr)
	}
	f.Fuzz(func(t *testing.T, stderr string) {
		r := ParseReport(stderr)
		if r.Message == "" && len(r.Causes) > 0 && !strings.Contains(stderr, "0:") {
			t.Fatalf("causes without a message: %+v", r)
		}
		if strings.Contains(r.Message, "\x1b[31m") {
			t.Fatalf("colours in %q", r.Message)
		}
	})
}

// The words are the real CLI's, which had each answer from a stub.
func TestAnAnswerThatTheCLICannotReadIsOfKindProtocol(t *testing.T) {
	t.Parallel()
	const lost = "error sending request for url (http://127.0.0.1:8081/graphs/council/change)\n   1: client error (SendRequest)\n   2: "
	for _, report := range []string{
		"EOF while parsing an object at line 1 column 1",
		"EOF while parsing a list at line 1 column 1",
		"expected `:` at line 1 column 6",
		"expected `,` or `}` at line 1 column 8",
		"expected ident at line 1 column 18",
		"trailing comma at line 1 column 19",
		"trailing characters at line 1 column 109",
		"invalid escape at line 1 column 17",
		"invalid number at line 1 column 16",
		"number out of range at line 1 column 91",
		"recursion limit exceeded at line 1 column 186",
		"lone leading surrogate in hex escape at line 1 column 21",
		"unexpected end of hex escape at line 1 column 69",
		`control character (\u0000-\u001F) found while parsing a string at line 1 column 16`,
		"duplicate field `query_name` at line 1 column 30",
		"invalid type: floating point `1.5`, expected usize at line 1 column 76",
		"invalid value: integer `-1`, expected usize at line 1 column 75",
		"invalid length 0, expected struct ReadOutput with 5 elements at line 1 column 2",
		"unknown variant `x`, expected one of `already_up_to_date`, `fast_forward`, `merged` at line 1 column 50",
		"error following redirect for url (http://127.0.0.1:8081/graphs/council/change)\n   1: too many redirects",
		lost + "invalid HTTP version parsed",
		lost + "invalid HTTP status-code parsed",
		lost + "invalid HTTP header parsed",
		lost + "invalid content-length parsed",
		lost + "message head is too large",
	} {
		for _, write := range []bool{false, true} {
			e := ClassifyExit(Exit{Code: 1, Stderr: "Error: \n   0: " + report + "\n"}, write)
			require.Equal(t, KindProtocol, e.Kind, report)
			require.Equal(t, write, e.Indeterminate, report)
			require.False(t, e.Retryable, report)
		}
	}
	for _, report := range []string{
		"expected `name` at line 1 column 6",
		"invalid number",
		"number out of range: at line 1 column 2",
		"title: recursion limit exceeded at line 1 column 186",
	} {
		e := ClassifyExit(Exit{Code: 1, Stderr: "Error: \n   0: " + report + "\n"}, true)
		require.Equal(t, KindCLIExit, e.Kind, report)
		require.True(t, e.Indeterminate)
	}
}

func TestAStatusWithoutANameIsWhatItIsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, status := range []int{599, 600, 299 + 100, 499} {
		told := "server returned " + strconv.Itoa(status) + " <unknown status code>: "
		for _, write := range []bool{false, true} {
			cli := ClassifyExit(Exit{Code: 1, Stderr: "Error: \n   0: " + told + "\n"}, write)
			http := ClassifyStatus(Answer{Status: status}, write)
			require.Equal(t, http.Kind, cli.Kind, status)
			require.Equal(t, http.Indeterminate, cli.Indeterminate, status)
			require.Equal(t, status, cli.Status)
		}
	}
}
