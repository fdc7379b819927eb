package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// OpenCluster opens the graphs of an applied cluster directory. The caller closes them.
func OpenCluster(dir string, opts graph.Options) (map[string]*Graph, *cluster.Config, error) {
	c, err := cluster.Ready(dir)
	if err != nil {
		return nil, nil, err
	}
	graphs := map[string]*Graph{}
	for name := range c.Schemas {
		o := opts
		o.URI = c.GraphDir(name)
		store, err := graph.Open(o.URI, o)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("open graph %s: %w", name, err), CloseAll(graphs))
		}
		graphs[name] = &Graph{Store: store, Policy: c.PolicySet(name), Queries: c.Queries[name]}
	}
	return graphs, c, nil
}

// CloseAll closes the graphs' stores.
func CloseAll(graphs map[string]*Graph) error {
	var errs []error
	for _, g := range graphs {
		errs = append(errs, g.Store.Close())
	}
	return errors.Join(errs...)
}

// ReadTokens reads a tokens file, {"actor": "token"}, into a map by token.
func ReadTokens(path string) (map[string]string, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, fmt.Errorf("failed to read bearer tokens file at %s: %w", path, err)
	}
	byActor := map[string]string{}
	if err := json.Unmarshal(text, &byActor); err != nil {
		return nil, fmt.Errorf("failed to parse bearer tokens file at %s: %w", path, err)
	}
	tokens := map[string]string{}
	for actor, token := range byActor {
		if token == "" {
			return nil, fmt.Errorf("bearer tokens file at %s has an empty token for %s", path, actor)
		}
		tokens[token] = actor
	}
	return tokens, nil
}
