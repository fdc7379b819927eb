package rig_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig"
)

func TestTheServerFindsTheCallersFaultFile(t *testing.T) {
	r := made(t)
	b := fakes(t, obligingCLI, `cat "$OMNIGRAPH_EMULATOR_FAULTS"
exit 3`)
	t.Chdir(t.TempDir())

	if err := os.WriteFile("faults.json", []byte("the caller's faults\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	env := append(os.Environ(), "OMNIGRAPH_EMULATOR_FAULTS=faults.json")
	_, err := r.Up(t.Context(), rig.UpOptions{Binaries: b, Env: env})

	var boot *rig.BootError
	if !errors.As(err, &boot) || !strings.Contains(strings.Join(boot.Log, "\n"), "the caller's faults") {
		t.Errorf("error %v", err)
	}
}

func TestAServerThatDiesAtBootShowsItsLastLines(t *testing.T) {
	r := made(t)
	b := fakes(t, obligingCLI, `printf '\033[32mstarting\033[0m\n'
printf 'Error: \n   0: \033[91mthe disk is full\033[0m\n\nLocation:\n   x\n  ━━ BACKTRACE ━━\n   1: noise\n' >&2
exit 3`)

	_, err := r.Up(t.Context(), rig.UpOptions{Binaries: b})

	var boot *rig.BootError
	if !errors.As(err, &boot) {
		t.Fatalf("error %v", err)
	}

	log := strings.Join(boot.Log, "\n")
	if !strings.Contains(log, "starting") || strings.Contains(log, "\x1b") || strings.Contains(log, "noise") {
		t.Errorf("log %q", log)
	}

	for _, part := range []string{"exit status 3", "the disk is full"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}

	down(t, r)
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	r := made(t)
	b := fakes(t, obligingCLI, `echo "thinking about it"; exec sleep 600`)

	// On a busy machine the server may not even have come to its first line.
	for limit := 200 * time.Millisecond; ; limit *= 4 {
		_, err := r.Up(t.Context(), rig.UpOptions{Binaries: b, BootTimeout: limit})

		var boot *rig.BootError
		if !errors.As(err, &boot) || !strings.Contains(err.Error(), "within "+limit.String()) {
			t.Fatalf("error %v", err)
		}

		down(t, r)

		if strings.HasSuffix(err.Error(), ": thinking about it") {
			return
		}

		if len(boot.Log) > 0 || limit > time.Minute {
			t.Fatalf("error %v", err)
		}
	}
}

func TestABootEndsWithItsContext(t *testing.T) {
	r := made(t)
	running := filepath.Join(t.TempDir(), "running")
	b := fakes(t, obligingCLI, `touch '`+running+`'; exec sleep 600`)

	if _, err := r.Up(untilThereIs(t, running), rig.UpOptions{Binaries: b}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}

	down(t, r)
}

// down checks that the rig has no server and that no state of one is left.
func down(t *testing.T, r *rig.Rig) {
	t.Helper()

	if err := r.Down(); !errors.Is(err, rig.ErrNotRunning) {
		t.Errorf("a server is left: %v", err)
	}

	if _, err := os.Stat(filepath.Join(r.Dir(), "server.json")); err == nil {
		t.Error("server.json is left")
	}
}

func TestWhatTheCLIDoesWrongIsTold(t *testing.T) {
	for name, c := range map[string]struct{ cli, want string }{
		"refuses": {
			`printf '%s' '{"ok":false,"diagnostics":[{"severity":"warning","path":"w","message":"mild"},` +
				`{"severity":"error","path":"council.pg","message":"parse error:\n  here"}]}'; exit 1`,
			"cluster validate: council.pg: parse error: here",
		},
		"refuses with exit 0":        {`echo '{"ok":false,"diagnostics":[]}'`, "cluster validate was refused"},
		"prints nothing with exit 0": {`exit 0`, "exit 0 without the JSON"},
		"prints garbage":             {`echo hello`, "exit 0 without the JSON"},
		"prints another document":    {`echo '{}'`, "has no ok"},
		"fails with a report": {
			`printf 'Error: \n   0: \033[91mno such folder\033[0m\n' >&2; exit 1`, "exit status 1: no such folder",
		},
		"fails silently": {`exit 9`, "exit status 9"},
		"is killed":      {`kill -KILL $$`, "killed"},
		"does not converge": {
			`case $2 in apply) echo '{"ok":true,"converged":false,"diagnostics":[]}' ;; *) echo '{"ok":true}' ;; esac`,
			"cluster apply was refused",
		},
		"loads other rows": {
			`case "$1 $2" in "cluster apply") echo '{"ok":true,"converged":true}' ;; cluster*) echo '{"ok":true}' ;;
load*) echo '{"nodes_loaded":3}' ;; esac`,
			"3 nodes loaded, the dataset has 925",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := made(t)

			_, err := r.Up(t.Context(), rig.UpOptions{Binaries: fakes(t, c.cli, "exit 0")})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "mild") {
				t.Errorf("error %v", err)
			}

			down(t, r)
		})
	}
}

func TestAHangingCLIEndsWithTheContext(t *testing.T) {
	r := made(t)
	// A child of the CLI holds its pipes open: that must not hold us.
	running := filepath.Join(t.TempDir(), "running")
	b := fakes(t, `sleep 600 & touch '`+running+`'; sleep 600`, "exit 0")

	if _, err := r.Up(untilThereIs(t, running), rig.UpOptions{Binaries: b}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}

	down(t, r)
}

func TestABinaryThatIsNotThereAnyMoreIsTold(t *testing.T) {
	r := made(t)
	b := rig.Binaries{CLI: "/nonexistent/omnigraph", Server: "/nonexistent/omnigraph-server"}

	if _, err := r.Up(t.Context(), rig.UpOptions{Binaries: b}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}

	if _, err := r.Up(t.Context(), rig.UpOptions{}); err == nil {
		t.Error("no binaries, no error")
	}

	b = fakes(t, obligingCLI, "exit 0")
	b.Server = "/nonexistent/omnigraph-server"

	if _, err := r.Up(t.Context(), rig.UpOptions{Binaries: b}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}

	down(t, r)
}

func TestUpRefusesBadNumbers(t *testing.T) {
	r := made(t)

	for want, o := range map[string]rig.UpOptions{
		"fragments": {Fragments: -1},
		"port":      {Port: 65536},
	} {
		if _, err := r.Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAForeignProcessIsNeverTouched(t *testing.T) {
	r := made(t)

	// A state file of another boot, whose pid now belongs to somebody else: this test.
	state := `{"pid":` + strconv.Itoa(os.Getpid()) + `,"mark":"another-boot/1","url":"http://127.0.0.1:1"}`
	if err := os.WriteFile(filepath.Join(r.Dir(), "server.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}

	if st, err := r.Status(); err != nil || st.Running {
		t.Errorf("status %+v, %v", st, err)
	}

	if _, err := r.Server(); !errors.Is(err, rig.ErrNotRunning) {
		t.Errorf("server: %v", err)
	}

	// This test would not get further if it were.
	down(t, r)
}

func TestADamagedServerStateIsToldAndKept(t *testing.T) {
	r := made(t)
	path := filepath.Join(r.Dir(), "server.json")

	for _, state := range []string{"{", `{"pid":-1,"mark":"x"}`, `{"pid":1}`} {
		if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}

		if err := r.Down(); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", state, err)
		}

		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestTheEmulatorStandsInThroughItsLinks(t *testing.T) {
	dir := t.TempDir()
	stand := fakes(t, obligingCLI, "echo emulated server was here; exit 4")
	emulator := script(t, filepath.Join(dir, "omnigraph-emulator"),
		`[ "$1" = link ] || exit 1
ln -sf `+stand.CLI+` "$2/omnigraph"; ln -sf `+stand.Server+` "$2/omnigraph-server"`)

	r := made(t)

	var log bytes.Buffer

	_, err := r.Up(t.Context(), rig.UpOptions{Binaries: rig.Binaries{Emulator: emulator}, Log: &log})
	if err == nil || !strings.Contains(err.Error(), "emulated server was here") {
		t.Errorf("error %v", err)
	}

	if !strings.Contains(log.String(), "no omnigraph binaries found: using the emulator\n") {
		t.Errorf("log %q", log.String())
	}

	broken := script(t, filepath.Join(dir, "broken"), "echo cannot link >&2; exit 1")

	_, err = r.Up(t.Context(), rig.UpOptions{Binaries: rig.Binaries{Emulator: broken}})
	if err == nil || !strings.Contains(err.Error(), "link the emulator: exit status 1: cannot link") {
		t.Errorf("error %v", err)
	}
}
