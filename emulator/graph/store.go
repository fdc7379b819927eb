package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// ErrExists says that a directory holds a store already.
var ErrExists = errors.New("graph already initialized")

// ErrNoStore says that a directory holds no store.
var ErrNoStore = errors.New("no graph store")

// Create makes a store on disk. With force it replaces what is there.
func Create(dir, schemaSource string, force bool, opts Options) (*Graph, error) {
	s, err := schema.Parse(schemaSource)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, schemaName)); err == nil && !force {
		return nil, fmt.Errorf("%w at '%s'; pass --force to overwrite", ErrExists, dir)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the store: %w", err)
	}
	g := newGraph(s, opts)
	c := g.initCommit()
	if err := os.WriteFile(filepath.Join(dir, logName), []byte(logMagic), 0o600); err != nil {
		return nil, fmt.Errorf("make the store's log: %w", err)
	}
	if g.log, err = openLog(dir); err != nil {
		return nil, err
	}
	if err := g.log.append(encodeInit(c), true); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	// The schema comes last: a directory with a schema is a whole store.
	if err := os.WriteFile(filepath.Join(dir, schemaName), []byte(schemaSource), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the store's schema: %w", err), g.Close())
	}
	g.publish(c, &branch{name: MainBranch})
	return g, nil
}

// Open reads a store. Other processes may have it open, too.
func Open(dir string, opts Options) (*Graph, error) {
	source, err := os.ReadFile(filepath.Join(dir, schemaName)) // #nosec G304 -- the caller names the store
	if err != nil {
		return nil, fmt.Errorf("%w at '%s': %w", ErrNoStore, dir, err)
	}
	s, err := schema.Parse(string(source))
	if err != nil {
		return nil, fmt.Errorf("read the schema of '%s': %w", dir, err)
	}
	g := newGraph(s, opts)
	if g.log, err = openLog(dir); err != nil {
		return nil, err
	}
	if err := g.catchUp(false); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if g.branches[MainBranch] == nil {
		return nil, errors.Join(fmt.Errorf("%w at '%s': its log has no beginning", ErrNoStore, dir), g.Close())
	}
	return g, nil
}

// Close releases the store's files; the graph must not be used any more.
func (g *Graph) Close() error {
	if g.log == nil {
		return nil
	}
	return g.log.close()
}

// Compacted is what optimize did to one table.
type Compacted struct {
	Key     string
	Removed int
	Added   int
}

// Optimize folds the fragments of every table of the main branch into one, as one system commit. hold, when
// set, is called with the number of fragments to fold, before anything is locked: writers go on meanwhile.
func (g *Graph) Optimize(ctx context.Context, hold func(ctx context.Context, fragments int) error) ([]Compacted, error) {
	if n := g.foldable(); n > 0 && hold != nil {
		if err := hold(ctx, n); err != nil {
			return nil, err
		}
	}
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	defer g.unlock()
	b, err := g.branch(MainBranch)
	if err != nil {
		return nil, err
	}
	var out []Compacted
	folded := 0
	for i, t := range b.head.state.tables {
		c := Compacted{Key: g.specs[i].key}
		if t.fragments > 1 {
			c.Removed, c.Added = t.fragments, 1
			folded += t.fragments
		}
		out = append(out, c)
	}
	manifest := Compacted{Key: "__manifest"}
	if n := b.head.state.sinceOptimize; folded > 0 || n > 1 {
		manifest.Removed, manifest.Added = n, 1
	}
	out = append(out, manifest)
	if folded == 0 {
		return out, nil
	}
	_, err = g.commit(b, &change{fold: true}, "", "")
	return out, err
}

// foldable counts the fragments of the main branch's tables that have more than one.
func (g *Graph) foldable() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n := 0
	for _, t := range g.branches[MainBranch].head.state.tables {
		if t.fragments > 1 {
			n += t.fragments
		}
	}
	return n
}

// Cleaned is what cleanup removed from one table.
type Cleaned struct {
	Key      string
	Versions int
	Bytes    int64
}

// Cleanup forgets all but the latest keep versions: snapshots of older commits fail from then on.
func (g *Graph) Cleanup(ctx context.Context, keep int) ([]Cleaned, error) {
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	defer g.unlock()
	if g.log != nil {
		if err := g.log.append(encodeCleanup(keep), g.opts.Sync); err != nil {
			return nil, err
		}
	}
	n := g.forgetStates(keep)
	var freed map[int]int64
	if g.log != nil {
		var err error
		if freed, err = g.dropDataFiles(keep); err != nil {
			return nil, err
		}
	}
	var out []Cleaned
	for i := range g.specs {
		out = append(out, Cleaned{Key: g.specs[i].key, Versions: n, Bytes: freed[i]})
	}
	return out, nil
}

// forgetStates drops the states of all commits but the latest keep and the branches' heads.
func (g *Graph) forgetStates(keep int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for i := 0; i < len(g.ordered)-keep; i++ {
		if g.ordered[i].state == nil {
			continue
		}
		if g.forget(i); g.ordered[i].state == nil {
			n++
		}
	}
	return n
}

// Export writes the rows of a branch as NDJSON: edges first, then nodes, each by id. Both filters empty means all.
func (g *Graph) Export(w io.Writer, branchName string, types, tableKeys []string) error {
	b, err := g.branch(branchName)
	if err != nil {
		return err
	}
	return g.export(w, b.head.state, types, tableKeys)
}
