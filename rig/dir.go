package rig

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

// Graph is the id of a rig's graph.
const Graph = "council"

// The files of a rig besides omnigraph's own.
const (
	markerFile = "rig.json"
	serverFile = "server.json"
	lockFile   = "rig.lock"
	tokensFile = "tokens.json"
	logFile    = "server.log"
	dataFile   = "data/council.ndjson"
	homeDir    = "home"
	linksDir   = "bin"
)

//go:embed council
var council embed.FS

// Rig is a rig's directory. Its methods may be used from one goroutine at a time; other processes are kept out
// by a lock in the directory.
type Rig struct {
	dir    string
	marker marker
}

// marker is what makes a directory a rig, and what the rig remembers between two commands.
type marker struct {
	Version int    `json:"version"`
	Graph   string `json:"graph"`
	// Dataset is what data/council.ndjson holds.
	Dataset dataset.Identity `json:"dataset"`
	// Loaded is the digest of the dataset that the graph was loaded with; empty before the first load.
	Loaded string `json:"loaded"`
	// Fragments is the number of single-row commits made on top of it.
	Fragments int `json:"fragments"`
	// Port is the last server's, taken again if it is free, so that a restarted rig keeps its address.
	Port int `json:"port"`
}

const markerVersion = 1

// MakeOptions are Make's.
type MakeOptions struct {
	// Dataset describes the rows; the zero value is dataset.Default().
	Dataset dataset.Params
	// Writers is the number of writing actors, each with a token and an admission cap of its own; 0 means 8.
	Writers int
}

// Make writes a rig into dir, which must be absent or empty.
func Make(dir string, opts MakeOptions) (*Rig, error) {
	if opts.Dataset == (dataset.Params{}) {
		opts.Dataset = dataset.Default()
	}

	if opts.Writers == 0 {
		opts.Writers = 8
	}

	if opts.Writers < 1 || opts.Writers > maxWriters {
		return nil, usagef("make a rig: writers must be between 1 and %d, got %d", maxWriters, opts.Writers)
	}

	if err := opts.Dataset.Validate(); err != nil {
		return nil, usagef("make a rig: %v", err)
	}

	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("make a rig: %w", err)
	}

	if err := vacant(abs); err != nil {
		return nil, err
	}

	r := &Rig{dir: abs, marker: marker{Version: markerVersion, Graph: Graph}}

	if err := r.write(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("make a rig in %s: %w", abs, err), empty(abs))
	}

	return r, nil
}

// empty takes back what a failed Make wrote into a directory that had nothing before.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // not even the directory was made
	}

	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}

	return err
}

// vacant makes sure that nothing would be overwritten.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("make a rig: %w", err)
	case len(entries) == 0:
		return nil
	}

	if _, err := os.Stat(filepath.Join(dir, markerFile)); err == nil {
		return fmt.Errorf("make a rig: %s is one already; boot it with up, or remove it first", dir)
	}

	return fmt.Errorf("make a rig: %s is not empty; name a directory that is absent or empty", dir)
}

func (r *Rig) write(opts MakeOptions) error {
	for _, d := range []string{"", "queries", "policies", "data", homeDir} {
		if err := os.MkdirAll(r.path(d), 0o700); err != nil {
			return err
		}
	}

	names := writers(opts.Writers)
	files := map[string]string{
		"policies/council.yaml": graphPolicy(names),
		"policies/server.yaml":  clusterPolicy(names),
	}

	for _, name := range []string{"cluster.yaml", "council.pg", "queries/council.gq"} {
		data, err := council.ReadFile("council/" + name)
		if err != nil {
			return err
		}

		files[name] = string(data)
	}

	tokens, err := newTokens(append(names, ActorReader, ActorOutsider))
	if err != nil {
		return err
	}

	data, err := json.MarshalIndent(tokens, "", "  ")
	if err != nil {
		return err
	}

	files[tokensFile] = string(data) + "\n"

	for name, content := range files {
		if err := os.WriteFile(r.path(name), []byte(content), 0o600); err != nil {
			return err
		}
	}

	if err := r.writeDataset(opts.Dataset); err != nil {
		return err
	}

	return r.save()
}

// writeDataset replaces the dataset's file. The marker's new identity still has to be saved.
func (r *Rig) writeDataset(p dataset.Params) error {
	path := r.path(dataFile)

	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) // #nosec G304 -- a file of the rig
	if err != nil {
		return err
	}

	id, err := p.Write(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}

	if err := os.Rename(path+".new", path); err != nil {
		return err
	}

	r.marker.Dataset = id

	return nil
}

// Open finds the rig in dir.
func Open(dir string) (*Rig, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open a rig: %w", err)
	}

	r := &Rig{dir: abs}

	data, err := os.ReadFile(r.path(markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is %w: it has no %s; make one with `rig make`", abs, ErrNotRig, markerFile)
	}

	if err != nil {
		return nil, fmt.Errorf("open the rig %s: %w", abs, err)
	}

	if err := json.Unmarshal(data, &r.marker); err != nil {
		return nil, fmt.Errorf("%s is %w: its %s does not parse: %w", abs, ErrNotRig, markerFile, err)
	}

	if r.marker.Version != markerVersion || r.marker.Graph != Graph {
		return nil, fmt.Errorf("%s is %w of this version: its %s says version %d, graph %q; make a new one",
			abs, ErrNotRig, markerFile, r.marker.Version, r.marker.Graph)
	}

	return r, nil
}

// save writes the marker: to a new file first, so that a crash leaves the old one.
func (r *Rig) save() error { return writeJSON(r.path(markerFile), r.marker) }

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}

	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}

	return os.Rename(path+".new", path)
}

func (r *Rig) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// Dir is the rig's directory, absolute.
func (r *Rig) Dir() string { return r.dir }

// Store is the graph's storage, for `omnigraph optimize` and for counting data files. It is there after the
// first Up.
func (r *Rig) Store() string { return r.path("graphs/" + Graph + ".omni") }

// TokensFile is the file with the actors' tokens, as the server reads it.
func (r *Rig) TokensFile() string { return r.path(tokensFile) }

// LogFile is the server's log.
func (r *Rig) LogFile() string { return r.path(logFile) }

// Dataset is the identity of the rig's rows.
func (r *Rig) Dataset() dataset.Identity { return r.marker.Dataset }

// Fragments is the number of single-row commits that Up made since the dataset was loaded.
func (r *Rig) Fragments() int { return r.marker.Fragments }
