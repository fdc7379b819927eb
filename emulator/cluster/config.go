// Package cluster makes and opens a cluster directory: the configuration of a rig, its state ledger and the
// stores of its graphs, laid out as omnigraph does.
package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/policy"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// ConfigName is the file that makes a directory a cluster's configuration.
const ConfigName = "cluster.yaml"

type document struct {
	Version  int `yaml:"version"`
	Metadata struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Storage   yaml.Node            `yaml:"storage"`
	State     yaml.Node            `yaml:"state"`
	Providers yaml.Node            `yaml:"providers"`
	Graphs    map[string]graphDoc  `yaml:"graphs"`
	Policies  map[string]policyDoc `yaml:"policies"`
}

type graphDoc struct {
	Schema  string `yaml:"schema"`
	Queries string `yaml:"queries"`
}

type policyDoc struct {
	File      string   `yaml:"file"`
	AppliesTo []string `yaml:"applies_to"`
}

// Diagnostic is one finding of a validation.
type Diagnostic struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Message  string `json:"message"`
}

// Resource is one part of a configuration.
type Resource struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Digest  string `json:"digest"`
	Path    string `json:"path,omitempty"`
}

// Dependency says that one resource needs another.
type Dependency struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Config is a parsed and checked configuration. Its maps are by graph or policy name.
type Config struct {
	Dir          string
	Digest       string
	Resources    []Resource
	Dependencies []Dependency
	Diagnostics  []Diagnostic

	Schemas map[string]*schema.Schema
	// Queries are the stored queries of each graph, by name.
	Queries  map[string]map[string]*StoredQuery
	Policies map[string]*policy.Bundle
	// AppliesTo are the graphs (or "cluster") to which a policy is bound.
	AppliesTo map[string][]string
}

// StoredQuery is a query in a graph's catalog.
type StoredQuery struct {
	Query  *gq.Query
	Source string
}

// OK reports whether nothing is wrong.
func (c *Config) OK() bool {
	return !slices.ContainsFunc(c.Diagnostics, func(d Diagnostic) bool { return d.Severity == "error" })
}

func (c *Config) fail(code, path, message string) {
	c.Diagnostics = append(c.Diagnostics, Diagnostic{Code: code, Severity: "error", Path: path, Message: message})
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Load reads and checks the configuration in dir. What is wrong with it is in the Diagnostics.
func Load(dir string) *Config {
	c := &Config{
		Dir: dir, Schemas: map[string]*schema.Schema{}, Queries: map[string]map[string]*StoredQuery{},
		Policies: map[string]*policy.Bundle{}, AppliesTo: map[string][]string{},
		Resources: []Resource{}, Dependencies: []Dependency{}, Diagnostics: []Diagnostic{},
	}
	text, err := os.ReadFile(filepath.Join(dir, ConfigName)) // #nosec G304 -- the caller names the cluster
	if err != nil {
		c.fail("config_dir_not_found", dir, "`--config` must point at a directory containing cluster.yaml")
		return c
	}
	var doc document
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		c.fail("invalid_cluster_yaml", ConfigName, "could not parse cluster.yaml: "+err.Error())
		return c
	}
	if doc.Version != 1 {
		c.fail("invalid_cluster_yaml", ConfigName, fmt.Sprintf("unsupported cluster.yaml version %d", doc.Version))
		return c
	}
	for _, name := range sortedKeys(doc.Graphs) {
		c.loadGraph(name, doc.Graphs[name])
	}
	for _, name := range sortedKeys(doc.Policies) {
		c.loadPolicy(name, doc.Policies[name])
	}
	slices.SortFunc(c.Resources, func(a, b Resource) int { return strings.Compare(a.Address, b.Address) })
	slices.SortFunc(c.Dependencies, func(a, b Dependency) int {
		return strings.Compare(a.From+" "+a.To, b.From+" "+b.To)
	})
	parts := [][]byte{text}
	for _, r := range c.Resources {
		parts = append(parts, []byte(r.Address+r.Digest))
	}
	c.Digest = digest(parts...)
	if !c.OK() {
		c.Resources, c.Dependencies = []Resource{}, []Dependency{}
	}
	return c
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *Config) loadGraph(name string, g graphDoc) {
	path := filepath.Join(c.Dir, g.Schema)
	text, err := os.ReadFile(path) // #nosec G304 -- named by the configuration
	if err != nil {
		c.fail("schema_file_not_found", "graphs."+name+".schema", fmt.Sprintf("could not read schema file '%s': %v", path, err))
		return
	}
	s, err := schema.Parse(string(text))
	if err != nil {
		code := "schema_parse_error"
		if strings.HasPrefix(err.Error(), "catalog error") {
			code = "schema_catalog_error"
		}
		c.fail(code, "graphs."+name+".schema", err.Error())
		return
	}
	c.Schemas[name] = s
	graphAddress, schemaAddress := "graph."+name, "schema."+name
	sum := digest(text)
	c.Resources = append(c.Resources,
		Resource{Address: graphAddress, Kind: "graph", Digest: digest([]byte(name), []byte(sum))},
		Resource{Address: schemaAddress, Kind: "schema", Digest: sum, Path: path})
	c.Dependencies = append(c.Dependencies, Dependency{schemaAddress, graphAddress})
	c.Queries[name] = map[string]*StoredQuery{}
	if g.Queries != "" {
		c.loadQueries(name, filepath.Join(c.Dir, g.Queries), s)
	}
}

func (c *Config) loadQueries(name, path string, s *schema.Schema) {
	where := "graphs." + name + ".queries"
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		c.fail("query_file_not_found", where, fmt.Sprintf("could not read '%s': %v", path, err))
		return
	} else if info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*.gq")) // the only error is a bad pattern
		if len(files) == 0 {
			c.fail("query_dir_empty", where, fmt.Sprintf("query directory '%s' contains no .gq files", path))
			return
		}
	}
	checker := graph.New(s, graph.Options{})
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- named by the configuration
		if err != nil {
			c.fail("query_file_not_found", where, fmt.Sprintf("could not read '%s': %v", file, err))
			continue
		}
		f, err := gq.Parse(string(text))
		if err != nil {
			c.fail("query_parse_error", where, fmt.Sprintf("'%s' does not parse: %v", file, err))
			continue
		}
		for _, q := range f.Queries {
			if err := checker.Check(q); err != nil {
				c.fail("query_typecheck_error", where+"."+q.Name, err.Error())
				continue
			}
			c.Queries[name][q.Name] = &StoredQuery{Query: q, Source: string(text)}
			address := "query." + name + "." + q.Name
			c.Resources = append(c.Resources, Resource{Address: address, Kind: "query", Digest: digest(text), Path: file})
			c.Dependencies = append(c.Dependencies, Dependency{address, "graph." + name}, Dependency{address, "schema." + name})
		}
	}
}

func (c *Config) loadPolicy(name string, p policyDoc) {
	path := filepath.Join(c.Dir, p.File)
	text, err := os.ReadFile(path) // #nosec G304 -- named by the configuration
	if err != nil {
		c.fail("policy_file_not_found", "policies."+name, fmt.Sprintf("could not read policy file '%s': %v", path, err))
		return
	}
	b, err := policy.Parse(text)
	if err != nil {
		c.fail("policy_parse_error", "policies."+name, err.Error())
		return
	}
	address := "policy." + name
	for _, target := range p.AppliesTo {
		if target == "cluster" {
			continue
		}
		if _, ok := c.Schemas[target]; !ok {
			c.fail("policy_target_unknown", "policies."+name, fmt.Sprintf("policy applies to the unknown graph '%s'", target))
			return
		}
		c.Dependencies = append(c.Dependencies, Dependency{address, "graph." + target})
	}
	c.Policies[name] = b
	c.AppliesTo[name] = p.AppliesTo
	c.Resources = append(c.Resources, Resource{Address: address, Kind: "policy", Digest: digest(text), Path: path})
}

// PolicySet is the bundles bound to a graph, or to "cluster".
func (c *Config) PolicySet(target string) policy.Set {
	var set policy.Set
	for _, name := range sortedKeys(c.Policies) {
		if slices.Contains(c.AppliesTo[name], target) {
			set = append(set, c.Policies[name])
		}
	}
	return set
}

// GraphDir is the directory of a graph's store.
func (c *Config) GraphDir(name string) string {
	abs, err := filepath.Abs(c.Dir)
	if err != nil {
		abs = c.Dir
	}
	return filepath.Join(abs, "graphs", name+".omni")
}
