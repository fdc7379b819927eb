package robust

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	// Arrived has one entry for each mutation that has come, as far as there is room.
	Arrived chan struct{}
	stop    context.CancelFunc
	served  chan error
}

// emulate serves the demo graph under fault rules until the test's end.
func emulate(t testing.TB, generation graph.Generation, rules ...faults.Rule) *emulated {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	graphs, policy, err := demo.Open(ctx, graph.Options{Generation: generation})
	require.NoError(t, err)
	runner, err := server.Listen(ctx, ownAddress(t))
	require.NoError(t, err)
	e := &emulated{
		URL: "http://" + runner.Addr(), Graph: demo.GraphID, Token: demo.Tokens["act-load"], OtherToken: demo.Tokens["act-load-2"],
		Faults: faults.New(faults.Plan{Seed: 7, Rules: rules}, nil), stop: cancel, served: make(chan error, 1),
		Arrived: make(chan struct{}, 100),
	}
	tokens := map[string]string{}
	for actor, token := range demo.Tokens {
		tokens[token] = actor
	}
	handler := server.New(graphs, server.Options{
		Generation: generation, Tokens: tokens, ClusterPolicy: policy, Faults: e.Faults, Restart: runner.Restart,
	})
	arriving := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/mutate") || strings.HasSuffix(r.URL.Path, "/change") { // the CLI 0.8 takes the older name
			select {
			case e.Arrived <- struct{}{}:
			default:
			}
		}
		handler.ServeHTTP(w, r)
	})
	go func() { e.served <- runner.Serve(ctx, arriving) }()
	t.Cleanup(func() { e.end(t) })
	return e
}

// addresses counts the emulators of this process.
var addresses atomic.Uint32

// ownAddress is an address to listen on whose port nobody else takes while it is closed: no other test listens on this
// one of the loopback's addresses, where the system has more than one.
func ownAddress(t testing.TB) string {
	t.Helper()
	id, n := os.Getpid(), addresses.Add(1)
	host := fmt.Sprintf("127.%d.%d.%d", 1+id%250, id/250%250, 1+n%250)
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "127.0.0.1:0"
	}
	require.NoError(t, l.Close())
	return host + ":0"
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
