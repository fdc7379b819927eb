package omnigraph

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/types"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"golang.org/x/net/http/httpguts"
)

// optionSpec describes one option; index.d.ts, the documentation and the parser share the table.
type optionSpec struct {
	Name    string
	Takes   string // what it takes, in words for errors and documentation
	Default string
	// Where it may be given.
	HTTP, CLI, Call bool
	// Ops limits a per-call option to some operations; empty means all.
	Ops     []wire.Op
	Meaning string
	set     func(s *settings, v sobek.Value, rt *sobek.Runtime) error
}

// settings are the options in force for a client or one call.
type settings struct {
	url, server, store, bin, home string
	graph                         string
	tokens                        []string
	tokensFile                    string
	branch, snapshot              string
	name                          string
	tags                          map[string]string
	timeout                       time.Duration
	throws                        bool
	retry                         retryPolicy
	apiVersion                    string
	headers                       map[string]string
	shared                        bool
	maxConnections                int
	sized                         bool // maxConnections was given
	args                          []string
	env                           map[string]string
	maxProcesses                  int
	maxOutputBytes                int64
	checkParams                   bool

	// Per call only.
	mode, from, target, ifCommit string
	keep                         int
	types                        []string
	maxRows, maxBytes            int
}

const (
	defaultTimeout        = 60 * time.Second
	defaultMaxConnections = 100
	defaultMaxProcesses   = 64
	defaultMaxOutput      = 64 << 20
	// maxDurationOption is more than any operation or level of a load test takes; beyond it is a slip of the unit.
	maxDurationOption = 24 * time.Hour
)

func defaultSettings() settings {
	return settings{
		timeout: defaultTimeout, maxConnections: defaultMaxConnections, maxOutputBytes: defaultMaxOutput,
		bin: "omnigraph", checkParams: true, maxRows: defaultMaxRows, maxBytes: defaultMaxBytes,
	}
}

var optionTable = []optionSpec{
	{Name: "url", Takes: "an http:// or https:// address", HTTP: true, Meaning: "The server's address. A user and password in it are sent as Basic authorization where there is no token.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.url, v) }},
	{Name: "server", Takes: "an http:// or https:// address", CLI: true, Meaning: "The server that the CLI talks to. A user or password in it is refused: other users of the machine could read it in the list of processes.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.server, v) }},
	{Name: "store", Takes: "a local path, file:// or s3:// address", CLI: true, Meaning: "The graph's storage, for the CLI without a server, and for optimize, cleanup and repair. A user or password in it is refused, as in server; the CLI takes AWS_ACCESS_KEY_ID and the like from the environment.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.store, v) }},
	{Name: "graph", Takes: "a graph's id", HTTP: true, CLI: true, Call: true, Meaning: "The graph on the server.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.graph, v) }},
	{Name: "token", Takes: takesToken, HTTP: true, CLI: true, Call: true, Meaning: "The bearer token. A list spreads the load over several actors.", set: setTokens},
	{Name: "tokensFile", Takes: takesTokensFile, HTTP: true, CLI: true, Meaning: "Where the tokens are, in place of token: each VU takes its own, in the order of the actors' names. Read in the init context, as open() reads.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.tokensFile, v) }},
	{Name: "branch", Takes: "a branch's name", Default: "the server's: main", HTTP: true, CLI: true, Call: true, Meaning: "The branch that is read or written.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.branch, v) }},
	{Name: "snapshot", Takes: "a commit's id", HTTP: true, CLI: true, Call: true, Ops: []wire.Op{wire.OpQuery, wire.OpInvoke}, Meaning: "Reads the graph as of this commit.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setCommit(&s.snapshot, v) }},
	{Name: "name", Takes: "a string", Default: "the query's own name, else the operation", Call: true, Meaning: "The value of the tags query (of queries and mutations) and name (of the http_* metrics), so that series stay few.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.name, v) }},
	{Name: "tags", Takes: "an object of strings, numbers and booleans", HTTP: true, CLI: true, Call: true, Meaning: "Further tags on every sample of the operation. " + ownTagsWords(), set: setTags},
	{Name: "timeout", Takes: "milliseconds or a duration such as '30s', above 0 and at most 24h", Default: "60s", HTTP: true, CLI: true, Call: true, Meaning: "Bounds one attempt.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setDuration(&s.timeout, v, true) }},
	{Name: "throw", Takes: "true or false", Default: "false", HTTP: true, CLI: true, Call: true, Meaning: "Throws an error instead of returning a failed result.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setBool(&s.throws, v) }},
	{Name: "retry", Takes: "an object {maxAttempts, maxElapsed, baseDelay, maxDelay, budget, kinds, indeterminate}, or false", Default: "false", HTTP: true, CLI: true, Call: true, Meaning: "Repeats failed attempts. budget is in retries per operation, for each error kind, beyond an allowance of 10 at the start.", set: setRetry},
	{Name: "checkParams", Takes: "true or false", Default: "true", HTTP: true, CLI: true, Call: true, Meaning: "Holds parameters against the query's own header before sending; those of a stored query against the server's catalog, which is read once, over HTTP, where the token may: before the first operation that needs it, and no part of its duration or samples.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setBool(&s.checkParams, v) }},
	{Name: "apiVersion", Takes: "'auto' or a version such as '0.13'", Default: "auto", HTTP: true, Meaning: "The version of the server's HTTP contract. auto sends none until the server asks for one.", set: setAPIVersion},
	{Name: "headers", Takes: "an object of strings", HTTP: true, Meaning: "Further headers on every request. Not Content-Type, Content-Length or Transfer-Encoding; a token and apiVersion go before headers of their own.", set: setHeaders},
	{Name: "pool", Takes: "'vu' or 'shared'", Default: "vu", HTTP: true, Meaning: "The VU's own connections, or one pool for the process and server, as a service would have.", set: setPool},
	{Name: "maxConnections", Takes: "a whole number from 1 to 65535", Default: "100", HTTP: true, Meaning: "The size of the shared pool. Refused without pool: 'shared'.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error {
		s.sized = true
		return setInt(&s.maxConnections, v, 1, 65535)
	}},
	{Name: "bin", Takes: "the path or name of the omnigraph CLI", Default: "omnigraph, from PATH", CLI: true, Meaning: "The program that is started for each call.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.bin, v) }},
	{Name: "args", Takes: "a list of strings", CLI: true, Meaning: "Further arguments for every call.", set: func(s *settings, v sobek.Value, rt *sobek.Runtime) error { return setStrings(&s.args, v, rt) }},
	{Name: "env", Takes: "an object of strings", CLI: true, Meaning: "Further environment variables for the process.", set: func(s *settings, v sobek.Value, rt *sobek.Runtime) error { return setStringMap(&s.env, v, rt) }},
	{Name: "home", Takes: "a folder", Default: "an empty one", CLI: true, Meaning: "OMNIGRAPH_HOME of the process.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.home, v) }},
	{Name: "maxProcesses", Takes: "a whole number from 1 to 65535", Default: "64", CLI: true, Meaning: "How many CLI processes may run at once in this k6; more wait, which omnigraph_queued shows. One number for the whole k6.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error {
		return setInt(&s.maxProcesses, v, 1, 65535)
	}},
	{Name: "maxOutputBytes", Takes: "a whole number of bytes from 1024 to 1099511627776", Default: "67108864", CLI: true, Call: true, Meaning: "What one process may print before it is killed.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error {
		return setInt64(&s.maxOutputBytes, v, 1024, 1<<40)
	}},
	{Name: "mode", Takes: "'append', 'merge' or 'overwrite'", Default: "append", Call: true, Ops: []wire.Op{wire.OpLoad}, Meaning: "How load treats rows that are there already.", set: setMode},
	{Name: "from", Takes: "a branch's name", Call: true, Ops: []wire.Op{wire.OpLoad, wire.OpBranchCreate}, Meaning: "The branch from which a new one is made.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.from, v) }},
	{Name: "target", Takes: "a branch's name", Default: "main", Call: true, Ops: []wire.Op{wire.OpBranchMerge}, Meaning: "The branch that is merged into.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setText(&s.target, v) }},
	{Name: "ifCommit", Takes: "a commit's id", Call: true, Ops: []wire.Op{wire.OpMutate}, Meaning: "Makes the mutation conditional on the branch's head (servers from 0.10).", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setCommit(&s.ifCommit, v) }},
	{Name: "maxRows", Takes: "a whole number from 1 to 1000000", Default: "500", Call: true, Ops: []wire.Op{scopeMutateMany}, Meaning: "How many rows mutateMany puts into one commit.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error {
		return setInt(&s.maxRows, v, 1, 1_000_000)
	}},
	{Name: "maxBytes", Takes: "a whole number of bytes from 1024 to 1073741824", Default: "900000", Call: true, Ops: []wire.Op{scopeMutateMany}, Meaning: "How large one request of mutateMany may be; a server of 0.8 takes 1 MB.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error {
		return setInt(&s.maxBytes, v, 1024, 1<<30)
	}},
	{Name: "keep", Takes: "a whole number from 1 to 2147483647", Call: true, Ops: []wire.Op{wire.OpCleanup}, Meaning: "How many versions cleanup leaves.", set: func(s *settings, v sobek.Value, _ *sobek.Runtime) error { return setInt(&s.keep, v, 1, math.MaxInt32) }},
	{Name: "types", Takes: "a list of node and edge types", Call: true, Ops: []wire.Op{wire.OpExport}, Meaning: "What export writes; all without it.", set: func(s *settings, v sobek.Value, rt *sobek.Runtime) error { return setStrings(&s.types, v, rt) }},
}

var optionIndex = func() map[string]*optionSpec {
	m := make(map[string]*optionSpec, len(optionTable))
	for i := range optionTable {
		m[optionTable[i].Name] = &optionTable[i]
	}
	return m
}()

// optionError is a bad option: which one, what it got, and what it takes.
type optionError struct {
	where, name, got, takes string
	reason                  string
}

// Error implements error.
func (e *optionError) Error() string {
	s := fmt.Sprintf("%s: option %s", e.where, e.name)
	switch {
	case e.reason != "":
		s += " " + e.reason
	default:
		s += " got " + e.got + "; it takes " + e.takes
	}
	return s
}

// scope says where options were given: to a client's constructor or to one call.
type scope struct {
	where     string
	transport string
	op        wire.Op // empty for a constructor
}

// apply reads an options object into the settings. Unknown options are errors.
func (s *settings) apply(rt *sobek.Runtime, sc scope, v sobek.Value) error {
	if common.IsNullish(v) {
		return nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return fmt.Errorf("%s: options got %s; they take an object", sc.where, describe(v))
	}
	for _, name := range o.Keys() {
		spec := optionIndex[name]
		if spec == nil || !spec.allowed(sc) {
			return &optionError{where: sc.where, name: name, reason: "is not known here; known are " + strings.Join(allowedOptions(sc), ", ")}
		}
		value := o.Get(name)
		if value == nil || sobek.IsUndefined(value) {
			continue // as if it were not there: scripts pass unset environment variables along
		}
		if err := spec.set(s, value, rt); err != nil {
			got := describe(value)
			if name == "token" {
				got = "a value of another type" // never the token itself
			}
			e := &optionError{where: sc.where, name: name, got: got, takes: spec.Takes}
			if err != errWrongType { //nolint:errorlint // a sentinel of this file, never wrapped
				e.reason = err.Error()
			}
			return e
		}
	}
	return nil
}

func (spec *optionSpec) allowed(sc scope) bool {
	if sc.op == "" {
		if sc.transport == wire.TransportHTTP {
			return spec.HTTP
		}
		return spec.CLI
	}
	if !spec.Call {
		return false
	}
	return len(spec.Ops) == 0 || slices.Contains(spec.Ops, sc.op)
}

func allowedOptions(sc scope) []string {
	var names []string
	for i := range optionTable {
		if optionTable[i].allowed(sc) {
			names = append(names, optionTable[i].Name)
		}
	}
	sort.Strings(names)
	return names
}

const takesToken = "a string, or a list of strings of which each VU takes its own" // #nosec G101 -- words for the option, no token

// errWrongType asks for the standard text: what the option got and what it takes.
var errWrongType = fmt.Errorf("wrong type")

// setText takes null and an empty string as if the option were not there: a call's own never undoes the client's.
func setText(to *string, v sobek.Value) error {
	if sobek.IsNull(v) {
		return nil
	}
	s, ok := v.Export().(string)
	if !ok {
		return errWrongType
	}
	if s == "" {
		return nil
	}
	if strings.ContainsAny(s, "\x00\r\n") {
		return fmt.Errorf("holds a control character")
	}
	if at, bad := loneSurrogateIn(s, v); bad {
		return fmt.Errorf("holds a lone surrogate (half of a UTF-16 pair) at position %d", at)
	}
	*to = s
	return nil
}

// setCommit takes no stand-in for a commit that somebody did not get: without its condition a write would be done, and a
// read would be of something else.
func setCommit(to *string, v sobek.Value) error {
	if sobek.IsNull(v) || v.Export() == "" {
		return errWrongType
	}
	return setText(to, v)
}

func setBool(to *bool, v sobek.Value) error {
	b, ok := v.Export().(bool)
	if !ok {
		return errWrongType
	}
	*to = b
	return nil
}

func setInt(to *int, v sobek.Value, low, high int) error {
	var n int64
	if err := setInt64(&n, v, int64(low), int64(high)); err != nil {
		return err
	}
	*to = int(n)
	return nil
}

func setInt64(to *int64, v sobek.Value, low, high int64) error {
	switch n := v.Export().(type) {
	case int64:
		if n < low || n > high {
			return errWrongType
		}
		*to = n
	case float64:
		if n != math.Trunc(n) || n < float64(low) || n > float64(high) {
			return errWrongType
		}
		*to = int64(n)
	default:
		return errWrongType
	}
	return nil
}

func setDuration(to *time.Duration, v sobek.Value, positive bool) error {
	switch v.Export().(type) {
	case string, int64, float64:
	default:
		return errWrongType
	}
	if f, ok := v.Export().(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) > 1e12) {
		return errWrongType
	}
	d, err := types.GetDurationValue(v.Export())
	if err != nil || d < 0 || positive && d == 0 || d > maxDurationOption {
		return errWrongType
	}
	*to = d
	return nil
}

func setStrings(to *[]string, v sobek.Value, rt *sobek.Runtime) error {
	o, ok := v.(*sobek.Object)
	if !ok || !isArray(o) {
		return errWrongType
	}
	var list []any
	if err := rt.ExportTo(o, &list); err != nil {
		return errWrongType
	}
	out := make([]string, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			return fmt.Errorf("has %s at position %d of its list; it takes a list of strings", describe(rt.ToValue(e)), i)
		}
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("has a NUL character in the string at position %d of its list", i)
		}
		out[i] = s
	}
	*to = out
	return nil
}

func setStringMap(to *map[string]string, v sobek.Value, _ *sobek.Runtime) error {
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return errWrongType
	}
	out := make(map[string]string, len(o.Keys()))
	for _, k := range o.Keys() {
		s, ok := o.Get(k).Export().(string)
		if !ok || strings.ContainsAny(s+k, "\x00\r\n") {
			return fmt.Errorf("has the member %q that is not a string of one line; it takes an object of strings", k)
		}
		out[k] = s
	}
	*to = out
	return nil
}

// ownTags are those that the extension sets itself. A script's tag of the same name would be on the http_* metrics and not
// on the extension's.
var ownTags = []string{"transport", "op", "query", "graph", "variant", "ok", "error_kind", "entity", "pair"}

func ownTagsWords() string {
	return "Not " + strings.Join(ownTags[:len(ownTags)-1], ", ") + " or " + ownTags[len(ownTags)-1] + ", which the extension sets itself. A name replaces that of the http_* metrics, as with k6/http."
}

// ownHeaders are of the request's body, which the client makes.
var ownHeaders = []string{"Content-Type", "Content-Length", "Transfer-Encoding"}

// setHeaders takes what net/http would send; what it would not fails there only with the first request.
func setHeaders(s *settings, v sobek.Value, rt *sobek.Runtime) error {
	var headers map[string]string
	if err := setStringMap(&headers, v, rt); err != nil {
		return err
	}
	for name, value := range headers {
		if slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("has the member %q, which the client sets itself", name)
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("has the member %q, which is no name of a header; one takes letters, digits and !#$%%&'*+-.^_`|~", name)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("has the member %q with a control character in its value", name)
		}
	}
	s.headers = headers
	return nil
}

func setTags(s *settings, v sobek.Value, _ *sobek.Runtime) error {
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return errWrongType
	}
	merged := make(map[string]string, len(s.tags)+len(o.Keys()))
	for k, t := range s.tags {
		merged[k] = t
	}
	for _, k := range o.Keys() {
		if slices.Contains(ownTags, k) {
			return fmt.Errorf("has the member %q, which is a tag of the extension's own; take another name", k)
		}
		value := o.Get(k)
		if f, ok := exportedFloat(value); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return fmt.Errorf("has the member %q with %s; it takes an object of strings, numbers and booleans", k, value)
		}
		switch value.Export().(type) {
		case string, bool, int64, float64:
			merged[k] = value.String()
		default:
			return fmt.Errorf("has the member %q with %s; it takes an object of strings, numbers and booleans", k, describe(value))
		}
	}
	s.tags = merged
	return nil
}

func setTokens(s *settings, v sobek.Value, rt *sobek.Runtime) error {
	var list []string
	if text, ok := v.Export().(string); ok {
		list = []string{text}
	} else if sobek.IsNull(v) {
		s.tokens = nil
		return nil
	} else if err := setStrings(&list, v, rt); err != nil {
		return errWrongType // an element is not quoted: it may be a token
	} else if len(list) == 0 {
		return fmt.Errorf("got an empty list; it takes %s", takesToken)
	}
	for i, t := range list {
		if strings.ContainsAny(t, "\x00\r\n") {
			return fmt.Errorf("holds a control character")
		}
		if t == "" && len(list) > 1 {
			return fmt.Errorf("has an empty string at position %d of its list; it takes %s", i, takesToken)
		}
	}
	s.tokens = list
	return nil
}

func setAPIVersion(s *settings, v sobek.Value, _ *sobek.Runtime) error {
	text, ok := v.Export().(string)
	if !ok {
		return errWrongType
	}
	if text == "auto" {
		s.apiVersion = ""
		return nil
	}
	digits := strings.ReplaceAll(text, ".", "")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return errWrongType
	}
	s.apiVersion = text
	return nil
}

func setPool(s *settings, v sobek.Value, _ *sobek.Runtime) error {
	switch v.Export() {
	case "vu":
		s.shared = false
	case "shared":
		s.shared = true
	default:
		return errWrongType
	}
	return nil
}

func setMode(s *settings, v sobek.Value, _ *sobek.Runtime) error {
	switch v.Export() {
	case "append", "merge", "overwrite":
		s.mode = v.String()
		return nil
	}
	return errWrongType
}

// isArray is Array.isArray: k6's own lists may be proxies.
func isArray(o *sobek.Object) bool {
	if o.ClassName() == "Array" {
		return true
	}
	if o.ExportType() != proxyType {
		return false
	}
	proxy, _ := o.Export().(sobek.Proxy)
	target := proxy.Target()
	return target != nil && isArray(target)
}

var proxyType = reflect.TypeFor[sobek.Proxy]()

func isFunction(v sobek.Value) bool {
	_, ok := sobek.AssertFunction(v)
	return ok
}

// describe says for an error what a value is, without long texts.
func describe(v sobek.Value) string {
	switch {
	case v == nil || sobek.IsUndefined(v):
		return "undefined"
	case sobek.IsNull(v):
		return "null"
	case isFunction(v):
		return "a function"
	}
	if o, ok := v.(*sobek.Object); ok {
		if isArray(o) {
			return "a list"
		}
		return "an object"
	}
	const limit = 60
	s := v.String()
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	if _, ok := v.Export().(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return s
}
