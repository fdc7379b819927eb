package graph

import (
	"context"
	"slices"
	"strings"
)

// LoadMode says what happens to rows that exist.
type LoadMode string

// The modes.
const (
	Overwrite LoadMode = "overwrite"
	Append    LoadMode = "append"
	Merge     LoadMode = "merge"
)

// LoadModes lists the modes in the order in which messages name them.
var LoadModes = []LoadMode{Overwrite, Append, Merge}

// LoadedTable is how many rows a load gave one table.
type LoadedTable struct {
	Key  string
	Name string
	Edge bool
	Rows int
}

// LoadResult is a load's answer.
type LoadResult struct {
	Branch        string
	BranchCreated bool
	Tables        []LoadedTable
	Commit        *Commit
}

// Load reads NDJSON into a branch as one commit. With from, a branch that is not there is made
// from that one first.
func (g *Graph) Load(ctx context.Context, data string, mode LoadMode, from *string, w Write) (*LoadResult, error) {
	res := &LoadResult{Branch: w.branchName()}
	known := slices.Contains(g.Branches(), res.Branch) // as written: unlike everything else, a load trims no name
	switch {
	case known:
	case from == nil || *from == "":
		return nil, NoBranchToLoad(res.Branch, from)
	default:
		if err := g.CreateBranch(ctx, res.Branch, *from); err != nil {
			return nil, err
		}
		res.BranchCreated = true
	}
	b, err := g.branch(res.Branch)
	if err != nil {
		return nil, err
	}
	m := g.newMutation(b.head, nil)
	counts, err := newLoader(m, mode).load(data)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		s := &g.specs[i]
		res.Tables = append(res.Tables, LoadedTable{Key: s.key, Name: s.name, Edge: s.edge != nil, Rows: n})
	}
	slices.SortFunc(res.Tables, func(a, b LoadedTable) int { return strings.Compare(a.Key, b.Key) })
	m.always = true
	res.Commit, err = g.write(ctx, w, m)
	return res, err
}

// NoBranchToLoad is the error of a load into a branch that is not there and can't be made from the given one.
func NoBranchToLoad(branch string, from *string) error {
	if from != nil {
		return ErrEmptyBranch
	}
	return notFound("branch '%s' not found; pass `from` to create it", branch)
}
