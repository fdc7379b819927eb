package rig_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig"
)

// script writes an executable shell script and gives its path.
func script(t *testing.T, path, body string) string {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}

	// No process that is forked meanwhile may carry the open file along: it could not be started.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()

	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	return path
}

// patience is how long something that must happen is waited for; only a failure takes all of it.
const patience = time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// exists tells whether there is a file of that name.
func exists(path string) bool {
	_, err := os.Stat(path)

	return err == nil
}

// untilThereIs is a context that ends once there is a file of that name.
func untilThereIs(t *testing.T, path string) context.Context {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})

	go func() {
		defer close(done)
		defer cancel()

		for end := time.Now().Add(patience); !exists(path) && ctx.Err() == nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}()

	t.Cleanup(func() {
		cancel()
		<-done
	})

	return ctx
}

// obligingCLI answers every command that Up makes the way the real one does.
const obligingCLI = `case "$1 $2" in
"cluster apply") echo '{"ok":true,"converged":true,"diagnostics":[]}' ;;
cluster*) echo '{"ok":true,"diagnostics":[]}' ;;
load*) echo '{}' ;;
optimize*) echo '{"tables":[]}' ;;
esac`

// made is a new rig in a temporary folder.
func made(t *testing.T) *rig.Rig {
	t.Helper()

	r, err := rig.Make(filepath.Join(t.TempDir(), "rig"), rig.MakeOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return r
}

// fakes are binaries made of two scripts.
func fakes(t *testing.T, cli, server string) rig.Binaries {
	t.Helper()

	dir := t.TempDir()

	return rig.Binaries{
		CLI:    script(t, filepath.Join(dir, "omnigraph"), cli),
		Server: script(t, filepath.Join(dir, "omnigraph-server"), server),
	}
}
