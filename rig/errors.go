package rig

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotRig: the directory was not made by Make.
	ErrNotRig error = &usageError{"not a rig"}
	// ErrRunning: the rig's server is up already.
	ErrRunning = errors.New("already up")
	// ErrNotRunning: the rig has no server.
	ErrNotRunning = errors.New("not running")
	// ErrPortTaken: somebody else listens on the port that was asked for.
	ErrPortTaken = errors.New("port is taken")
	// ErrBusy: another command works on the rig at this moment.
	ErrBusy = errors.New("another command works on this rig")
)

// Exit codes of the rig's commands, besides 0 and 1.
const (
	// ExitUsage: the command line is wrong, or something is missing that only the caller can supply, as a binary.
	ExitUsage = 2
	// ExitNotRunning: status of a rig without a server, as the service managers have it.
	ExitNotRunning = 3
)

// MissingBinaryError says that an omnigraph binary was not found and where it was looked for, in one line.
type MissingBinaryError struct {
	// Names are the binaries: omnigraph, omnigraph-server or both.
	Names []string
	// Searched are the places, in the order they were looked at.
	Searched []string
}

// Error names every place.
func (e *MissingBinaryError) Error() string {
	return fmt.Sprintf("no %s binary found; searched: %s",
		strings.Join(e.Names, " and no "), strings.Join(e.Searched, ", "))
}

// ExitCode is 2.
func (*MissingBinaryError) ExitCode() int { return ExitUsage }

// ClusterError says that omnigraph refused the rig's configuration.
type ClusterError struct {
	// Stage is what was tried: validate, import, apply.
	Stage string
	// Diagnostics are omnigraph's, one a line.
	Diagnostics []string
}

// Error is one line with every diagnostic.
func (e *ClusterError) Error() string {
	if len(e.Diagnostics) == 0 {
		return fmt.Sprintf("cluster %s was refused without a diagnostic", e.Stage)
	}

	return fmt.Sprintf("cluster %s: %s", e.Stage, strings.Join(e.Diagnostics, "; "))
}

// BootError says that the server did not come up, with the last lines of its log.
type BootError struct {
	// Err is what happened.
	Err error
	// Log are the server's last lines, without ANSI codes and backtrace.
	Log []string
	// LogFile has all of them.
	LogFile string
}

// Error is one line. The log's lines are for the caller to show.
func (e *BootError) Error() string {
	if msg := lastMessage(e.Log); msg != "" {
		return fmt.Sprintf("omnigraph-server did not come up: %v: %s", e.Err, msg)
	}

	return fmt.Sprintf("omnigraph-server did not come up: %v", e.Err)
}

// Unwrap gives what happened.
func (e *BootError) Unwrap() error { return e.Err }

// CommandError is the end of the command that Run ran, other than success.
type CommandError struct {
	// Command is its name.
	Command string
	// Code is its exit code; 128 plus the signal's number if a signal ended it; 126 or 127 if it did not start.
	Code int
	// Err says why.
	Err error
}

// Error names the command and its end.
func (e *CommandError) Error() string { return fmt.Sprintf("%s: %v", e.Command, e.Err) }

// ExitCode is the command's own.
func (e *CommandError) ExitCode() int { return e.Code }

// Unwrap gives the reason.
func (e *CommandError) Unwrap() error { return e.Err }

// SignalError says that a signal ended the work before it was done.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return fmt.Sprintf("stopped by the signal %v", e.Signal) }

// ExitCode is 128 plus the signal's number, as a shell has it.
func (e *SignalError) ExitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}

	return 1
}

// usageError is what the caller asked for and can't have.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func (*usageError) ExitCode() int { return ExitUsage }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
