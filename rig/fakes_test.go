package rig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mitodl/xk6-omnigraph/rig"
)

// script writes an executable shell script and gives its path.
func script(t *testing.T, path, body string) string {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	return path
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
