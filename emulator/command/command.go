// Package command is the omnigraph-emulator program: a server, a stand-in for the CLI, and, called by their names,
// a drop-in for both of omnigraph's binaries. It is a package so that a test binary can be all of them.
package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/cli"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

const usage = `omnigraph-emulator answers as an omnigraph server and CLI do, in memory, with a cost model and faults at will.

  omnigraph-emulator serve --demo | --rig DIR [--bind 127.0.0.1:0] [--api 0.8|0.10|0.13]
                           [--profile none|spike|FILE] [--faults FILE] [--admin-token TOKEN]
  omnigraph-emulator cli ARGS...     as omnigraph ARGS...
  omnigraph-emulator link DIR        makes DIR/omnigraph and DIR/omnigraph-server, which stand in for the real ones
  omnigraph-emulator version
`

// StandsFor reports whether a program of this path is called as one of omnigraph's binaries.
func StandsFor(path string) bool {
	name := programName(path)
	return name == cliName || name == serverName
}

const (
	cliName    = "omnigraph"
	serverName = "omnigraph-server"
)

func programName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// Run does what argv asks for and returns the exit code.
func Run(ctx context.Context, argv []string) int {
	args := argv[1:]
	switch programName(argv[0]) {
	case cliName:
		return standIn(ctx, args)
	case serverName:
		return report(dropIn(ctx, args))
	}
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	switch args[0] {
	case "cli":
		return standIn(ctx, args[1:])
	case "serve":
		return report(serve(ctx, args[1:]))
	case "link":
		return report(link(args[1:]))
	case "version", "--version":
		fmt.Println("omnigraph-emulator", server.Version(graph.V08))
		return 0
	case "help", "--help", "-h":
		fmt.Print(usage)
		return 0
	}
	fmt.Fprintf(os.Stderr, "omnigraph-emulator: unknown command %q\n\n%s", args[0], usage)
	return 2
}

func standIn(ctx context.Context, args []string) int {
	signal.Ignore(syscall.SIGPIPE)
	return cli.Main(ctx, args, cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now})
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "Error: \n   0: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n      "))
	return 1
}

// link makes the two names under which the emulator stands in for omnigraph's binaries.
func link(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("link takes the directory in which to make the names")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(args[0], 0o750); err != nil {
		return fmt.Errorf("make the directory for the links: %w", err)
	}
	for _, name := range []string{cliName, serverName} {
		path := filepath.Join(args[0], name)
		if info, err := os.Lstat(path); err == nil {
			if info.Mode()&os.ModeSymlink == 0 {
				return fmt.Errorf("%s exists and is no symbolic link; remove it first", path)
			}
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("replace %s: %w", path, err)
			}
		}
		if err := os.Symlink(self, path); err != nil {
			return fmt.Errorf("link %s: %w", path, err)
		}
	}
	return nil
}
