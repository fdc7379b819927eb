// Package operation runs omnigraph's operations on a graph and words their answers, once for the server and for the CLI
// that works on a store itself: both answer with the same documents.
package operation

import (
	"context"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// Caller is who runs operations, on which graph, in the documents of which API generation. Answers are values for
// encoding/json, a read's is its JSON. Errors are the graph's. A Caller is safe for concurrent use.
type Caller struct {
	Store      *graph.Graph
	Generation graph.Generation
	// Actor is the one that answers name; empty is null.
	Actor string
}

// Work is what an operation touched, as the cost model counts it; others were in flight.
func Work(c graph.Cost, others int64) costmodel.Work {
	return costmodel.Work{Fragments: c.Fragments, Rows: c.Rows, Commits: c.Commits, SinceOptimize: c.SinceOptimize, Others: int(max(others, 0))}
}

// Query runs a read; pay hears what it touched before the answer is made, and an error of it ends the call.
func (c Caller) Query(ctx context.Context, q *gq.Query, params graph.Params, t graph.Target, pay func(graph.Cost) error) ([]byte, error) {
	res, err := c.Store.Query(ctx, q, params, t)
	if err != nil {
		return nil, err
	}
	if err := pay(res.Cost); err != nil {
		return nil, err
	}
	return appendRead(make([]byte, 0, len(res.Rows)+256), res, t, c.Generation), nil
}

// Mutate runs a mutation as one commit.
func (c Caller) Mutate(ctx context.Context, q *gq.Query, params graph.Params, w graph.Write) (any, error) {
	res, err := c.Store.Mutate(ctx, q, params, w)
	if err != nil {
		return nil, err
	}
	return mutationJSON(res, c.Actor, c.Generation), nil
}

// Load loads NDJSON as one commit; from is the branch from which a missing one is made.
func (c Caller) Load(ctx context.Context, data string, mode graph.LoadMode, from *string, w graph.Write) (any, error) {
	res, err := c.Store.Load(ctx, data, mode, from, w)
	if err != nil {
		return nil, err
	}
	return loadJSON(c.Store.URI(), res, mode, from, c.Actor, c.Generation), nil
}

// Snapshot lists a branch's tables.
func (c Caller) Snapshot(branch string) (any, error) {
	s, err := c.Store.Snapshot(branch)
	if err != nil {
		return nil, err
	}
	return snapshotJSON(s, c.Generation), nil
}

// Commits is a branch's history.
func (c Caller) Commits(branch string) (any, error) {
	list, err := c.Store.Commits(branch)
	if err != nil {
		return nil, err
	}
	return commitsJSON(list, c.Generation), nil
}

// Commit is one commit.
func (c Caller) Commit(id string) (any, error) {
	commit, err := c.Store.Commit(id)
	if err != nil {
		return nil, err
	}
	return commitJSON(commit, c.Generation), nil
}

// Schema is the graph's `.pg` source.
func (c Caller) Schema() any {
	return struct {
		Source string `json:"schema_source"`
	}{c.Store.SchemaSource()}
}

// Branches lists the branches.
func (c Caller) Branches() any {
	return struct {
		Branches []string `json:"branches"`
	}{c.Store.Branches()}
}

// CreateBranch makes a branch that starts where another one is.
func (c Caller) CreateBranch(ctx context.Context, name, from string) (any, error) {
	if err := c.Store.CreateBranch(ctx, name, from); err != nil {
		return nil, err
	}
	return struct {
		URI   string   `json:"uri"`
		From  string   `json:"from"`
		Name  string   `json:"name"`
		Actor nullable `json:"actor_id"`
	}{c.Store.URI(), from, name, nullable(c.Actor)}, nil
}

// DeleteBranch removes a branch.
func (c Caller) DeleteBranch(ctx context.Context, name string) (any, error) {
	if err := c.Store.DeleteBranch(ctx, name); err != nil {
		return nil, err
	}
	return struct {
		URI   string   `json:"uri"`
		Name  string   `json:"name"`
		Actor nullable `json:"actor_id"`
	}{c.Store.URI(), name, nullable(c.Actor)}, nil
}

// MergeBranch brings source into the branch of w.
func (c Caller) MergeBranch(ctx context.Context, source string, w graph.Write) (any, error) {
	outcome, err := c.Store.MergeBranch(ctx, source, w)
	if err != nil {
		return nil, err
	}
	return struct {
		Source  string             `json:"source"`
		Target  string             `json:"target"`
		Outcome graph.MergeOutcome `json:"outcome"`
		Actor   nullable           `json:"actor_id"`
	}{source, w.Branch, outcome, nullable(c.Actor)}, nil
}
