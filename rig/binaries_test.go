package rig_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/rig"
)

func TestFindLooksInFlagsThenVariablesThenPath(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return script(t, filepath.Join(dir, name), "exit 0") }

	flagCLI, flagServer := at("flag/cli"), at("flag/server")
	varCLI, varServer := at("var/cli"), at("var/server")
	pathCLI, pathServer := at("path/omnigraph"), at("path/omnigraph-server")
	emulator := at("self/omnigraph-emulator")
	self := filepath.Join(dir, "self", "k6")
	pathEmulator := at("emu/omnigraph-emulator")
	half := filepath.Dir(at("half/omnigraph"))

	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	path := "PATH=" + filepath.Join(dir, "path")
	vars := []string{"OMNIGRAPH_BIN=" + varCLI, "OMNIGRAPH_SERVER_BIN=" + varServer, path}

	for name, c := range map[string]struct {
		search rig.Search
		want   rig.Binaries
		err    []string
	}{
		"flags win": {
			search: rig.Search{CLI: flagCLI, Server: flagServer, Env: vars, Executable: self},
			want:   rig.Binaries{CLI: flagCLI, Server: flagServer},
		},
		"variables come next": {
			search: rig.Search{Env: vars, Executable: self},
			want:   rig.Binaries{CLI: varCLI, Server: varServer},
		},
		"then PATH": {
			search: rig.Search{Env: []string{path}, Executable: self},
			want:   rig.Binaries{CLI: pathCLI, Server: pathServer},
		},
		"places mix": {
			search: rig.Search{CLI: flagCLI, Env: []string{path}, Executable: self},
			want:   rig.Binaries{CLI: flagCLI, Server: pathServer},
		},
		"the emulator beside the program stands in": {
			search: rig.Search{Env: []string{"PATH=/nonexistent"}, Executable: self},
			want:   rig.Binaries{Emulator: emulator},
		},
		"the emulator in PATH stands in": {
			search: rig.Search{Env: []string{"PATH=" + filepath.Dir(pathEmulator)}, Executable: "/nonexistent/k6"},
			want:   rig.Binaries{Emulator: pathEmulator},
		},
		"the emulator on demand": {
			search: rig.Search{Emulator: true, Env: vars, Executable: self},
			want:   rig.Binaries{Emulator: emulator, Asked: true},
		},
		"OMNIGRAPH_REAL=off leaves the real ones out": {
			search: rig.Search{Env: append([]string{"OMNIGRAPH_REAL=off"}, vars...), Executable: self},
			want:   rig.Binaries{Emulator: emulator, Asked: true},
		},
		"nothing anywhere": {
			search: rig.Search{Env: []string{"PATH=/nonexistent"}, Executable: "/nonexistent/k6"},
			err: []string{
				"--bin", "--server-bin", "OMNIGRAPH_BIN", "OMNIGRAPH_SERVER_BIN", "PATH (/nonexistent)",
				"/nonexistent/omnigraph-emulator",
			},
		},
		"one real binary without the other": {
			search: rig.Search{Env: []string{"PATH=" + half}, Executable: self},
			err:    []string{"no omnigraph-server binary"},
		},
		"a flag that names nothing": {
			search: rig.Search{CLI: "/nonexistent/cli", Env: vars, Executable: self},
			err:    []string{"--bin", "/nonexistent/cli"},
		},
		"a variable that names nothing": {
			search: rig.Search{Env: []string{"OMNIGRAPH_SERVER_BIN=/nonexistent/s", path}, Executable: self},
			err:    []string{"OMNIGRAPH_SERVER_BIN", "/nonexistent/s"},
		},
		"a file that is not executable": {
			search: rig.Search{Server: plain, Env: vars, Executable: self},
			err:    []string{"--server-bin", plain},
		},
		"contradicting flags": {
			search: rig.Search{Emulator: true, CLI: flagCLI, Executable: self},
			err:    []string{"--emulator"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rig.Find(c.search)
			if got != c.want {
				t.Errorf("found %+v, wanted %+v", got, c.want)
			}

			if (err != nil) != (c.err != nil) {
				t.Fatalf("error %v", err)
			}

			if err == nil {
				return
			}

			for _, part := range c.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}

			var coded interface{ ExitCode() int }
			if !errors.As(err, &coded) || coded.ExitCode() != 2 {
				t.Errorf("%v has no exit code 2", err)
			}

			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line", err)
			}
		})
	}
}
