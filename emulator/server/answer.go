package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// errorBody is the error envelope.
type errorBody struct {
	Error    string                  `json:"error"`
	Code     string                  `json:"code,omitempty"`
	Manifest *graph.ManifestConflict `json:"manifest_conflict,omitempty"`
	ReadSet  *graph.ReadSetConflict  `json:"read_set_conflict,omitempty"`
	Dataset  *graph.DatasetConflict  `json:"published_dataset_version_conflict,omitempty"`
	Key      *graph.KeyConflict      `json:"key_conflict,omitempty"`
	Merge    []graph.MergeConflict   `json:"merge_conflicts,omitempty"`
	Failure  *graph.Precondition     `json:"precondition_failure,omitempty"`
	Recovery *recovery               `json:"recovery_required,omitempty"`
}

type recovery struct {
	OperationID string `json:"operation_id"`
}

func writeError(w http.ResponseWriter, e *graph.Error) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	b := errorBody{
		Error: e.Message, Code: e.Code, Manifest: e.Manifest, ReadSet: e.ReadSet, Dataset: e.Dataset, Key: e.Key, Merge: e.Merge, Failure: e.Precondition,
	}
	if e.Recovery != "" {
		b.Recovery = &recovery{e.Recovery}
	}
	writeJSON(w, e.Status, b)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeBytes(w, status, bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}))
}

// jsonContent is shared by all answers: setting a header from it allocates nothing.
var jsonContent = []string{"application/json"}

func writeBytes(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonContent
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}
