package graph

import (
	"fmt"
	"net/http"
)

// Error is a failure that has an HTTP answer: status, code and the server's words.
type Error struct {
	Status  int
	Code    string
	Message string
	// Manifest is set for a lost race of two writers.
	Manifest *ManifestConflict
	// ReadSet takes Manifest's place from API 0.10 on.
	ReadSet *ReadSetConflict
	// Dataset is set from API 0.10 on when another writer published a table first.
	Dataset *DatasetConflict
	// Key is set from API 0.10 on when an appended key is known.
	Key *KeyConflict
	// Merge lists what keeps two branches apart.
	Merge []MergeConflict
	// Precondition is set when a conditional write's expectation did not hold; such an error has no code.
	Precondition *Precondition
	// Recovery is the operation whose recovery a 503 waits for.
	Recovery string
	// RetryAfter is the Retry-After header, in seconds; 0 leaves it out.
	RetryAfter int
}

func (e *Error) Error() string { return e.Message }

// ErrEmptyBranch answers a request that names a branch and leaves the name empty.
var ErrEmptyBranch error = &Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "branch name cannot be empty"}

// ManifestConflict names the table on which two writers met.
type ManifestConflict struct {
	TableKey string `json:"table_key"`
	Expected uint64 `json:"expected"`
	Actual   uint64 `json:"actual"`
}

// ReadSetConflict names the head that moved while a write was prepared.
type ReadSetConflict struct {
	Member   string `json:"member"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

// DatasetConflict names the table that another writer published first.
type DatasetConflict struct {
	EntityKind string `json:"entity_kind"`
	TypeName   string `json:"type_name"`
	Expected   uint64 `json:"expected_published_dataset_version"`
	Actual     uint64 `json:"actual_published_dataset_version"`
}

// KeyConflict names an appended entity that exists.
type KeyConflict struct {
	EntityKind string `json:"entity_kind"`
	TypeName   string `json:"type_name"`
	EntityID   string `json:"entity_id"`
}

// MergeConflict is one row that keeps two branches apart.
type MergeConflict struct {
	TableKey string  `json:"table_key"`
	RowID    *string `json:"row_id"`
	Kind     string  `json:"kind"`
	Message  string  `json:"message"`
}

// Precondition is the head that a conditional write expected and the one that it met.
type Precondition struct {
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func badRequest(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "bad_request", Message: fmt.Sprintf(format, args...)}
}

func typeError(format string, args ...any) *Error {
	return badRequest("type error: "+format, args...)
}

func notFound(format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) *Error {
	return &Error{Status: http.StatusConflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

func internal(format string, args ...any) *Error {
	return &Error{Status: http.StatusInternalServerError, Code: "internal", Message: fmt.Sprintf(format, args...)}
}
