package rig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/internal/scratch"
	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// What a killed process left is removed, unless a server still works on it.
func TestATemporaryRigOfAKilledProcessStaysWhileItsServerRuns(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())

	b := rigtest.Binaries(t)
	small := dataset.Default()
	small.Rows = 5

	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}

	name := strings.NewReplacer("-"+strconv.Itoa(os.Getpid())+"-", "-"+strconv.Itoa(gone.Process.Pid)+"-", "*", "1").
		Replace(scratch.Pattern("rig"))
	left := filepath.Join(os.TempDir(), name)

	r, err := rig.Make(left, rig.MakeOptions{Dataset: small})
	if err != nil {
		t.Fatal(err)
	}

	s, err := r.Up(t.Context(), rig.UpOptions{Binaries: b})
	if err != nil {
		t.Fatal(err)
	}

	another := func() {
		t.Helper()

		o := rig.RunOptions{UpOptions: rig.UpOptions{Binaries: b, Dataset: &small}, Command: []string{"true"}}
		if err := rig.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	another()

	if _, err := rig.Open(left); err != nil {
		t.Errorf("it was taken from its server: %v", err)
	}

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	another()
	nothingLeft(t)
}
