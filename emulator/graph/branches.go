package graph

import (
	"context"
	"slices"
	"strings"
	"unicode"
)

// checkBranchName finds what storage has against a branch's name, in its order and words.
func (g *Graph) checkBranchName(name string) error {
	invalid := func(what string) error { return internal("storage: Ref is invalid: %s", what) }
	segments := strings.Split(name, "/")
	for _, s := range segments {
		if s == "." || s == ".." {
			return internal("storage: LanceError(IO): Error parsing Path %[1]q: Encountered illegal character sequence %[2]q whilst parsing path segment %[2]q", g.opts.URI+"/__manifest/tree/"+name, s)
		}
	}
	switch {
	case strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/"):
		return invalid("Branch name cannot start or end with a '/'")
	case strings.Contains(name, "//"):
		return invalid("Branch name cannot contain consecutive '/'")
	case strings.Contains(name, "..") || strings.Contains(name, `\`):
		return invalid(`Branch name cannot contain '..' or '\'`)
	case strings.HasSuffix(name, ".lock"):
		return invalid("Branch name cannot end with '.lock'")
	}
	bad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(".-_", r)
	}
	for _, s := range segments {
		if strings.ContainsFunc(s, bad) {
			return invalid("Branch segment '" + s + "' contains invalid characters. Only alphanumeric, '.', '-', '_' are allowed.")
		}
	}
	return nil
}

// CreateBranch makes a branch that starts where from is. It copies nothing.
func (g *Graph) CreateBranch(ctx context.Context, name, from string) error {
	name, from = strings.TrimSpace(name), strings.TrimSpace(from)
	switch {
	case name == "" || from == "":
		return ErrEmptyBranch
	case name == MainBranch:
		return badRequest("cannot create branch 'main'")
	}
	if err := g.checkBranchName(name); err != nil {
		return err
	}
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	if _, err := g.branch(from); err != nil {
		return err
	}
	if _, err := g.branch(name); err == nil {
		return internal("storage: Encountered internal error. Please file a bug report at https://github.com/lance-format/lance/issues. Clone operation should not enter build_manifest.")
	}
	if g.log != nil {
		if err := g.log.append(encodeBranch(recordCreateBranch, name, from), g.opts.Sync); err != nil {
			return err
		}
	}
	return g.fork(name, from)
}

func (g *Graph) fork(name, from string) error {
	base, err := g.branch(from)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// Clipped: the parent goes on to append behind what it shares with its fork.
	g.branches[name] = &branch{name: name, head: base.head, parent: from, history: slices.Clip(base.history)}
	return nil
}

// DeleteBranch removes a branch from which no other one was made.
func (g *Graph) DeleteBranch(ctx context.Context, name string) error {
	name = strings.TrimSpace(name)
	if name == MainBranch {
		return badRequest("cannot delete branch 'main'")
	}
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	if _, err := g.branch(name); err != nil {
		return notFound("branch '%s' not found", name)
	}
	g.mu.RLock()
	for _, b := range g.branches {
		if b.parent == name {
			g.mu.RUnlock()
			return conflict("cannot delete branch '%s' because descendant branch '%s' still depends on it", name, b.name)
		}
	}
	g.mu.RUnlock()
	if g.log != nil {
		if err := g.log.append(encodeBranch(recordDeleteBranch, name, ""), g.opts.Sync); err != nil {
			return err
		}
	}
	g.dropBranch(name)
	return nil
}

func (g *Graph) dropBranch(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.branches, name)
}

// MergeOutcome says what a merge did.
type MergeOutcome string

// The outcomes.
const (
	UpToDate    MergeOutcome = "already_up_to_date"
	FastForward MergeOutcome = "fast_forward"
	Merged      MergeOutcome = "merged"
)

// MergeBranch brings the commits of source into the target of w.
func (g *Graph) MergeBranch(ctx context.Context, source string, w Write) (MergeOutcome, error) {
	source, w.Branch = strings.TrimSpace(source), strings.TrimSpace(w.branchName())
	if source == "" || w.Branch == "" {
		return "", ErrEmptyBranch
	}
	if source == w.Branch {
		return "", badRequest("branch_merge requires distinct source and target branches")
	}
	g.writers.Add(1)
	defer g.writers.Add(-1)
	if err := g.lock(ctx); err != nil {
		return "", err
	}
	defer g.unlock()
	src, err := g.branch(source)
	if err != nil {
		return "", err
	}
	dst, err := g.branch(w.Branch)
	if err != nil {
		return "", err
	}
	base := g.commonAncestor(src.head, dst.head)
	if base == nil || base.state == nil {
		return "", internal("merge base of '%s' and '%s' was cleaned up", source, dst.name)
	}
	if base == src.head {
		return UpToDate, nil
	}
	if w.Hold != nil {
		if err := w.Hold(ctx, dst.head.state.cost(), g.Writers()); err != nil {
			return "", err
		}
	}
	if base == dst.head {
		_, err := g.commit(dst, &change{adopt: src.head.ID}, w.Actor, src.head.ID)
		return FastForward, err
	}
	c, err := g.mergeChange(base.state, src.head.state, dst.head.state)
	if err != nil {
		return "", err
	}
	_, err = g.commit(dst, c, w.Actor, src.head.ID)
	return Merged, err
}

// commonAncestor is the latest commit from which both descend.
func (g *Graph) commonAncestor(a, b *Commit) *Commit {
	g.mu.RLock()
	defer g.mu.RUnlock()
	ancestors := map[string]bool{}
	g.walk(a, func(c *Commit) bool {
		ancestors[c.ID] = true
		return true
	})
	var best *Commit
	g.walk(b, func(c *Commit) bool {
		if !ancestors[c.ID] {
			return true
		}
		if best == nil || c.Version > best.Version || (c.Version == best.Version && c.ID > best.ID) {
			best = c
		}
		return false
	})
	return best
}

// walk visits a commit and its ancestors; where f returns false it does not go on behind that commit.
func (g *Graph) walk(c *Commit, f func(*Commit) bool) {
	seen := map[string]bool{}
	queue := []*Commit{c}
	for len(queue) > 0 {
		c := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if c == nil || seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if !f(c) {
			continue
		}
		if c.Parent != "" {
			queue = append(queue, g.commits[c.Parent])
		}
		if c.MergedParent != "" {
			queue = append(queue, g.commits[c.MergedParent])
		}
	}
}

// mergeChange is what the source changed since the base, as a change of the target, or the conflicts.
func (g *Graph) mergeChange(base, src, dst *state) (*change, error) {
	c := &change{}
	var conflicts []MergeConflict
	for i := range g.specs {
		if base.tables[i] == src.tables[i] {
			continue
		}
		conflicts = append(conflicts, g.mergeTable(i, base.tables[i], src.tables[i], dst.tables[i], c)...)
	}
	if len(conflicts) == 0 {
		merged, err := g.apply(dst, c, MainBranch)
		if err != nil {
			return nil, err
		}
		conflicts = g.violations(c, merged)
	}
	if len(conflicts) == 0 {
		return c, nil
	}
	e := conflict("%s", "merge conflicts: "+describeConflicts(conflicts))
	e.Merge = conflicts
	return nil, e
}

func describeConflicts(list []MergeConflict) string {
	var parts []string
	for _, m := range list {
		where := m.TableKey
		if m.RowID != nil {
			where += ":" + *m.RowID
		}
		parts = append(parts, where+" ("+m.Kind+")")
	}
	return strings.Join(parts, ", ")
}

func one(t *table, id string) *row {
	if list := t.find(id); len(list) > 0 {
		return list[0]
	}
	return nil
}

func (g *Graph) mergeTable(i int, base, src, dst *table, c *change) []MergeConflict {
	var conflicts []MergeConflict
	report := func(id, kind, message string) {
		conflicts = append(conflicts, MergeConflict{TableKey: g.specs[i].key, RowID: &id, Kind: kind, Message: message})
	}
	replace := func(old, with *row) {
		if old != nil {
			c.table(i).remove = append(c.table(i).remove, old.seq)
		}
		if with != nil {
			c.table(i).insert = append(c.table(i).insert, newRow{id: with.id, vals: with.vals})
		}
	}
	src.rows.Each(func(s *row) bool {
		b, d := one(base, s.id), one(dst, s.id)
		switch {
		case b != nil && b.same(s):
			// The source did not touch it.
		case d != nil && d.same(s):
			// Both made the same of it.
		case b == nil && d != nil:
			report(s.id, "divergent_insert", "divergent insert for id '"+s.id+"'")
		case b != nil && d == nil:
			report(s.id, "delete_vs_update", "delete/update conflict for id '"+s.id+"'")
		case b != nil && !d.same(b):
			report(s.id, "divergent_update", "divergent update for id '"+s.id+"'")
		default:
			replace(d, s)
		}
		return true
	})
	base.rows.Each(func(b *row) bool {
		if one(src, b.id) != nil {
			return true
		}
		switch d := one(dst, b.id); {
		case d == nil:
		case !d.same(b):
			report(b.id, "delete_vs_update", "delete/update conflict for id '"+b.id+"'")
		default:
			replace(d, nil)
		}
		return true
	})
	slices.SortFunc(conflicts, func(a, b MergeConflict) int { return strings.Compare(*a.RowID, *b.RowID) })
	return conflicts
}
