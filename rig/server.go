package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// defaultBootTime bounds the wait for a server to answer; it takes 0.2 s on an idle machine.
	defaultBootTime = 30 * time.Second
	// stopGrace is how long a server may take to end after SIGTERM before it is killed.
	stopGrace = 10 * time.Second
	// pollEvery is how often a booting or ending server is looked at.
	pollEvery = 20 * time.Millisecond
	// bootTries bounds the attempts with another free port when somebody else was faster to take it.
	bootTries = 5
)

// Server is a rig's running omnigraph-server.
type Server struct {
	// URL is its address, as http://127.0.0.1:PORT.
	URL string
	// PID is its process.
	PID int
	// Version is what /healthz says.
	Version string
	// Binaries are what it was booted with.
	Binaries Binaries
	// Emulated: omnigraph-emulator stands in for it.
	Emulated bool

	rig *Rig
	// proc is nil for a server that another process booted.
	proc *process
}

// Done is closed when the server has ended. It is nil, and so never ready, for a server that another process
// booted.
func (s *Server) Done() <-chan struct{} {
	if s.proc == nil {
		return nil
	}

	return s.proc.done
}

// Stop ends the server: SIGTERM, and SIGKILL if that is not enough within 10 s. Stopping twice is fine.
func (s *Server) Stop() error {
	if s.proc == nil {
		return s.rig.Down()
	}

	s.proc.stop(stopGrace)

	return s.rig.forget(s.PID)
}

// Kill ends the server with SIGKILL, as a crash would.
func (s *Server) Kill() error {
	if s.proc == nil {
		return s.rig.kill(os.Kill)
	}

	s.proc.signal(os.Kill)
	<-s.proc.done

	return s.rig.forget(s.PID)
}

// serverState is what server.json says about the rig's server, for other processes.
type serverState struct {
	PID int `json:"pid"`
	// Mark tells the process from any other of the same number.
	Mark     string    `json:"mark"`
	URL      string    `json:"url"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	CLI      string    `json:"cli"`
	Server   string    `json:"server"`
	Emulated bool      `json:"emulated"`
}

// running reads server.json and checks that the process it names is still the one that was started.
func (r *Rig) running() (serverState, bool, error) {
	var state serverState

	data, err := os.ReadFile(r.path(serverFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state, false, nil
	}

	if err != nil {
		return state, false, fmt.Errorf("read the rig's server state: %w", err)
	}

	if err := json.Unmarshal(data, &state); err != nil || state.PID <= 0 || state.Mark == "" {
		return serverState{}, false, fmt.Errorf("%s is damaged; look for a leftover omnigraph-server and remove the file",
			r.path(serverFile))
	}

	mark, err := startMark(state.PID)
	if err != nil {
		return state, false, fmt.Errorf("look at process %d: %w", state.PID, err)
	}

	return state, mark == state.Mark, nil
}

// forget removes server.json if it still speaks of pid.
func (r *Rig) forget(pid int) error {
	data, err := os.ReadFile(r.path(serverFile))
	if err != nil {
		return nil //nolint:nilerr // gone, or the whole rig is: nothing to forget
	}

	var state serverState
	if err := json.Unmarshal(data, &state); err == nil && state.PID != pid {
		return nil
	}

	if err := os.Remove(r.path(serverFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the rig's server state: %w", err)
	}

	return nil
}

// Down stops the rig's server, whoever booted it. A process that merely has the server's old number is left
// alone. Without a server it says ErrNotRunning.
func (r *Rig) Down() error { return r.kill(syscall.SIGTERM) }

func (r *Rig) kill(sig os.Signal) error {
	state, up, err := r.running()
	if err != nil {
		return err
	}

	if !up {
		return errors.Join(fmt.Errorf("the rig %s is %w", r.dir, ErrNotRunning), r.forget(state.PID))
	}

	// From here on the handle stands for the process (on Linux through a pidfd): look once more, then signal.
	proc, err := os.FindProcess(state.PID)
	if err != nil {
		return fmt.Errorf("stop process %d: %w", state.PID, err)
	}
	defer func() { _ = proc.Release() }()

	for deadline := time.Now().Add(stopGrace); ; time.Sleep(pollEvery) {
		mark, err := startMark(state.PID)
		if err != nil {
			return fmt.Errorf("look at process %d: %w", state.PID, err)
		}

		if mark != state.Mark {
			return r.forget(state.PID)
		}

		if sig != nil {
			if err := proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("stop process %d: %w", state.PID, err)
			}

			sig = nil
		}

		if time.Now().After(deadline) {
			sig, deadline = os.Kill, time.Now().Add(stopGrace)
		}
	}
}

// Status is what a rig is doing.
type Status struct {
	Dir     string `json:"dir"`
	Graph   string `json:"graph"`
	Store   string `json:"store"`
	Running bool   `json:"running"`
	// URL and PID are the running server's.
	URL      string     `json:"url,omitempty"`
	PID      int        `json:"pid,omitempty"`
	Version  string     `json:"version,omitempty"`
	Started  *time.Time `json:"started,omitempty"`
	Emulated bool       `json:"emulated,omitempty"`
	// Dataset is the rig's; Loaded says whether the graph was loaded with it, Fragments counts the single-row
	// commits made on top.
	Dataset   string `json:"dataset"`
	Loaded    bool   `json:"loaded"`
	Fragments int    `json:"fragments"`
}

// Status looks at the rig without changing anything.
func (r *Rig) Status() (Status, error) {
	state, up, err := r.running()
	if err != nil {
		return Status{}, err
	}

	st := Status{
		Dir: r.dir, Graph: Graph, Store: r.Store(), Running: up,
		Dataset: r.marker.Dataset.String(), Fragments: r.marker.Fragments,
		Loaded: r.marker.Loaded != "" && r.marker.Loaded == r.marker.Dataset.SHA256,
	}

	if up {
		st.URL, st.PID, st.Version = state.URL, state.PID, state.Version
		st.Started, st.Emulated = &state.Started, state.Emulated
	}

	return st, nil
}

// boot starts a server and waits until it serves the rig's graph.
func (r *Rig) boot(ctx context.Context, b Binaries, o UpOptions) (*Server, error) {
	token, err := r.Tokens()
	if err != nil {
		return nil, err
	}

	for try := 1; ; try++ {
		port, err := r.choosePort(ctx, o.Port, try)
		if err != nil {
			return nil, err
		}

		s, err := r.bootOn(ctx, b, o, port.number, token[ActorWriter])
		port.release()

		if err == nil {
			r.marker.Port = port.number

			if err := r.save(); err != nil {
				return nil, errors.Join(err, s.Stop())
			}

			return s, nil
		}

		if !errors.Is(err, ErrPortTaken) || o.Port != 0 || try == bootTries {
			return nil, err
		}
	}
}

func (r *Rig) bootOn(ctx context.Context, b Binaries, o UpOptions, port int, token string) (*Server, error) {
	log, err := os.OpenFile(r.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	defer log.Close() // the child has its own

	address := fmt.Sprintf("127.0.0.1:%d", port)
	env := orProcess(o.Env)

	// The server's end is Stop's or the parent-death signal's, not the boot's context's.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), b.Server, "--cluster", r.dir, "--bind", address) // #nosec G204
	cmd.Dir = r.dir
	cmd.Stdout, cmd.Stderr = log, log
	own := append(env.forOmnigraph().with(
		"OMNIGRAPH_HOME", r.path(homeDir),
		"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE", r.TokensFile(),
		"RUST_LOG", logLevel(env),
		"NO_COLOR", "1",
	), o.ServerEnv...)
	cmd.Env = own.fromHere()

	cmd.SysProcAttr = attributes(true, syscall.SIGKILL)
	if o.Detach {
		cmd.SysProcAttr = detached()
	}

	proc, err := start(cmd)
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}

	s := &Server{URL: "http://" + address, PID: proc.pid(), Binaries: b, Emulated: b.Emulator != "", rig: r, proc: proc}

	err = r.remember(s)
	if err == nil {
		s.Version, err = r.await(ctx, s, token, o.BootTimeout)
	}

	if err == nil {
		err = r.remember(s)
	}

	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}

	return s, nil
}

// logLevel keeps the server's own lines and the warnings: at the default level it writes lines for every request
// and storage event, which fills the disk in a long run.
func logLevel(env environment) string {
	if level := env.get("RUST_LOG"); level != "" {
		return level
	}

	return "warn,omnigraph_server=info,omnigraph_server::handlers=warn"
}

// remember writes server.json.
func (r *Rig) remember(s *Server) error {
	mark, err := startMark(s.PID)
	if err != nil {
		return fmt.Errorf("look at process %d: %w", s.PID, err)
	}

	if mark == "" {
		// It is dead already; await says how.
		return nil
	}

	return writeJSON(r.path(serverFile), serverState{
		PID: s.PID, Mark: mark, URL: s.URL, Version: s.Version, Started: time.Now().UTC(),
		CLI: s.Binaries.CLI, Server: s.Binaries.Server, Emulated: s.Emulated,
	})
}
