package graph_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

const councilSchema = `
node Memory {
  slug: String @key
  title: String @index
  body: String
  kind: enum(decision, fact, task, note)
  project: String @index
  importance: I32
  created_at: DateTime
}

node Project {
  slug: String @key
  name: String
}

edge RelatesTo: Memory -> Memory {
  weight: F64?
}

edge BelongsTo: Memory -> Project
`

func council(t testing.TB, opts graph.Options) *graph.Graph {
	t.Helper()
	s, err := schema.Parse(councilSchema)
	require.NoError(t, err)
	return graph.New(s, opts)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHundredThousandRowsAreQuickAndSmall can't run beside other tests: it measures the heap.
func TestHundredThousandRowsAreQuickAndSmall(t *testing.T) { //nolint:paralleltest // as said
	const n = 100_000
	g := council(t, graph.Options{})
	data := demo.Memories(n)
	size := len(data)
	before := heap()
	start := time.Now()
	res, err := g.Load(t.Context(), data, graph.Overwrite, nil, graph.Write{})
	took := time.Since(start)
	require.NoError(t, err)
	require.Len(t, res.Tables, 1)
	require.Equal(t, n, res.Tables[0].Rows)
	runtime.KeepAlive(data)
	data = ""
	// before still holds the text, after does not: its size is out of the difference as the rule asks.
	after := heap()
	perRow := (float64(after) - float64(before)) / n
	t.Logf("%d rows, %.1f MB of NDJSON: %v, %.0f bytes of heap per row beyond the text", n, float64(size)/1e6, took, perRow)
	require.Less(t, perRow, 400.0)
	runtime.KeepAlive(g)
	runtime.KeepAlive(data)
}
