package rig_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

func TestMakeWritesFilesThatOnlyTheOwnerReads(t *testing.T) {
	r := made(t)

	for _, name := range []string{
		"rig.json", "cluster.yaml", "council.pg", "queries/council.gq", "policies/council.yaml",
		"policies/server.yaml", "tokens.json", "data/council.ndjson",
	} {
		info, err := os.Stat(filepath.Join(r.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}

		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}

	if info, err := os.Stat(r.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
}

func TestEveryActorHasATokenOfItsOwn(t *testing.T) {
	r, err := rig.Make(t.TempDir(), rig.MakeOptions{Writers: 3})
	if err != nil {
		t.Fatal(err)
	}

	tokens, err := r.Tokens()
	if err != nil {
		t.Fatal(err)
	}

	seen := map[string]string{}

	for _, actor := range []string{"act-load", "act-load-2", "act-load-3", "act-reader", "act-outsider"} {
		token := tokens[actor]
		if len(token) < 32 || seen[token] != "" {
			t.Errorf("%s has the token %q, as has %q", actor, token, seen[token])
		}

		seen[token] = actor
	}

	if len(tokens) != 5 {
		t.Errorf("%d actors", len(tokens))
	}
}

func TestMakeOverwritesNothing(t *testing.T) {
	r := made(t)

	if _, err := rig.Make(r.Dir(), rig.MakeOptions{}); err == nil || !strings.Contains(err.Error(), "is one already") {
		t.Errorf("over a rig: %v", err)
	}

	dir := t.TempDir()
	file := filepath.Join(dir, "letter.txt")

	if err := os.WriteFile(file, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := rig.Make(dir, rig.MakeOptions{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over other files: %v", err)
	}

	if _, err := rig.Make(file, rig.MakeOptions{}); err == nil {
		t.Error("over a file: no error")
	}
}

func TestMakeRefusesBadOptions(t *testing.T) {
	bad := dataset.Default()
	bad.Rows = -1

	for name, o := range map[string]rig.MakeOptions{
		"rows":    {Dataset: bad},
		"writers": {Writers: -1},
	} {
		dir := filepath.Join(t.TempDir(), "rig")
		if _, err := rig.Make(dir, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}

		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: left %v behind", name, err)
		}
	}
}

func TestOpenTellsWhatIsNotARig(t *testing.T) {
	empty := t.TempDir()

	for name, content := range map[string]string{
		"absent":        "",
		"not JSON":      "{",
		"other version": `{"version":99,"graph":"council"}`,
		"other graph":   `{"version":1,"graph":"x"}`,
	} {
		dir := empty

		if content != "" {
			dir = t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "rig.json"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := rig.Open(dir); !errors.Is(err, rig.ErrNotRig) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenRemembersTheDataset(t *testing.T) {
	r := made(t)

	again, err := rig.Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}

	if again.Dataset() != r.Dataset() || again.Dataset().SHA256 == "" {
		t.Errorf("%v, was %v", again.Dataset(), r.Dataset())
	}

	data, err := os.ReadFile(filepath.Join(r.Dir(), "data", "council.ndjson"))
	if err != nil || int64(len(data)) != r.Dataset().Bytes {
		t.Errorf("the file has %d bytes (%v), the identity says %d", len(data), err, r.Dataset().Bytes)
	}

	if !json.Valid(data[:strings.IndexByte(string(data), '\n')]) {
		t.Error("the first line is not JSON")
	}
}
