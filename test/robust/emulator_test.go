package robust

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// emulated is an emulator within the test's own process.
type emulated struct {
	URL, Graph, Token, OtherToken string
	Faults                        *faults.Injector
	stop                          context.CancelFunc
	served                        chan error
}

// emulate serves the demo graph under fault rules until the test's end.
func emulate(t testing.TB, generation graph.Generation, rules ...faults.Rule) *emulated {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	graphs, policy, err := demo.Open(ctx, graph.Options{Generation: generation})
	require.NoError(t, err)
	runner, err := server.Listen(ctx, "127.0.0.1:0")
	require.NoError(t, err)
	e := &emulated{
		URL: "http://" + runner.Addr(), Graph: demo.GraphID, Token: demo.Tokens["act-load"], OtherToken: demo.Tokens["act-load-2"],
		Faults: faults.New(faults.Plan{Seed: 7, Rules: rules}, nil), stop: cancel, served: make(chan error, 1),
	}
	tokens := map[string]string{}
	for actor, token := range demo.Tokens {
		tokens[token] = actor
	}
	handler := server.New(graphs, server.Options{
		Generation: generation, Tokens: tokens, ClusterPolicy: policy, Faults: e.Faults, Restart: runner.Restart,
	})
	go func() { e.served <- runner.Serve(ctx, handler) }()
	t.Cleanup(func() { e.end(t) })
	return e
}

// end stops the emulator; ending twice is fine.
func (e *emulated) end(t testing.TB) {
	t.Helper()
	e.stop()
	if e.served != nil {
		require.NoError(t, <-e.served)
		e.served = nil
	}
}

// emulatedCLI is a CLI that the emulator stands in for, of the generation 0.8.
func emulatedCLI(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(t.TempDir(), "omnigraph")
	require.NoError(t, os.Symlink(self, bin))
	return bin
}
