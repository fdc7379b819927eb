package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The names of omnigraph's binaries and of their stand-in.
const (
	cliName      = "omnigraph"
	serverName   = "omnigraph-server"
	emulatorName = "omnigraph-emulator"
)

// Environment variables that say where the binaries are.
const (
	envCLI    = "OMNIGRAPH_BIN"
	envServer = "OMNIGRAPH_SERVER_BIN"
	// envReal set to "off" leaves the real binaries out: only flags and the emulator count.
	envReal = "OMNIGRAPH_REAL"
)

// Binaries are the programs that a rig is run with.
type Binaries struct {
	// CLI is the omnigraph command line, Server is omnigraph-server; absolute paths.
	CLI, Server string
	// Emulator is the path of the emulator where that stands in for both; CLI and Server are empty then until
	// the rig has made its links.
	Emulator string
	// Asked: the emulator stands in because the search said so, not for want of anything else.
	Asked bool
}

// Search says where to look for the binaries.
type Search struct {
	// CLI and Server are the flags --bin and --server-bin: a path, or empty.
	CLI, Server string
	// Emulator leaves the real binaries out.
	Emulator bool
	// Env is the environment, as os.Environ has it; nil means the process's own. It counts: OMNIGRAPH_BIN, OMNIGRAPH_SERVER_BIN, OMNIGRAPH_REAL, PATH.
	Env []string
	// Executable is the running program, beside which the emulator is looked for; empty means os.Executable.
	Executable string
}

// Find looks for the real binaries in the flags, the variables and PATH, then for the emulator beside the
// running program and in PATH. What a flag or a variable names has to be there.
func Find(s Search) (Binaries, error) {
	env := orProcess(s.Env)
	off := s.Emulator || strings.EqualFold(env.get(envReal), "off")

	if s.Emulator && (s.CLI != "" || s.Server != "") {
		return Binaries{}, &usageError{"--emulator goes with neither --bin nor --server-bin"}
	}

	cli, cliErr := s.find(env, off, cliName, "--bin", s.CLI, envCLI)
	server, serverErr := s.find(env, off, serverName, "--server-bin", s.Server, envServer)

	// What was named and can't be run is a mistake to report, not a reason to take something else.
	for _, err := range []error{cliErr, serverErr} {
		if err != nil && !errors.Is(err, errAbsent) {
			return Binaries{}, err
		}
	}

	missing := &MissingBinaryError{}

	switch {
	case cliErr == nil && serverErr == nil:
		return Binaries{CLI: cli, Server: server}, nil
	case serverErr == nil:
		missing.Names = []string{cliName}
	case cliErr == nil:
		missing.Names = []string{serverName}
	default:
		missing.Names = []string{cliName, serverName}
	}

	missing.Searched = []string{"the flags --bin and --server-bin"}

	if off {
		missing.Searched = append(missing.Searched,
			"(the variables OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN and PATH left out by --emulator or OMNIGRAPH_REAL=off)")
	} else {
		missing.Searched = append(missing.Searched,
			"the variables OMNIGRAPH_BIN and OMNIGRAPH_SERVER_BIN", "PATH ("+env.get("PATH")+")")
	}

	// One real binary without the other is a mistake too.
	if len(missing.Names) == 1 {
		return Binaries{}, missing
	}

	emulator, searched := s.findEmulator(env)
	if emulator != "" {
		return Binaries{Emulator: emulator, Asked: off}, nil
	}

	missing.Searched = append(missing.Searched, searched...)

	return Binaries{}, missing
}

// errAbsent: neither flag nor variable names the binary and PATH doesn't have it.
var errAbsent = errors.New("absent")

func (s Search) find(env environment, off bool, name, flag, flagValue, variable string) (string, error) {
	if flagValue != "" {
		path, err := executable(flagValue)
		if err != nil {
			return "", fmt.Errorf("%s: %w", flag, err)
		}

		return path, nil
	}

	if off {
		return "", errAbsent
	}

	if value := env.get(variable); value != "" {
		path, err := executable(value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", variable, err)
		}

		return path, nil
	}

	if path := env.lookPath(name); path != "" {
		return path, nil
	}

	return "", errAbsent
}

func (s Search) findEmulator(env environment) (path string, searched []string) {
	self := s.Executable
	if self == "" {
		self, _ = os.Executable() // without it there is no folder to look in
	}

	if self != "" {
		beside := filepath.Join(filepath.Dir(self), emulatorName)
		if path, err := executable(beside); err == nil {
			return path, nil
		}

		searched = append(searched, "the emulator as "+beside)
	}

	if path := env.lookPath(emulatorName); path != "" {
		return path, nil
	}

	return "", append(searched, emulatorName+" in PATH")
}

// executable checks that path is a file that may be run and makes it absolute.
func executable(path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", &unusableBinaryError{path: path, err: err}
	}

	abs, err := filepath.Abs(found)
	if err != nil {
		return "", &unusableBinaryError{path: path, err: err}
	}

	return abs, nil
}

// unusableBinaryError is a binary that was named and can't be run.
type unusableBinaryError struct {
	path string
	err  error
}

func (e *unusableBinaryError) Error() string {
	reason := e.err

	var inner *exec.Error
	if errors.As(e.err, &inner) {
		reason = inner.Err
	}

	return fmt.Sprintf("%q can't be run: %v", e.path, reason)
}

func (e *unusableBinaryError) Unwrap() error { return e.err }

func (*unusableBinaryError) ExitCode() int { return ExitUsage }
