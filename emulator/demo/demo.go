// Package demo is a small council graph for whoever wants an omnigraph to talk to without making a rig: the same
// rows every time, from a seed.
package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/gq"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/policy"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// GraphID is the demo graph's id.
const GraphID = "council"

// Rows is how many Memory rows the demo has.
const Rows = 913

// Tokens are the demo's tokens, by actor. They protect nothing.
var Tokens = map[string]string{"act-load": "demo-load", "act-load-2": "demo-load-2", "act-reader": "demo-reader"}

//go:embed council.pg
var schemaSource string

//go:embed council.gq
var querySource string

//go:embed graph-policy.yaml
var graphPolicy []byte

//go:embed cluster-policy.yaml
var clusterPolicy []byte

// Open makes the demo graph in memory.
func Open(ctx context.Context, opts graph.Options) (map[string]*server.Graph, policy.Set, error) {
	s, err := schema.Parse(schemaSource)
	if err != nil {
		return nil, nil, fmt.Errorf("demo schema: %w", err)
	}
	opts.URI = "memory://" + GraphID + ".omni"
	store := graph.New(s, opts)
	if _, err := store.Load(ctx, NDJSON(Rows), graph.Overwrite, nil, graph.Write{}); err != nil {
		return nil, nil, fmt.Errorf("demo rows: %w", err)
	}
	f, err := gq.Parse(querySource)
	if err != nil {
		return nil, nil, fmt.Errorf("demo queries: %w", err)
	}
	g := &server.Graph{Store: store, Queries: map[string]*cluster.StoredQuery{}}
	for _, q := range f.Queries {
		g.Queries[q.Name] = &cluster.StoredQuery{Query: q, Source: querySource}
	}
	own, err := policy.Parse(graphPolicy)
	if err != nil {
		return nil, nil, fmt.Errorf("demo policy: %w", err)
	}
	g.Policy = policy.Set{own}
	all, err := policy.Parse(clusterPolicy)
	if err != nil {
		return nil, nil, fmt.Errorf("demo policy: %w", err)
	}
	return map[string]*server.Graph{GraphID: g}, policy.Set{all}, nil
}

const seed = 0x636f756e63696c

// NDJSON is n Memory rows with their projects and relations, the same for the same n.
func NDJSON(n int) string {
	r := newSource()
	for i := range projects {
		r.put(map[string]any{"type": "Project", "data": map[string]any{"slug": fmt.Sprintf("project-%02d", i), "name": fmt.Sprintf("Project %d", i)}})
	}
	r.memories(n)
	for i := range n {
		r.put(map[string]any{"edge": "BelongsTo", "from": memoryKey(i), "to": fmt.Sprintf("project-%02d", r.rand.IntN(projects)), "data": map[string]any{}})
		if i > 0 {
			r.put(map[string]any{"edge": "RelatesTo", "from": memoryKey(i), "to": memoryKey(r.rand.IntN(i)), "data": map[string]any{"weight": float64(r.rand.IntN(100)) / 100}})
		}
	}
	return r.out.String()
}

// Memories is n Memory rows alone.
func Memories(n int) string {
	r := newSource()
	r.memories(n)
	return r.out.String()
}

const projects = 12

func memoryKey(i int) string { return fmt.Sprintf("mem-%04d", i) }

// source writes rows from a seed.
type source struct {
	rand *rand.Rand
	out  strings.Builder
	enc  *json.Encoder
}

func newSource() *source {
	s := &source{rand: rand.New(rand.NewPCG(seed, seed))} // #nosec G404 -- reproducible on purpose
	s.enc = json.NewEncoder(&s.out)
	return s
}

func (s *source) put(v any) {
	// Maps of strings and numbers always encode, and a Builder takes every write.
	_ = s.enc.Encode(v)
}

var words = strings.Fields("the council keeps what was agreed and why so that the next one to ask finds an answer in a graph of memories")

func (s *source) text(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = words[s.rand.IntN(len(words))]
	}
	return strings.Join(parts, " ")
}

func (s *source) memories(n int) {
	kinds := []string{"decision", "fact", "task", "note"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		s.put(map[string]any{"type": "Memory", "data": map[string]any{
			"slug": memoryKey(i), "title": s.text(4), "body": s.text(20), "kind": kinds[s.rand.IntN(len(kinds))],
			"project": fmt.Sprintf("project-%02d", s.rand.IntN(projects)), "importance": s.rand.IntN(10),
			"created_at": start.Add(time.Duration(i) * time.Minute).Format(time.RFC3339),
		}})
	}
}
