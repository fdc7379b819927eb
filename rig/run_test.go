package rig_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// runOptions are for a small temporary rig under a folder of the test's own.
func runOptions(t *testing.T, command ...string) (rig.RunOptions, *bytes.Buffer) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())

	small := dataset.Default()
	small.Rows = 5

	var log bytes.Buffer

	return rig.RunOptions{
		UpOptions: rig.UpOptions{Binaries: rigtest.Binaries(t), Dataset: &small, Log: &log},
		Command:   command,
		KillAfter: 100 * time.Millisecond,
	}, &log
}

func nothingLeft(t *testing.T) {
	t.Helper()

	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// writer tells through a channel what is written to it.
type writer chan string

func (w writer) Write(p []byte) (int, error) {
	w <- string(p)

	return len(p), nil
}

// telling makes a file once a text is written to a log.
type telling struct {
	io.Writer
	text, file string
}

func (w telling) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if strings.Contains(string(p), w.text) {
		err = errors.Join(err, os.WriteFile(w.file, nil, 0o600))
	}

	return n, err
}

func TestACommandThatIgnoresEverythingIsKilled(t *testing.T) {
	const stubborn = `trap "" INT TERM; echo ready; while :; do sleep 1; done`

	t.Run("after the second signal", func(t *testing.T) {
		o, log := runOptions(t, "sh", "-c", stubborn)
		signals := make(chan os.Signal)
		out := make(writer, 10)
		o.Signals, o.Stdout = signals, out

		go func() {
			<-out
			signals <- syscall.SIGINT
			signals <- syscall.SIGTERM // another one is never the echo of the first
		}()

		var ended *rig.CommandError
		if err := rig.Run(t.Context(), o); !errors.As(err, &ended) || ended.Code != 137 {
			t.Errorf("error %v", err)
		}

		if !strings.Contains(log.String(), "killing it") {
			t.Errorf("log %q", log.String())
		}

		nothingLeft(t)
	})

	t.Run("after the context's end", func(t *testing.T) {
		o, _ := runOptions(t, "sh", "-c", stubborn)
		out := make(writer, 10)
		o.Stdout = out

		ctx, cancel := context.WithCancel(t.Context())

		go func() {
			<-out
			cancel()
		}()

		var ended *rig.CommandError
		if err := rig.Run(ctx, o); !errors.As(err, &ended) || ended.Code != 137 {
			t.Errorf("error %v", err)
		}

		nothingLeft(t)
	})
}

func TestRunTellsThatTheServerEnded(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	o, log := runOptions(t, "sh", "-c",
		`pid=$(sed -n 's/.*"pid": \([0-9]*\),/\1/p' "$OMNIGRAPH_RIG/server.json"); kill -KILL $pid
n=0; until test -f '`+told+`' || test $n = 600; do sleep 0.1; n=$((n+1)); done`)
	o.Log = telling{o.Log, "ended while the command runs", told}

	if err := rig.Run(t.Context(), o); err != nil {
		t.Error(err)
	}

	if !strings.Contains(log.String(), "ended while the command runs") {
		t.Errorf("log %q", log.String())
	}

	nothingLeft(t)
}

func TestRunKeepsADirectoryThatWasGiven(t *testing.T) {
	o, _ := runOptions(t, "true")
	o.Dir = made(t).Dir()

	if err := rig.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}

	r, err := rig.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}

	if st, err := r.Status(); err != nil || st.Running || !st.Loaded || r.Dataset().Rows != 5 {
		t.Errorf("%+v, %v", st, err)
	}

	nothingLeft(t)
}

func TestRunStopsWhatTheCommandBooted(t *testing.T) {
	b := rigtest.Binaries(t)
	o, _ := runOptions(t, "sh", "-c", "true")
	o.Dir = made(t).Dir()

	// The command restarts the server, as an outage test does: here the test does so in its place.
	out := make(writer, 10)
	o.Stdout = out
	resume := filepath.Join(t.TempDir(), "resume")
	o.Command = []string{"sh", "-c", `echo ready; while [ ! -f "` + resume + `" ]; do sleep 0.02; done`}

	done := make(chan error, 1)

	go func() { done <- rig.Run(context.WithoutCancel(t.Context()), o) }()

	<-out

	r, err := rig.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}

	if err := r.Down(); err != nil {
		t.Fatal(err)
	}

	s, err := r.Up(t.Context(), rig.UpOptions{Binaries: b, Detach: true})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(resume, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := <-done; err != nil {
		t.Error(err)
	}

	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Errorf("the server is still up: %v", s.Stop())
	}

	down(t, r)
}

func TestRunSaysWhatIsWrongBeforeItBoots(t *testing.T) {
	for want, change := range map[string]func(*rig.RunOptions){
		"no command":  func(o *rig.RunOptions) { o.Command = nil },
		"not a rig":   func(o *rig.RunOptions) { o.Dir = os.TempDir() },
		"rows":        func(o *rig.RunOptions) { o.Dataset.Rows = -1 },
		"writers":     func(o *rig.RunOptions) { o.Make.Writers = -1 },
		"no binaries": func(o *rig.RunOptions) { o.Binaries = rig.Binaries{} },
	} {
		t.Run(want, func(t *testing.T) {
			o, _ := runOptions(t, "true")
			change(&o)

			if err := rig.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}

			nothingLeft(t)
		})
	}
}

func TestTwoCommandsDoNotWorkOnOneRigAtOnce(t *testing.T) {
	r := made(t)
	started := filepath.Join(t.TempDir(), "started")
	slow := fakes(t, "touch '"+started+"'; exec sleep 60", "exit 0")

	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)

	go func() {
		_, err := r.Up(ctx, rig.UpOptions{Binaries: slow})
		first <- err
	}()

	eventually(t, "the first one's CLI runs", func() bool { return exists(started) })

	other, err := rig.Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := other.Up(t.Context(), rig.UpOptions{Binaries: slow}); !errors.Is(err, rig.ErrBusy) {
		t.Errorf("error %v", err)
	}

	cancel()

	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
}

func TestExitCodesOfErrors(t *testing.T) {
	for code, err := range map[int]interface{ ExitCode() int }{
		2:   &rig.MissingBinaryError{},
		9:   &rig.CommandError{Code: 9},
		130: &rig.SignalError{Signal: os.Interrupt},
		143: &rig.SignalError{Signal: syscall.SIGTERM},
	} {
		if got := err.ExitCode(); got != code {
			t.Errorf("%T: %s, wanted %d", err, strconv.Itoa(got), code)
		}
	}
}
