// Package graph is omnigraph's data model in memory: typed tables, snapshots, branches and commits, queried
// and changed by `.gq`, kept on disk in an append-only log.
package graph

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/persist"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// MainBranch is the branch that every graph has.
const MainBranch = "main"

// InternalSchemaVersion is the storage format that the emulator claims, that of omnigraph 0.8.
const InternalSchemaVersion = 4

// maxStates is how many commits keep the state that a snapshot query reads; older ones answer as they do
// after a cleanup.
const maxStates = 10_000

// Generation is the API generation whose behaviour a graph shows.
type Generation int

// The generations that the emulator knows.
const (
	V08  Generation = 8
	V010 Generation = 10
	V013 Generation = 13
)

// Options set a graph's behaviour.
type Options struct {
	// URI is what answers call the graph.
	URI string
	// Generation is the API generation; zero is V08.
	Generation Generation
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Sync flushes the log to the disk with every commit, so that an acknowledged write survives a power cut.
	Sync bool
}

// Commit is one entry of a graph's history.
type Commit struct {
	ID           string
	Branch       string // empty for main
	Version      uint64
	Parent       string
	MergedParent string
	Actor        string // empty for a system commit
	CreatedAt    time.Time

	state *state
	// folded says that the commit is a compaction.
	folded bool
}

// state is the whole content of a branch after a commit.
type state struct {
	tables []*table
	// commits counts all commits in the branch's history, sinceOptimize those after the last compaction.
	commits       int
	sinceOptimize int
}

// branch is a line of commits.
type branch struct {
	name string
	head *Commit
	// parent is the branch from which it was made.
	parent string
	// history is every commit reachable through first parents, oldest first. Branches share its memory.
	history []*Commit
}

// Graph is one graph. All methods may be called concurrently.
type Graph struct {
	opts   Options
	schema *schema.Schema
	specs  []tableSpec

	// commitLock serializes writers in the order in which they came; a channel rather than a mutex, so that
	// waiting ends with the caller's context.
	commitLock chan struct{}
	writers    atomic.Int64

	mu       sync.RWMutex
	branches map[string]*branch
	commits  map[string]*Commit
	ordered  []*Commit

	ids   idSource
	plans planCache
	log   *logFile
}

// New makes an empty graph that lives in memory.
func New(s *schema.Schema, opts Options) *Graph {
	g := newGraph(s, opts)
	g.publish(g.initCommit(), &branch{name: MainBranch})
	return g
}

func newGraph(s *schema.Schema, opts Options) *Graph {
	if opts.Generation == 0 {
		opts.Generation = V08
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	g := &Graph{
		opts: opts, schema: s, commitLock: make(chan struct{}, 1),
		branches: map[string]*branch{}, commits: map[string]*Commit{},
	}
	g.ids.now = opts.Now
	for _, n := range s.Nodes {
		g.specs = append(g.specs, tableSpec{key: "node:" + n.Name, name: n.Name, path: "nodes/" + shortHash(n.Name), node: n, props: n.Props})
	}
	for _, e := range s.Edges {
		g.specs = append(g.specs, tableSpec{
			key: "edge:" + e.Name, name: e.Name, path: "edges/" + shortHash(e.Name), edge: e, props: e.Props,
			from: g.nodeTable(e.From), to: g.nodeTable(e.To),
		})
	}
	return g
}

// shortHash names a table's folder as the server does.
func shortHash(name string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // a hash takes every write
	return fmt.Sprintf("%016x", h.Sum64())
}

func (g *Graph) nodeTable(name string) int {
	return slices.IndexFunc(g.specs, func(s tableSpec) bool { return s.node != nil && s.name == name })
}

func (g *Graph) edgeTable(name string) int {
	return slices.IndexFunc(g.specs, func(s tableSpec) bool { return s.edge != nil && s.name == name })
}

func (g *Graph) tableByKey(key string) int {
	return slices.IndexFunc(g.specs, func(s tableSpec) bool { return s.key == key })
}

func (g *Graph) initCommit() *Commit {
	st := &state{tables: make([]*table, len(g.specs)), commits: 1}
	for i := range st.tables {
		st.tables[i] = &table{version: 1, edge: g.specs[i].edge != nil}
	}
	now := g.opts.Now()
	return &Commit{ID: g.ids.next(), Version: 1, CreatedAt: now, state: st}
}

// publish makes c the head of b. The caller holds the commit lock or has the graph for itself.
func (g *Graph) publish(c *Commit, b *branch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	nb := *b
	nb.head = c
	// In place: a fork clips the history that it starts from, so nobody else appends to this memory.
	nb.history = append(b.history, c)
	g.branches[b.name] = &nb
	g.commits[c.ID] = c
	g.ordered = append(g.ordered, c)
	if len(g.ordered) > maxStates {
		g.forget(len(g.ordered) - maxStates - 1)
	}
}

// forget drops the state of the i-th commit unless a branch starts there.
func (g *Graph) forget(i int) {
	old := g.ordered[i]
	for _, b := range g.branches {
		if b.head == old {
			return
		}
	}
	old.state = nil
}

// URI is the graph's address in answers.
func (g *Graph) URI() string { return g.opts.URI }

// SchemaSource is the `.pg` text.
func (g *Graph) SchemaSource() string { return g.schema.Source }

// Writers is the number of writes that are waiting for the commit lock or hold it.
func (g *Graph) Writers() int { return int(g.writers.Load()) }

// lock takes the commit lock and, for a graph on disk, catches up with other processes.
func (g *Graph) lock(ctx context.Context) error {
	select {
	case g.commitLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.log == nil {
		return nil
	}
	if err := g.log.lock(); err != nil {
		<-g.commitLock
		return err
	}
	if err := g.catchUp(true); err != nil {
		g.unlock()
		return err
	}
	return nil
}

func (g *Graph) unlock() {
	if g.log != nil {
		g.log.unlock()
	}
	<-g.commitLock
}

// Refresh picks up what other processes wrote; it costs one stat when nothing changed.
func (g *Graph) Refresh(ctx context.Context) error {
	for g.log != nil && g.log.grew() {
		select {
		case g.commitLock <- struct{}{}:
			err := g.catchUp(false)
			<-g.commitLock
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(refreshEvery):
			// A writer holds the lock, perhaps for long, and has caught up itself.
		}
	}
	return nil
}

// refreshEvery is how often a reader that has to wait for a writer looks whether the wait is over.
const refreshEvery = time.Millisecond

func (g *Graph) branch(name string) (*branch, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	name = strings.TrimSpace(name)
	b := g.branches[name]
	if b == nil {
		return nil, g.noBranch(name)
	}
	return b, nil
}

// noBranch is how a read or write of a branch that is not there fails: as a storage error in 0.8.
func (g *Graph) noBranch(name string) error {
	if name == "" {
		return ErrEmptyBranch
	}
	if g.opts.Generation >= V010 {
		return notFound("branch '%s' not found", name)
	}
	return internal("storage: Not found: %s/__manifest/tree/%s/_versions", g.storagePath(), name)
}

func (g *Graph) storagePath() string {
	p := g.opts.URI
	for len(p) > 0 && p[0] == '/' {
		p = p[1:]
	}
	return p
}

// Target is what a read addresses: a branch, or a commit as snapshot. Both empty is the main branch.
type Target struct {
	Branch   string
	Snapshot string
}

func (g *Graph) resolve(t Target) (*Commit, error) {
	if t.Snapshot != "" {
		g.mu.RLock()
		defer g.mu.RUnlock()
		c := g.commits[t.Snapshot]
		if c == nil {
			return nil, notFound("commit '%s' not found", t.Snapshot)
		}
		if c.state == nil {
			return nil, internal("storage: Not found: the versions of commit '%s' were cleaned up", t.Snapshot)
		}
		return c, nil
	}
	b, err := g.branch(t.Branch)
	if err != nil {
		return nil, err
	}
	return b.head, nil
}

// Cost is what an operation touched: what a cost model charges for.
type Cost struct {
	// Fragments is the number of fragments of the tables read or written.
	Fragments int
	// Rows is the number of rows looked at.
	Rows int
	// Commits is the number of commits in the branch's history, SinceOptimize of those after a compaction.
	Commits       int
	SinceOptimize int
}

// TableInfo is one table of a snapshot.
type TableInfo struct {
	Key       string
	Path      string
	Version   uint64
	Branch    string // empty for main
	Rows      int
	Fragments int
	Edge      bool
	Name      string
}

// Snapshot describes the tables of a branch.
type Snapshot struct {
	Branch          string
	ManifestVersion uint64
	Head            string
	Tables          []TableInfo
}

// Snapshot lists the tables of a branch in the order of their keys.
func (g *Graph) Snapshot(branchName string) (Snapshot, error) {
	b, err := g.branch(branchName)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Branch: branchName, ManifestVersion: b.head.Version, Head: b.head.ID}
	if s.ManifestVersion == 1 {
		// Making a graph leaves two more manifest versions behind its only commit.
		s.ManifestVersion = 3
	}
	for i, t := range b.head.state.tables {
		spec := &g.specs[i]
		s.Tables = append(s.Tables, TableInfo{
			Key: spec.key, Path: spec.path, Version: t.version, Branch: t.branch, Rows: t.count,
			Fragments: t.fragments, Edge: spec.edge != nil, Name: spec.name,
		})
	}
	slices.SortFunc(s.Tables, func(a, b TableInfo) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return s, nil
}

// Branches lists the branches by name.
func (g *Graph) Branches() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	names := make([]string, 0, len(g.branches))
	for name := range g.branches {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Commits lists a branch's history, oldest first.
func (g *Graph) Commits(branchName string) ([]*Commit, error) {
	b, err := g.branch(branchName)
	if err != nil {
		return nil, err
	}
	return b.history, nil
}

// Commit returns one commit.
func (g *Graph) Commit(id string) (*Commit, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if c := g.commits[id]; c != nil {
		return c, nil
	}
	return nil, notFound("commit '%s' not found", id)
}

// StateCost is the cost basis of a branch as it stands, for operations that read no rows.
func (g *Graph) StateCost(branchName string) Cost {
	g.mu.RLock()
	defer g.mu.RUnlock()
	b := g.branches[branchName]
	if b == nil {
		return Cost{}
	}
	return b.head.state.cost()
}

func (s *state) cost() Cost {
	c := Cost{Commits: s.commits, SinceOptimize: s.sinceOptimize}
	for _, t := range s.tables {
		c.Fragments += t.fragments
	}
	return c
}

// tableChange is what one commit does to one table.
type tableChange struct {
	clear  bool
	remove []uint64
	insert []newRow
}

type newRow struct {
	id   string
	vals []Value
}

// change is what one commit does.
type change struct {
	tables map[int]*tableChange
	// fold compacts the tables' fragments.
	fold bool
	// adopt, when set, makes the new state that of another commit (a fast-forward).
	adopt string
}

func (c *change) table(i int) *tableChange {
	if c.tables == nil {
		c.tables = map[int]*tableChange{}
	}
	t := c.tables[i]
	if t == nil {
		t = &tableChange{}
		c.tables[i] = t
	}
	return t
}

// apply makes the state that follows from st by c on a branch.
func (g *Graph) apply(st *state, c *change, branchName string) (*state, error) {
	next := &state{tables: slices.Clone(st.tables), commits: st.commits + 1, sinceOptimize: st.sinceOptimize + 1}
	if c.adopt != "" {
		source := g.commits[c.adopt]
		if source == nil || source.state == nil {
			return nil, fmt.Errorf("commit %s, which a fast-forward adopts, has no state", c.adopt)
		}
		next.tables = slices.Clone(source.state.tables)
		for i, t := range next.tables {
			// What another branch wrote becomes the target's own; what main wrote stays main's.
			if own := ownBranch(branchName); t != st.tables[i] && t.branch != "" && t.branch != own {
				adopted := *t
				adopted.branch = own
				next.tables[i] = &adopted
			}
		}
		return next, nil
	}
	owner := persist.NewOwner()
	for i, tc := range c.tables {
		e := next.tables[i].edit(owner)
		if tc.clear {
			e.clear()
		}
		for _, seq := range tc.remove {
			if r := e.rows.Get(seq); r != nil {
				e.remove(r)
			}
		}
		for _, nr := range tc.insert {
			e.insert(nr.id, nr.vals)
		}
		g.finish(next, i, e, branchName)
	}
	if c.fold {
		for i := range next.tables {
			e := next.tables[i].edit(owner)
			e.fold()
			g.finish(next, i, e, branchName)
		}
		next.sinceOptimize = 0
	}
	return next, nil
}

// ownBranch is the branch that a table written on a branch names as its own; on main it names none.
func ownBranch(name string) string {
	if name == MainBranch {
		return ""
	}
	return name
}

func (g *Graph) finish(next *state, i int, e *tableEdit, branchName string) {
	if !e.dirty {
		return
	}
	e.version++
	e.branch = ownBranch(branchName)
	next.tables[i] = e.table
}

// commit applies c on top of b's head and publishes the result. The caller holds the commit lock.
func (g *Graph) commit(b *branch, c *change, actor, mergedParent string) (*Commit, error) {
	st, err := g.apply(b.head.state, c, b.name)
	if err != nil {
		return nil, err
	}
	next := &Commit{
		ID: g.ids.next(), Version: nextVersion(b.head.Version), Parent: b.head.ID, MergedParent: mergedParent,
		Actor: actor, CreatedAt: g.opts.Now(), state: st, folded: c.fold,
	}
	if b.name != MainBranch {
		next.Branch = b.name
	}
	if g.log != nil {
		if err := g.log.append(encodeCommit(next, b.name, c), g.opts.Sync); err != nil {
			return nil, err
		}
	}
	g.publish(next, b)
	if g.log != nil {
		return next, g.addDataFiles(next, c)
	}
	return next, nil
}

// nextVersion counts manifest versions as the server does, where making a graph leaves two behind.
func nextVersion(v uint64) uint64 {
	if v == 1 {
		return 4
	}
	return v + 1
}

// Parse reads a query source and picks the query called name, or the only one.
func (g *Graph) Parse(source, name string) (*gq.Query, error) {
	f, err := g.plans.parse(source)
	if err != nil {
		return nil, badRequest("%s", err.Error())
	}
	return pick(f, name)
}

func pick(f *gq.File, name string) (*gq.Query, error) {
	if name != "" {
		for _, q := range f.Queries {
			if q.Name == name {
				return q, nil
			}
		}
		return nil, badRequest("query '%s' not found", name)
	}
	if len(f.Queries) != 1 {
		return nil, badRequest("query file contains multiple queries; pass --name")
	}
	return f.Queries[0], nil
}
