package wire

import (
	"context"
	"encoding/json"
	"time"
)

// Operation is one call as the script asked for it, independent of the transport that carries it.
//
// The zero value of a field means "not given". An Operation is read-only once handed to a transport, which may
// read it from another goroutine.
type Operation struct {
	Op    Op
	Graph string
	// Branch and Snapshot select what is read or written; the server's default is branch main.
	Branch   string
	Snapshot string

	// Text is the .gq source of a query or mutation. TextJSON is the same as an encoded JSON string, prepared
	// once per distinct text; it may be nil.
	Text     string
	TextJSON []byte
	// Name selects one query of Text, or is the stored query's name for OpInvoke.
	Name string
	// Params is a JSON object, or nil.
	Params json.RawMessage
	// Mutation says for OpInvoke that the stored query is known to write (true), known to read (false), or unknown
	// (nil).
	Mutation *bool

	// Data is NDJSON for OpLoad, Mode one of append, merge and overwrite, From the branch to create Branch from.
	// DataFile names a file that the CLI reads in place of Data; over HTTP only Data counts.
	Data     []byte
	DataFile string
	Mode     string
	From     string

	// Source and Target are the branches of OpBranchMerge; Branch is the subject of create and delete.
	Source string
	Target string

	// TypeNames limits OpExport to these node and edge types.
	TypeNames []string
	// Each gets every row of an OpExport as it arrives, from a goroutine of the transport's; an error ends the export.
	// Nil only counts.
	Each func(row string) error
	// IfCommit makes a mutation conditional on the branch's head.
	IfCommit string
	// Keep is the number of versions that OpCleanup leaves.
	Keep int

	// Timeout bounds one attempt, from asking for a connection or process to the last byte of the answer.
	Timeout time.Duration
	// BoundedQueue says that Timeout bounds the wait on the generator's side, too: who asks holds a slot already, for
	// which others may wait likewise.
	BoundedQueue bool
	// MaxOutputBytes bounds what a CLI process may print before it is killed.
	MaxOutputBytes int64
}

// WaitInQueue bounds ctx for the wait on the generator's side, if that is bounded.
func (o *Operation) WaitInQueue(ctx context.Context) (context.Context, context.CancelFunc) {
	if !o.BoundedQueue || o.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, o.Timeout)
}

// MayWrite reports whether this operation can change the store. A stored query known to be a read is one.
func (o *Operation) MayWrite() bool {
	if o.Op == OpInvoke && o.Mutation != nil {
		return *o.Mutation
	}
	return o.Op.IsWrite()
}
