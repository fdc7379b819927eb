// Package rigtest boots a real omnigraph server for a test and stops it with the test.
package rigtest

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

// bootTime bounds boot and seeding, on a machine that may be busy with other tests.
const bootTime = 2 * time.Minute

// Rig is a running server with rows.
type Rig struct {
	*rig.Rig
	// URL is the server's address, Graph the graph's id, Token the first writer's.
	URL, Graph, Token string
	// Tokens are all actors'.
	Tokens rig.Tokens
	// Store is the path of the graph's storage.
	Store string
	// Bin and ServerBin are the binaries.
	Bin, ServerBin string
	// Emulated: omnigraph-emulator stands in for them.
	Emulated bool
	// Server is the running server, which a test may stop or kill.
	Server *rig.Server

	options rig.UpOptions
}

type config struct {
	make rig.MakeOptions
	up   rig.UpOptions
	real bool
}

// Option changes what Start boots.
type Option func(*config)

// Rows sets the number of memories; without it there are 50.
func Rows(n int) Option { return func(c *config) { c.make.Dataset.Rows = n } }

// Dataset sets all of the dataset's parameters.
func Dataset(p dataset.Params) Option { return func(c *config) { c.make.Dataset = p } }

// Fragments makes n single-row commits after the boot.
func Fragments(n int) Option { return func(c *config) { c.up.Fragments = n } }

// Optimize compacts the store at the end.
func Optimize() Option { return func(c *config) { c.up.Optimize = true } }

// Writers sets the number of writing actors; without it there are 8.
func Writers(n int) Option { return func(c *config) { c.make.Writers = n } }

// ServerEnv adds NAME=value entries to the server's environment, as OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=2.
func ServerEnv(entries ...string) Option {
	return func(c *config) { c.up.ServerEnv = append(c.up.ServerEnv, entries...) }
}

// Real skips the test where OMNIGRAPH_REAL=off has the emulator stand in.
func Real() Option { return func(c *config) { c.real = true } }

// Binaries finds the binaries: those of OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN or PATH. Without them the test is
// skipped, and fails where CI is set, since nothing may be left untested there. With OMNIGRAPH_REAL=off the
// emulator is built and taken.
func Binaries(t testing.TB) rig.Binaries {
	t.Helper()

	if strings.EqualFold(os.Getenv("OMNIGRAPH_REAL"), "off") {
		return emulator(t)
	}

	// Asked one by one, since the go command keeps a test's result for as long as the variables that it asked
	// for stay the same, and os.Environ does not count as asking.
	var env []string
	for _, name := range []string{"OMNIGRAPH_BIN", "OMNIGRAPH_SERVER_BIN", "PATH"} {
		env = append(env, name+"="+os.Getenv(name))
	}

	b, err := rig.Find(rig.Search{Env: env})

	var missing *rig.MissingBinaryError

	switch {
	case err == nil && b.Emulator == "":
		return b
	case err != nil && !errors.As(err, &missing):
		t.Fatal(err)
	case inCI():
		t.Fatalf("no real omnigraph binaries (set OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN, or OMNIGRAPH_REAL=off): %v", err)
	default:
		t.Skip("no real omnigraph binaries: set OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN, or OMNIGRAPH_REAL=off")
	}

	return rig.Binaries{}
}

// inCI tells whether nothing may be left untested.
func inCI() bool {
	switch strings.ToLower(os.Getenv("CI")) {
	case "", "0", "false":
		return false
	default:
		return true
	}
}

// Start makes a rig in a temporary folder and boots it. The server ends with the test.
func Start(t testing.TB, opts ...Option) *Rig {
	t.Helper()

	c := config{make: rig.MakeOptions{Dataset: dataset.Default()}}
	c.make.Dataset.Rows = 50

	for _, opt := range opts {
		opt(&c)
	}

	c.up.Binaries = Binaries(t)
	c.up.Log = logWriter{t}

	if c.real && c.up.Binaries.Emulator != "" {
		t.Skip("this test needs the real omnigraph, and OMNIGRAPH_REAL=off")
	}

	made, err := rig.Make(filepath.Join(t.TempDir(), "rig"), c.make)
	if err != nil {
		t.Fatal(err)
	}

	r := &Rig{Rig: made, Graph: rig.Graph, Store: made.Store(), options: c.up}

	if r.Tokens, err = made.Tokens(); err != nil {
		t.Fatal(err)
	}

	r.Token = r.Tokens[rig.ActorWriter]
	r.boot(t)

	// What comes after the first boot must not repeat the seeding.
	r.options.Fragments, r.options.Optimize = 0, false

	t.Cleanup(func() {
		if err := r.Server.Stop(); err != nil {
			t.Errorf("stop the rig: %v", err)
		}
	})

	return r
}

func (r *Rig) boot(t testing.TB) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), bootTime)
	defer cancel()

	s, err := r.Up(ctx, r.options)
	if err != nil {
		var boot *rig.BootError
		if errors.As(err, &boot) {
			t.Log(strings.Join(boot.Log, "\n"))
		}

		t.Fatal(err)
	}

	r.Server, r.URL = s, s.URL
	r.Bin, r.ServerBin, r.Emulated = s.Binaries.CLI, s.Binaries.Server, s.Emulated
}

// Restart stops the server, if it is up, and boots it again, at the same address if nobody took it meanwhile.
func (r *Rig) Restart(t testing.TB) {
	t.Helper()

	if err := r.Server.Stop(); err != nil {
		t.Fatal(err)
	}

	r.boot(t)
}

// Free tells whether nobody has an address's port. What wants a server back at its old address asks, since others may have
// taken it while the server was down.
func Free(t testing.TB, address string) bool {
	t.Helper()

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	var lc net.ListenConfig

	l, err := lc.Listen(context.Background(), "tcp", u.Host)
	if err != nil {
		return false
	}

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	return true
}

// logWriter shows the rig's progress with the test's.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Helper()
	w.t.Log("rig: " + strings.TrimSpace(string(p)))

	return len(p), nil
}

// built is the emulator, made once per test binary.
var built struct {
	once sync.Once
	path string
	err  error
	out  []byte
}

// emulator builds cmd/omnigraph-emulator, which the go command caches.
func emulator(t testing.TB) rig.Binaries {
	t.Helper()

	_, self, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("where the module lies is not known: build with paths to use the emulator")
	}

	root := filepath.Dir(filepath.Dir(filepath.Dir(self)))
	if _, err := os.Stat(filepath.Join(root, "cmd", "omnigraph-emulator", "main.go")); err != nil {
		if inCI() {
			t.Fatalf("OMNIGRAPH_REAL=off and no emulator: %v", err)
		}

		t.Skipf("OMNIGRAPH_REAL=off and no emulator: %v", err)
	}

	built.once.Do(func() {
		built.path = filepath.Join(root, "bin", "omnigraph-emulator")
		// Test binaries of other packages may do the same at the same time: each gives its own the name.
		own := built.path + "-" + strconv.Itoa(os.Getpid())

		// #nosec G204 -- our own program, built for tests
		cmd := exec.Command("go", "build", "-o", own, "./cmd/omnigraph-emulator") //nolint:noctx // tests only
		cmd.Dir = root

		if built.out, built.err = cmd.CombinedOutput(); built.err == nil {
			built.err = os.Rename(own, built.path)
		}
	})

	if built.err != nil {
		t.Fatalf("build the emulator: %v\n%s", built.err, built.out)
	}

	return rig.Binaries{Emulator: built.path, Asked: true}
}
