package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// side is one implementation with a cluster of its own.
type side struct {
	name   string
	cli    string
	server string
	dir    string // the cluster
	url    string
	env    []string
	client *http.Client
	vars   map[string]string
}

var tokens = map[string]string{"act-load": "token-load", "act-load-2": "token-load-2", "act-reader": "token-reader"}

// start makes a cluster from testdata and boots its server.
func start(t *testing.T, name, cli, server, files string) *side {
	t.Helper()
	root := t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	s := &side{
		name: name, cli: cli, server: server, dir: filepath.Join(root, "rig"), client: &http.Client{Timeout: 2 * time.Minute},
		vars: map[string]string{},
	}
	require.NoError(t, os.CopyFS(s.dir, os.DirFS(files)))
	text, err := json.Marshal(tokens)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "tokens.json"), text, 0o600))
	home := filepath.Join(root, "home")
	require.NoError(t, os.Mkdir(home, 0o750))
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OMNIGRAPH_") {
			s.env = append(s.env, kv)
		}
	}
	s.env = append(s.env, "OMNIGRAPH_HOME="+home, "RUST_LOG=error")
	for _, args := range [][]string{{"import"}, {"apply", "--as", "act-load"}} {
		got := s.run(t, nil, append([]string{"cluster", args[0], "--config", s.dir, "--json"}, args[1:]...))
		require.Zerof(t, got.code, "%s: cluster %s: %s%s", name, args[0], got.stdout, got.stderr)
	}
	s.boot(t)
	return s
}

func (s *side) boot(t *testing.T) {
	t.Helper()
	for range 5 {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr := l.Addr().String()
		require.NoError(t, l.Close())
		if s.bootOn(t, addr) {
			return
		}
	}
	t.Fatalf("%s: the server does not boot", s.name)
}

func (s *side) bootOn(t *testing.T, addr string) bool {
	t.Helper()
	cmd := exec.Command(s.server, "--cluster", s.dir, "--bind", addr) //nolint:gosec,noctx // ends with the test
	cmd.Env = append(s.env, "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE="+filepath.Join(s.dir, "tokens.json"))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	s.url = "http://" + addr
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-done:
			t.Logf("%s: server ended: %v\n%s", s.name, err, log.String())
			return false
		case <-time.After(20 * time.Millisecond):
		}
		if s.answers(t) {
			t.Cleanup(func() {
				_ = cmd.Process.Kill() // it may have ended
				<-done
			})
			return true
		}
	}
	_ = cmd.Process.Kill() // as above
	<-done
	return false
}

// answers tells whether this side's server is up: what answers as nobody without its tokens could, since the port may be
// another process's by now.
func (s *side) answers(t *testing.T) bool {
	t.Helper()
	ask := func(token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+graphPath+"/snapshot", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.client.Do(req)
		if err != nil {
			return 0
		}
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	return ask(tokens["act-load"]) == http.StatusOK && ask("nobody's") == http.StatusUnauthorized
}

// called is what a CLI call came to.
type called struct {
	stdout, stderr string
	code           int
}

func (s *side) run(t *testing.T, env map[string]string, args []string) called {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.cli, args...) //nolint:gosec // the binary under test
	cmd.Dir = filepath.Dir(s.dir)
	cmd.Env = append(s.env, "OMNIGRAPH_BEARER_TOKEN="+tokens["act-load"])
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v: %v", s.name, args, err)
	}
	return called{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// expand replaces the names of captured values and of this side's places.
func (s *side) expand(text string) string {
	for k, v := range s.vars {
		text = strings.ReplaceAll(text, "{{"+k+"}}", v)
	}
	text = strings.ReplaceAll(text, "{{url}}", s.url)
	return strings.ReplaceAll(text, "{{store}}", filepath.Join(s.dir, "graphs", "council.omni"))
}

// do runs one case.
func (s *side) do(t *testing.T, c *testCase) observed {
	t.Helper()
	if c.args != nil {
		return s.doCLI(t, c)
	}
	return s.doHTTP(t, c)
}

func (s *side) doCLI(t *testing.T, c *testCase) observed {
	t.Helper()
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = s.expand(a)
	}
	got := s.run(t, c.env, args)
	out := observed{"exit": fmt.Sprint(got.code)}
	s.body(out, "stdout", got.stdout, c.unordered)
	s.stderr(out, got.stderr)
	return out
}

// compared are the headers that clients read.
var compared = []string{"Content-Type", "Allow", "Retry-After", "Deprecation", "Link"}

func (s *side) doHTTP(t *testing.T, c *testCase) observed {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, s.url+s.expand(c.path), strings.NewReader(s.expand(c.body)))
	require.NoError(t, err)
	if c.actor != "" {
		req.Header.Set("Authorization", "Bearer "+tokens[c.actor])
	}
	if c.body != "" || c.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.header {
		if v == "" {
			req.Header.Del(k)
			continue
		}
		req.Header.Set(k, v)
	}
	res, err := s.client.Do(req)
	require.NoErrorf(t, err, "%s: %s", s.name, c.name)
	text, err := io.ReadAll(res.Body)
	out := observed{"status": fmt.Sprint(res.StatusCode)}
	if err != nil {
		// A stream that the server breaks off.
		out["broken"] = "true"
	}
	require.NoError(t, res.Body.Close())
	for _, name := range compared {
		if v := res.Header.Get(name); v != "" {
			out["header."+name] = v
		}
	}
	for name, path := range c.capture {
		s.vars[name] = lookup(t, string(text), path)
	}
	s.body(out, "body", string(text), c.unordered)
	return out
}

// lookup finds a string in a JSON document by a path such as commits.0.graph_commit_id.
func lookup(t *testing.T, text, path string) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			var i int
			_, err := fmt.Sscan(step, &i)
			require.NoError(t, err)
			require.Less(t, i, len(x), "%s in %s", path, text)
			v = x[i]
		}
	}
	id, ok := v.(string)
	require.Truef(t, ok, "%s is no string in %s", path, text)
	return id
}
