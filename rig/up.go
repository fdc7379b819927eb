package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

// maxFragments bounds the single-row commits of one Up: their cost grows quadratically.
const maxFragments = 100_000

// UpOptions are Up's.
type UpOptions struct {
	// Binaries are what to boot, as Find gives them.
	Binaries Binaries
	// Dataset, if not nil, replaces the rig's; the graph is then loaded anew.
	Dataset *dataset.Params
	// Reseed loads the dataset although the graph has it, which undoes fragments and a script's writes.
	Reseed bool
	// Fragments is the number of single-row commits to make over HTTP after the boot, with the rows that follow
	// the dataset's.
	Fragments int
	// Optimize compacts the store at the end.
	Optimize bool
	// Port on 127.0.0.1; 0 takes the last one again, or any that is free.
	Port int
	// BootTimeout bounds the wait for the server to answer; 0 means 30 s.
	BootTimeout time.Duration
	// Env is the environment for the binaries, as os.Environ has it; nil means the process's own. Of its
	// OMNIGRAPH_ variables only OMNIGRAPH_PER_ACTOR_* (the admission cap) and OMNIGRAPH_EMULATOR_* get through.
	Env []string
	// ServerEnv is added to the server's.
	ServerEnv []string
	// Detach leaves the server running when this process ends, for Down to stop. Without it the server ends
	// with this process, on Linux even if that is killed.
	Detach bool
	// Log gets one line per step; nil means none.
	Log io.Writer
}

// Validate says what is out of range; Up does so too.
func (o UpOptions) Validate() error {
	switch {
	case o.Fragments < 0 || o.Fragments > maxFragments:
		return usagef("fragments must be between 0 and %d, got %d", maxFragments, o.Fragments)
	case o.Port < 0 || o.Port > 65535:
		return usagef("port must be between 0 and 65535, got %d", o.Port)
	case o.BootTimeout < 0:
		return usagef("boot-timeout must be above 0, got %v", o.BootTimeout)
	}

	return nil
}

func (o UpOptions) logf(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, format+"\n", args...) // progress is not worth an error
	}
}

// Up makes the cluster if that has not been done, loads the dataset, boots the server, makes fragments and
// optimizes, as the options say. If the server is up already it does the last two only, or says ErrRunning where
// Detach is not set. After an error, or the context's end, no server of this call is left.
func (r *Rig) Up(ctx context.Context, o UpOptions) (s *Server, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}

	unlock, err := lock(r.path(lockFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.dir, err)
	}
	defer unlock()

	clearTemporary()

	// Another process may have been here since Open.
	fresh, err := Open(r.dir)
	if err != nil {
		return nil, err
	}

	r.marker = fresh.marker

	state, up, err := r.running()
	if err != nil {
		return nil, err
	}

	if up {
		s, err = r.join(state, o)
	} else {
		s, err = r.bring(ctx, o)
	}

	if err != nil {
		return nil, err
	}

	defer func() {
		if err != nil && !up {
			err = errors.Join(err, s.Stop())
			s = nil
		}
	}()

	if err := r.fragment(ctx, s, o); err != nil {
		return s, err
	}

	if o.Optimize {
		done, err := r.Optimize(ctx, s.Binaries.CLI, o.Env)
		if err != nil {
			return s, err
		}

		o.logf("optimized in %v: %d fragments became %d",
			done.Took.Round(time.Millisecond), done.Removed, done.Added)
	}

	return s, nil
}

// join takes the server that is up.
func (r *Rig) join(state serverState, o UpOptions) (*Server, error) {
	switch {
	case !o.Detach:
		return nil, fmt.Errorf("the rig %s is %w at %s (process %d); stop it with `rig down`, or use it with `rig env`",
			r.dir, ErrRunning, state.URL, state.PID)
	case o.Reseed, o.Dataset != nil && *o.Dataset != r.marker.Dataset.Params:
		return nil, fmt.Errorf("the rig %s is %w at %s: stop it with `rig down` before loading other rows",
			r.dir, ErrRunning, state.URL)
	case o.Port != 0 && o.Port != r.marker.Port:
		return nil, fmt.Errorf("the rig %s is %w at %s: stop it with `rig down` before giving it another port",
			r.dir, ErrRunning, state.URL)
	}

	o.logf("already up at %s (process %d)", state.URL, state.PID)

	return r.found(state), nil
}

// found is the server that another process booted.
func (r *Rig) found(state serverState) *Server {
	return &Server{
		URL: state.URL, PID: state.PID, Version: state.Version, Emulated: state.Emulated, rig: r,
		Binaries: Binaries{CLI: state.CLI, Server: state.Server},
	}
}

// bring makes what is missing and boots.
func (r *Rig) bring(ctx context.Context, o UpOptions) (*Server, error) {
	env := orProcess(o.Env)

	// Before the work, not after it.
	if err := loopback(ctx); err != nil {
		return nil, err
	}

	if o.Port != 0 {
		if _, err := r.choosePort(ctx, o.Port, 1); err != nil {
			return nil, err
		}
	}

	if o.Dataset != nil && *o.Dataset != r.marker.Dataset.Params {
		if err := r.writeDataset(*o.Dataset); err != nil {
			return nil, err
		}

		if err := r.save(); err != nil {
			return nil, err
		}
	}

	switch {
	case o.Binaries.Emulator == "":
	case o.Binaries.Asked:
		o.logf("using the emulator, as asked")
	default:
		o.logf("no omnigraph binaries found: using the emulator")
	}

	b, err := r.resolve(ctx, o.Binaries, env)
	if err != nil {
		return nil, err
	}

	if b.CLI == "" || b.Server == "" {
		return nil, errors.New("boot: no binaries given")
	}

	if err := r.prepare(ctx, b.CLI, env); err != nil {
		return nil, err
	}

	if id := r.marker.Dataset; o.Reseed || r.marker.Loaded != id.SHA256 {
		began := time.Now()

		if err := r.load(ctx, b.CLI, env); err != nil {
			return nil, err
		}

		o.logf("loaded %d memories, %d projects, %d relations in %v",
			id.Rows, id.Projects, id.Relations, time.Since(began).Round(time.Millisecond))
	}

	s, err := r.boot(ctx, b, o)
	if err != nil {
		return nil, err
	}

	name := serverName
	if s.Emulated {
		name = emulatorName
	}

	o.logf("%s %s serves the graph %s at %s (process %d)", name, s.Version, Graph, s.URL, s.PID)

	return s, nil
}

// fragment makes single-row commits, one after the other.
func (r *Rig) fragment(ctx context.Context, s *Server, o UpOptions) error {
	if o.Fragments == 0 {
		return nil
	}

	tokens, err := r.Tokens()
	if err != nil {
		return err
	}

	a := newAPI(s.URL, tokens[ActorWriter])
	defer a.close()

	var (
		began   = time.Now()
		report  = began
		p       = r.marker.Dataset.Params
		written struct {
			Nodes int `json:"affected_nodes"`
		}
	)

	for i := range o.Fragments {
		m := p.Memory(p.Rows + r.marker.Fragments)
		body := map[string]any{"params": map[string]any{
			"slug": m.Slug, "title": m.Title, "body": m.Body, "kind": m.Kind,
			"project": m.Project, "importance": m.Importance,
		}}

		if err := a.call(ctx, http.MethodPost, "/graphs/"+Graph+"/queries/add_memory", body, &written); err != nil {
			return fmt.Errorf("single-row commit %d of %d: %w", i+1, o.Fragments, errors.Join(err, r.save()))
		}

		if written.Nodes != 1 {
			return fmt.Errorf("single-row commit %d of %d wrote %d nodes", i+1, o.Fragments, written.Nodes)
		}

		r.marker.Fragments++

		if time.Since(report) > 5*time.Second {
			report = time.Now()
			o.logf("single-row commits: %d of %d after %v", i+1, o.Fragments, time.Since(began).Round(time.Second))
		}
	}

	o.logf("%d single-row commits in %v", o.Fragments, time.Since(began).Round(time.Millisecond))

	return r.save()
}

// Environment is what a client of the rig needs, as NAME=value: OMNIGRAPH_URI and OMNIGRAPH_URL (the server's
// address), OMNIGRAPH_GRAPH, OMNIGRAPH_TOKEN (the first writer's), OMNIGRAPH_TOKENS_FILE, OMNIGRAPH_BIN,
// OMNIGRAPH_SERVER_BIN, OMNIGRAPH_STORE, OMNIGRAPH_DATASET (its identity as JSON), OMNIGRAPH_RIG (the directory)
// and OMNIGRAPH_EMULATED (1 where the emulator stands in, else empty).
func (s *Server) Environment() ([]string, error) {
	tokens, err := s.rig.Tokens()
	if err != nil {
		return nil, err
	}

	id, err := json.Marshal(s.rig.marker.Dataset)
	if err != nil {
		return nil, err
	}

	emulated := ""
	if s.Emulated {
		emulated = "1"
	}

	return environment{}.with(
		"OMNIGRAPH_URI", s.URL,
		"OMNIGRAPH_URL", s.URL,
		"OMNIGRAPH_GRAPH", Graph,
		"OMNIGRAPH_TOKEN", tokens[ActorWriter],
		"OMNIGRAPH_TOKENS_FILE", s.rig.TokensFile(),
		envCLI, s.Binaries.CLI,
		envServer, s.Binaries.Server,
		"OMNIGRAPH_STORE", s.rig.Store(),
		"OMNIGRAPH_DATASET", string(id),
		"OMNIGRAPH_RIG", s.rig.dir,
		"OMNIGRAPH_EMULATED", emulated,
	), nil
}

// Server is the rig's running server, whoever booted it; else ErrNotRunning.
func (r *Rig) Server() (*Server, error) {
	state, up, err := r.running()
	if err != nil {
		return nil, err
	}

	if !up {
		return nil, fmt.Errorf("the rig %s is %w; boot it with `rig up`", r.dir, ErrNotRunning)
	}

	return r.found(state), nil
}

// Remove deletes the rig's directory. Its server must be down.
func (r *Rig) Remove() error {
	if _, up, err := r.running(); err == nil && up {
		return fmt.Errorf("the rig %s is %w; stop it before removing it", r.dir, ErrRunning)
	}

	return os.RemoveAll(r.dir)
}
