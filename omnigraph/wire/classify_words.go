package wire

import (
	"regexp"
	"strings"
)

// words decides a kind by how a message begins. Messages quote what users stored and wrote, so nothing but the
// beginning, which is omnigraph's own, may decide.
type words struct {
	start *regexp.Regexp
	kind  ErrorKind
}

func begins(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)`) }

// storeWords are states of the store that come with a generic status (409, 5xx) or over the CLI. Their own words may
// follow a short prefix of plain words that names the table; a prefix with a quote in it is a quotation and never matches,
// but for a table's key, which is of the schema's making.
var storeWords = []words{
	{begins(`(?:[A-Za-z0-9_ :./-]{0,80}? )?occ recovery sidecar\b`), KindStoreQuarantined},
	{begins(`(?:(?:storage: )?(?:[A-Za-z0-9_ :./-]|'(?:node|edge):[A-Za-z0-9_]+'){0,80}? )?(?:is |was )?ahead of (?:its |the )?manifest\b`), KindNeedsRepair},
	{begins(`full_text_index_rebuild_required\b`), KindIndexRebuildRequired},
	{begins(`api_contract_mismatch\b`), KindVersionMismatch},
	{begins(`(?:storage: )?(?:storage|internal schema|disk format|schema) version mismatch\b`), KindVersionMismatch},
	{begins(`recovery[_ ]required\b`), KindRecoveryRequired},
	// A write met the leftovers of a crash while another write cleared them away.
	{begins(`storage read failed for '[^'\n]*/__recovery/[^'/\n]+\.json'`), KindRecoveryRequired},
	{begins(`graph_unavailable\b`), KindGraphUnavailable},
	{begins(`graph '[^']*' is (?:not available|unavailable|starting|recovering)\b`), KindGraphUnavailable},
	{begins(`storage: Not found: `), KindNotFound},
	{begins(`storage: Dataset at path \S+ was not found\b`), KindNotFound},
}

// conflictWords tell 409s apart that carry no document.
var conflictWords = []words{
	{begins(`stale view of '`), KindConflictStale},
	{begins(`write authority '`), KindConflictStale},
	{begins(`published_dataset_version_conflict\b`), KindConflictStale},
	{begins(`(?:node|edge) type '[^']*' already has id\b`), KindConflictKey},
	{begins(`merge conflicts?\b`), KindMergeConflict},
}

// unreadableJSON are the words by which the CLI tells of an answer that it can't read as the document that it expects.
// What this client gives it to read is looked at before it starts, and of a load's rows it says that they are.
var unreadableJSON = []string{
	`EOF while parsing an? (?:value|string|object|list)`,
	"expected (?:value|ident|`[^`\n]{1,3}`(?: or `[^`\n]{1,3}`)?)",
	`trailing (?:characters|comma)`,
	`invalid (?:escape|number|unicode code point)`,
	`number out of range`,
	`recursion limit exceeded`,
	`key must be a string`,
	`lone leading surrogate in hex escape`,
	`unexpected end of hex escape`,
	`control character \(\\u0000-\\u001F\) found while parsing a string`,
	"(?:missing|duplicate) field `[A-Za-z0-9_]+`",
	`invalid (?:type|value|length)[: ][^\n]{0,200}`,
	"unknown (?:field|variant) `[^\n]{0,200}",
}

// reportWords are for the CLI, whose error report has the server's message but neither status nor code.
//
// They are tried after conflictWords and storeWords.
var reportWords = []words{
	{begins(`(?:missing|invalid) bearer token\b`), KindUnauthorized},
	{begins(`policy denied action '`), KindForbidden},
	{begins(`stored query (?:'[^']*' )?not found\b`), KindNotFound},
	{begins(`(?:graph|branch|commit|snapshot) '[^']*' (?:not found|does not exist)\b`), KindNotFound},
	{begins(`actor in-flight (?:count|bytes?) cap \d+ exceeded\b`), KindAdmissionCapped},
	{begins(`precondition failed on branch '`), KindPreconditionFailed},
	{begins(`parse error: `), KindBadRequest},
	{begins(`type error: `), KindBadRequest},
	{begins(`param '`), KindBadRequest},
	{begins(`parameter '`), KindBadRequest},
	{begins(`invalid enum value\b`), KindBadRequest},
	{begins(`(?:src|dst) '`), KindBadRequest},
	{begins(`mutation execution called on a read query\b`), KindBadRequest},
	{begins(`read execution called on a mutation\b`), KindBadRequest},
	{begins(`query '[^']*' not found`), KindBadRequest},
	{begins(`'[^']*' is a (?:mutation|read) — use omnigraph (?:mutate|query) `), KindBadRequest},
	{begins(`refusing destructive `), KindBadRequest},
	{begins(`cannot (?:create|delete) branch '`), KindBadRequest},
	{begins(`non-nullable property '`), KindBadRequest},
	{begins(`mutation '[^']*' on the same query mixes `), KindBadRequest},
	{begins(`graph_id '`), KindBadRequest},
	// What a mutation, a load or a merge may not do, and what a query can't be planned or evaluated for.
	{begins(`@[a-z_]+ violation on `), KindBadRequest},
	{begins(`cannot (?:update @key property '|convert )`), KindBadRequest},
	{begins(`node [A-Za-z0-9_]+ (?:missing @key property|has explicit id) '`), KindBadRequest},
	{begins(`branch_merge requires distinct source and target branches\b`), KindBadRequest},
	{begins(`unknown (?:type|table) '`), KindBadRequest},
	{begins(`(?:alias|column) '[^']*' not found (?:for ordering|in wide batch)`), KindBadRequest},
	{begins(`invalid [A-Za-z0-9]+ literal '`), KindBadRequest},
	{begins(`list (?:property '|value )`), KindBadRequest},
	{begins(`unsupported (?:clause|ordering expression|projection expression|statement)\b`), KindBadRequest},
	{begins(`match has a clause whose variables nothing binds`), KindBadRequest},
	{begins(`params must be a JSON object\b`), KindBadRequest},
	{begins(`query file contains multiple queries\b`), KindBadRequest},
	{begins("`[a-z -]+` is a direct \\(storage-native\\) command"), KindUnsupported},
	{begins(`by-name invocation needs a server\b`), KindUnsupported},
	{begins(`server scope '`), KindUnsupported},
	{begins(`Failed to buffer the request body: length limit exceeded`), KindResourceLimit},
	{begins(`Failed to (?:parse|deserialize) the `), KindBadRequest},
	{begins(`invalid stored-query invocation body\b`), KindBadRequest},
	// Rows of a load, which the CLI or the server checks before it writes any.
	{begins(`record \d+: `), KindBadRequest},
	{begins(`invalid JSON at record \d+\b`), KindBadRequest},
	// A file named in the arguments.
	{begins(`(?:No such file or directory|Permission denied|Is a directory) \(os error \d+\)`), KindBadRequest},
	// The CLI got an answer that is not omnigraph's, or only a part of one.
	{begins(`error decoding response body`), KindProtocol},
	{begins(`(?:` + strings.Join(unreadableJSON, "|") + `) at line \d+ column \d+`), KindProtocol},
	{begins(`error following redirect for url \(`), KindProtocol},
	// What is left of the storage layer's words is the server's 500: an operation that failed on an object of the store,
	// as when a restart meets what a crash left, or any other error of it.
	{begins(`storage: `), KindInternal},
	{begins(`storage [a-z_]+ failed for '`), KindInternal},
}

// usageWords are for exit code 2: the arguments were refused and nothing was done.
var usageWords = []words{
	{begins(`error: unexpected argument '`), KindUnsupported},
	{begins(`error: unrecognized subcommand '`), KindUnsupported},
	{begins(`error: invalid value '`), KindBadRequest},
}

func byWords(message string, tables ...[]words) (ErrorKind, bool) {
	message = strings.TrimSpace(message)
	for _, table := range tables {
		for _, w := range table {
			if w.start.MatchString(message) {
				return w.kind, true
			}
		}
	}
	return "", false
}

// codeKinds maps the server's codes that say more than the status does.
var codeKinds = map[string]ErrorKind{
	"graph_unavailable":                  KindGraphUnavailable,
	"recovery_required":                  KindRecoveryRequired,
	"api_contract_mismatch":              KindVersionMismatch,
	"full_text_index_rebuild_required":   KindIndexRebuildRequired,
	"published_dataset_version_conflict": KindConflictStale,
	"key_conflict":                       KindConflictKey,
	"merge_conflict":                     KindMergeConflict,
	"merge_conflicts":                    KindMergeConflict,
	"precondition_failed":                KindPreconditionFailed,
	"resource_limit":                     KindResourceLimit,
	"too_many_requests":                  KindAdmissionCapped,
	"storage_version_mismatch":           KindVersionMismatch,
	"needs_repair":                       KindNeedsRepair,
	"store_quarantined":                  KindStoreQuarantined,
	"unauthorized":                       KindUnauthorized,
	"forbidden":                          KindForbidden,
	"not_found":                          KindNotFound,
	"bad_request":                        KindBadRequest,
}
