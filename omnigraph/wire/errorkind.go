package wire

// ErrorKind says what went wrong, from one closed list that results, the error_kind tag and index.d.ts share.
type ErrorKind string

// The error kinds; [KindTable] tells what each means.
const (
	KindUnauthorized         ErrorKind = "unauthorized"
	KindForbidden            ErrorKind = "forbidden"
	KindNotFound             ErrorKind = "not_found"
	KindGraphUnavailable     ErrorKind = "graph_unavailable"
	KindBadRequest           ErrorKind = "bad_request"
	KindConflictStale        ErrorKind = "conflict_stale"
	KindConflictKey          ErrorKind = "conflict_key"
	KindConflict             ErrorKind = "conflict"
	KindMergeConflict        ErrorKind = "merge_conflict"
	KindPreconditionFailed   ErrorKind = "precondition_failed"
	KindAdmissionCapped      ErrorKind = "admission_capped"
	KindResourceLimit        ErrorKind = "resource_limit"
	KindRecoveryRequired     ErrorKind = "recovery_required"
	KindNeedsRepair          ErrorKind = "needs_repair"
	KindStoreQuarantined     ErrorKind = "store_quarantined"
	KindVersionMismatch      ErrorKind = "version_mismatch"
	KindIndexRebuildRequired ErrorKind = "index_rebuild_required"
	KindUnavailable          ErrorKind = "unavailable"
	KindConnect              ErrorKind = "connect"
	KindTimeout              ErrorKind = "timeout"
	KindCanceled             ErrorKind = "canceled"
	KindProtocol             ErrorKind = "protocol"
	KindSpawnFailed          ErrorKind = "spawn_failed"
	KindCLIExit              ErrorKind = "cli_exit"
	KindCLISignal            ErrorKind = "cli_signal"
	KindOutputLimit          ErrorKind = "output_limit"
	KindUnsupported          ErrorKind = "unsupported"
	KindInternal             ErrorKind = "internal"
)

// KindTraits is what a caller needs to know about an error kind to decide on it.
type KindTraits struct {
	Kind ErrorKind
	// Retryable says that the same operation may succeed if it is sent again unchanged.
	Retryable bool
	// Unknown says that a write that ended this way may or may not have been done. For connect it holds only once
	// the request was sent; [Error.Indeterminate] has the verdict for one error.
	Unknown bool
	// HTTP and CLI tell what leads to the kind on each transport.
	HTTP, CLI string
	// Meaning is one sentence for the documentation.
	Meaning string
}

var kindTable = []KindTraits{
	{Kind: KindUnauthorized, HTTP: "401", CLI: "`missing bearer token`, `invalid bearer token`", Meaning: "The token is missing or unknown to the server."},
	{Kind: KindForbidden, HTTP: "403", CLI: "`policy denied action`", Meaning: "The policy does not allow the action to the token's actor."},
	{Kind: KindNotFound, HTTP: "404 with a body; 500 `storage: Not found:`", CLI: "`graph '…' not found`, `branch '…' not found`, `commit '…' not found`, `stored query not found`, `storage: Not found:`", Meaning: "The graph, branch, commit or stored query is not there, or the actor may not see it."},
	{Kind: KindGraphUnavailable, Retryable: true, HTTP: "503 with code graph_unavailable", CLI: "the same code or words", Meaning: "The server knows the graph but does not serve it yet."},
	{Kind: KindBadRequest, HTTP: "400, 411, 414, 415, 422, other 4xx", CLI: "`parse error:`, `type error:`, `param '…'`, `parameter '…'`, `record 1: …`, `@unique violation`, `No such file or directory`, …", Meaning: "The query, a parameter or the request itself is wrong. Also raised before sending: parameters that don't fit the query's header, names that would lead to another route (`..`), rows that are not UTF-8, a branch and a snapshot in one read."},
	{Kind: KindConflictStale, Retryable: true, HTTP: "409 with manifest_conflict, read_set_conflict or a stale-view message", CLI: "`stale view of`, `write authority … reprepare`", Meaning: "Another writer committed first; refresh and retry."},
	{Kind: KindConflictKey, HTTP: "409 with key_conflict", CLI: "`node type '…' already has id`", Meaning: "A row with this key exists already."},
	{Kind: KindConflict, HTTP: "409 of another kind", CLI: "-", Meaning: "A conflict that this version of the client does not know."},
	{Kind: KindMergeConflict, HTTP: "409 with merge_conflicts", CLI: "`merge conflict`", Meaning: "The branches changed the same rows."},
	{Kind: KindPreconditionFailed, HTTP: "412", CLI: "exit 4, `precondition failed`", Meaning: "The branch's head is not the commit that the conditional mutation named."},
	{Kind: KindAdmissionCapped, Retryable: true, HTTP: "429", CLI: "exit 75, `actor in-flight … cap … exceeded`", Meaning: "The actor has too many mutations in flight: a policy of the server, not its capacity."},
	{Kind: KindResourceLimit, HTTP: "413, 507", CLI: "`… length limit exceeded`", Meaning: "The request is larger than the server takes."},
	{Kind: KindRecoveryRequired, Retryable: true, Unknown: true, HTTP: "503 with recovery_required; 500 `storage read failed for '…/__recovery/…'`", CLI: "`recovery required`, `storage read failed for '…/__recovery/…'`", Meaning: "The server has to recover an interrupted write first; whether this write was done is unknown."},
	{Kind: KindNeedsRepair, Unknown: true, HTTP: "5xx or 409 `… ahead of manifest`", CLI: "the same words", Meaning: "The store's head is ahead of its manifest: run `omnigraph repair`."},
	{Kind: KindStoreQuarantined, Unknown: true, HTTP: "5xx or 409 `occ recovery sidecar …`", CLI: "the same words", Meaning: "The server took the store out of service: an operator has to look at it."},
	{Kind: KindVersionMismatch, HTTP: "400 with api_contract_mismatch; 5xx `storage version mismatch`", CLI: "the same code or words", Meaning: "Client, server or store are of versions that don't fit."},
	{Kind: KindIndexRebuildRequired, HTTP: "409 with full_text_index_rebuild_required", CLI: "the same code", Meaning: "A full-text index has to be rebuilt before this can work."},
	{Kind: KindUnavailable, Retryable: true, HTTP: "503; 502 and 504 (outcome of a write unknown)", CLI: "`server returned 503 …`", Meaning: "The server or a gateway before it can't answer now."},
	{Kind: KindConnect, Retryable: true, Unknown: true, HTTP: "refused, reset, DNS, TLS", CLI: "`error sending request for url`, of another cause than protocol's", Meaning: "The connection could not be made, or broke. Once a write was sent its outcome is unknown."},
	{Kind: KindTimeout, Retryable: true, Unknown: true, HTTP: "no answer within timeout; 408", CLI: "process killed after timeout", Meaning: "No answer within the operation's timeout."},
	{Kind: KindCanceled, Unknown: true, HTTP: "the iteration ended", CLI: "the iteration ended, process killed", Meaning: "The iteration or the test ended before the answer came."},
	{Kind: KindProtocol, Unknown: true, HTTP: "2xx whose body is cut off or not the expected document; 3xx; 101; what is not HTTP", CLI: "exit 0 without one document of the expected shape, or with rows whose output has no end; `error decoding response body`, `expected value at line …`, `missing field … at line …` and such; `error sending request for url … invalid HTTP …`", Meaning: "The answer is not omnigraph's: malformed, truncated or of another shape."},
	{Kind: KindSpawnFailed, HTTP: "-", CLI: "the process could not be started", Meaning: "The CLI is missing, not executable, or the system has no resources for it."},
	{Kind: KindCLIExit, Unknown: true, HTTP: "-", CLI: "any other non-zero exit", Meaning: "The CLI failed for a reason that it does not tell in known words."},
	{Kind: KindCLISignal, Unknown: true, HTTP: "-", CLI: "death by signal", Meaning: "The CLI was killed by a signal that this client did not send."},
	{Kind: KindOutputLimit, Unknown: true, HTTP: "-", CLI: "more output than maxOutputBytes", Meaning: "The CLI printed too much and was killed."},
	{Kind: KindUnsupported, HTTP: "404 or 405 with an empty body, 501", CLI: "before anything is started; exit 2 `unexpected argument`, `unrecognized subcommand`; `server returned 404 Not Found: ` without a body", Meaning: "This transport or this server does not have the operation; the message names who has."},
	{Kind: KindInternal, Unknown: true, HTTP: "500, other 5xx", CLI: "`server returned 500 …` and other 5xx, `storage: …`, `storage … failed for '…'`", Meaning: "The server failed; whether a write was done is unknown."},
}

var kindIndex = func() map[ErrorKind]*KindTraits {
	m := make(map[ErrorKind]*KindTraits, len(kindTable))
	for i := range kindTable {
		m[kindTable[i].Kind] = &kindTable[i]
	}
	return m
}()

// KindTable lists every error kind with its traits, in a fixed order. The caller owns the returned slice.
func KindTable() []KindTraits { return append([]KindTraits(nil), kindTable...) }

// Known reports whether the kind is one of the closed list.
func (k ErrorKind) Known() bool { return kindIndex[k] != nil }

// Retryable reports whether the same operation may succeed if sent again unchanged.
func (k ErrorKind) Retryable() bool { t := kindIndex[k]; return t != nil && t.Retryable }
