package graph

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Whoever can read an omnigraph store counts a table's data files to learn how fragmented it is. An emulator
// store has them for that purpose alone: one per fragment that a commit made, with its number of rows. The rows
// themselves are in the log.

const dataSuffix = ".lance"

func (g *Graph) dataDir(table int) string {
	return filepath.Join(filepath.Dir(g.log.path), filepath.FromSlash(g.specs[table].path), "data")
}

// addDataFiles writes the files of a commit. They may be lost in a crash, as no row is in them.
func (g *Graph) addDataFiles(c *Commit, ch *change) error {
	for i, t := range c.state.tables {
		rows := 0
		if tc := ch.tables[i]; tc != nil {
			rows = len(tc.insert)
		}
		if ch.fold && t.folded+1 == t.nextFrag && t.count > 0 && t.fragments == 1 {
			rows = t.count
		}
		if rows == 0 {
			continue
		}
		dir := g.dataDir(i)
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("make the folder of data files: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.ID+dataSuffix), fmt.Appendf(nil, "%d\n", rows), 0o600); err != nil {
			return fmt.Errorf("write a data file: %w", err)
		}
	}
	return nil
}

// dropDataFiles removes the files that only versions before the latest compaction need, unless such a version is
// kept. It returns how many bytes that freed by table.
func (g *Graph) dropDataFiles(keep int) (freed map[int]int64, err error) {
	freed = map[int]int64{}
	b, err := g.branch(MainBranch)
	if err != nil {
		return nil, err
	}
	last := -1
	for i, c := range b.history {
		if c.folded {
			last = i
		}
	}
	if last < 0 || len(b.history)-max(keep, 1) < last {
		return freed, nil
	}
	for i := range g.specs {
		files, err := os.ReadDir(g.dataDir(i))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at data files: %w", err)
		}
		for _, f := range files {
			id, ok := strings.CutSuffix(f.Name(), dataSuffix)
			if !ok || id >= b.history[last].ID {
				continue
			}
			if info, err := f.Info(); err == nil {
				freed[i] += info.Size()
			}
			if err := os.Remove(filepath.Join(g.dataDir(i), f.Name())); err != nil {
				return nil, fmt.Errorf("remove a data file: %w", err)
			}
		}
	}
	return freed, nil
}
