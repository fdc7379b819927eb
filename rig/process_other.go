//go:build !unix

package rig

import (
	"errors"
	"os"
	"syscall"
)

// errUnsupported: omnigraph-server is not built for this system, so neither is a rig.
var errUnsupported = errors.New("a rig needs Linux, macOS or another Unix")

func attributes(bool, syscall.Signal) *syscall.SysProcAttr { return nil }

func detached() *syscall.SysProcAttr { return nil }

func leaderExited(int) {}

func leads(*syscall.SysProcAttr) bool { return false }

func tiedTo(*syscall.SysProcAttr) bool { return false }

func onTerminal() bool { return false }

func signalGroup(pid int, sig os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(sig)
	}
}

func endingSignal(*os.ProcessState) int { return 0 }

func lock(string) (func(), error) { return nil, errUnsupported }

func startMark(int) (string, error) { return "", errUnsupported }
